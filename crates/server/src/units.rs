//! Sizes and spans of time as they stand in a target or a script. `kB` is 1000, `KiB` 1024, and a bare `K` is refused.

use std::time::Duration;

/// What was wrong with a size or a span, and what would have been right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// Not a size.
    #[error("not a size: write it like 4096, 100kB (x1000) or 1MiB (x1024), in whole bytes")]
    Size,
    /// 16 EiB or more.
    #[error("too large: the largest size is 18446744073709551615 bytes (16 EiB - 1)")]
    TooLarge,
    /// Not a span of time.
    #[error("not a span of time: write it like 250us, 20ms, 2s or 1m, in whole numbers, up to 10m")]
    Span,
}

const SIZES: [(&str, u64); 15] = [
    ("", 1),
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
    ("PB", 1_000_000_000_000_000),
    ("PiB", 1 << 50),
    ("EB", 1_000_000_000_000_000_000),
    ("EiB", 1 << 60),
];

const SPANS: [(&str, u64); 4] = [("us", 1_000), ("ms", 1_000_000), ("s", 1_000_000_000), ("m", 60_000_000_000)];

/// The longest span.
const SPAN_MAX: Duration = Duration::from_secs(600);

/// Reads a size in bytes: digits and a unit, up to 16 EiB − 1.
///
/// # Errors
/// Says what would have been right.
pub fn parse_size(text: &str) -> Result<u64, UnitError> {
    let (digits, unit) = split(text);
    if digits.is_empty() {
        return Err(UnitError::Size);
    }
    let (_, factor) = SIZES.iter().find(|(name, _)| *name == unit).ok_or(UnitError::Size)?;
    let number: u64 = digits.parse().map_err(|_| UnitError::TooLarge)?;
    number.checked_mul(*factor).ok_or(UnitError::TooLarge)
}

/// Reads a span of time: digits and a unit, up to 10 minutes.
///
/// # Errors
/// Says what would have been right.
pub fn parse_span(text: &str) -> Result<Duration, UnitError> {
    let (digits, unit) = split(text);
    let (_, nanos) = SPANS.iter().find(|(name, _)| *name == unit).ok_or(UnitError::Span)?;
    let number: u64 = digits.parse().map_err(|_| UnitError::Span)?;
    let span = number.checked_mul(*nanos).map(Duration::from_nanos).ok_or(UnitError::Span)?;
    if span <= SPAN_MAX { Ok(span) } else { Err(UnitError::Span) }
}

fn split(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_say_what_they_mean_or_are_refused() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("1B", 1),
            ("100kB", 100_000),
            ("1KiB", 1024),
            ("10GiB", 10 << 30),
            ("15EiB", 15 << 60),
            ("18446744073709551615", u64::MAX),
            ("18EB", 18_000_000_000_000_000_000),
        ] {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
        for text in ["", "B", "K", "1K", "1M", "-1", "+1", "1.5KiB", " 1", "1 ", "1kb", "1KiB/x", "\u{661}", "1e3"] {
            assert_eq!(parse_size(text), Err(UnitError::Size), "{text}");
        }
        for text in ["16EiB", "18446744073709551616", "99999999999999999999999", "19EB"] {
            assert_eq!(parse_size(text), Err(UnitError::TooLarge), "{text}");
        }
    }

    #[test]
    fn spans_are_whole_and_bounded() {
        for (text, micros) in [("0s", 0), ("250us", 250), ("20ms", 20_000), ("2s", 2_000_000), ("10m", 600_000_000)] {
            assert_eq!(parse_span(text), Ok(Duration::from_micros(micros)), "{text}");
        }
        for text in ["", "20", "ms", "-1ms", "1.5s", "11m", "601s", "1h", "99999999999999999999us", "20 ms"] {
            assert_eq!(parse_span(text), Err(UnitError::Span), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_size_reads_back(number in any::<u64>(), unit in 0..SIZES.len()) {
            let (name, factor) = SIZES[unit];
            let expected = number.checked_mul(factor).ok_or(UnitError::TooLarge);
            prop_assert_eq!(parse_size(&format!("{number}{name}")), expected);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,24}") {
            if let Ok(bytes) = parse_size(&text) {
                prop_assert!(text.starts_with(|c: char| c.is_ascii_digit()));
                let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
                prop_assert!(bytes == 0 || bytes >= digits.parse::<u64>().unwrap());
            }
            if let Ok(span) = parse_span(&text) {
                prop_assert!(span <= SPAN_MAX);
            }
        }
    }
}
