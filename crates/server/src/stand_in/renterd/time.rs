//! Times in Go's formats: RFC 3339 with as many decimals as needed, and the HTTP date.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wire::date::Date;

use crate::lean_front::date::write_date;

/// Formats a time as `2006-01-02T15:04:05.999999999Z`.
pub(super) fn rfc3339(time: SystemTime) -> String {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    let seconds = since.as_secs();
    let Date { year, month, day } = Date::from_days(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    let decimals = format!(".{:09}", since.subsec_nanos());
    let decimals = decimals.trim_end_matches('0').trim_end_matches('.');
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{decimals}Z")
}

/// Parses an RFC 3339 time in UTC, ignoring fractions of a second.
pub(super) fn parse_rfc3339(text: &str) -> Option<SystemTime> {
    let (date, clock) = text.strip_suffix('Z')?.split_once('T')?;
    let clock = clock.split('.').next()?;
    let mut dates = date.splitn(3, '-').map(|part| part.parse::<u64>().ok());
    let mut clocks = clock.splitn(3, ':').map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (dates.next()??, dates.next()??, dates.next()??);
    let (hour, minute, second) = (clocks.next()??, clocks.next()??, clocks.next()??);
    let days = Date { year, month: u8::try_from(month).ok()?, day: u8::try_from(day).ok()? }.days()?;
    let valid = hour < 24 && minute < 60 && second < 60;
    valid.then(|| UNIX_EPOCH + Duration::from_secs(days * 86_400 + hour * 3600 + minute * 60 + second))
}

/// Formats a time as an HTTP date.
pub(super) fn http_date(time: SystemTime) -> String {
    let mut date = Vec::new();
    write_date(time, &mut date);
    String::from_utf8(date).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_as_many_decimals_as_needed() {
        let at = |nanos: u64| UNIX_EPOCH + Duration::from_nanos(1_518_365_102_000_000_000 + nanos);
        assert_eq!(rfc3339(at(0)), "2018-02-11T16:05:02Z");
        assert_eq!(rfc3339(at(250_000_000)), "2018-02-11T16:05:02.25Z");
        assert_eq!(rfc3339(at(1)), "2018-02-11T16:05:02.000000001Z");
        assert_eq!(http_date(at(0)), "Sun, 11 Feb 2018 16:05:02 GMT");
        for text in ["2018-02-11T16:05:02Z", "2018-02-11T16:05:02.9Z"] {
            assert_eq!(parse_rfc3339(text), Some(at(0)));
        }
        for text in ["", "2018-02-11", "2018-13-11T16:05:02Z", "2018-02-11T25:05:02Z", "2018-02-11T16:05:02+01:00"] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }
}
