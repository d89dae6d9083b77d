//! Tests of the monitor with invented slices of 100 ms.

use super::*;
use measure::{Instant, OpKind, Stage, Stats};

const OFFERED: OfferedLoad = OfferedLoad { rate: 200.0, regular: true, in_flight_max: 10_000 };

/// Returns a slice in which `slow` of 20 operations took 30 ms, and the others 5 ms.
fn slice(number: u64, slow: u64) -> Interval {
    let at = |number: u64| Instant::from_nanos(number * 100_000_000);
    let mut slice = Interval::new(Stage::Measured, at(number), at(number + 1));
    let kind = slice.stats.kind_mut(OpKind::Get);
    (0..20).for_each(|op| kind.response.record(if op < slow { 30_000_000 } else { 5_000_000 }));
    slice.stats.measured.ok = 20;
    slice
}

/// Returns a slice in which `scheduled` operations were offered and started, and `ended` ended after 5 ms each.
fn offered(number: u64, scheduled: u64, ended: u64) -> Interval {
    let mut slice = slice(number, 0);
    slice.stats = Stats::default();
    let tally = &mut slice.stats.measured;
    (tally.scheduled, tally.started, tally.ok) = (scheduled, scheduled, ended);
    (0..ended).for_each(|_| slice.stats.kind_mut(OpKind::Get).response.record(5_000_000));
    slice
}

fn objectives(texts: &[&str]) -> Vec<Objective> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

/// Returns the decision about a run in the closed model, and the number of slices that it took. `level` is the minimum
/// number of slices of a level.
fn decide(texts: &[&str], level: Option<u32>, slow: u64) -> Option<(Decision, u64)> {
    let mut monitor = ObjectiveMonitor::new(&objectives(texts), 0.05);
    if let Some(slices) = level {
        monitor = monitor.for_level(LevelRules { min_duration: SLICE * slices, may_pass_early: true, offered: None });
    }
    (0..2000).find_map(|number| Some((monitor.add_slice(&slice(number, slow))?, number + 1)))
}

#[test]
fn a_missed_objective_stops_a_level_soon() {
    let (decision, after) = decide(&["success >= 99%", "response p95 <= 20ms"], Some(50), 10).unwrap();
    assert_eq!(decision, Decision::Missed(Missed::Objective("response p95 <= 20ms".parse().unwrap())));
    // Half of the operations are slow, but only 5 % may be slow. With a constant number of operations per second, the
    // limit for the whole level is reached after 10 % of its time. If this number may double, the limit is reached
    // after 20 % of the time.
    assert!((6..=11).contains(&after), "{after}");
    let (_, after) = decide(&["response p95 <= 20ms"], None, 10).unwrap();
    assert!((120..=140).contains(&after), "without a level, slow operations must fill three spells of 2 s: {after}");
    assert!(
        decide(&["response p50 <= 20ms"], None, 2).is_none(),
        "without a level, met objectives do not stop the run"
    );
}

#[test]
fn a_level_lasts_its_time_or_half_of_it_when_certain() {
    let level = |texts: &[&str], slices| decide(texts, Some(slices), 0).unwrap();
    assert_eq!(level(&["success >= 90%", "response p90 <= 20ms"], 40), (Decision::Met, 40));
    assert_eq!(level(&["success >= 90%", "rate >= 1"], 40), (Decision::Met, 40));
    // A target with the maximum of 10 % slow operations is slow twice for 2 s in 40 s.
    assert_eq!(level(&["response p90 <= 20ms"], 1000), (Decision::Met, 500));
    let (met, after) = level(&["response p90 <= 20ms"], 600);
    assert!(met == Decision::Met && (400..=401).contains(&after), "{after}");
}

#[test]
fn a_level_lasts_until_its_objectives_have_enough_samples() {
    // p99 needs 299 operations, p99.9 needs 2995, and each slice has 20.
    assert_eq!(decide(&["response p99 <= 20ms"], Some(5), 0), Some((Decision::Met, 15)));
    assert_eq!(decide(&["response p99.9 <= 20ms"], Some(5), 0), Some((Decision::Met, 150)));
    let mut monitor = ObjectiveMonitor::new(&objectives(&["response p99.9 <= 20ms"]), 0.05);
    monitor.add_slice(&slice(0, 0));
    assert_eq!(monitor.evidence().too_few.map(|(_, all, needed)| (all, needed)), Some((20, 2995)));
}

/// Runs a level at a rate of 200/s. In each slice, `ended` operations end. Returns the decision, the number of slices
/// that it took, and the evidence.
fn on_a_rate(texts: &[&str], level: u32, ended: impl Fn(u64) -> u64) -> (Option<Decision>, u64, LevelEvidence) {
    let rules = LevelRules { min_duration: SLICE * level, may_pass_early: true, offered: Some(OFFERED) };
    let mut monitor = ObjectiveMonitor::new(&objectives(texts), 0.05).for_level(rules);
    for number in 0..400 {
        if let Some(decided) = monitor.add_slice(&offered(number, 20, ended(number))) {
            return (Some(decided), number + 1, monitor.evidence());
        }
    }
    (None, 400, monitor.evidence())
}

/// A level fails if the target does not keep up with the offered operations. The objective does not matter.
#[test]
fn a_growing_backlog_fails_a_level() {
    for texts in [&["success >= 99%"][..], &["response p99 <= 10s"], &["rate >= 10"], &["goodput >= 1B/s"]] {
        let (decided, after, evidence) = on_a_rate(texts, 50, |_| 10);
        assert_eq!(decided, Some(Decision::Missed(Missed::Backlog)), "{texts:?}");
        assert!(after <= 15 && evidence.drift == Some(Drift::Growing), "{texts:?}: {after}");
        assert!(!evidence.client_behind, "the client has started all operations");
    }
    let (decided, _, evidence) = on_a_rate(&["success >= 99%"], 50, |_| 20);
    assert_eq!((decided, evidence.drift), (Some(Decision::Met), Some(Drift::Steady)));
}

/// The number of operations that end in a slice varies so much that the variation could hide a drift.
#[test]
fn a_level_lasts_until_its_drift_is_decided() {
    let (decided, after, evidence) = on_a_rate(&["success >= 99%"], 20, |number| 10 + 20 * ((number / 2) % 2));
    assert!(after > 20 && evidence.drift != Some(Drift::Growing), "{decided:?} after {after}, {evidence:?}");
}

#[test]
fn a_backlog_that_waits_in_the_client_is_the_clients() {
    let rules = LevelRules { min_duration: SLICE * 50, may_pass_early: true, offered: Some(OFFERED) };
    let mut monitor = ObjectiveMonitor::new(&objectives(&["success >= 99%"]), 0.05).for_level(rules);
    let decided = (0..50).find_map(|number| {
        let mut slice = offered(number, 20, 10);
        slice.stats.measured.started = 10;
        monitor.add_slice(&slice)
    });
    assert_eq!(decided, Some(Decision::Missed(Missed::Backlog)));
    assert!(monitor.evidence().client_behind);
}

/// Each slice has 200 scheduled operations, and no operation ends from the fifth slice on. The number of overdue
/// operations soon exceeds the number of slow operations that the whole level may have.
#[test]
fn a_level_stops_when_the_server_hangs() {
    let hangs = |seconds: u64| {
        let schedule = OfferedLoad { rate: 2000.0, ..OFFERED };
        let rules =
            LevelRules { min_duration: Duration::from_secs(seconds), may_pass_early: true, offered: Some(schedule) };
        let mut monitor = ObjectiveMonitor::new(&objectives(&["response p99 <= 200ms"]), 0.05).for_level(rules);
        (0..50_u64)
            .find(|number| monitor.add_slice(&offered(*number, 200, if *number < 5 { 200 } else { 0 })).is_some())
    };
    // A level of 5 s has 10,000 operations, of which 1 % (100) may be slow. At the end of slice 7, the operations of
    // slices 5 to 7 have not ended, and the operations of slice 5 are overdue.
    assert_eq!(hangs(5), Some(7));
    assert_eq!(hangs(15), Some(8));
}

#[test]
fn the_warmup_decides_nothing() {
    let mut monitor = ObjectiveMonitor::new(&objectives(&["response max <= 1ms"]), 0.05);
    let warmup = Interval { stage: Stage::Warmup, ..slice(0, 20) };
    assert_eq!(monitor.add_slice(&warmup), None);
    assert!(matches!(monitor.add_slice(&slice(1, 20)), Some(Decision::Missed(_))));
}

/// A monitor that gets the sum of two parts must make the same decision as a monitor of the whole run, at the same
/// slice.
#[test]
fn the_counts_of_two_parts_decide_as_the_whole_run() {
    let objectives = objectives(&["success >= 99%", "response p95 <= 20ms"]);
    let rules = LevelRules { min_duration: SLICE * 50, may_pass_early: true, offered: Some(OFFERED) };
    let monitor = || ObjectiveMonitor::new(&objectives, 0.05).for_level(rules);
    for slow in [0, 2, 10] {
        let (mut of_whole, mut of_parts) = (monitor(), monitor());
        for number in 0..200 {
            let mut parts = [slice(number, slow), slice(number, 0)];
            for part in &mut parts {
                let tally = &mut part.stats.measured;
                (tally.scheduled, tally.started, part.in_flight) = (tally.ok, tally.ok, 3);
            }
            let [first, second] = parts.map(|part| SliceCounts::of(&part, &objectives).unwrap());
            let mut sum = first.clone();
            sum.merge(&second).unwrap();
            let mut whole = slice(number, slow);
            whole.merge(&slice(number, 0));
            let tally = &mut whole.stats.measured;
            (tally.scheduled, tally.started, whole.in_flight) = (tally.ok, tally.ok, 6);
            assert_eq!(SliceCounts::of(&whole, &objectives), Some(sum.clone()));
            let decided = of_whole.add_slice(&whole);
            assert_eq!(of_parts.add_counts(&sum), decided, "slice {number}, {slow} slow");
            if decided.is_some() {
                break;
            }
        }
        assert_eq!(of_parts.evidence(), of_whole.evidence());
    }
}

#[test]
fn counts_of_different_slices_are_not_added() {
    let objectives = objectives(&["success >= 99%"]);
    let counts = |number, objectives: &[Objective]| SliceCounts::of(&slice(number, 0), objectives).unwrap();
    let mut sum = counts(1, &objectives);
    assert_eq!(sum.merge(&counts(2, &objectives)), Err(UnlikeSlices));
    assert_eq!(sum.merge(&counts(1, &[])), Err(UnlikeSlices));
    assert_eq!(sum, counts(1, &objectives));
    let warmup = Interval::new(Stage::Warmup, Instant::ZERO, Instant::from_nanos(1));
    assert_eq!(SliceCounts::of(&warmup, &objectives), None);
}
