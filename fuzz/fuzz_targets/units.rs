//! Arbitrary text as a size, a rate or a duration: parsed values survive formatting and parsing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use measure::units::{ByteSize, Rate, format_span, parse_span};

fuzz_target!(|text: &str| {
    if let Ok(size) = text.parse::<ByteSize>() {
        assert_eq!(size.to_string().parse(), Ok(size));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        assert_eq!(rate.to_string().parse(), Ok(rate));
    }
    if let Ok(span) = parse_span(text) {
        let again = parse_span(&format_span(span)).expect("what was written is read");
        // A float has fewer digits than a year in nanoseconds, so the last digits may differ.
        assert!(again.abs_diff(span).as_nanos() <= span.as_nanos() / 1_000_000_000_000 + 1);
    }
});
