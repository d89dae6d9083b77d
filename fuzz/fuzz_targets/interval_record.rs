//! Arbitrary JSON as an interval of a run: if it can be read, the run can be summarized, judged and shown in all forms.
#![no_main]

mod saved;

use libfuzzer_sys::fuzz_target;
use measure::Interval;
use store::SavedRun;

fuzz_target!(|bytes: &[u8]| {
    let Ok(interval) = serde_json::from_slice::<Interval>(bytes) else { return };
    // The run contains the interval twice, and adds the two. If they cannot be added, parsing must already have failed
    // above.
    let line = |record: serde_json::Value| zstd::bulk::compress(format!("{record}\n").as_bytes(), 1).unwrap();
    let begin = line(serde_json::json!({"begin": saved::begin()}));
    let interval = line(serde_json::json!({"interval": interval}));
    let run = SavedRun::read_from([begin, interval.clone(), interval].concat().as_slice()).expect("it has a begin");
    saved::show(&run);
});
