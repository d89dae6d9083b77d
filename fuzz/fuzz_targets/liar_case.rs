//! Arbitrary text as a case of the liar: it is parsed or rejected with a reason.
#![no_main]

use libfuzzer_sys::fuzz_target;
use server::Case;

fuzz_target!(|text: &str| {
    match Case::parse("fuzz", text) {
        Ok(case) => assert!(case.client.requests > 0),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
