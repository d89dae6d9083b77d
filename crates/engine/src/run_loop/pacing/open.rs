//! The open model: operations start when the schedule says so, as far as slots are free.

use super::{Share, WARMUP_NUMBERS};
use crate::plan::Plan;
use crate::schedule::Arrivals;
use measure::{Instant, Timeline};
use std::time::Duration;

/// The arrivals of one thread.
///
/// Two cursors run over the same schedule: one counts the operations that are offered as time passes, the other those that
/// are started. So the accounting can compare them.
#[derive(Debug)]
pub(in crate::run_loop) struct Open<'p> {
    arrivals: Arrivals<'p>,
    share: Share,
    /// Operations started in the warm-up, and in the window.
    taken: (u64, u64),
    offered: Arrivals<'p>,
    /// Measured operations that this thread may still start, and those that are still to be offered.
    quota: Option<(u64, u64)>,
    pub free_slots: Vec<u32>,
    pub slots_max: usize,
    pub slots_made: usize,
    /// While due arrivals find no free slot: the length of all client stalls before, in nanoseconds.
    pub starved: Option<u64>,
    /// No timer is set for an arrival before this instant.
    rests_until: Instant,
    /// The window is over: what had not started is dropped.
    rest_dropped: bool,
}

/// Arrivals closer together than this share one timer: each timer costs the kernel as much as a small request, and more on a
/// virtual machine. Arrivals that are due also start when anything else wakes the thread.
const TIMER_GRAIN: Duration = Duration::from_micros(50);

impl<'p> Open<'p> {
    /// Returns the arrivals of one thread, none of which has started.
    pub fn new(plan: &Plan, arrivals: Arrivals<'p>, share: Share) -> Self {
        Self {
            offered: arrivals.clone(),
            arrivals,
            share,
            taken: (0, 0),
            quota: plan.stop.ops.map(|ops| (share.of(ops.get()), share.of(ops.get()))),
            free_slots: Vec::new(),
            slots_max: share.of(plan.load.in_flight_max()).max(1) as usize,
            slots_made: 0,
            starved: None,
            rests_until: Instant::ZERO,
            rest_dropped: false,
        }
    }

    /// Notes that an arrival was started at `now`.
    #[inline]
    pub fn started(&mut self, now: Instant) {
        self.rests_until = now + TIMER_GRAIN;
    }

    /// Returns when to wake for the next arrival.
    pub fn next_wake(&self, timeline: &Timeline, now: Instant) -> Option<Instant> {
        self.next(timeline).map(|at| if at > now { at.max(self.rests_until) } else { at })
    }

    /// Returns the next arrival to start before the window ends.
    #[inline]
    pub fn next(&self, timeline: &Timeline) -> Option<Instant> {
        let at = self.arrivals.peek().filter(|at| *at < timeline.window_end())?;
        let quota_left = self.quota.is_none_or(|(left, _)| left > 0);
        (quota_left || !timeline.measures(at)).then_some(at)
    }

    /// Returns when all requested operations have been started. At a rate, N of them fill the time until the next one would
    /// have come, because the last one has its share of the time as well. The end of a window is waited for.
    pub fn exhausted_at(&self, timeline: &Timeline) -> Option<Instant> {
        let endless = timeline.window_end() == Instant::NEVER;
        match (self.quota, self.arrivals.peek()) {
            // The warm-up does not count.
            (_, Some(next)) if next < timeline.window_start() => None,
            (Some((0, _)), Some(next)) => Some(next.min(timeline.window_end())),
            (Some((0, _)), None) => Some(Instant::ZERO),
            (_, None) if endless => Some(Instant::ZERO),
            _ => None,
        }
    }

    /// Takes the next arrival and returns its number. The numbers of the window count from 0 over all threads, without a gap.
    /// The warm-up uses other numbers, and thus other objects.
    #[inline]
    pub fn take(&mut self, at: Instant, timeline: &Timeline) -> u64 {
        self.arrivals.advance();
        let measured = timeline.measures(at);
        if let Some((left, _)) = &mut self.quota
            && measured
        {
            *left -= 1;
        }
        let (base, taken) = if measured { (0, &mut self.taken.1) } else { (WARMUP_NUMBERS, &mut self.taken.0) };
        let turn = *taken;
        *taken += 1;
        base + turn * u64::from(self.share.threads) + u64::from(self.share.thread)
    }

    /// Calls `note` with the intended starts that have been offered by `now` and were not passed to it before.
    #[inline]
    pub fn offer(&mut self, now: Instant, timeline: &Timeline, mut note: impl FnMut(Instant)) {
        while let Some(at) = self.offered.peek().filter(|at| *at <= now && *at < timeline.window_end()) {
            if let Some((_, left)) = &mut self.quota
                && timeline.measures(at)
            {
                if *left == 0 {
                    return;
                }
                *left -= 1;
            }
            note(at);
            self.offered.advance();
        }
    }

    /// Drops the arrivals that were due and have not started, at the end of the window. `drop` gets the intended start of each,
    /// and whether a slot was free for it: then this client was late, otherwise the target. `freed` is the number of slots
    /// that were free before the window ended.
    pub fn drop_rest(&mut self, freed: usize, timeline: &Timeline, mut drop: impl FnMut(Instant, bool)) {
        self.rest_dropped = true;
        let mut could_start = freed + self.slots_max.saturating_sub(self.slots_made);
        while let Some(at) = self.next(timeline) {
            self.take(at, timeline);
            drop(at, could_start > 0);
            could_start = could_start.saturating_sub(1);
        }
    }

    /// Returns whether [`Self::drop_rest`] was called.
    pub fn rest_is_dropped(&self) -> bool {
        self.rest_dropped
    }
}
