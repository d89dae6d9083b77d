//! Arbitrary bytes as a `Content-Range`: parsed values round-trip.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::ContentRange;

fuzz_target!(|data: &[u8]| {
    if let Some(parsed) = ContentRange::parse(data) {
        assert!(parsed.range.is_some() || parsed.complete.is_some());
        if let (Some(range), Some(complete)) = (parsed.range, parsed.complete) {
            assert!(range.len() <= complete && range.last() < complete);
        }
        assert_eq!(ContentRange::parse(parsed.to_string().as_bytes()), Some(parsed));
    }
});
