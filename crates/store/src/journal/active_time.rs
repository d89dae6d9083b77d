//! The time during which a session ran.
//!
//! Wall clocks can be set while a fill runs, and a session that waits for its target may write nothing for hours. A
//! session therefore regularly records its duration by a monotonic clock. The time from the last of these records to
//! later records is taken from the wall clock, but is limited to the usual time between two of these records.

use std::time::Duration;

/// Longest time between two [`super::Record::Alive`] records of a running session.
pub const ALIVE_EVERY: Duration = Duration::from_secs(10);

/// The time during which a session ran, computed from its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActiveTime {
    /// Active time at the last [`super::Record::Alive`], in milliseconds.
    recorded_ms: u64,
    /// Wall time of that record or of the start, in milliseconds since 1970.
    recorded_unix_ms: u64,
    /// Longest time so far from `recorded_unix_ms` to a later record, in milliseconds.
    since_ms: u64,
}

impl ActiveTime {
    /// Returns the time of a session that starts at this wall time.
    #[must_use]
    pub fn starting(unix_ms: u64) -> Self {
        Self { recorded_ms: 0, recorded_unix_ms: unix_ms, since_ms: 0 }
    }

    /// Adds a [`super::Record::Alive`] that was written at this wall time.
    pub fn record(&mut self, active_ms: u64, unix_ms: u64) {
        // The active time never decreases.
        let recorded_ms = self.recorded_ms.saturating_add(self.since_ms).max(active_ms);
        *self = Self { recorded_ms, recorded_unix_ms: unix_ms, since_ms: 0 };
    }

    /// Adds any other record that was written at this wall time.
    pub fn saw(&mut self, unix_ms: u64) {
        let since_ms = unix_ms.saturating_sub(self.recorded_unix_ms).min(ALIVE_EVERY.as_millis() as u64);
        self.since_ms = self.since_ms.max(since_ms);
    }

    /// Returns the time during which the session has run.
    #[must_use]
    pub fn get(&self) -> Duration {
        Duration::from_millis(self.recorded_ms.saturating_add(self.since_ms))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_795_228_200_000;

    fn secs(time: &ActiveTime) -> u64 {
        time.get().as_secs()
    }

    #[test]
    fn steps_of_the_wall_clock_do_not_count() {
        let mut time = ActiveTime::starting(START);
        time.saw(START + 4000);
        assert_eq!(secs(&time), 4);
        time.saw(START + 86_400_000);
        assert_eq!(secs(&time), 10, "a step forward by a day");
        time.record(12_000, START + 86_402_000);
        time.saw(START);
        assert_eq!(secs(&time), 12, "a step back");
        time.record(22_000, START + 10_000);
        time.saw(START + 13_000);
        assert_eq!(secs(&time), 25);
    }

    #[test]
    fn time_without_other_records_counts() {
        let mut time = ActiveTime::starting(START);
        for second in (10..=3600).step_by(10) {
            time.record(second * 1000, START + second * 1000);
        }
        assert_eq!(secs(&time), 3600);
    }
}
