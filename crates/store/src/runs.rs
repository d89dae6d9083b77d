//! Where runs are kept, and how their directories are called.

use std::fmt;
use std::path::{Path, PathBuf};

/// Characters of the target that a directory's name keeps.
const TARGET_CHARS_MAX: usize = 60;

/// A directory for a new run under `base`, like `20261121-023000-localhost_8080`, with `-2`, `-3`… when there is one
/// already. The name is made of the start in UTC and the host and port of `target`, a URL; any character of it other
/// than ASCII letters, digits, `-` and `.` becomes `_`, and user names and passwords are left out. Nothing is made on
/// disk.
#[must_use]
pub fn default_directory(base: &Path, unix_ms: u64, target: &str) -> PathBuf {
    let utc = Utc::from_unix_ms(unix_ms);
    let name = format!(
        "{:04}{:02}{:02}-{:02}{:02}{:02}-{}",
        utc.year,
        utc.month,
        utc.day,
        utc.hour,
        utc.minute,
        utc.second,
        host_and_port(target)
    );
    let numbered = (2_u32..).map(|number| base.join(format!("{name}-{number}")));
    std::iter::once(base.join(&name)).chain(numbered).find(|path| !path.exists()).unwrap_or_else(|| base.join(&name))
}

/// Host and port of a URL, or of a text that is nothing else, as part of a file name.
#[must_use]
pub fn host_and_port(target: &str) -> String {
    let rest = target.split_once("://").map_or(target, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '.' { c } else { '_' };
    let name: String = host.chars().map(safe).take(TARGET_CHARS_MAX).collect();
    if name.is_empty() { "run".into() } else { name }
}

/// A moment of wall time in UTC, for people to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Utc {
    /// Year.
    pub year: u64,
    /// Month, from 1.
    pub month: u64,
    /// Day of the month, from 1.
    pub day: u64,
    /// Hour.
    pub hour: u64,
    /// Minute.
    pub minute: u64,
    /// Second.
    pub second: u64,
}

impl Utc {
    /// From milliseconds since 1970. The date is counted in the proleptic Gregorian calendar by Hinnant's
    /// `civil_from_days` (<https://howardhinnant.github.io/date_algorithms.html>).
    #[must_use]
    pub fn from_unix_ms(unix_ms: u64) -> Self {
        let seconds = unix_ms / 1000;
        // Days since 0000-03-01, so that leap days come last in their year.
        let days = seconds / 86_400 + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * day_of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        Self {
            year: year_of_era + era * 400 + u64::from(month <= 2),
            month,
            day: day_of_year - (153 * shifted_month + 2) / 5 + 1,
            hour: seconds / 3600 % 24,
            minute: seconds / 60 % 60,
            second: seconds % 60,
        }
    }
}

impl fmt::Display for Utc {
    /// `2026-11-21 02:30:00 UTC`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { year, month, day, hour, minute, second } = self;
        write!(f, "{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02} UTC")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn names_hold_the_host_and_nothing_secret() {
        let name = |target: &str| {
            let path = default_directory(Path::new("runs"), 1_795_228_200_000, target);
            path.file_name().unwrap().to_str().unwrap().to_owned()
        };
        assert_eq!(name("http://localhost:8080/a/b?c"), "20261121-023000-localhost_8080");
        assert_eq!(name("https://me:secret@h:1/x@y"), "20261121-023000-h_1");
        assert_eq!(name("http://[::1]:80/"), "20261121-023000-___1__80");
        assert_eq!(name(""), "20261121-023000-run");
    }

    #[test]
    fn a_taken_name_gets_a_number() {
        let base = tempfile::tempdir().unwrap();
        let mut names = Vec::new();
        for _ in 0..3 {
            let path = default_directory(base.path(), 0, "http://h");
            std::fs::create_dir(&path).unwrap();
            names.push(path.file_name().unwrap().to_str().unwrap().to_owned());
        }
        assert_eq!(names, ["19700101-000000-h", "19700101-000000-h-2", "19700101-000000-h-3"]);
    }

    proptest! {
        #[test]
        fn a_name_never_leaves_its_base(target in ".{0,300}", unix_ms in 0_u64..u64::MAX) {
            let path = default_directory(Path::new("base"), unix_ms, &target);
            prop_assert_eq!(path.parent(), Some(Path::new("base")));
            let name = path.file_name().unwrap().to_str().unwrap();
            prop_assert!(name.len() < 110 && !name.starts_with('.'), "{}", name);
            prop_assert!(name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b)), "{}", name);
        }
    }
}
