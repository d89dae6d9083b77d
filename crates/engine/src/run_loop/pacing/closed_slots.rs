//! The closed model, in which each slot starts its next operation when the previous operation has ended.

use super::{Share, WARMUP_NUMBERS};
use crate::plan::{Part, Plan};
use crate::schedule::{Budget, Profile, Tickets};
use measure::Instant;
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// Interval between checks whether parked slots are needed again, because the level of the profile has risen.
const UNPARK_EVERY: Duration = Duration::from_millis(5);

/// Interval between checks of whether [`Control`](crate::Control) lets the next operation start.
const HOLD: Duration = Duration::from_millis(1);

/// Slots that wait for their next operation.
///
/// Invariant: a slot that has not retired has an operation, or is in `waiting`, `pauses` or `parked`.
#[derive(Debug)]
pub(in crate::run_loop) struct Closed<'p> {
    profile: &'p Profile,
    share: Share,
    part: Part,
    start: Instant,
    pub think: Duration,
    pub tickets: Tickets,
    pub warmup_tickets: Tickets,
    /// Slots that can start now, each with the time at which it became ready.
    pub waiting: VecDeque<(u32, Instant)>,
    /// Slots that pause, ordered by the end of their pause.
    pauses: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Slots that are not used now, because the current level of the profile is too low.
    parked: BTreeSet<u32>,
    next_unpark: Instant,
    /// Instant before which no operation starts, because [`Control`](crate::Control) does not let the next operation
    /// start yet.
    pub held_until: Instant,
    /// `true` if the budget is used up, or if every slot has retired.
    pub exhausted: bool,
    retired: u64,
    slots: u64,
}

impl<'p> Closed<'p> {
    /// Returns the slots of one thread. All slots can start at `start`.
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
            part: plan.part,
            start,
            think,
            tickets: budget.map_or_else(|| Tickets::endless(share.thread, share.threads), Tickets::bounded),
            // The warm-up uses other operation numbers than the measured window, and therefore other objects.
            warmup_tickets: Tickets::endless_from(WARMUP_NUMBERS, share.thread, share.threads),
            waiting: (0..slots).map(|slot| (slot, start)).collect(),
            pauses: BinaryHeap::new(),
            parked: BTreeSet::new(),
            next_unpark: Instant::NEVER,
            held_until: Instant::ZERO,
            exhausted: false,
            retired: 0,
            slots: slots.into(),
        }
    }

    /// Returns whether the slot is in use at the current level of the profile.
    fn wants(&self, slot: u32, now: Instant) -> bool {
        let place = f64::from(slot) * f64::from(self.share.threads) + f64::from(self.share.thread);
        let place = place + self.part.phase();
        self.profile.is_constant() || self.profile.level(now.nanos_since(self.start) as f64 / 1e9) > place
    }

    /// Returns the next slot that may start, and the time at which it became ready.
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

    /// Makes a slot wait, because [`Control`](crate::Control) does not let the next operation start yet. `since` is the
    /// earliest possible start of the slot.
    #[cold]
    pub fn hold(&mut self, slot: u32, since: Instant, now: Instant) {
        self.waiting.push_front((slot, since));
        self.held_until = now + HOLD;
    }

    /// Makes a slot pause until `at`.
    pub fn pause(&mut self, slot: u32, at: Instant) {
        self.pauses.push(Reverse((at, slot)));
    }

    /// Retires a slot that has started its share of operations.
    pub fn retire(&mut self) {
        self.retired += 1;
        self.exhausted = self.exhausted || self.retired >= self.slots;
    }

    /// Allows slots to start if their pause is over, or if they were parked and are needed again.
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

    /// Returns the next instant at which a slot may start.
    pub fn next_wake(&self) -> Instant {
        if !self.waiting.is_empty() {
            return self.held_until;
        }
        self.pauses.peek().map_or(Instant::NEVER, |Reverse((at, _))| *at).min(self.next_unpark)
    }
}
