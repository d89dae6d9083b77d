//! Runs of several hosts, and the part of one agent. The texts of the agents are hostile.

use super::simulation::{CALM, Op, PLAIN, begin, ended, loaded, simulate};
use super::{HOSTILE, MS, SECOND};
use measure::recorder::Pacing;
use measure::{Instant, LimitedBy, Model, Timeline};
use std::time::Duration;
use store::{ClockDrift, EndReason, Fleet, FleetAgent, FleetPart, SavedRun};

fn agent(name: &str, ok: u64, late_nanos: i64, lost: Option<&str>) -> FleetAgent {
    FleetAgent {
        name: name.into(),
        host: HOSTILE.into(),
        target: HOSTILE.into(),
        late_nanos,
        uncertainty_nanos: 60_000,
        drift: Some(ClockDrift { nanos: 3 * late_nanos, error_nanos: 70_000 }),
        measured_nanos: ok / 100 * SECOND,
        ok,
        failed: 2,
        dropped: 1,
        body_bytes: ok * 10_000,
        sent_body_bytes: 0,
        response_p50_nanos: Some(5 * MS),
        response_p99_nanos: (ok >= 500).then_some(7 * MS),
        limited_by: LimitedBy::Rate,
        lost: lost.map(str::to_owned),
    }
}

fn run(reason: EndReason, agents: Vec<FleetAgent>) -> SavedRun {
    let ops: Vec<Op> = (0..1000).map(|index| Op::ok(index * 10 * MS, index * 10 * MS + 5 * MS, 10_000)).collect();
    let load = "open, 100/s, evenly spaced, at most 10,000 in flight, 10s, divided among 3 agents";
    let begin = begin(Model::Open { in_flight_max: 10_000 }, load, Some(10 * SECOND));
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(10)));
    let intervals = loaded(simulate(timeline, Pacing::Scheduled, &ops, &[], &PLAIN), CALM);
    let mut end = ended(reason, 10 * SECOND);
    end.fleet = Some(Box::new(Fleet {
        run: "1795228200-c0ffee".into(),
        spread_nanos: 310_000,
        spread_limit_nanos: 5 * MS,
        together_nanos: 10 * SECOND,
        // 125/s, where each agent reached 100/s in the run.
        alone: Some(Box::new(FleetAgent { measured_nanos: 4 * SECOND, ..agent("client-1", 500, 0, None) })),
        agents,
    }));
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn fleet() -> SavedRun {
    let agents = vec![agent("client-1", 500, 310_000, None), agent("client-2", 500, 0, None)];
    run(EndReason::Completed, agents)
}

pub fn agents_lost() -> SavedRun {
    let agents = vec![
        agent("client-1", 500, 310_000, None),
        agent("client-2-with-a-very-long-name.example", 200, 120_000, Some(HOSTILE)),
        agent("client-3", 500, -20_000, None),
    ];
    let lost = vec!["client-2-with-a-very-long-name.example".into()];
    run(EndReason::AgentsLost { lost, agents: 3 }, agents)
}

pub fn part_of_fleet() -> SavedRun {
    let mut run = run(EndReason::Completed, Vec::new());
    run.end.iter_mut().for_each(|end| end.fleet = None);
    let part = FleetPart { run: "1795228200-c0ffee".into(), index: 1, of: 3, load: HOSTILE.into() };
    run.begin.part = Some(part);
    run
}
