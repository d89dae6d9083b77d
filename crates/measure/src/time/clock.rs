//! Instants, and the clocks that return them.
//!
//! The engine never reads the time directly from the operating system. The engine uses a [`Clock`] instead, so the same
//! code runs on real and on simulated time. An [`Instant`] is a number of nanoseconds since its clock was zero, which
//! was at the start of the run. Wall time is only a label that is added when records are written.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// Point in monotonic time, in nanoseconds since its clock was zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

impl Instant {
    /// The instant at which the clock is zero.
    pub const ZERO: Self = Self(0);
    /// Instant that no clock reaches, after 584 years. This instant stands for "no deadline".
    pub const NEVER: Self = Self(u64::MAX);

    /// Returns the instant `nanos` nanoseconds after the clock's zero.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Returns the nanoseconds since the clock's zero.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Returns the nanoseconds from `earlier` to this instant; 0 if `earlier` is later.
    #[must_use]
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the time from `earlier` to this instant; zero if `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos_since(earlier))
    }

    /// Returns the seconds since the clock's zero.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Returns the sum, at most [`Instant::NEVER`].
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Returns the difference, at least [`Instant::ZERO`].
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs_f64())
    }
}

/// Source of monotonic time.
pub trait Clock {
    /// Returns the current instant. The instants never decrease.
    fn now(&self) -> Instant;
}

/// Monotonic clock of the operating system. The clock is usually zero when it is created.
///
/// The clock is `Copy`, so that the copies in all threads of a run are zero at the same instant.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    zero: std::time::Instant,
}

impl MonotonicClock {
    /// Creates a clock that is zero now.
    #[must_use]
    pub fn start() -> Self {
        Self::starting_at(std::time::Instant::now())
    }

    /// Creates a clock that is zero at this instant. Before this instant, the clock stands at zero.
    #[must_use]
    pub fn starting_at(zero: std::time::Instant) -> Self {
        Self { zero }
    }

    /// Returns the time until the clock leaves zero, or zero if it already has.
    #[must_use]
    pub fn until_zero(&self) -> Duration {
        self.zero.saturating_duration_since(std::time::Instant::now())
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Instant {
        let span = self.zero.elapsed();
        Instant(span.as_secs() * 1_000_000_000 + u64::from(span.subsec_nanos()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        let one = Instant::from_nanos(1);
        assert_eq!(one - Duration::from_secs(1), Instant::ZERO);
        assert_eq!(one + Duration::MAX, Instant::NEVER);
        assert_eq!(one.nanos_since(Instant::from_nanos(5)), 0);
    }

    #[test]
    fn the_monotonic_clock_never_goes_back() {
        let clock = MonotonicClock::start();
        let mut last = clock.now();
        for _ in 0..10_000 {
            let now = clock.now();
            assert!(now >= last);
            last = now;
        }
    }
}
