//! Any JSON as the interval of a run: what can be read can be folded, judged and shown in every form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use measure::{Interval, Model};
use store::{Begin, FORMAT, Host, SavedRun};

fn begin() -> Begin {
    Begin {
        format: FORMAT,
        version: "0".into(),
        debug_build: false,
        started_unix_ms: 0,
        command: Vec::new(),
        targets: vec!["http://host/".into()],
        urls: 1,
        model: Model::Closed { concurrency: 1 },
        load: "closed".into(),
        warmup_ms: 0,
        duration_ms: None,
        seed: 1,
        threads: 1,
        settings: Vec::new(),
        objectives: vec![measure::Objective::DEFAULT],
        host: Host::default(),
        loopback: false,
        header: None,
        insecure: false,
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(interval) = serde_json::from_slice::<Interval>(bytes) else { return };
    let run = SavedRun::of(begin(), [&interval, &interval], None);
    assert!(!report::text(&run, &report::Style::default()).is_empty());
    assert!(!report::compat::ab(&run).is_empty());
    assert!(!report::compat::httpbench(&run).is_empty());
    serde_json::to_string(&report::json(&run)).expect("a report is always JSON");
});
