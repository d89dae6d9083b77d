//! Numbers of operations in the closed model.
//!
//! Every operation has a number, which determines its object and range. When a run has a limited number of operations, all
//! threads draw their numbers from one [`Budget`]. They draw batches, so that they need not access the shared counter for every
//! operation. The batches become smaller towards the end, so that no thread runs out of work while another one has much left.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of operations that are left, shared by all threads.
#[derive(Debug)]
pub struct Budget {
    total: u64,
    threads: u64,
    taken: AtomicU64,
}

/// The most numbers that a thread draws at once.
const BATCH_MAX: u64 = 256;

impl Budget {
    /// Returns a budget of `total` operations for `threads` threads.
    #[must_use]
    pub fn new(total: u64, threads: u32) -> Self {
        Self { total, threads: u64::from(threads.max(1)), taken: AtomicU64::new(0) }
    }

    fn draw(&self) -> std::ops::Range<u64> {
        let taken = self.taken.load(Ordering::Relaxed).min(self.total);
        let batch = ((self.total - taken) / (8 * self.threads)).clamp(1, BATCH_MAX);
        let first = self.taken.fetch_add(batch, Ordering::Relaxed);
        first.min(self.total)..(first + batch).min(self.total)
    }
}

/// One thread's source of operation numbers.
#[derive(Clone, Debug)]
pub enum Tickets {
    /// Unlimited numbers. Thread t of T takes t, t + T, t + 2T, …
    Endless {
        /// The next number.
        next: u64,
        /// The number of threads.
        step: u64,
    },
    /// Numbers from a shared budget.
    Bounded {
        /// The budget.
        budget: Arc<Budget>,
        /// Numbers that were drawn but not used yet.
        drawn: std::ops::Range<u64>,
    },
}

impl Tickets {
    /// Returns unlimited numbers for `thread` of `threads`.
    #[must_use]
    pub fn endless(thread: u32, threads: u32) -> Self {
        Self::endless_from(0, thread, threads)
    }

    /// Returns unlimited numbers from `first` on, for `thread` of `threads`.
    #[must_use]
    pub fn endless_from(first: u64, thread: u32, threads: u32) -> Self {
        Self::Endless { next: first + u64::from(thread), step: u64::from(threads) }
    }

    /// Returns numbers from a shared budget.
    #[must_use]
    pub fn bounded(budget: Arc<Budget>) -> Self {
        Self::Bounded { budget, drawn: 0..0 }
    }
}

impl Iterator for Tickets {
    type Item = u64;

    #[inline]
    fn next(&mut self) -> Option<u64> {
        match self {
            Self::Endless { next, step } => {
                let number = *next;
                *next += *step;
                Some(number)
            }
            Self::Bounded { budget, drawn } => {
                if drawn.is_empty() {
                    *drawn = budget.draw();
                }
                drawn.next()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_number_is_drawn_exactly_once(total in 0_u64..20_000, threads in 1_u32..9, order in prop::collection::vec(0_usize..9, 0..200)) {
            let budget = Arc::new(Budget::new(total, threads));
            let mut tickets: Vec<Tickets> = (0..threads).map(|_| Tickets::bounded(Arc::clone(&budget))).collect();
            let mut drawn: Vec<u64> = order.iter().filter_map(|thread| tickets[thread % threads as usize].next()).collect();
            for source in &mut tickets {
                drawn.extend(source);
            }
            drawn.sort_unstable();
            prop_assert_eq!(drawn, (0..total).collect::<Vec<_>>());
        }
    }

    #[test]
    fn endless_numbers_interleave() {
        let numbers: Vec<u64> = Tickets::endless(1, 3).take(3).collect();
        assert_eq!(numbers, [1, 4, 7]);
    }
}
