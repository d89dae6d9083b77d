//! The numbers that identify operations in the closed model.
//!
//! Each operation has a number, from which its object and range are computed. If a run has a limited number of
//! operations, all threads draw their numbers from one [`Budget`]. Threads draw batches of numbers, so that they need
//! not access the shared counter for every operation. The batches become smaller towards the end of the run. If they
//! did not become smaller, one thread could have no operations left while another thread has many.
//! [`crate::Control::let_start_below`] can set an upper bound for the numbers of a run.

use measure::values::random::mix;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of the remaining operations, shared by all threads.
#[derive(Debug)]
pub struct Budget {
    total: u64,
    threads: u64,
    taken: AtomicU64,
}

/// Maximum size of a batch of numbers. A thread draws each batch in one step.
const BATCH_MAX: u64 = 256;

impl Budget {
    /// Returns a budget of `total` operations for `threads` threads.
    #[must_use]
    pub fn new(total: u64, threads: u32) -> Self {
        Self { total, threads: u64::from(threads.max(1)), taken: AtomicU64::new(0) }
    }

    /// Draws a batch of numbers below `bound`. The batch is empty if no such numbers are left.
    fn draw(&self, bound: u64) -> std::ops::Range<u64> {
        let end = self.total.min(bound);
        let after = |taken: u64| {
            let batch = (self.total.saturating_sub(taken) / (8 * self.threads)).clamp(1, BATCH_MAX);
            (taken + batch).min(end)
        };
        let drawn =
            self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |taken| (taken < end).then(|| after(taken)));
        drawn.map_or(0..0, |first| first..after(first))
    }

    fn is_used_up(&self) -> bool {
        self.taken.load(Ordering::Relaxed) >= self.total
    }
}

/// Result of drawing a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Draw {
    /// The number of the next operation.
    Number(u64),
    /// The next number is at or above the bound.
    AtBound,
    /// There are no more numbers.
    UsedUp,
}

/// Source of one thread's operation numbers.
#[derive(Clone, Debug)]
pub enum Tickets {
    /// Unlimited numbers. In each round, T threads use T consecutive numbers. The assignment of numbers to threads
    /// changes from round to round. If each thread always used every T-th number, it would always request the same
    /// objects. A thread with fast objects would then make most of the operations.
    Endless {
        /// The first number of the round.
        round: u64,
        /// The index of the thread.
        thread: u64,
        /// The number of threads.
        threads: u64,
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
    /// Returns unlimited numbers for the thread with index `thread` among `threads` threads.
    #[must_use]
    pub fn endless(thread: u32, threads: u32) -> Self {
        Self::endless_from(0, thread, threads)
    }

    /// Returns unlimited numbers from `first` on, for the thread with index `thread` among `threads` threads.
    #[must_use]
    pub fn endless_from(first: u64, thread: u32, threads: u32) -> Self {
        Self::Endless { round: first, thread: u64::from(thread), threads: u64::from(threads) }
    }

    /// Returns numbers from a shared budget.
    #[must_use]
    pub fn bounded(budget: Arc<Budget>) -> Self {
        Self::Bounded { budget, drawn: 0..0 }
    }

    /// Draws the next number, which must be below `bound`.
    #[inline]
    pub fn draw(&mut self, bound: u64) -> Draw {
        match self {
            Self::Endless { round, thread, threads } => {
                let number = *round + (*thread + (mix(*round) >> 32)) % *threads;
                if number >= bound {
                    return Draw::AtBound;
                }
                *round += *threads;
                Draw::Number(number)
            }
            Self::Bounded { budget, drawn } => {
                if drawn.is_empty() {
                    *drawn = budget.draw(bound);
                }
                match drawn.next() {
                    Some(number) => Draw::Number(number),
                    None if budget.is_used_up() => Draw::UsedUp,
                    None => Draw::AtBound,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Draws numbers below `bound` until there are none.
    fn rest(tickets: &mut Tickets, bound: u64) -> (Vec<u64>, Draw) {
        let mut drawn = Vec::new();
        loop {
            match tickets.draw(bound) {
                Draw::Number(number) => drawn.push(number),
                end => return (drawn, end),
            }
        }
    }

    proptest! {
        #[test]
        fn every_number_is_drawn_exactly_once(
            total in 0_u64..20_000,
            threads in 1_u32..9,
            order in prop::collection::vec(0_usize..9, 0..200),
            bounds in prop::collection::vec(0_u64..25_000, 0..5),
        ) {
            let budget = Arc::new(Budget::new(total, threads));
            let mut tickets: Vec<Tickets> = (0..threads).map(|_| Tickets::bounded(Arc::clone(&budget))).collect();
            let mut drawn = Vec::new();
            let mut bounds = bounds;
            bounds.sort_unstable();
            for bound in bounds {
                for thread in &order {
                    if let Draw::Number(number) = tickets[thread % threads as usize].draw(bound) {
                        drawn.push(number);
                    }
                }
                prop_assert!(drawn.iter().all(|number| *number < bound));
                let (more, end) = rest(&mut tickets[0], bound);
                drawn.extend(more);
                prop_assert_eq!(end, if bound < total { Draw::AtBound } else { Draw::UsedUp });
            }
            for source in &mut tickets {
                let (more, end) = rest(source, u64::MAX);
                drawn.extend(more);
                prop_assert_eq!(end, Draw::UsedUp);
            }
            drawn.sort_unstable();
            prop_assert_eq!(drawn, (0..total).collect::<Vec<_>>());
        }
    }

    #[test]
    fn endless_numbers_of_all_threads_have_no_gaps() {
        for threads in [1, 2, 3, 8] {
            let draw = |thread| (0..100).map(move |_| thread);
            let mut tickets: Vec<Tickets> =
                (0..threads).map(|thread| Tickets::endless_from(7, thread, threads)).collect();
            let mut drawn: Vec<u64> = (0..threads as usize)
                .flat_map(draw)
                .map(|thread| match tickets[thread].draw(u64::MAX) {
                    Draw::Number(number) => number,
                    end => panic!("{end:?}"),
                })
                .collect();
            drawn.sort_unstable();
            assert_eq!(drawn, (7..7 + 100 * u64::from(threads)).collect::<Vec<_>>());
        }
    }

    /// A thread whose objects are fast must not make most of the operations.
    #[test]
    fn each_thread_requests_all_objects_equally_often() {
        for (threads, objects) in [(2, 2), (2, 8), (3, 6), (4, 2)] {
            let mut tickets = Tickets::endless(1, threads);
            let mut seen = vec![0_u32; objects as usize];
            for _ in 0..1000 * objects {
                let Draw::Number(number) = tickets.draw(u64::MAX) else { panic!("the numbers are used up") };
                seen[(number % objects) as usize] += 1;
            }
            assert!(
                seen.iter().all(|count| count.abs_diff(1000) < 150),
                "{threads} threads, {objects} objects: {seen:?}"
            );
        }
    }
}
