//! The format of the `Date` header (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.

use std::io::Write;
use std::time::{SystemTime, UNIX_EPOCH};
use wire::date::Date;

const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Appends the date of `time`, in whole seconds. Times before 1970 are written as the first second of 1970.
pub(crate) fn write_date(time: SystemTime, out: &mut Vec<u8>) {
    let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let days = seconds / 86_400;
    let Date { year, month, day } = Date::from_days(days);
    let (name, month) = (DAYS[(days % 7) as usize], MONTHS[usize::from(month - 1)]);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    // Writing to memory does not fail.
    let _ = write!(out, "{name}, {day:02} {month} {year:04} {hour:02}:{minute:02}:{second:02} GMT");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn dates_match_the_calendar() {
        let date = |seconds: u64| {
            let mut out = Vec::new();
            write_date(UNIX_EPOCH + Duration::from_secs(seconds), &mut out);
            String::from_utf8(out).unwrap()
        };
        // The output of `date -u -d @SECONDS`. The second date is the example of RFC 9110.
        assert_eq!(date(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(date(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
        assert_eq!(date(951_782_400), "Tue, 29 Feb 2000 00:00:00 GMT");
        assert_eq!(date(1_709_251_199), "Thu, 29 Feb 2024 23:59:59 GMT");
        assert_eq!(date(4_107_542_400), "Mon, 01 Mar 2100 00:00:00 GMT");
    }
}
