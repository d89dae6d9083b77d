//! Measurement of how busy a thread is.

use crate::network::{Network, ThreadUse, Waited};
use crate::run_loop::RunLoop;
use measure::Instant;
use std::time::Duration;

/// If the gap between two steps is at least this long, the operating system did not run the thread in between. Normal
/// waits and steps are far shorter.
const FROZEN_MIN: Duration = Duration::from_millis(150);

/// The load of one thread in the current interval.
#[derive(Debug)]
pub(in crate::run_loop) struct ThreadLoad {
    /// Start of the last step.
    pub step_began: Instant,
    /// Earliest instant at which the events of the last wait can have happened.
    pub events_since: Instant,
    /// End of the last wait.
    looked: Instant,
    /// Number of waits.
    polls: u64,
    /// Number of waits that ended immediately, because events had already arrived.
    polls_at_once: u64,
    /// CPU time of the thread, and its total wait for a core, at the start of the interval.
    used: ThreadUse,
    /// Time, in nanoseconds, that the thread took to pass finished results to the gathering thread.
    held_up_nanos: u64,
}

impl ThreadLoad {
    /// Returns the load at the start of a run.
    pub fn new(start: Instant) -> Self {
        Self {
            step_began: start,
            events_since: start,
            looked: start,
            polls: 0,
            polls_at_once: 0,
            used: ThreadUse::default(),
            held_up_nanos: 0,
        }
    }

    /// Records how much of the processor this thread used before the run.
    pub fn start(&mut self, used: ThreadUse) {
        self.used = used;
    }

    /// Records a wait that has ended.
    #[inline]
    pub fn add_wait(&mut self, waited: Waited) {
        self.polls += 1;
        self.polls_at_once += u64::from(waited.at_once);
        // Events that were already there may have happened at any time since the end of the previous wait.
        self.events_since = if waited.at_once { self.looked } else { waited.now };
        self.looked = waited.now;
    }

    /// Records that finished work was handed over from `from` to `until`.
    pub fn add_handover(&mut self, from: Instant, until: Instant) {
        self.step_began = until;
        self.held_up_nanos += until.nanos_since(from);
    }
}

impl<N: Network> RunLoop<'_, N> {
    /// Begins a step. Records a gap if the operating system did not run this thread since the last step.
    #[inline]
    pub(in crate::run_loop) fn note_gap(&mut self, now: Instant) {
        if now.since(self.load.step_began) > FROZEN_MIN {
            self.recorder.frozen(self.load.step_began, now);
            self.stalled(self.load.step_began, now);
        }
        self.load.step_began = now;
    }

    /// Records how busy this thread was in the interval that is about to be closed.
    pub(in crate::run_loop) fn record_load(&mut self, net: &mut N, now: Instant) {
        let used = net.thread_use();
        let load = &mut self.load;
        let interval = self.recorder.current_mut();
        let length = now.nanos_since(interval.start).max(1) as f64;
        let cpu_nanos = used.cpu_nanos.saturating_sub(load.used.cpu_nanos);
        let delay_nanos = used.delay_nanos.saturating_sub(load.used.delay_nanos);
        let client = &mut interval.client;
        // The clocks are read one after the other, so the measured use of a very short interval could exceed 100 %.
        client.busy = (cpu_nanos.saturating_add(load.held_up_nanos) as f64 / length).min(1.0);
        client.run_delay = (delay_nanos as f64 / length).min(1.0);
        client.run_delay_sum = client.run_delay;
        client.cpu_nanos = cpu_nanos;
        client.unread = load.polls_at_once as f64 / load.polls.max(1) as f64;
        let ThreadLoad { step_began, events_since, looked, .. } = *load;
        self.load = ThreadLoad { used, events_since, looked, ..ThreadLoad::new(step_began) };
        self.record_unacknowledged(net);
        self.sample_paths(net);
    }

    /// Records how many sent bytes still wait for their acknowledgement. Makes no system calls if nothing was uploaded.
    fn record_unacknowledged(&mut self, net: &mut N) {
        let sends = self.recorder.current_mut().stats.traffic.sent_body > 0;
        if !sends && self.recorder.unacknowledged() == 0 {
            return;
        }
        let sockets = self.pool.connections.iter().map(|(_, connection)| connection.transport.socket());
        let bytes = sockets.filter_map(|socket| net.unacknowledged(socket)).sum();
        self.recorder.set_unacknowledged(bytes);
    }
}
