//! Tests that a search over the rate finds known load lines, in operations per second. Time is simulated. A server with
//! a queue admits one operation after the other at a known rate, with equal or random intervals.

#[path = "support/gate.rs"]
mod gate;
#[path = "../../engine/tests/support/mod.rs"]
mod support;

use engine::plan::StopAfter;
use engine::sim::{Reply, SimNetwork, simulate_until};
use gate::Gate;
use measure::result::load_line::{Found, LoadUnit, Outcome};
use measure::values::random::Random;
use measure::{Instant, Objective, Summary};
use std::num::NonZeroU64;
use std::time::Duration;
use study::load_line::level::{FinishedLevel, LevelDuration, level_duration, outcome};
use study::load_line::search::{Bounds, Search, SearchStep};
use study::objective_monitor::{Decision, ObjectiveMonitor, OfferedLoad, SLICE};
use support::{ms, open, plan, respond_at};

const IN_FLIGHT_MAX: u64 = 10_000;
/// Maximum relative error of a result that is below the true load line.
const BELOW: f64 = 0.05;
/// Maximum relative error of a result that is above the true load line.
const ABOVE: f64 = 0.02;

/// Runs a level and returns its outcome.
fn level(gate: Gate, rate: f64, objectives: &[Objective], duration: LevelDuration, seed: u64) -> Outcome {
    let mut plan = plan();
    plan.load = open(rate, IN_FLIGHT_MAX);
    plan.stop = StopAfter { time: Some(duration.max), ..StopAfter::default() };
    plan.slices = Some(SLICE);
    let (mut free, mut random) = (Instant::ZERO, Random::new(seed));
    let serve = move |now: Instant, _: &str| -> Vec<(Instant, Reply)> {
        let passes = free.max(now);
        let wait = if gate.random { -random.unit().ln() } else { 1.0 };
        free = passes + Duration::from_secs_f64(wait / gate.per_second);
        respond_at(passes + Duration::from_micros(200), 10)
    };
    let server = std::cell::Cell::new(Some(serve));
    let offered = OfferedLoad { rate, regular: true, in_flight_max: IN_FLIGHT_MAX };
    let rules = duration.rules(Some(offered), true);
    let mut monitor = ObjectiveMonitor::new(objectives, 0.05).for_level(rules);
    let (mut missed, mut summary) = (None, Summary::default());
    simulate_until(
        &plan,
        |_| SimNetwork::new(server.take().unwrap()),
        |slice| {
            summary.add(&plan.load.model(), &slice);
            match monitor.add_slice(&slice) {
                Some(Decision::Missed(what)) => {
                    missed.get_or_insert(what.to_string());
                    true
                }
                Some(Decision::Met) => true,
                None => false,
            }
        },
    );
    summary.all = summary.stats.all_kinds();
    let judge = |objective: &Objective| (*objective, objective.judge(&summary, &plan.load.model()).outcome);
    let objectives: Vec<_> = objectives.iter().map(judge).collect();
    outcome(&FinishedLevel {
        evidence: monitor.evidence(),
        objectives: &objectives,
        stopped_for: missed.as_deref(),
        target_fault: None,
        client_limit: None,
        unusable: None,
        client_delays: false,
        any_ended: summary.stats.measured.completed() > 0,
    })
}

/// Runs a search with levels that normally take `usual`. Returns its result, and the rate and outcome of each level.
fn search(gate: Gate, objectives: &[Objective], usual: Duration) -> (Found, Vec<(f64, Outcome)>) {
    let steps = LoadUnit::Rate.steps();
    let whole = |rate: u64| NonZeroU64::new(rate * steps).unwrap();
    let mut search = Search::new(Bounds { least: whole(1), from: whole(100), to: whole(100_000), precision: 0.02 });
    let mut levels = Vec::new();
    loop {
        match search.next() {
            SearchStep::Done(found) => return (found, levels),
            SearchStep::Try(level_steps) => {
                let rate = level_steps as f64 / steps as f64;
                let limit = Duration::from_secs_f64(150_000.0 / gate.per_second).max(usual);
                let duration = level_duration(objectives, Some(rate), usual, limit);
                let outcome = level(gate, rate, objectives, duration, 1000 + levels.len() as u64);
                search.record(&outcome);
                levels.push((rate, outcome));
            }
        }
    }
}

/// Checks that a search finds the load line of a server with the default objective. If there is a `bound`, the search
/// also has an objective on p99.
fn check(gate: Gate, bound: Option<Duration>) {
    let mut objectives = vec![Objective::DEFAULT];
    objectives.extend(bound.map(|bound| format!("p99 <= {}ms", bound.as_millis()).parse::<Objective>().unwrap()));
    let truth = gate.line(bound);
    // A level of usual duration has 30,000 operations. Even 10,000 operations are enough to measure a share of 1 % with
    // a relative error of 10 %.
    let seconds = if gate.random && bound.is_some() { 30_000.0 / truth } else { 5.0 };
    let (found, levels) = search(gate, &objectives, Duration::from_secs_f64(seconds));
    let (Found::Line { passed, .. } | Found::AtLeast { passed }) = found else {
        panic!("{gate:?} {bound:?}, truth {truth}: {found:?} {levels:?}")
    };
    let passed = passed as f64 / LoadUnit::Rate.steps() as f64;
    let share = passed / truth;
    println!(
        "{gate:?} {bound:?}: {passed}/s, truth {truth:.1}/s, {:+.1} %, {} levels",
        (share - 1.0) * 100.0,
        levels.len()
    );
    assert!(
        (1.0 - BELOW..=1.0 + ABOVE).contains(&share),
        "{gate:?} {bound:?}: {passed}/s, truth {truth:.1}/s: {levels:?}"
    );
}

/// Checks servers of one capacity, with equal and random intervals and with different bounds.
fn check_all(per_second: f64) {
    for random in [false, true] {
        for bound in [None, Some(ms(100)), Some(ms(2000))] {
            check(Gate { per_second, random }, bound);
        }
    }
}

#[test]
fn five_per_second() {
    check_all(5.0);
}

#[test]
fn fifty_per_second() {
    check_all(50.0);
}

#[test]
fn eight_hundred_per_second() {
    check_all(800.0);
}

#[test]
fn five_thousand_per_second() {
    check_all(5000.0);
}
