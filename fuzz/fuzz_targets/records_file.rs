//! Any bytes as the records of a run: read as far as they are sound, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let mut records = 0;
    if store::read_records(bytes, |_| records += 1).is_ok() {
        assert!(records > 0, "a run begins with a record");
    }
});
