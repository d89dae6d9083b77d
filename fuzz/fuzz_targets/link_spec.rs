//! Descriptions of emulated paths: no text causes a panic, and an accepted description survives formatting and parsing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::{DirectionSpec, LinkSpec};

fuzz_target!(|text: &str| {
    let Ok(spec) = text.parse::<DirectionSpec>() else { return };
    let again: DirectionSpec = spec.to_string().parse().expect("the written form parses");
    assert_eq!(again.rate, spec.rate);
    let _ = LinkSpec { down: spec, up: again }.check();
});
