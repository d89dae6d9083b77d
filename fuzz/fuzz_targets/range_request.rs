//! Arbitrary bytes as a `Range` header: satisfiable ranges lie within the object.
#![no_main]

use libfuzzer_sys::fuzz_target;
use wire::range::MAX_RANGES;
use wire::{RangeRequest, Resolved};

fuzz_target!(|data: &[u8]| {
    let Some((total, value)) = data.split_first_chunk::<8>() else { return };
    let total = u64::from_le_bytes(*total);
    let Some(request) = RangeRequest::parse(value) else { return };
    assert!((1..=MAX_RANGES).contains(&request.specs().len()));
    if let Resolved::Satisfiable(ranges) = request.resolve(total) {
        assert!(!ranges.is_empty());
        assert!(ranges.iter().all(|range| range.first() <= range.last() && range.last() < total));
    }
});
