//! Pacing, which decides which slots may start an operation, and when they may start it.

mod closed_slots;
mod open_arrivals;
mod start_operations;

use crate::plan::{LoadModel, Part, Plan, StopAfter, share_of};
use crate::schedule::{Arrivals, Budget};
use closed_slots::Closed;
use measure::Instant;
use open_arrivals::Open;
use std::sync::Arc;

/// First operation number of the warm-up.
pub const WARMUP_NUMBERS: u64 = 1 << 62;

/// Converts the number `own` of an operation in a part of the load to the operation's number in the whole load.
#[inline]
pub(in crate::run_loop) fn number_in_load(part: Part, own: u64) -> u64 {
    match own.checked_sub(WARMUP_NUMBERS) {
        None => part.number(own),
        Some(own) => WARMUP_NUMBERS.saturating_add(part.number(own)),
    }
}

/// Share of one thread in a run.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    /// Index of this thread.
    pub thread: u32,
    /// Number of threads.
    pub threads: u32,
}

impl Share {
    /// Returns this thread's part of an evenly divided count.
    #[must_use]
    pub fn of(self, total: u64) -> u64 {
        share_of(total, self.thread, self.threads)
    }
}

/// The load model of one thread.
#[derive(Debug)]
pub(in crate::run_loop) enum Pacer<'p> {
    Closed(Closed<'p>),
    Open(Open<'p>),
}

impl<'p> Pacer<'p> {
    /// Returns the load model of a plan, for one thread of a run that starts at `start`.
    pub fn new(plan: &'p Plan, share: Share, budget: Option<Arc<Budget>>, start: Instant) -> Self {
        match &plan.load {
            LoadModel::Closed { slots, think } => Self::Closed(Closed::new(plan, slots, *think, share, budget, start)),
            LoadModel::Open { rate, spacing, .. } => {
                let arrivals =
                    Arrivals::new(rate, *spacing, plan.seed, (share.thread, share.threads), plan.part, start);
                Self::Open(Open::new(plan, arrivals, share))
            }
        }
    }

    /// Returns the number of slots that exist from the start.
    pub fn initial_slots(&self) -> usize {
        match self {
            Self::Closed(closed) => closed.waiting.len(),
            Self::Open(_) => 0,
        }
    }
}

/// Returns the budget that the threads of a closed run share, if the number of operations is limited.
#[must_use]
pub fn budget(stop: &StopAfter, load: &LoadModel, threads: u32) -> Option<Arc<Budget>> {
    match (load, stop.ops) {
        (LoadModel::Closed { .. }, Some(ops)) => Some(Arc::new(Budget::new(ops.get(), threads))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_to_the_total() {
        for (total, threads) in [(0, 1), (1, 3), (7, 3), (9, 3), (10, 4)] {
            let shares = (0..threads).map(|thread| Share { thread, threads }.of(total));
            assert_eq!(shares.clone().sum::<u64>(), total);
            assert!(shares.clone().max().unwrap() - shares.min().unwrap() <= 1);
        }
    }
}
