//! A run as it is saved, and every form in which it is shown.

use measure::Model;
use store::{Begin, FORMAT, Host, LevelStage, Levels, SavedRun};

pub fn begin() -> Begin {
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
        levels: Some(Levels { from: 1.0, stages: vec![LevelStage { length_nanos: 1, level: 2.0 }] }),
        warmup_ms: 0,
        duration_ms: Some(1),
        seed: 1,
        threads: 1,
        settings: Vec::new(),
        objectives: vec![measure::Objective::DEFAULT],
        host: Host::default(),
        loopback: false,
        header: None,
        accept_not_enough_data: false,
        insecure: false,
        path: None,
        part: None,
    }
}

/// Formats the run in every form. JSON has null in place of an infinite number, so no such null may appear.
pub fn show(run: &SavedRun) {
    let texts = [
        report::text(run, &report::Style::default()),
        report::repeats(std::slice::from_ref(run), &report::Style::default()),
        report::other_tools::ab(run),
        report::other_tools::httpbench(run),
    ];
    for text in &texts {
        assert!(!text.is_empty() && !text.contains("NaN"), "{text}");
    }
    let page = report::html(run);
    let data =
        page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>")).expect("there are data").0;
    serde_json::from_str::<serde_json::Value>(data).expect("the data are JSON");
    let report = serde_json::to_string(&report::json(run)).expect("a report is always JSON");
    serde_json::from_str::<report::JsonReport>(&report).expect("a report is read again");
}

/// Returns the agents of a run of several hosts.
#[allow(dead_code)]
pub fn fleet() -> store::Fleet {
    let agent = store::FleetAgent {
        name: "client-1".into(),
        host: "host".into(),
        target: "http://127.0.0.1/".into(),
        late_nanos: -1,
        uncertainty_nanos: 1,
        drift: Some(store::ClockDrift { nanos: -1, error_nanos: 1 }),
        measured_nanos: 1,
        ok: 1,
        failed: 1,
        dropped: 1,
        body_bytes: 1,
        sent_body_bytes: 1,
        response_p50_nanos: Some(1),
        response_p99_nanos: Some(1),
        limited_by: measure::LimitedBy::Target,
        lost: None,
    };
    let alone = Some(Box::new(agent.clone()));
    let (spread_nanos, spread_limit_nanos, together_nanos) = (1, 1, 1);
    store::Fleet { run: "run".into(), spread_nanos, spread_limit_nanos, together_nanos, alone, agents: vec![agent] }
}
