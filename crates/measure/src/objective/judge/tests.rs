//! Tests that judge runs with known properties.

use super::*;
use crate::sample::OpKind;
use crate::stats::Stats;

const CLOSED: Model = Model::Closed { concurrency: 10 };

fn judged(text: &str, summary: &Summary) -> ObjectiveOutcome {
    text.parse::<Objective>().unwrap().judge(summary, &CLOSED).outcome
}

/// Returns a summary of a run with operations of one kind.
fn summary(kind: KindStats, dropped: u64) -> Summary {
    let mut summary = Summary::default();
    let tally = &mut summary.stats.measured;
    (tally.ok, tally.failed, tally.unfinished, tally.dropped) = (kind.ok, kind.failed, kind.unfinished, dropped);
    *summary.stats.kind_mut(OpKind::Get) = kind;
    summary.all = summary.stats.all_kinds();
    summary
}

fn successes(values: impl IntoIterator<Item = u64>) -> KindStats {
    let mut kind = KindStats::default();
    for ms in values {
        kind.ok += 1;
        kind.response.record(ms * 1_000_000);
    }
    kind
}

/// Checks that an objective is missed if more operations than the tolerated share exceed its bound.
#[test]
fn operations_beyond_the_bound_agree_with_the_judgement() {
    let mut random = crate::values::random::Random::new(5);
    for round in 0..300 {
        let mut stats = Stats::default();
        for _ in 0..40 + random.below(400) {
            let kind = stats.kind_mut(if random.below(2) == 0 { OpKind::Get } else { OpKind::Put });
            kind.response.record(1_000_000 + random.below(30_000_000) as u64);
            kind.speed.record(1 + random.below(40_000_000) as u64);
            kind.ok += 1;
            stats.measured.ok += 1;
        }
        stats.measured.failed = random.below(30) as u64;
        stats.kind_mut(OpKind::Get).failed = stats.measured.failed;
        stats.measured.dropped = random.below(4) as u64;
        let summary = Summary { all: stats.all_kinds(), stats, ..Summary::default() };
        for text in ["success >= 95%", "response p90 <= 27ms", "p50 <= 17ms", "max <= 32ms", "speed p10 >= 4MB/s"] {
            let objective: Objective = text.parse().unwrap();
            let (beyond, all) = objective.beyond(&summary.stats);
            let tolerated = objective.tolerated().unwrap() * all as f64;
            // For speeds, the rank of the quantile is rounded up, so the objective is missed even if exactly the
            // tolerated share is too slow.
            let missed = match objective.metric {
                Metric::Speed(_) => beyond as f64 >= tolerated - ROUNDING,
                _ => beyond as f64 > tolerated + ROUNDING,
            };
            let wanted = if missed { ObjectiveOutcome::Missed } else { ObjectiveOutcome::Met };
            let found = objective.judge(&summary, &CLOSED).outcome;
            assert_eq!(found, wanted, "seed 5, round {round}, {text}: {beyond} of {all}");
        }
    }
}

#[test]
fn drops_and_failures_lower_success_but_healthy_unfinished_operations_do_not() {
    let default = |summary: &Summary| Objective::DEFAULT.judge(summary, &CLOSED).outcome;
    assert_eq!(default(&Summary::default()), ObjectiveOutcome::NotEnoughData);
    let mut kind = KindStats { unfinished: 50, ..KindStats::default() };
    assert_eq!(default(&summary(kind.clone(), 0)), ObjectiveOutcome::NotEnoughData);
    kind.unanswered_wait.record(1_000_000);
    assert_eq!(
        default(&summary(kind, 0)),
        ObjectiveOutcome::Missed,
        "a target that never responds misses the objective"
    );
    let mut kind = successes([1; 99]);
    kind.failed = 1;
    assert_eq!(default(&summary(kind.clone(), 0)), ObjectiveOutcome::Met);
    assert_eq!(default(&summary(kind, 1)), ObjectiveOutcome::Missed);
}

#[test]
fn operations_cut_off_by_the_end_of_the_run_are_not_failures() {
    let mut kind = successes([10; 50]);
    kind.unfinished = 10;
    (0..10).for_each(|_| kind.unanswered_wait.record(9_000_000));
    assert_eq!(summary(kind.clone(), 0).success(), Some(1.0));
    kind.unanswered_wait.record(2_000_000_000);
    assert_eq!(summary(kind, 0).success(), Some(50.0 / 51.0), "a hanging operation counts as failed");
}

#[test]
fn failures_and_drops_exceed_every_time() {
    assert_eq!(judged("response p99 <= 10ms", &Summary::default()), ObjectiveOutcome::NotEnoughData);
    let kind = successes((1..=300).map(|n| n % 100));
    assert_eq!(judged("response p50 <= 51ms", &summary(kind.clone(), 0)), ObjectiveOutcome::Met);
    assert_eq!(judged("response p99 <= 98.5ms", &summary(kind.clone(), 0)), ObjectiveOutcome::Met);
    assert_eq!(judged("response p99 <= 97ms", &summary(kind.clone(), 0)), ObjectiveOutcome::Missed);
    assert_eq!(judged("response max <= 100ms", &summary(kind.clone(), 0)), ObjectiveOutcome::Met);
    assert_eq!(judged("response max <= 100ms", &summary(kind.clone(), 1)), ObjectiveOutcome::Missed);
    let failed = KindStats { failed: 301, ..kind };
    assert_eq!(judged("response p50 <= 1h", &summary(failed, 0)), ObjectiveOutcome::Missed);
}

#[test]
fn percentiles_need_their_samples() {
    assert_eq!(judged("p99.99 <= 5ms", &summary(successes([1; 5]), 0)), ObjectiveOutcome::NotEnoughData);
    assert_eq!(judged("p99 <= 5ms", &summary(successes([1; 298]), 0)), ObjectiveOutcome::NotEnoughData);
    assert_eq!(judged("p99 <= 5ms", &summary(successes([1; 299]), 0)), ObjectiveOutcome::Met);
    assert_eq!(judged("max <= 5ms", &summary(successes([1]), 0)), ObjectiveOutcome::Met);
    // Two slow operations of 100 may be chance if 1 % is tolerated. Ten are too many.
    let slow = |slow: usize| summary(successes((0..100).map(|n| if n < slow { 9 } else { 1 })), 0);
    assert_eq!(judged("p99 <= 5ms", &slow(2)), ObjectiveOutcome::NotEnoughData);
    assert_eq!(judged("p99 <= 5ms", &slow(10)), ObjectiveOutcome::Missed);
}

#[test]
fn objectives_may_apply_to_one_kind_of_operations() {
    let mut summary = Summary::default();
    for (kind, ms, failed) in [(OpKind::Get, 5, 0), (OpKind::Put, 80, 40)] {
        let stats = summary.stats.kind_mut(kind);
        (0..360).for_each(|_| stats.response.record(ms * 1_000_000));
        (stats.ok, stats.failed) = (360, failed);
        summary.stats.measured.ok += 360;
        summary.stats.measured.failed += failed;
    }
    summary.all = summary.stats.all_kinds();
    for (text, wanted) in [
        ("get response p99 <= 10ms", ObjectiveOutcome::Met),
        ("put response p90 <= 10ms", ObjectiveOutcome::Missed),
        ("put p50 <= 90ms", ObjectiveOutcome::Met),
        ("put p99 <= 90ms", ObjectiveOutcome::Missed),
        ("get success >= 100%", ObjectiveOutcome::Met),
        ("put success >= 95%", ObjectiveOutcome::Missed),
        ("success >= 94%", ObjectiveOutcome::Met),
        ("delete p50 <= 1s", ObjectiveOutcome::NotEnoughData),
        ("get-range success >= 1%", ObjectiveOutcome::NotEnoughData),
    ] {
        assert_eq!(judged(text, &summary), wanted, "{text}");
    }
    let objective: Objective = "put response p90 <= 10ms".parse().unwrap();
    assert_eq!((objective.kind(), objective.beyond(&summary.stats)), (Some(OpKind::Put), (400, 400)));
    assert_eq!(objective.condition(), "put response p90 > 10ms");
    let error = "get goodput >= 1GB/s".parse::<Objective>().unwrap_err().to_string();
    assert!(error.contains("apply to all operations"), "{error}");
}

#[test]
fn unfinished_operations_count_at_their_rank() {
    let mut kind = successes([1]);
    kind.unfinished = 999;
    (0..999).for_each(|_| kind.unfinished_wait.record(50_000_000));
    assert_eq!(judged("response p99 <= 10ms", &summary(kind.clone(), 0)), ObjectiveOutcome::Missed);
    assert_eq!(judged("response p99 <= 60ms", &summary(kind.clone(), 0)), ObjectiveOutcome::NotEnoughData);
    // A few unfinished operations cannot change a median.
    let mut kind = successes([1; 1000]);
    kind.unfinished = 9;
    (0..9).for_each(|_| kind.unfinished_wait.record(5_000_000));
    assert_eq!(judged("response p50 <= 10ms", &summary(kind, 0)), ObjectiveOutcome::Met);
}

#[test]
fn the_success_of_a_kind_counts_its_hanging_operations() {
    let mut kind = successes([1; 100]);
    kind.unfinished = 50;
    (0..50).for_each(|_| kind.unanswered_wait.record(9_000_000_000));
    let (summary, objective) = (summary(kind, 0), "get success >= 99%".parse::<Objective>().unwrap());
    assert_eq!(objective.judge(&summary, &CLOSED).outcome, ObjectiveOutcome::Missed);
    assert_eq!(objective.value(&summary), Some(100.0 / 150.0));
}

#[test]
fn ttfb_counts_every_operation_whose_first_byte_came() {
    let mut kind = KindStats { ok: 500, failed: 500, ..KindStats::default() };
    (0..500).for_each(|_| kind.response.record(1_000_000));
    (0..500).for_each(|_| kind.ttfb.record(1_000_000));
    assert_eq!(
        judged("ttfb p90 <= 5ms", &summary(kind.clone(), 0)),
        ObjectiveOutcome::Missed,
        "without first bytes, failed operations exceed the bound"
    );
    (0..500).for_each(|_| kind.failed_ttfb.record(2_000_000));
    assert_eq!(
        judged("ttfb p90 <= 5ms", &summary(kind.clone(), 0)),
        ObjectiveOutcome::Met,
        "operations that failed after their first byte have a TTFB"
    );
    let value = "ttfb p90 <= 5ms".parse::<Objective>().unwrap().value(&summary(kind.clone(), 0)).unwrap();
    assert!((value - 2e6).abs() < 1e4, "the value includes failed operations: {value}");
    kind.unfinished = 500;
    (0..500).for_each(|_| kind.unfinished_ttfb.record(9_000_000));
    assert_eq!(judged("ttfb p90 <= 5ms", &summary(kind, 0)), ObjectiveOutcome::Missed);
}

/// Returns a summary of successful operations. Both lists contain response times in milliseconds. `calm` is for
/// operations without a client stall, and `affected` for operations that a stall affected.
fn stalled(calm: &[u64], affected: &[u64]) -> Summary {
    let mut kind = successes(calm.iter().chain(affected).copied());
    kind.affected.ok = affected.len() as u64;
    kind.affected.added_max = 60_000_000;
    affected.iter().for_each(|ms| kind.affected.response.record(ms * 1_000_000));
    summary(kind, 0)
}

#[test]
fn the_client_limits_a_judgment_only_if_it_makes_a_difference() {
    let run = stalled(&[1; 1000], &[50; 1000]);
    assert_eq!(judged("p99 <= 60ms", &run), ObjectiveOutcome::Met, "all operations met it");
    assert_eq!(judged("p99 <= 500us", &run), ObjectiveOutcome::Missed, "the undisturbed operations missed it");
    assert_eq!(judged("p99 <= 10ms", &run), ObjectiveOutcome::ClientLimited);
    assert_eq!(judged("p50 <= 2ms", &run), ObjectiveOutcome::Met, "stalls do not change the median");
    // Without undisturbed operations, the target's times are unknown.
    assert_eq!(judged("p50 <= 10ms", &stalled(&[], &[50; 1000])), ObjectiveOutcome::ClientLimited);
    assert_eq!(judged("p50 <= 60ms", &stalled(&[], &[50; 1000])), ObjectiveOutcome::Met);
    // Stalls added at most 60 ms, which does not explain 100 ms.
    assert_eq!(judged("p50 <= 10ms", &stalled(&[], &[100; 1000])), ObjectiveOutcome::Missed);
    assert_eq!(judged("p95 <= 10ms", &stalled(&[1; 10], &[1; 990])), ObjectiveOutcome::Met);
    let mixed = [vec![1; 930], vec![50; 50], vec![100; 10]].concat();
    assert_eq!(judged("p95 <= 10ms", &stalled(&[1; 10], &mixed)), ObjectiveOutcome::ClientLimited);
}

#[test]
fn responses_that_waited_unread_do_not_count_against_the_target() {
    let mut kind = successes([20; 1000]);
    assert_eq!(judged("p99 <= 10ms", &summary(kind.clone(), 0)), ObjectiveOutcome::Missed);
    // Half of the responses took 20 ms, and waited unread for 15 ms of this time. The other half did not wait.
    (0..1000).for_each(|number| kind.timestamped.record((20_000_000, 20_000_000), 0, 15_000_000 * (number % 2), 1));
    let run = summary(kind.clone(), 0);
    assert_eq!(judged("p40 <= 10ms", &run), ObjectiveOutcome::ClientLimited);
    assert_eq!(judged("p99 <= 10ms", &run), ObjectiveOutcome::Missed);
    assert_eq!(judged("p99 <= 25ms", &run), ObjectiveOutcome::Met);
    kind.timestamped.record((20_000_000, 20_000_000), 0, 15_000_000, 200_000);
    let run = summary(kind, 0);
    assert_eq!(judged("p99 <= 10ms", &run), ObjectiveOutcome::ClientLimited);
    assert_eq!(judged("p99 <= 4ms", &run), ObjectiveOutcome::Missed);
}

/// The target needs 105 ms for 2.2 % of the operations, and a stop of the client delays 300 others by 295 ms. This
/// delay must not be subtracted from the 105 ms, because the stop did not affect these operations.
#[test]
fn an_objective_is_missed_if_the_lower_end_of_its_range_exceeds_the_bound() {
    let mut kind = successes([vec![5; 1956], vec![105; 44], vec![300; 300]].concat());
    kind.affected.ok = 300;
    kind.affected.added_max = 300_000_000;
    (0..300).for_each(|_| kind.affected.response.record(300_000_000));
    for (operations, response, late) in [(1956, 5, 0), (44, 105, 0), (300, 300, 295)] {
        let nanos = |ms: u64| ms * 1_000_000;
        let times = (nanos(response), nanos(response - late));
        (0..operations).for_each(|_| kind.timestamped.record(times, nanos(late), 0, 1));
    }
    let run = summary(kind, 0);
    assert_eq!(judged("p99 <= 90ms", &run), ObjectiveOutcome::Missed);
    assert_eq!(judged("p99 <= 110ms", &run), ObjectiveOutcome::ClientLimited);
    assert_eq!(judged("p99 <= 310ms", &run), ObjectiveOutcome::Met);
    let mut few = run.clone();
    few.stats.measured.missed_by_client = 50;
    assert_eq!(judged("p99 <= 90ms", &few), ObjectiveOutcome::ClientLimited, "the missing operations decide");
}

/// A CPU quota stops the client for most of the time, so the client reads nothing.
#[test]
fn operations_in_flight_of_a_client_that_hardly_ran_do_not_count_against_the_target() {
    let mut kind = KindStats { unfinished: 64, ..KindStats::default() };
    (0..64).for_each(|_| kind.unfinished_wait.record(4_000_000_000));
    (0..64).for_each(|_| kind.unanswered_wait.record(4_000_000_000));
    let mut run = summary(kind, 0);
    run.limits.seconds = 3.0;
    for (throttled, wanted) in [(0.3, ObjectiveOutcome::Missed), (2.8, ObjectiveOutcome::ClientLimited)] {
        run.limits.throttled = throttled;
        assert_eq!(judged("success >= 99%", &run), wanted);
        assert_eq!(judged("p50 <= 1s", &run), wanted);
    }
}

/// The run has too few operations because the client was stopped, and not because of the target.
#[test]
fn operations_that_a_stop_of_the_client_prevented_are_not_missing_at_the_target() {
    let at = |stopped: f64, operations: usize| {
        let mut run = summary(successes(vec![1; operations]), 0);
        run.limits.seconds = 10.0;
        run.limits.frozen = stopped;
        judged("p99 <= 10ms", &run)
    };
    // The 99th percentile needs 299 operations.
    assert_eq!(at(0.0, 298), ObjectiveOutcome::NotEnoughData);
    assert_eq!(at(3.0, 220), ObjectiveOutcome::ClientLimited);
    assert_eq!(at(3.0, 200), ObjectiveOutcome::NotEnoughData, "200 / 0.7 are not enough");
    assert_eq!(at(3.0, 299), ObjectiveOutcome::Met);
    assert_eq!(at(6.0, 0), ObjectiveOutcome::ClientLimited, "the client hardly ran");
}

#[test]
fn a_percentile_tolerates_some_operations_missed_by_the_client() {
    let missing = |missed: u64| {
        let mut run = summary(successes([1; 10_000]), missed);
        run.stats.measured.missed_by_client = missed;
        judged("p99 <= 10ms", &run)
    };
    assert_eq!(
        (missing(0), missing(10), missing(11)),
        (ObjectiveOutcome::Met, ObjectiveOutcome::Met, ObjectiveOutcome::ClientLimited)
    );
}
