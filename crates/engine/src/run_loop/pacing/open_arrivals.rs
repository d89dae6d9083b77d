//! The open model, in which operations start at the times in the schedule if slots are free.

use super::{Share, WARMUP_NUMBERS};
use crate::plan::Plan;
use crate::schedule::Arrivals;
use measure::{Instant, Timeline};
use std::time::Duration;

/// Arrivals of one thread.
///
/// Two cursors move along the same schedule. The first cursor counts the operations that are offered as time passes.
/// The second cursor counts the operations that are started. The accounting compares both counts.
#[derive(Debug)]
pub(in crate::run_loop) struct Open<'p> {
    arrivals: Arrivals<'p>,
    share: Share,
    /// Number of operations started in the warm-up, and in the window.
    taken: (u64, u64),
    offered: Arrivals<'p>,
    /// Number of measured operations that this thread has not started yet, and number of measured operations that are
    /// not due yet. `None` if the number of operations is not limited.
    quota: Option<(u64, u64)>,
    pub free_slots: Vec<u32>,
    pub slots_max: usize,
    pub slots_made: usize,
    /// Total length, in nanoseconds, of the client stalls until the moment when all slots were in use. `None` unless
    /// arrivals are due and no slot is free.
    pub starved: Option<u64>,
    /// Instant before which no timer is set for an arrival.
    rests_until: Instant,
    /// `true` if the measured window has ended and the arrivals that had not started are dropped.
    rest_dropped: bool,
}

/// Maximum time between arrivals that share one timer. A timer costs the kernel as much as a small request, and more on
/// a virtual machine. Arrivals that are due also start when anything else wakes the thread.
const TIMER_GRAIN: Duration = Duration::from_micros(50);

impl<'p> Open<'p> {
    /// Returns the arrivals of one thread. No arrival has started yet.
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

    /// Records that an arrival was started at `now`.
    #[inline]
    pub fn started(&mut self, now: Instant) {
        self.rests_until = now + TIMER_GRAIN;
    }

    /// Returns when the thread must wake up for the next arrival.
    pub fn next_wake(&self, timeline: &Timeline, now: Instant) -> Option<Instant> {
        self.next(timeline).map(|at| if at > now { at.max(self.rests_until) } else { at })
    }

    /// Returns the next arrival to start before the measured window ends.
    #[inline]
    pub fn next(&self, timeline: &Timeline) -> Option<Instant> {
        let at = self.arrivals.peek().filter(|at| *at < timeline.window_end())?;
        let quota_left = self.quota.is_none_or(|(left, _)| left > 0);
        (quota_left || !timeline.measures(at)).then_some(at)
    }

    /// Returns the instant at which the schedule ends, which may be in the future. Returns `None` while operations are
    /// still due. If the number of operations is limited, the schedule includes the gap after the last operation: it
    /// ends when the next operation would be due. If there are no more arrivals, the schedule has already ended. In a
    /// window with a fixed end and no limit on operations, the run continues to the end of the window, so the result is
    /// `None`.
    pub fn exhausted_at(&self, timeline: &Timeline) -> Option<Instant> {
        let endless = timeline.window_end() == Instant::NEVER;
        match (self.quota, self.arrivals.peek()) {
            // The schedule cannot end during the warm-up.
            (_, Some(next)) if next < timeline.window_start() => None,
            (Some((0, _)), Some(next)) => Some(next.min(timeline.window_end())),
            (Some((0, _)), None) => Some(Instant::ZERO),
            (_, None) if endless => Some(Instant::ZERO),
            _ => None,
        }
    }

    /// Removes the next arrival and returns its number. Over all threads, the numbers in the measured window start at 0
    /// and have no gaps. The warm-up uses other numbers, and therefore other objects.
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

    /// Calls `note` with the intended starts of all arrivals that are due by `now`. Each arrival is passed to `note`
    /// only once.
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

    /// At the end of the measured window, drops the arrivals that were due but have not started. Calls `drop` with the
    /// intended start of each arrival. The second argument is `true` if a slot was free for the arrival. A free slot
    /// means that this client was too slow. Without a free slot, the target was too slow. `freed` is the number of
    /// slots that were free before the measured window ended.
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
