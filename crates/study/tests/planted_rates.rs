//! Load lines on a rate that were planted are found: servers on simulated time that let operations pass one after the other at a
//! known rate, regularly or at random intervals, with a queue before them.

#[path = "support/gate.rs"]
mod gate;
#[path = "../../engine/tests/support/mod.rs"]
mod support;

use engine::plan::StopAfter;
use engine::sim::{Reply, SimNetwork, simulate_until};
use gate::Gate;
use measure::load_line::{Found, LoadUnit, Outcome};
use measure::random::Random;
use measure::{Instant, Objective, Summary};
use std::num::NonZeroU64;
use std::time::Duration;
use study::decision::{Decided, Decision, Offered, SLICE};
use study::level::{Shown, Times};
use study::line::{Bounds, Search, Step};
use support::{answer_at, ms, open, plan};

const IN_FLIGHT_MAX: u64 = 10_000;
/// How far the search may be below the truth, and above it.
const BELOW: f64 = 0.05;
const ABOVE: f64 = 0.02;

/// The result of a level.
fn level(gate: Gate, rate: f64, objectives: &[Objective], times: Times, seed: u64) -> Outcome {
    let mut plan = plan();
    plan.load = open(rate, IN_FLIGHT_MAX);
    plan.stop = StopAfter { time: Some(times.most), ..StopAfter::default() };
    plan.slices = Some(SLICE);
    let (mut free, mut random) = (Instant::ZERO, Random::new(seed));
    let serve = move |now: Instant, _: &str| -> Vec<(Instant, Reply)> {
        let passes = free.max(now);
        let wait = if gate.random { -random.unit().ln() } else { 1.0 };
        free = passes + Duration::from_secs_f64(wait / gate.per_second);
        answer_at(passes + Duration::from_micros(200), 10)
    };
    let server = std::cell::Cell::new(Some(serve));
    let offered = Offered { rate, regular: true, in_flight_max: IN_FLIGHT_MAX };
    let mut decision = Decision::new(objectives, 0.05).holding(times.hold(Some(offered), true));
    let (mut missed, mut summary) = (None, Summary::default());
    simulate_until(
        &plan,
        |_| SimNetwork::new(server.take().unwrap()),
        |slice| {
            summary.add(&plan.load.model(), &slice);
            match decision.slice(&slice) {
                Some(Decided::Broken(what)) => {
                    missed.get_or_insert(what.to_string());
                    true
                }
                Some(Decided::Met) => true,
                None => false,
            }
        },
    );
    summary.all = summary.stats.all_kinds();
    let judge = |objective: &Objective| (*objective, objective.judge(&summary, &plan.load.model()).judgement);
    let judged: Vec<_> = objectives.iter().map(judge).collect();
    study::level::outcome(&Shown {
        evidence: decision.evidence(),
        judged: &judged,
        ended: missed.as_deref(),
        fault: None,
        client: None,
        unusable: None,
        holds_up: false,
        any_ended: summary.stats.measured.completed() > 0,
    })
}

fn found(gate: Gate, objectives: &[Objective], held: Duration) -> (Found, Vec<(f64, Outcome)>) {
    let steps = LoadUnit::Rate.steps();
    let whole = |rate: u64| NonZeroU64::new(rate * steps).unwrap();
    let mut search = Search::new(Bounds { least: whole(1), from: whole(100), to: whole(100_000), precision: 0.02 });
    let mut levels = Vec::new();
    loop {
        match search.next() {
            Step::Done(found) => return (found, levels),
            Step::Try(level_steps) => {
                let rate = level_steps as f64 / steps as f64;
                let limit = Duration::from_secs_f64(150_000.0 / gate.per_second).max(held);
                let times = study::level::times(objectives, Some(rate), held, limit);
                let outcome = level(gate, rate, objectives, times, 1000 + levels.len() as u64);
                search.tell(&outcome);
                levels.push((rate, outcome));
            }
        }
    }
}

/// Searches for the line of a server, under an objective on p99 or the default one alone.
fn check(gate: Gate, bound: Option<Duration>) {
    let mut objectives = vec![Objective::DEFAULT];
    objectives.extend(bound.map(|bound| format!("p99 <= {}ms", bound.as_millis()).parse::<Objective>().unwrap()));
    let truth = gate.line(bound);
    // A share of 1 % is known to a tenth of itself from 10,000 operations on.
    let held = if gate.random && bound.is_some() { 30_000.0 / truth } else { 5.0 };
    let (found, levels) = found(gate, &objectives, Duration::from_secs_f64(held));
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

fn all(per_second: f64) {
    for random in [false, true] {
        for bound in [None, Some(ms(100)), Some(ms(2000))] {
            check(Gate { per_second, random }, bound);
        }
    }
}

#[test]
fn five_per_second() {
    all(5.0);
}

#[test]
fn fifty_per_second() {
    all(50.0);
}

#[test]
fn eight_hundred_per_second() {
    all(800.0);
}

#[test]
fn five_thousand_per_second() {
    all(5000.0);
}
