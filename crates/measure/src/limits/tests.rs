//! Tests of the limits of simulated runs.

use super::limited_by::limited_by_given;
use super::*;
use crate::evidence::{EdgeOp, OperationClass, PathSample};
use crate::interval::{ClientLoad, Interval};
use crate::path::{EmulatorHealth, PathLimits};
use crate::sample::outcome::AttemptClass;
use crate::sample::{OpKind, ReadSample};
use crate::summary::{Model, Summary};
use crate::time::{Instant, Stage};
use crate::units::DataRate;
use std::time::Duration;

const OPEN: Model = Model::Open { in_flight_max: 100 };
const CLOSED: Model = Model::Closed { concurrency: 10 };

fn seconds(count: u64, client: ClientLoad, change: impl Fn(&mut Interval)) -> Vec<Interval> {
    let second = |index| Instant::from_nanos(index * 1_000_000_000);
    let make = |index| {
        let mut interval = Interval::new(Stage::Measured, second(index), second(index + 1));
        interval.client = client;
        change(&mut interval);
        interval
    };
    (0..count).map(make).collect()
}

fn judge(model: Model, intervals: &[Interval]) -> LimitedBy {
    limited_by(&Summary::of(&model, intervals), &model)
}

fn respond(interval: &mut Interval, median: u64) {
    // All 10 slots of the closed model are always in use.
    interval.stats.in_flight_nanos = 10 * interval.end.nanos_since(interval.start);
    let kind = interval.stats.kind_mut(OpKind::Get);
    kind.service.record(100_000);
    for _ in 0..30 {
        kind.service.record(median);
        kind.response.record(median);
    }
}

const SATURATED: ClientLoad = ClientLoad {
    busy: 0.99,
    unread: 0.9,
    run_delay: 0.0,
    run_delay_sum: 0.0,
    steal: 0.0,
    throttled: 0.0,
    nic: 0.0,
    descriptors: 0.0,
    ports: 0.0,
    frozen: 0.0,
    host_busy: 0.0,
    cpu_nanos: 0,
};

/// Returns the limit of a run of ten seconds in which only the load of the client can show the limit.
fn loaded(client: ClientLoad) -> LimitedBy {
    judge(CLOSED, &seconds(10, client, |interval| respond(interval, 110_000)))
}

#[test]
fn a_busy_thread_is_the_limit_only_while_responses_wait() {
    assert_eq!(loaded(SATURATED), LimitedBy::ClientCpu);
    assert_eq!(loaded(ClientLoad { unread: 0.1, ..SATURATED }), LimitedBy::NotDetermined);
    let sends = |interval: &mut Interval| {
        respond(interval, 110_000);
        interval.stats.traffic.sent_body = 1_000_000;
    };
    let prompt = ClientLoad { unread: 0.1, ..SATURATED };
    assert_eq!(
        judge(CLOSED, &seconds(10, prompt, sends)),
        LimitedBy::ClientCpu,
        "the CPU time of uploads counts although no responses wait"
    );
}

#[test]
fn pausing_slots_are_limited_by_concurrency() {
    let slots = |in_flight: f64| {
        let run = seconds(10, ClientLoad::default(), |interval| {
            respond(interval, 900_000);
            interval.stats.in_flight_nanos = (in_flight * 1e9) as _;
        });
        judge(CLOSED, &run)
    };
    assert_eq!((slots(0.1), slots(2.4)), (LimitedBy::Concurrency, LimitedBy::Concurrency));
    assert_eq!((slots(2.6), slots(10.0)), (LimitedBy::NotDetermined, LimitedBy::NotDetermined));
}

#[test]
fn the_client_is_named_for_more_than_a_tenth_of_the_time_in_runs_of_any_length() {
    for (length, flagged, named) in [(10, 1, false), (10, 2, true), (1, 1, true), (100, 10, false), (100, 11, true)] {
        let mut run = seconds(length, ClientLoad::default(), |i| respond(i, 110_000));
        run.iter_mut().take(flagged).for_each(|interval| interval.client = SATURATED);
        assert_eq!(
            judge(CLOSED, &run) == LimitedBy::ClientCpu,
            named,
            "{flagged} of {length} seconds are at the client's limit"
        );
    }
}

#[test]
fn the_measured_impact_of_the_client_takes_precedence() {
    let run = seconds(10, SATURATED, |i| respond(i, 110_000));
    let summary = Summary::of(&CLOSED, &run);
    let given = |share| {
        limited_by_given(&summary, &CLOSED, ClientImpact { service_share: Some(share), ..ClientImpact::default() })
    };
    assert_eq!((given(0.05), given(0.2)), (LimitedBy::NotDetermined, LimitedBy::ClientCpu));
}

/// Records 100 operations per second, `of_100` of them delayed by a stall.
fn affected(of_100: u64) -> impl Fn(&mut Interval) {
    move |interval: &mut Interval| {
        let kind = interval.stats.kind_mut(OpKind::Get);
        for number in 0..100 {
            let nanos = if number < of_100 { 5_200_000 } else { 200_000 };
            kind.ok += 1;
            kind.response.record(nanos);
            kind.service.record(nanos);
            if number < of_100 {
                kind.affected.ok += 1;
                kind.affected.added_max = 10_000_000;
                kind.affected.response.record(nanos);
            }
        }
    }
}

#[test]
fn stalls_limit_an_open_run_when_they_change_its_percentiles() {
    assert_eq!(judge(OPEN, &seconds(5, SATURATED, affected(90))), LimitedBy::ClientCpu);
    assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), affected(6))), LimitedBy::SharedHost);
    assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), affected(4))), LimitedBy::Rate);
}

#[test]
fn stalls_limit_a_closed_run_for_the_time_that_they_add() {
    // One operation in 100 is delayed by 5 ms, which is a fifth of the 25 ms that every operation takes.
    let judged = |of_100| judge(CLOSED, &seconds(5, ClientLoad::default(), affected(of_100)));
    assert_eq!((judged(0), judged(1)), (LimitedBy::Concurrency, LimitedBy::SharedHost));
}

#[test]
fn data_that_waits_on_the_way_is_the_limit_of_the_link() {
    let limit = |bytes: u64, client: ClientLoad| {
        let run = seconds(5, client, |interval| {
            respond(interval, 110_000);
            interval.stats.measured.attempts = 10;
            interval.stats.traffic.body = 10 * bytes;
            let waiting = PathSample { round_trip: 80_000_000, shortest: 10_000, ..PathSample::default() };
            interval.evidence.network_paths.add(&waiting);
        });
        judge(CLOSED, &run)
    };
    assert_eq!(limit(100_000, ClientLoad::default()), LimitedBy::Link);
    assert_eq!(
        limit(100_000, SATURATED),
        LimitedBy::ClientCpu,
        "a slow reader is the limit, although its unread responses make data wait"
    );
    assert_ne!(limit(1000, ClientLoad::default()), LimitedBy::Link);
}

#[test]
fn open_runs_are_limited_by_missing_operations_not_by_slot_waits() {
    let waiting = |interval: &mut Interval| {
        respond(interval, 200_000);
        interval.stats.kind_mut(OpKind::Get).slot_wait.record(5_000_000);
        (interval.stats.measured.scheduled, interval.stats.measured.dropped) = (100, 50);
    };
    assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), waiting)), LimitedBy::Target);
    let backlog = |interval: &mut Interval| {
        (interval.stats.measured.scheduled, interval.stats.measured.unfinished) = (100, 5);
    };
    assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), backlog)), LimitedBy::Target);
    assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), |i| respond(i, 200_000))), LimitedBy::Rate);
    // Half of the offered operations were started, which took 60 % of a core. There was not enough CPU time for the
    // other half.
    let half_started = |interval: &mut Interval| {
        waiting(interval);
        interval.stats.measured.started = 50;
    };
    let at = |busy| ClientLoad { busy, ..ClientLoad::default() };
    assert_eq!(judge(OPEN, &seconds(5, at(0.6), half_started)), LimitedBy::ClientCpu);
    assert_eq!(judge(OPEN, &seconds(5, at(0.4), half_started)), LimitedBy::Target);
    assert_eq!(judge(OPEN, &seconds(5, SATURATED, waiting)), LimitedBy::ClientCpu);
    let crowded = ClientLoad { run_delay: 0.4, ..ClientLoad::default() };
    assert_eq!(
        judge(OPEN, &seconds(5, crowded, waiting)),
        LimitedBy::Target,
        "the target is the limit if all slots were full, even if threads waited for a core"
    );
}

#[test]
fn a_busy_host_that_delays_nothing_is_not_the_limit() {
    let busy = ClientLoad { run_delay: 0.3, steal: 0.05, ..ClientLoad::default() };
    let run = seconds(12, busy, |interval| {
        let kind = interval.stats.kind_mut(OpKind::Get);
        for _ in 0..500 {
            kind.service.record(3_440_000);
            kind.response.record(3_470_000);
            kind.lateness.record(1_200_000);
        }
        let tally = &mut interval.stats.measured;
        (tally.scheduled, tally.started, tally.ok) = (500, 500, 500);
    });
    assert_eq!(judge(OPEN, &run), LimitedBy::Rate);
}

#[test]
fn a_cpu_quota_counts_as_client_cpu() {
    let throttled = ClientLoad { busy: 0.2, run_delay: 0.8, throttled: 0.8, unread: 0.9, ..ClientLoad::default() };
    assert_eq!(loaded(throttled), LimitedBy::ClientCpu);
    assert_eq!(loaded(ClientLoad { throttled: 0.0, ..throttled }), LimitedBy::SharedHost);
    // No operation ended, and the client hardly ran.
    let nothing = |interval: &mut Interval| {
        (interval.stats.measured.scheduled, interval.stats.measured.dropped) = (100, 100);
        interval.stats.kind_mut(OpKind::Get).slot_wait.record(1_000_000);
    };
    let stopped = ClientLoad { busy: 0.04, throttled: 0.96, ..ClientLoad::default() };
    assert_eq!(judge(OPEN, &seconds(3, stopped, nothing)), LimitedBy::ClientCpu);
    assert_eq!(judge(OPEN, &seconds(3, ClientLoad::default(), nothing)), LimitedBy::Target);
    // All operations were started, and timed out while the client was not running.
    let timed_out = |interval: &mut Interval| {
        let tally = &mut interval.stats.measured;
        (tally.scheduled, tally.started, tally.failed) = (100, 100, 100);
    };
    assert_eq!(judge(OPEN, &seconds(3, stopped, timed_out)), LimitedBy::ClientCpu);
    assert_eq!(judge(OPEN, &seconds(3, ClientLoad::default(), timed_out)), LimitedBy::Target);
}

#[test]
fn many_failures_are_the_limit_of_the_target() {
    let failing = |failed: u64| {
        let run = seconds(10, ClientLoad::default(), |interval| {
            respond(interval, 110_000);
            (interval.stats.measured.ok, interval.stats.measured.failed) = (100 - failed, failed);
        });
        judge(CLOSED, &run)
    };
    assert_eq!((failing(5), failing(50)), (LimitedBy::NotDetermined, LimitedBy::Target));
}

#[test]
fn load_beyond_whole_cores_is_the_limit_of_the_client_on_any_host() {
    // 10,000 operations are offered per second, and `started` are started. Starting them takes the share `busy` of a
    // core's time. Other processes use the rest of the core.
    let judged = |started: u64, busy: f64| {
        let client = ClientLoad { busy, unread: 0.4, run_delay: 1.0 - busy, steal: 0.1, ..ClientLoad::default() };
        let run = seconds(5, client, |interval| {
            respond(interval, 200_000);
            let tally = &mut interval.stats.measured;
            (tally.scheduled, tally.started, tally.dropped) = (10_000, started, 10_000 - started);
        });
        let summary = Summary::of(&OPEN, &run);
        (limited_by(&summary, &OPEN), summary.limits.cpu, summary.limits.host)
    };
    // One core can start about half of the offered operations: an operation costs 174 µs, but only 100 µs are available
    // for each.
    assert_eq!(judged(5_000, 0.87), (LimitedBy::ClientCpu, 5.0, 5.0));
    assert_eq!(judged(500, 0.30), (LimitedBy::ClientCpu, 5.0, 5.0));
    // An operation costs 67 µs, so the client could have started all operations if no other process had used the core.
    assert_eq!(judged(9_000, 0.60), (LimitedBy::SharedHost, 0.0, 5.0));
    assert_eq!(judged(5_000, 0.50), (LimitedBy::SharedHost, 0.0, 5.0));
    // With very few operations, waking up takes most of the CPU time. Without any operation, the cost per operation is
    // unknown.
    assert_eq!(judged(1, 0.04), (LimitedBy::SharedHost, 0.0, 5.0));
    assert_eq!(judged(0, 0.90), (LimitedBy::SharedHost, 0.0, 5.0));
}

#[test]
fn too_few_descriptors_or_ports_are_the_limit_of_the_client() {
    let full = ClientLoad { ports: 0.97, ..ClientLoad::default() };
    assert_eq!(
        judge(OPEN, &seconds(5, full, |i| respond(i, 110_000))),
        LimitedBy::Rate,
        "a lack of descriptors is not the limit if no operation was refused"
    );
    let dropped = |interval: &mut Interval| {
        (interval.stats.measured.scheduled, interval.stats.measured.dropped) = (100, 50);
    };
    assert_eq!(judge(OPEN, &seconds(5, full, dropped)), LimitedBy::ClientResources);
    // All 100 slots are in use. One target serves 1,000/s, and always takes 100 ms for an operation. The other target
    // serves one operation at a time in 10 ms, so each operation waits for 99 others.
    let few = ClientLoad { descriptors: 1.0, ..ClientLoad::default() };
    let slots = |service_ms: u64, first_ms: u64| {
        let run = seconds(5, few, |interval| {
            dropped(interval);
            interval.in_flight_peak = 100;
            interval.stats.measured.ok = 100_000 / service_ms;
            interval.stats.kind_mut(OpKind::Get).service.record_many(service_ms * 1_000_000, 100);
            let (sent, end) = (interval.start, interval.start + Duration::from_millis(first_ms));
            interval.evidence.edges.opening =
                vec![EdgeOp { sent, end, class: OperationClass { kind: OpKind::Get, size: 0 } }];
        });
        judge(OPEN, &run)
    };
    assert_eq!((slots(100, 100), slots(1000, 10)), (LimitedBy::ClientResources, LimitedBy::Target));
    let hangs = seconds(5, few, |interval| {
        dropped(interval);
        interval.in_flight_peak = 100;
    });
    assert_eq!(judge(OPEN, &hangs), LimitedBy::Target);
    let refused = |interval: &mut Interval| {
        interval.stats.measured.attempts = 100;
        for _ in 0..2 {
            interval.stats.measured.classes.add(AttemptClass::ClientResource);
        }
    };
    assert_eq!(judge(CLOSED, &seconds(5, ClientLoad::default(), refused)), LimitedBy::ClientResources);
    assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), refused)), LimitedBy::ClientResources);
}

/// The slots pause for 5 of 6 seconds, after 20 refused connections.
#[test]
fn slots_that_pause_after_failures_do_not_wait_for_more_concurrency() {
    let mut run = seconds(6, ClientLoad::default(), |_| ());
    respond(&mut run[0], 110_000);
    (run[0].stats.measured.ok, run[0].stats.measured.started) = (40_000, 40_000);
    for interval in &mut run[1..] {
        interval.stats.back_off_nanos = 9_900_000_000;
        (interval.stats.measured.failed, interval.stats.measured.started) = (4, 4);
    }
    assert_eq!(judge(CLOSED, &run), LimitedBy::Target);
}

/// Nine of ten slots pause for 1 s between operations of 10 ms, and one waits for a timeout of 30 s. The end of the run
/// interrupts downloads.
#[test]
fn failures_are_counted_on_the_time_of_all_slots() {
    let mut run = seconds(60, ClientLoad::default(), |interval| respond(interval, 10_000_000));
    run[40].stats.measured.failed = 1;
    run[40].stats.kind_mut(OpKind::Get).failed_response.record(30_000_000_000);
    let share = |run: &[Interval]| failing_share(&Summary::of(&CLOSED, run), &CLOSED);
    assert_eq!((share(&run) * 1000.0).round(), 50.0);
    run[59].stats.kind_mut(OpKind::Get).unfinished_wait.record_many(15_000_000, 8);
    assert_eq!(
        (share(&run) * 1000.0).round(),
        50.0,
        "operations interrupted by the end of the run do not count as failing"
    );
    run[59].stats.kind_mut(OpKind::Get).unfinished_wait.record_many(30_000_000_000, 2);
    assert_eq!((share(&run) * 1000.0).round(), 150.0, "overdue");
}

/// The target refuses all requests immediately, which keeps the client busy.
#[test]
fn targets_that_serve_nothing_are_the_limit() {
    let run = seconds(5, SATURATED, |interval| {
        let tally = &mut interval.stats.measured;
        (tally.started, tally.failed) = (1000, 1000);
    });
    assert_eq!(judge(CLOSED, &run), LimitedBy::Target);
}

/// The target refuses most requests immediately, which keeps the client busy. Timeouts may be due to the busy client.
#[test]
fn targets_that_refuse_most_requests_are_the_limit_even_of_a_busy_client() {
    let with = |failed: u64, class| {
        let run = seconds(5, SATURATED, |interval| {
            respond(interval, 110_000);
            let tally = &mut interval.stats.measured;
            (tally.started, tally.ok, tally.failed) = (1000, 1000 - failed, failed);
            (0..failed).for_each(|_| tally.classes.add(class));
        });
        judge(CLOSED, &run)
    };
    assert_eq!(with(990, AttemptClass::Throttled), LimitedBy::Target);
    assert_eq!(with(400, AttemptClass::Throttled), LimitedBy::ClientCpu);
    assert_eq!(with(990, AttemptClass::TimeoutHead), LimitedBy::ClientCpu);
}

#[test]
fn one_hanging_operation_is_not_the_limit_of_an_open_run() {
    let run = seconds(2, ClientLoad::default(), |interval| {
        respond(interval, 300_000);
        let tally = &mut interval.stats.measured;
        (tally.scheduled, tally.started, tally.ok, tally.unfinished) = (500, 500, 499, 1);
        interval.stats.kind_mut(OpKind::Get).unfinished_wait.record(2_000_000_000);
    });
    assert_eq!(judge(OPEN, &run), LimitedBy::Rate);
}

#[test]
fn one_late_operation_does_not_make_the_host_the_limit() {
    let of = |count: u64| {
        let run = seconds(1, ClientLoad::default(), |interval| {
            let kind = interval.stats.kind_mut(OpKind::Get);
            (kind.ok, kind.affected.ok, kind.affected.added_max) = (count, count, 1_000_000);
            for _ in 0..count {
                kind.response.record(1_200_000);
                kind.affected.response.record(1_200_000);
            }
            let tally = &mut interval.stats.measured;
            (tally.scheduled, tally.started, tally.ok) = (count, count, count);
        });
        judge(OPEN, &run)
    };
    assert_eq!((of(1), of(100)), (LimitedBy::Rate, LimitedBy::SharedHost));
}

/// The run has only a few operations, and their times differ widely. By chance, a stall of 1 ms affects the slow ones.
#[test]
fn short_stalls_do_not_explain_long_operations() {
    let of = |added_max: u64| {
        let run = seconds(3, ClientLoad::default(), |interval| {
            let kind = interval.stats.kind_mut(OpKind::Get);
            (kind.ok, kind.affected.ok, kind.affected.added_max) = (2, 1, added_max);
            for millis in [600, 3_000] {
                kind.response.record(millis * 1_000_000);
            }
            kind.affected.response.record(3_000_000_000);
        });
        judge(CLOSED, &run)
    };
    assert_eq!((of(1_000_000), of(2_000_000_000)), (LimitedBy::Unknown, LimitedBy::SharedHost));
}

#[test]
fn time_taken_by_a_quota_is_not_blamed_on_others() {
    let throttled = ClientLoad { frozen: 0.5, throttled: 0.45, run_delay: 0.5, ..ClientLoad::default() };
    let run = seconds(4, throttled, |interval| respond(interval, 300_000));
    assert_eq!(judge(CLOSED, &run), LimitedBy::ClientCpu);
}

/// Client and server wait for the same cores. Responses do not wait unread, because the server is also late.
#[test]
fn a_client_that_waits_for_cores_most_of_the_time_shares_its_host() {
    let crowded = ClientLoad { busy: 0.2, run_delay: 0.7, unread: 0.1, ..ClientLoad::default() };
    let run = seconds(4, crowded, |interval| {
        respond(interval, 300_000);
        for _ in 0..30 {
            interval.stats.unread_responses.add(ReadSample::Timestamped { nanos: 1_000, stands_for: 1 }, 300_000, true);
        }
    });
    let at = |shares_host| limited_by(&Summary { shares_host, ..Summary::of(&CLOSED, &run) }, &CLOSED);
    assert_eq!((at(true), at(false)), (LimitedBy::SharedHost, LimitedBy::NotDetermined));
}

#[test]
fn a_full_emulated_path_and_its_overloaded_emulator_are_named() {
    let run = seconds(4, ClientLoad::default(), |interval| {
        respond(interval, 300_000);
        interval.stats.traffic.body += 11_500_000;
    });
    let with = |path: PathLimits| limited_by(&Summary { path, ..Summary::of(&CLOSED, &run) }, &CLOSED);
    let rate = |megabits: u64| Some(DataRate::bits_per_second(megabits * 1_000_000));
    let at = |megabits| with(PathLimits { down: rate(megabits), ..PathLimits::default() });
    // 11.5 MB/s of payload are 96 Mbit/s on the wire.
    assert_eq!(at(100), LimitedBy::Link);
    assert_ne!(at(120), LimitedBy::Link);
    let emulator = EmulatorHealth::CpuTooSlow;
    assert_eq!(with(PathLimits { down: rate(100), emulator, ..PathLimits::default() }), LimitedBy::Emulator);
}

#[test]
fn frozen_clients_are_named() {
    let mut run = seconds(10, ClientLoad::default(), |i| respond(i, 110_000));
    for interval in &mut run[3..6] {
        interval.client.frozen = 1.0;
    }
    assert_eq!(judge(CLOSED, &run), LimitedBy::SharedHost);
}

#[test]
fn shared_cores_and_full_network_cards_are_named() {
    let crowded = ClientLoad { run_delay: 0.3, ..SATURATED };
    assert_eq!(judge(CLOSED, &seconds(5, crowded, |_| ())), LimitedBy::SharedHost);
    let full = ClientLoad { nic: 0.97, ..ClientLoad::default() };
    assert_eq!(judge(CLOSED, &seconds(5, full, |_| ())), LimitedBy::ClientNic);
}
