//! UTC times with a resolution of one second.

use std::fmt;
use std::str::FromStr;

use wire::date::Date;

/// A UTC time in seconds since 1970. The text of such a time has no time zone, for example `2018-02-11T16:05:02`. The
/// study's collector wrote times in this form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcSecond(pub u64);

impl fmt::Display for UtcSecond {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Date { year, month, day }, second) = (Date::from_days(self.0 / 86_400), self.0 % 86_400);
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        write!(f, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}")
    }
}

/// An error from parsing a [`UtcSecond`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a time like 2018-02-11T16:05:02")]
pub struct TimeError;

impl FromStr for UtcSecond {
    type Err = TimeError;

    /// Parses a time in the format of `Display`. Ignores a fraction of a second and a `Z`, which renterd adds.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        let text = text.strip_suffix('Z').unwrap_or(text).as_bytes();
        let (text, fraction) = text.split_at_checked(19).ok_or(TimeError)?;
        let valid_fraction = match fraction {
            [] => true,
            [b'.', digits @ ..] => !digits.is_empty() && digits.iter().all(u8::is_ascii_digit),
            _ => false,
        };
        let marks = [(4, b'-'), (7, b'-'), (10, b'T'), (13, b':'), (16, b':')];
        if !valid_fraction || marks.iter().any(|(at, mark)| text[*at] != *mark) {
            return Err(TimeError);
        }
        let number = |from: usize, to: usize| {
            let digits = str::from_utf8(&text[from..to]).ok().filter(|digits| !digits.starts_with('+'));
            digits.and_then(|digits| digits.parse::<u64>().ok()).ok_or(TimeError)
        };
        let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
        let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
        let date = Date { year, month: month as u8, day: day as u8 };
        let days = date.days().filter(|_| hour < 24 && minute < 60 && second < 60).ok_or(TimeError)?;
        Ok(Self(days * 86_400 + hour * 3600 + minute * 60 + second))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn times_are_written_as_the_collector_wrote_them() {
        assert_eq!(UtcSecond(1_518_365_102).to_string(), "2018-02-11T16:05:02");
        assert_eq!("2018-02-11T16:05:02".parse(), Ok(UtcSecond(1_518_365_102)));
        assert_eq!("2018-02-11T16:05:02.25Z".parse(), Ok(UtcSecond(1_518_365_102)));
        for text in [
            "",
            "2018-02-11",
            "2018-02-30T00:00:00",
            "2018-02-11 16:05:02",
            "2018-02-11T24:00:00",
            "2018-02-11T16:05:02.",
            "2018-02-11T16:05:02+01:00",
            "201x-02-11T16:05:02",
            "éééééééééé",
        ] {
            assert_eq!(text.parse::<UtcSecond>(), Err(TimeError), "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_time_survives_its_text(second in 0..253_402_300_800_u64) {
            prop_assert_eq!(UtcSecond(second).to_string().parse(), Ok(UtcSecond(second)));
        }
    }
}
