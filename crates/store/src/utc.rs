//! Wall time in UTC for directory names and reports.

use std::fmt;
use wire::date::Date;

/// A wall time in UTC, with a resolution of one second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    /// Year, 1970 or later.
    pub year: u64,
    /// Month, 1 to 12.
    pub month: u64,
    /// Day of the month, 1 to 31.
    pub day: u64,
    /// Hour, 0 to 23.
    pub hour: u64,
    /// Minute, 0 to 59.
    pub minute: u64,
    /// Second, 0 to 59.
    pub second: u64,
}

impl Utc {
    /// Converts milliseconds since 1970.
    #[must_use]
    pub fn from_unix_ms(unix_ms: u64) -> Self {
        let seconds = unix_ms / 1000;
        let Date { year, month, day } = Date::from_days(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        Self { year, month: month.into(), day: day.into(), hour, minute, second }
    }
}

impl fmt::Display for Utc {
    /// Formats the time, for example `2026-11-21 02:30:00 UTC`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_agree_with_the_calendar() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00 UTC"),
            (951_782_399, "2000-02-28 23:59:59 UTC"),
            (951_782_400, "2000-02-29 00:00:00 UTC"),
            (1_709_251_199, "2024-02-29 23:59:59 UTC"),
            (1_795_228_200, "2026-11-21 02:30:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00 UTC"),
        ] {
            assert_eq!(Utc::from_unix_ms(seconds * 1000 + 999).to_string(), text);
        }
    }
}
