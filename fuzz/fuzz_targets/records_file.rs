//! Arbitrary bytes as the records of a run: the valid beginning is read and shown, without a panic.
#![no_main]

#[allow(dead_code, reason = "each target uses what it needs")]
mod saved;

use libfuzzer_sys::fuzz_target;
use store::SavedRun;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(run) = SavedRun::read_from(bytes) {
        saved::show(&run);
    }
});
