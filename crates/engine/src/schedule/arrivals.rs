//! The schedule of the open model. The schedule determines the intended start of the n-th operation.
//!
//! The time of an arrival never depends on when the previous operation actually started. Lateness is therefore visible
//! and does not accumulate. With constant spacing, each of T threads takes every T-th arrival. With Poisson spacing,
//! each of T threads has its own Poisson process with 1/T of the rate. All threads together thus follow the requested
//! schedule without communication. The same is true for several machines that make one load together.

use super::Profile;
use crate::plan::Part;
use crate::random::{Stream, exponential};
use measure::Instant;
use std::time::Duration;

/// Spacing of arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spacing {
    /// Even spacing.
    Constant,
    /// A Poisson process, in which the gaps between arrivals have an exponential distribution.
    Poisson,
}

/// Cursor over the arrivals of one thread.
#[derive(Clone, Debug)]
pub struct Arrivals<'p> {
    profile: &'p Profile,
    spacing: Spacing,
    seed: u64,
    thread: u32,
    threads: u32,
    part: Part,
    start: Instant,
    /// Number of arrivals taken.
    taken: u64,
    /// Value of Λ (see [`Profile::area`]) at the next arrival.
    area: f64,
    next: Option<Instant>,
}

impl<'p> Arrivals<'p> {
    /// Returns the arrivals of one thread. `thread` is its index among the `threads` threads of this part of the load,
    /// and `profile` is the profile of this part. The run starts at `start`.
    #[must_use]
    pub fn new(
        profile: &'p Profile,
        spacing: Spacing,
        seed: u64,
        (thread, threads): (u32, u32),
        part: Part,
        start: Instant,
    ) -> Self {
        let area = f64::from(thread) + part.phase();
        let mut arrivals = Self { profile, spacing, seed, thread, threads, part, start, taken: 0, area, next: None };
        if spacing == Spacing::Poisson {
            arrivals.area = arrivals.gap(0);
        }
        arrivals.next = arrivals.instant();
        arrivals
    }

    fn gap(&self, index: u64) -> f64 {
        f64::from(self.threads)
            * match self.spacing {
                Spacing::Constant => 1.0,
                Spacing::Poisson => exponential(self.seed, Stream::Arrivals(self.part.thread(self.thread)), index),
            }
    }

    fn instant(&self) -> Option<Instant> {
        let seconds = self.profile.time_of(self.area)?;
        Some(self.start + Duration::try_from_secs_f64(seconds).ok()?)
    }

    /// Returns the intended start of the next arrival; `None` at the end of the schedule.
    #[inline]
    #[must_use]
    pub fn peek(&self) -> Option<Instant> {
        self.next
    }

    /// Returns the number of the next arrival, counted over all threads of this part.
    fn number(&self) -> u64 {
        self.taken * u64::from(self.threads) + u64::from(self.thread)
    }

    /// Advances by one arrival.
    #[inline]
    pub fn advance(&mut self) {
        self.taken += 1;
        // With constant spacing, each position is computed from its number, so that rounding errors do not accumulate.
        self.area = match self.spacing {
            Spacing::Constant => self.number() as f64 + self.part.phase(),
            Spacing::Poisson => self.area + self.gap(self.taken),
        };
        self.next = self.instant();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn all(profile: &Profile, spacing: Spacing, seed: u64, threads: u32, until: Instant) -> Vec<Instant> {
        let mut starts = Vec::new();
        for thread in 0..threads {
            let mut arrivals = Arrivals::new(profile, spacing, seed, (thread, threads), Part::WHOLE, Instant::ZERO);
            while let Some(at) = arrivals.peek().filter(|at| *at < until) {
                starts.push(at);
                arrivals.advance();
            }
        }
        starts.sort_unstable();
        starts
    }

    proptest! {
        #[test]
        fn a_constant_schedule_is_the_same_for_any_number_of_threads(rate in 0.1_f64..20_000.0, threads in 1_u32..9) {
            let profile = Profile::constant(rate).unwrap();
            let until = Instant::from_nanos(2_000_000_000);
            let starts = all(&profile, Spacing::Constant, 1, threads, until);
            prop_assert_eq!(&starts, &all(&profile, Spacing::Constant, 1, 1, until));
            prop_assert_eq!(starts.len() as u64, (rate * 2.0).ceil() as u64);
            for (n, at) in starts.iter().enumerate() {
                prop_assert!((at.as_secs_f64() - n as f64 / rate).abs() < 2e-9);
            }
        }

        #[test]
        fn arrivals_of_a_ramp_follow_its_integral(level in 100.0_f64..5_000.0, threads in 1_u32..5) {
            let profile = Profile::ramp(level, Duration::from_secs(4)).unwrap();
            let starts = all(&profile, Spacing::Constant, 1, threads, Instant::from_nanos(3_000_000_000));
            prop_assert!((starts.len() as f64 - profile.area(3.0)).abs() <= 1.0);
        }
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_the_spread_of_their_kind() {
        let seed = 42;
        let profile = Profile::constant(1000.0).unwrap();
        for threads in [1, 4] {
            let starts = all(&profile, Spacing::Poisson, seed, threads, Instant::from_nanos(100_000_000_000));
            let n = starts.len() as f64;
            // 100,000 arrivals are expected, with a standard deviation of 316.
            assert!((n - 100_000.0).abs() < 4.0 * 316.3, "{n} arrivals, seed {seed}");
            let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1].nanos_since(pair[0]) as f64 / 1e6).collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
            assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "mean {mean}, variance {variance}, seed {seed}");
        }
    }

    #[test]
    fn a_million_arrivals_do_not_drift() {
        let profile = Profile::constant(3.0).unwrap();
        let mut arrivals = Arrivals::new(&profile, Spacing::Constant, 1, (0, 1), Part::WHOLE, Instant::ZERO);
        for _ in 0..3_000_000 {
            arrivals.advance();
        }
        assert_eq!(arrivals.peek(), Some(Instant::from_nanos(1_000_000 * 1_000_000_000)));
    }
}
