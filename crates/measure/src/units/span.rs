//! Time spans, such as `10s`, `1m30s`, `500ms` or `250us`. A number without a unit is in seconds.

use super::{UnitError, parse_number, split_unit};
use std::time::Duration;

const UNITS: [(&str, f64); 10] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("µs", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("m", 60e9),
    ("min", 60e9),
    ("h", 3600e9),
    ("d", 86_400e9),
    ("w", 604_800e9),
];

/// Maximum time span: 366 days.
const LONGEST_NANOS: f64 = 366.0 * 86_400e9;

/// Parses a time span of up to 366 days.
///
/// # Errors
/// Fails if the text is not such a time span. The error contains the text and the fix.
pub fn parse_span(text: &str) -> Result<Duration, UnitError> {
    let wrong = || UnitError::new(format!("`{text}` is not a span of time: write it like 10s, 1m30s, 500ms or 250us"));
    let mut rest = text.trim();
    if let Some(seconds) = parse_number(rest) {
        return span_of(seconds * 1e9).ok_or_else(wrong);
    }
    let mut nanos = 0.0;
    while !rest.is_empty() {
        let (number, _) = split_unit(rest);
        let number_value = parse_number(number).ok_or_else(wrong)?;
        rest = &rest[number.len()..];
        let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
        let (unit, tail) = rest.split_at(end);
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?;
        nanos += number_value * factor;
        rest = tail;
    }
    span_of(nanos).filter(|_| !text.trim().is_empty()).ok_or_else(wrong)
}

fn span_of(nanos: f64) -> Option<Duration> {
    (nanos <= LONGEST_NANOS).then(|| Duration::from_nanos(nanos.round() as u64))
}

/// Returns the exact span in a form that [`parse_span`] accepts, such as `1m30s`, `2.7s` or `500ms`.
#[must_use]
pub fn format_span(span: Duration) -> String {
    let mut nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    if nanos == 0 {
        return "0s".into();
    }
    let mut text = String::new();
    for (unit, size) in [("h", 3_600_000_000_000_u64), ("m", 60_000_000_000)] {
        if nanos >= size {
            text.push_str(&format!("{}{unit}", nanos / size));
            nanos %= size;
        }
    }
    // The rest is one number with decimals. In a span of a minute or more, this number is in seconds.
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
    let fits = |(_, size): &&(&str, u64)| nanos >= *size || (nanos > 0 && !text.is_empty());
    if let Some((unit, size)) = units.iter().find(fits) {
        let decimals = format!("{:0width$}", nanos % size, width = size.ilog10() as usize);
        let decimals = decimals.trim_end_matches('0');
        let point = if decimals.is_empty() { "" } else { "." };
        text.push_str(&format!("{}{point}{decimals}{unit}", nanos / size));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn format_parses_back(nanos in 0_u64..31_536_000_000_000_000) {
            // The values are whole microseconds, because a double cannot represent the number of nanoseconds in a year
            // exactly.
            let span = Duration::from_micros(nanos / 1000);
            prop_assert_eq!(parse_span(&format_span(span)), Ok(span));
        }

        #[test]
        fn never_panics(text in ".{0,20}") {
            let _ = parse_span(&text);
        }
    }

    #[test]
    fn spans_have_one_number_below_a_minute() {
        let spans =
            [(0, "0s"), (2700, "2.7s"), (500, "500ms"), (90_500, "1m30.5s"), (60_050, "1m0.05s"), (7_200_000, "2h")];
        for (millis, text) in spans {
            assert_eq!(format_span(Duration::from_millis(millis)), text);
        }
        assert_eq!(format_span(Duration::from_nanos(1)), "1ns");
        assert_eq!(format_span(Duration::from_micros(1250)), "1.25ms");
    }

    #[test]
    fn users_forms_are_accepted() {
        for (text, millis) in
            [("10", 10_000), ("10s", 10_000), ("1m30s", 90_000), ("500ms", 500), ("0.25s", 250), ("2h", 7_200_000)]
        {
            assert_eq!(parse_span(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "10x", "-1s", "1s-", "{\"a\":1}", "500d"] {
            assert!(parse_span(text).unwrap_err().to_string().contains("write it like"), "{text}");
        }
    }
}
