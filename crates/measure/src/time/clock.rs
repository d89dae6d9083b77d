//! Instants and the clocks that give them.
//!
//! The engine never asks the operating system for the time: it is handed a [`Clock`], so that the same code runs on
//! real and on simulated time. An [`Instant`] counts nanoseconds from the clock's own zero, which is the start of the
//! run; wall time is only ever a label, added where records are written.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, Sub};
use std::time::Duration;

/// A point in monotonic time: nanoseconds since the zero of the clock that gave it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Instant(u64);

impl Instant {
    /// The clock's own start.
    pub const ZERO: Self = Self(0);
    /// Later than any instant that a clock can give (584 years): "no deadline".
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant so many nanoseconds after the clock's zero.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's zero.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to this instant; 0 when `earlier` is later.
    #[must_use]
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Time from `earlier` to this instant; zero when `earlier` is later.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.nanos_since(earlier))
    }

    /// Seconds since the clock's zero.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl Add<Duration> for Instant {
    type Output = Self;

    /// Saturates at [`Instant::NEVER`].
    fn add(self, span: Duration) -> Self {
        Self(self.0.saturating_add(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Instant {
    type Output = Self;

    /// Saturates at [`Instant::ZERO`].
    fn sub(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}s", self.as_secs_f64())
    }
}

/// A source of monotonic time.
pub trait Clock {
    /// The present instant. Never goes back.
    fn now(&self) -> Instant;
}

/// The operating system's monotonic clock, counted from the moment this value was made.
///
/// It is `Copy`, so that all threads of a run share one zero.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    zero: std::time::Instant,
}

impl MonotonicClock {
    /// A clock whose zero is now.
    #[must_use]
    pub fn start() -> Self {
        Self { zero: std::time::Instant::now() }
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
    fn arithmetic_saturates_instead_of_wrapping() {
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
