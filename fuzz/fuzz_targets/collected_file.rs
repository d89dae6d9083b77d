//! Files of collected values: any bytes are read to their end or to the first damage, in bounded memory.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // Half of the inputs become the lines of a valid frame, so that the fuzzer reaches the parser of records.
    let frame = zstd::bulk::compress(bytes, 1).expect("compression in memory does not fail");
    for file in [bytes, &frame] {
        let mut records = 0_u64;
        let _ = store::read_collected(file, |_| records += 1);
    }
});
