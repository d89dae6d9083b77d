//! The time format of signatures: `20130524T000000Z`.

use crate::date::Date;

const DAY_SECONDS: u64 = 86_400;
/// The last second of the year 9999, the latest that the format can express.
const LAST: u64 = 2_932_897 * DAY_SECONDS - 1;

/// A time in UTC with a resolution of one second, from 1970 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(u64);

impl Timestamp {
    /// Converts Unix seconds. Times after the year 9999 become the last second of that year.
    pub fn from_unix_seconds(seconds: u64) -> Self {
        Self(seconds.min(LAST))
    }

    /// Returns Unix seconds.
    pub fn unix_seconds(self) -> u64 {
        self.0
    }

    /// Returns the number of days since 1970. A signing key is valid for one such day.
    pub(super) fn day(self) -> u64 {
        self.0 / DAY_SECONDS
    }

    /// Formats the timestamp, for example `20130524T000000Z`.
    pub(super) fn text(self) -> TimestampText {
        let Date { year, month, day } = Date::from_days(self.day());
        let second = self.0 % DAY_SECONDS;
        let mut text = *b"00000000T000000Z";
        let parts = [
            (0, year / 100),
            (2, year % 100),
            (4, month.into()),
            (6, day.into()),
            (9, second / 3600),
            (11, second / 60 % 60),
            (13, second % 60),
        ];
        for (at, value) in parts {
            // Each value is below 100.
            text[at] = b'0' + (value / 10) as u8;
            text[at + 1] = b'0' + (value % 10) as u8;
        }
        TimestampText(text)
    }

    /// Parses `20130524T000000Z` and no other form.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes: &[u8; 16] = text.as_bytes().try_into().ok()?;
        if bytes[8] != b'T' || bytes[15] != b'Z' {
            return None;
        }
        let number = |from: usize, to: usize| crate::decimal::parse_u64(&bytes[from..to]);
        let small = |from: usize| number(from, from + 2).map(|number| number as u8);
        let date = Date { year: number(0, 4)?, month: small(4)?, day: small(6)? };
        let (hour, minute, second) = (number(9, 11)?, number(11, 13)?, number(13, 15)?);
        if hour > 23 || minute > 59 || second > 59 {
            return None;
        }
        Some(Self(date.days()? * DAY_SECONDS + hour * 3600 + minute * 60 + second))
    }
}

/// A formatted timestamp.
#[derive(Debug, Clone, Copy)]
pub(super) struct TimestampText([u8; 16]);

impl TimestampText {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the day as in a scope, for example `20130524`.
    pub(super) fn day(&self) -> &[u8] {
        &self.0[..8]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(seconds: u64) -> String {
        String::from_utf8(Timestamp::from_unix_seconds(seconds).text().as_bytes().to_vec()).unwrap()
    }

    #[test]
    fn known_times_are_formatted() {
        // The expected values are from `date -u -d @SECONDS +%Y%m%dT%H%M%SZ`.
        assert_eq!(written(0), "19700101T000000Z");
        assert_eq!(written(1_369_353_600), "20130524T000000Z");
        assert_eq!(written(1_709_251_199), "20240229T235959Z");
        assert_eq!(written(u64::MAX), "99991231T235959Z");
        assert_eq!(Timestamp::from_unix_seconds(1_369_353_600).text().day(), b"20130524");
    }

    #[test]
    fn other_forms_are_rejected() {
        for text in [
            "",
            "20130524",
            "20130524T000000",
            "20130524 000000Z",
            "20130524T000000z",
            "20130524T240000Z",
            "20130524T006000Z",
            "20130524T000060Z",
            "20130229T000000Z",
            "2013-524T000000Z",
            "+0130524T000000Z",
            "19691231T235959Z",
            "20130524T000000Z ",
            "2013052\u{e9}T00000Z",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn timestamps_round_trip(seconds in 0..=LAST) {
            prop_assert_eq!(Timestamp::parse(&written(seconds)), Some(Timestamp(seconds)));
        }

        #[test]
        fn arbitrary_text_never_panics(text in "\\PC{0,20}") {
            let _ = Timestamp::parse(&text);
        }
    }
}
