//! Calendar dates as days since 1970, and the date format of HTTP. Modules that need other date formats implement them.

/// A day of the Gregorian calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Date {
    /// Year, 1970 or later.
    pub year: u64,
    /// Month, 1 to 12.
    pub month: u8,
    /// Day of the month, 1 to 31.
    pub day: u8,
}

impl Date {
    /// Returns the date `days` days after 1970-01-01. The algorithm counts in cycles of 400 years that begin in March
    /// (`civil_from_days`, <https://howardhinnant.github.io/date_algorithms.html>).
    pub fn from_days(days: u64) -> Self {
        let shifted = days + 719_468;
        let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * from_march + 2) / 5 + 1;
        let month = (from_march + 2) % 12 + 1;
        let year = era * 400 + year_of_era + u64::from(month < 3);
        Self { year, month: month as u8, day: day as u8 }
    }

    /// Returns the days since 1970-01-01 (`days_from_civil`, from the same source as in [`Self::from_days`]). `None` if
    /// the date does not exist.
    pub fn days(self) -> Option<u64> {
        if !(1..=12).contains(&self.month) || !(1..=31).contains(&self.day) || self.year > 9999 {
            return None;
        }
        let month = u64::from(self.month);
        let year = self.year.checked_sub(u64::from(month < 3))?;
        let (era, year_of_era) = (year / 400, year % 400);
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + u64::from(self.day) - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        let days = (era * 146_097 + day_of_era).checked_sub(719_468)?;
        // A date that does not exist, such as the 31st of a month with 30 days, is converted back to a different date.
        (Self::from_days(days) == self).then_some(days)
    }
}

/// Parses an HTTP date in the preferred format, `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110 §5.6.7), and returns it in
/// Unix seconds. `None` for other formats. The name of the weekday is not checked.
pub fn http_seconds(text: &[u8]) -> Option<u64> {
    const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";
    let text: &[u8; 29] = text.trim_ascii().try_into().ok()?;
    let number = |from: usize, to: usize| crate::decimal::parse_u64(&text[from..to]);
    let form = [(3, b','), (4, b' '), (7, b' '), (11, b' '), (16, b' '), (19, b':'), (22, b':')];
    if form.iter().any(|(at, wanted)| text[*at] != *wanted) || &text[25..] != b" GMT" {
        return None;
    }
    let month = MONTHS.chunks_exact(3).position(|name| name == &text[8..11])? as u8 + 1;
    let days = Date { year: number(12, 16)?, month, day: u8::try_from(number(5, 7)?).ok()? }.days()?;
    let (hour, minute, second) = (number(17, 19)?, number(20, 22)?, number(23, 25)?);
    // A leap second counts as the first second of the next minute.
    (hour < 24 && minute < 60 && second <= 60).then_some(days * 86_400 + hour * 3600 + minute * 60 + second)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_days_are_consecutive_dates_and_round_trip() {
        let mut before = Date::from_days(0);
        assert_eq!(before, Date { year: 1970, month: 1, day: 1 });
        for days in 1..2_932_897 {
            let date = Date::from_days(days);
            let each = |years| before.year.is_multiple_of(years);
            let leap = each(4) && (!each(100) || each(400));
            let last = match before.month {
                2 => 28 + u8::from(leap),
                4 | 6 | 9 | 11 => 30,
                _ => 31,
            };
            let expected = match (before.month, before.day) {
                (12, 31) => Date { year: before.year + 1, month: 1, day: 1 },
                (month, day) if day == last => Date { year: before.year, month: month + 1, day: 1 },
                (month, day) => Date { year: before.year, month, day: day + 1 },
            };
            assert_eq!(date, expected);
            assert_eq!(date.days(), Some(days));
            before = date;
        }
        assert_eq!(before, Date { year: 9999, month: 12, day: 31 });
    }

    #[test]
    fn http_dates_are_parsed() {
        assert_eq!(http_seconds(b"Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        assert_eq!(http_seconds(b" Thu, 01 Jan 1970 00:00:00 GMT "), Some(0));
        for text in [
            "",
            "Sun, 06 Nov 1994 08:49:37 UTC",
            "Sun, 31 Feb 1994 08:49:37 GMT",
            "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 24:00:00 GMT",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun, +6 Nov 1994 08:49:37 GMT",
        ] {
            assert_eq!(http_seconds(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn dates_that_do_not_exist_are_rejected() {
        for (year, month, day) in [
            (2023, 2, 29),
            (2024, 2, 30),
            (2024, 4, 31),
            (2024, 13, 1),
            (2024, 0, 1),
            (2024, 1, 0),
            (1969, 12, 31),
            (0, 1, 1),
            (10_000, 1, 1),
        ] {
            assert_eq!(Date { year, month, day }.days(), None, "{year}-{month}-{day}");
        }
    }
}
