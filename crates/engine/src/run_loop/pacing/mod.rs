//! The load model inside one thread's loop: which slot may start an operation, and when.

use crate::plan::{LoadModel, Plan, StopAfter};
use crate::schedule::{Arrivals, Budget, Profile, Tickets};
use measure::{Instant, Timeline};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Which thread of how many.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Index of this thread.
    pub thread: u32,
    /// Number of threads.
    pub threads: u32,
}

impl Share {
    /// This thread's part of a count that is split evenly.
    #[must_use]
    pub fn of(self, total: u64) -> u64 {
        let threads = u64::from(self.threads);
        total / threads + u64::from(u64::from(self.thread) < total % threads)
    }
}

/// Operations of the warm-up are numbered from here.
pub const WARMUP_NUMBERS: u64 = 1 << 62;
/// How often slots that are not in use look whether they should be.
const UNPARK_EVERY: Duration = Duration::from_millis(5);

/// The closed model: slots that wait for their next operation.
#[derive(Debug)]
pub(in crate::run_loop) struct Closed<'p> {
    profile: &'p Profile,
    share: Share,
    start: Instant,
    pub think: Duration,
    pub tickets: Tickets,
    pub warmup_tickets: Tickets,
    /// Slots that can start now, with the instant since when.
    pub waiting: VecDeque<(u32, Instant)>,
    /// Slots that pause, by the instant at which they go on.
    pauses: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Slots above the profile's present level.
    parked: BTreeSet<u32>,
    next_unpark: Instant,
    /// The budget is used up, or every slot has had its share.
    pub exhausted: bool,
    retired: u64,
    slots: u64,
}

impl<'p> Closed<'p> {
    pub fn new(
        plan: &Plan,
        profile: &'p Profile,
        think: Duration,
        share: Share,
        budget: Option<Arc<Budget>>,
        start: Instant,
    ) -> Self {
        let slots = share.of(plan.load.in_flight_max()) as u32;
        Self {
            profile,
            share,
            start,
            think,
            tickets: budget.map_or_else(|| Tickets::endless(share.thread, share.threads), Tickets::bounded),
            // Other numbers than those of the window, so that what is warmed up is not what is measured.
            warmup_tickets: Tickets::endless_from(WARMUP_NUMBERS, share.thread, share.threads),
            waiting: (0..slots).map(|slot| (slot, start)).collect(),
            pauses: BinaryHeap::new(),
            parked: BTreeSet::new(),
            next_unpark: Instant::NEVER,
            exhausted: false,
            retired: 0,
            slots: slots.into(),
        }
    }

    /// Whether the profile wants that slot in use.
    fn wants(&self, slot: u32, now: Instant) -> bool {
        let place = f64::from(slot) * f64::from(self.share.threads) + f64::from(self.share.thread);
        self.profile.is_constant() || self.profile.level(now.nanos_since(self.start) as f64 / 1e9) > place
    }

    /// The next slot that may start, with the instant since when it could.
    pub fn next(&mut self, now: Instant) -> Option<(u32, Instant)> {
        while let Some((slot, since)) = self.waiting.pop_front() {
            if self.wants(slot, now) {
                return Some((slot, since));
            }
            self.parked.insert(slot);
            self.next_unpark = self.next_unpark.min(now + UNPARK_EVERY);
        }
        None
    }

    /// A slot pauses until `at`.
    pub fn pause(&mut self, slot: u32, at: Instant) {
        self.pauses.push(Reverse((at, slot)));
    }

    /// A slot has had its share of operations.
    pub fn retire(&mut self) {
        self.retired += 1;
        self.exhausted = self.exhausted || self.retired >= self.slots;
    }

    /// Moves slots whose pause is over, and parked ones that are wanted again, to the waiting ones.
    pub fn wake(&mut self, now: Instant) {
        while let Some(Reverse((at, slot))) = self.pauses.peek().copied().filter(|Reverse((at, _))| *at <= now) {
            self.pauses.pop();
            self.waiting.push_back((slot, at));
        }
        if now >= self.next_unpark {
            while let Some(slot) = self.parked.first().copied().filter(|slot| self.wants(*slot, now)) {
                self.parked.pop_first();
                self.waiting.push_back((slot, now));
            }
            self.next_unpark = if self.parked.is_empty() { Instant::NEVER } else { now + UNPARK_EVERY };
        }
    }

    /// When something will be to do.
    pub fn next_wake(&self) -> Instant {
        if !self.waiting.is_empty() {
            return Instant::ZERO;
        }
        self.pauses.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at).min(self.next_unpark)
    }
}

/// The open model: arrivals that are due.
///
/// Two cursors run over the same schedule: one counts what was offered as time passes, the other what is taken, so
/// that the books have two sides.
#[derive(Debug)]
pub(in crate::run_loop) struct Open<'p> {
    arrivals: Arrivals<'p>,
    share: Share,
    /// Operations taken in the warm-up, and in the window.
    taken: (u64, u64),
    offered: Arrivals<'p>,
    /// Measured operations that this thread may still take, and those that are still to be offered.
    quota: Option<(u64, u64)>,
    pub free_slots: Vec<u32>,
    pub slots_max: usize,
    pub slots_made: usize,
    /// Since a due arrival has found no free slot: the length of all client stalls until then, in nanoseconds.
    pub starved: Option<u64>,
    /// No timer is set for an arrival before this instant.
    rests_until: Instant,
}

/// Where arrivals come faster than this, one timer serves several: each costs the kernel as much as a small request does,
/// and on a virtual machine more. What is due is started as soon as anything else wakes the thread.
const TIMER_GRAIN: Duration = Duration::from_micros(50);

impl<'p> Open<'p> {
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
        }
    }

    /// An arrival was started at `now`.
    #[inline]
    pub fn started(&mut self, now: Instant) {
        self.rests_until = now + TIMER_GRAIN;
    }

    /// When to wake for the next arrival.
    pub fn next_wake(&self, timeline: &Timeline, now: Instant) -> Option<Instant> {
        self.next(timeline).map(|at| if at > now { at.max(self.rests_until) } else { at })
    }

    /// The next arrival to be taken before the window ends.
    #[inline]
    pub fn next(&self, timeline: &Timeline) -> Option<Instant> {
        let at = self.arrivals.peek().filter(|at| *at < timeline.window_end())?;
        let quota_left = self.quota.is_none_or(|(left, _)| left > 0);
        (quota_left || !timeline.measures(at)).then_some(at)
    }

    /// Since when all operations that were asked for have been taken: N of them at a rate fill the time until the next
    /// one would have come, as the last one has its share of the time as well. A window with an end is waited for.
    pub fn exhausted_at(&self, timeline: &Timeline) -> Option<Instant> {
        let endless = timeline.window_end() == Instant::NEVER;
        match (self.quota, self.arrivals.peek()) {
            // Warm-up is no part of what was asked for.
            (_, Some(next)) if next < timeline.window_start() => None,
            (Some((0, _)), Some(next)) => Some(next.min(timeline.window_end())),
            (Some((0, _)), None) => Some(Instant::ZERO),
            (_, None) if endless => Some(Instant::ZERO),
            _ => None,
        }
    }

    /// Takes the next arrival, and gives its number: those of the window count from 0 over all threads, without a gap
    /// however the threads share them; those of the warm-up have others, so that what is warmed up is not what is measured.
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

    /// The intended starts that have been offered by `now` and were not told before.
    #[inline]
    pub fn offer(&mut self, now: Instant, timeline: &Timeline, mut tell: impl FnMut(Instant)) {
        while let Some(at) = self.offered.peek().filter(|at| *at <= now && *at < timeline.window_end()) {
            if let Some((_, left)) = &mut self.quota
                && timeline.measures(at)
            {
                if *left == 0 {
                    return;
                }
                *left -= 1;
            }
            tell(at);
            self.offered.advance();
        }
    }
}

/// The load model of one thread.
#[derive(Debug)]
pub(in crate::run_loop) enum Pacer<'p> {
    Closed(Closed<'p>),
    Open(Open<'p>),
}

impl<'p> Pacer<'p> {
    pub fn new(plan: &'p Plan, share: Share, budget: Option<Arc<Budget>>, start: Instant) -> Self {
        match &plan.load {
            LoadModel::Closed { slots, think } => Self::Closed(Closed::new(plan, slots, *think, share, budget, start)),
            LoadModel::Open { rate, spacing, .. } => {
                let arrivals = Arrivals::new(rate, *spacing, plan.seed, (share.thread, share.threads), start);
                Self::Open(Open::new(plan, arrivals, share))
            }
        }
    }
}

/// The budget that the threads of a closed run share, when it is bounded.
#[must_use]
pub fn budget(stop: &StopAfter, load: &LoadModel, threads: u32) -> Option<Arc<Budget>> {
    match (load, stop.ops) {
        (LoadModel::Closed { .. }, Some(ops)) => Some(Arc::new(Budget::new(ops.get(), threads))),
        _ => None,
    }
}
