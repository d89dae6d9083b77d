//! The monotonic clock of this process, in nanoseconds.

use std::time::{Duration, Instant};

/// Time from the zero of the clock to the start of the clock. The zero lies before the start of the process, so that
/// instants before the start can be expressed.
const HEAD_START: Duration = Duration::from_secs(1 << 32);

/// A monotonic clock with a zero in the past.
#[derive(Clone, Copy, Debug)]
pub struct ProcessClock {
    begun: Instant,
}

impl ProcessClock {
    /// Starts the clock.
    pub fn start() -> Self {
        Self { begun: Instant::now() }
    }

    /// Returns the current time.
    pub fn nanos(self) -> u64 {
        self.nanos_at(Instant::now())
    }

    /// Converts an instant to the time on this clock.
    pub fn nanos_at(self, at: Instant) -> u64 {
        let since = HEAD_START + at.saturating_duration_since(self.begun);
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    }

    /// Converts a time on this clock to an instant. Returns the start of the clock for earlier times.
    pub fn instant(self, nanos: u64) -> Instant {
        let since = Duration::from_nanos(nanos).saturating_sub(HEAD_START);
        self.begun.checked_add(since).unwrap_or(self.begun)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_instants_agree() {
        let clock = ProcessClock::start();
        let later = clock.begun + Duration::from_millis(1234);
        assert_eq!(clock.instant(clock.nanos_at(later)), later);
        assert_eq!(clock.instant(0), clock.begun);
        assert!(clock.nanos() >= clock.nanos_at(clock.begun));
    }
}
