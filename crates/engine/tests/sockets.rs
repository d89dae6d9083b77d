//! Tests of the engine over real sockets with the embedded server. The ledger of the server counts the same requests
//! independently.

#[path = "support/cores.rs"]
mod cores;
mod support;

use engine::plan::*;
use measure::Quantile;
use measure::result::accounting::audit;
use server::{Config, Faults, Server, Stall, StallFrom};
use std::num::NonZeroU64;
use std::time::Duration;
use support::*;

fn serve(faults: Faults) -> Server {
    Server::start(&Config { faults, ..Config::default() }).unwrap()
}

fn counted(ops: u64) -> StopAfter {
    StopAfter { ops: NonZeroU64::new(ops), ..StopAfter::default() }
}

#[test]
fn client_and_server_count_the_same() {
    let cases: [(&str, u64, bool); 5] = [
        ("/blackhole/1KiB", 3000, true),
        ("/blackhole/1KiB", 500, false),
        ("/blackhole/3MiB", 40, true),
        ("/blackhole/700KiB?chunked", 60, true),
        ("/blackhole/0", 300, true),
    ];
    for (path, ops, keep_alive) in cases {
        let server = serve(Faults::default());
        let mut plan = at(plan(), &format!("http://{}{path}", server.addresses()[0]));
        (plan.load, plan.stop, plan.threads) = (closed(16), counted(ops), 2);
        plan.http.keep_alive = keep_alive;
        let kept = run(&plan);
        let summary = summary(&plan, &kept.intervals);
        let ledger = server.stop();
        assert_eq!(audit(&summary, true).violations, [], "{path}");
        assert_eq!(summary.stats.measured.ok, ops, "{path}: {:?}", summary.stats.measured);
        assert_eq!(ledger.requests(), ops, "{path}");
        assert_eq!(ledger.complete.count, ops, "{path}");
        assert_eq!(ledger.complete.body_bytes, summary.stats.traffic.body, "{path}");
        assert_eq!(ledger.complete.head_bytes, summary.stats.traffic.overhead, "{path}: heads and framing must agree");
        assert_eq!(ledger.received_bytes, summary.stats.traffic.sent, "{path}");
        assert_eq!(ledger.connections_accepted, summary.stats.connections.opened, "{path}");
    }
}

#[test]
fn random_ranges_lie_in_the_object_and_are_verified_by_their_head() {
    let server = serve(Faults::default());
    let mut plan = at(plan(), &format!("http://{}/blackhole/1000000", server.addresses()[0]));
    (plan.load, plan.stop) = (closed(8), counted(500));
    plan.mix.requests_mut()[0].kind = measure::OpKind::GetRange;
    plan.mix.requests_mut()[0].range = NonZeroU64::new(10_000).map(|length| RangeChoice::Random { length });
    plan.log_ops = true;
    engine::object_sizes::discover_sizes(&mut plan, &mut |_, _, _| {}).unwrap();
    assert_eq!(plan.targets.items()[0].size, Some(1_000_000));
    let kept = run(&plan);
    let summary = summary(&plan, &kept.intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((summary.stats.measured.ok, summary.stats.traffic.body), (500, 5_000_000));
    let mut firsts: Vec<u64> = kept.ops.iter().map(|op| op.range.unwrap().first()).collect();
    firsts.sort_unstable();
    firsts.dedup();
    assert!(firsts.len() > 490, "offsets must differ");
    assert!(firsts[0] < 50_000 && firsts[firsts.len() - 1] > 940_000, "offsets must cover the object");
}

/// Runs load against a server that stalls for 1 s. Returns an error with an explanation if the percentiles do not show
/// the stall. Also returns whether the run had all its cores to itself.
///
/// 1,000 of 10,000 operations arrive during the stall, at an even rate. An operation that arrives t seconds after the
/// start of the stall waits 1 − t seconds until the stall ends. The server then responds to the waiting operations one
/// after the other, which takes a time D in total. The operation thus waits for another t·D. D is computed from the log
/// of operations: D is the time from the first end to the last end of the operations that waited for more than 100 ms.
fn stall_once() -> (Result<(), String>, bool) {
    let stall = Stall { from: StallFrom::FirstRequest, at: ms(4000), length: ms(1000) };
    let server = serve(Faults { stall: Some(stall), ..Faults::default() });
    let mut plan = at(plan(), &format!("http://{}/blackhole/1KiB", server.addresses()[0]));
    plan.load = open(1000.0, 10_000);
    plan.log_ops = true;
    let kept = run(&plan);
    let summary = summary(&plan, &kept.intervals);
    let tally = &summary.stats.measured;
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((tally.scheduled, tally.ok, tally.dropped), (10_000, 10_000, 0));
    let stalled = kept.ops.iter().filter(|op| op.end.since(op.intended) > ms(100));
    let ends = stalled.map(|op| op.end);
    let catching_up = ends.clone().max().unwrap().since(ends.min().unwrap());
    // `are_taken` is checked too, because the server does not measure how long it waited for a core.
    let had_cores = summary.limits.run_delay_max <= 0.05 && !cores::are_taken();
    if catching_up >= ms(200) {
        return (Err(format!("the server took {catching_up:?} to catch up")), had_cores);
    }
    let wrong =
        [(0.5, 0, 0.0), (0.95, 500, 0.5), (0.99, 900, 0.1), (0.999, 990, 0.01)].iter().find_map(|(q, alone, part)| {
            let truth = ms(*alone) + catching_up.mul_f64(*part);
            let found = Duration::from_nanos(summary.all.response.quantile(*q).unwrap());
            let shown = found.abs_diff(truth) <= ms(10) && found + ms(2) >= ms(*alone);
            (!shown).then(|| format!("p{} {found:?}, truth {truth:?}, {:?} by the stall alone", q * 100.0, ms(*alone)))
        });
    (wrong.map_or(Ok(()), Err), had_cores)
}

#[test]
fn a_stall_of_one_second_shows_whole() {
    let mut judged = None;
    for attempt in 1..=cores::TRIES {
        let (Err(wrong), had_cores) = stall_once() else { return };
        eprintln!("try {attempt}: {wrong}{}", if had_cores { "" } else { "; others took the cores" });
        judged = judged.or(had_cores.then_some(wrong));
        cores::wait_until_free();
    }
    // The test may fail to notice that another process used a core for a short time. But if every try fails, and at
    // least one try seems to have had all cores to itself, the engine is wrong.
    match judged {
        Some(wrong) => panic!("{wrong}"),
        None => eprintln!("not judged: no run had its cores"),
    }
}

#[test]
fn waiting_costs_nothing_at_any_rate() {
    // The load causes both long and short waits, because long and short waits use different timers.
    let server = serve(Faults::default());
    let stages = [(500, 10.0), (0, 1000.0), (2000, 1000.0)];
    let stages = stages.map(|(length, level)| engine::schedule::StagePlan { length: ms(length), level });
    let mut plan = at(plan(), &format!("http://{}/blackhole/1KiB", server.addresses()[0]));
    plan.load = LoadModel::Open {
        rate: engine::schedule::Profile::stages(10.0, &stages).unwrap(),
        spacing: engine::schedule::Spacing::Constant,
        in_flight_max: NonZeroU64::new(100).unwrap(),
    };
    plan.stop.time = Some(ms(2500));
    let kept = run(&plan);
    let summary = summary(&plan, &kept.intervals);
    let busy = summary.limits.mean_busy();
    assert!(busy < 0.5, "a thread with almost nothing to do was busy for {busy} of the time");
}

#[test]
fn known_delays_are_found() {
    let delay = server::Delay::Bimodal { fast: ms(5), slow: ms(50), every: NonZeroU64::new(10).unwrap() };
    let server = serve(Faults { delay, ..Faults::default() });
    let mut plan = at(plan(), &format!("http://{}/blackhole/1KiB", server.addresses()[0]));
    (plan.load, plan.stop.time) = (open(200.0, 1000), Some(ms(3000)));
    let kept = run(&plan);
    let summary = summary(&plan, &kept.intervals);
    assert_eq!(audit(&summary, true).violations, []);
    for (q, truth) in [(0.5, 5), (0.85, 5), (0.95, 50), (0.99, 50)] {
        near(&summary.all.service, q, ms(truth), ms(10));
    }
    assert!(
        summary.all.service.min().is_some_and(|least| least >= 5_000_000),
        "no response can be faster than the delay"
    );
}

#[test]
fn a_drain_that_is_over_leaves_its_operations_unfinished() {
    let server = serve(Faults { rate: NonZeroU64::new(1_000_000), ..Faults::default() });
    let mut plan = at(plan(), &format!("http://{}/blackhole/1GiB", server.addresses()[0]));
    (plan.load, plan.stop.time, plan.drain) = (closed(4), Some(ms(1200)), ms(300));
    let kept = run(&plan);
    let summary = summary(&plan, &kept.intervals);
    let tally = &summary.stats.measured;
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((tally.unfinished, tally.ok, tally.failed), (4, 0, 0));
    let throughput = summary.throughput().unwrap();
    assert!((3.0e6..6.0e6).contains(&throughput), "there are 4 responses at 1 MB/s each: {throughput}");
    assert_eq!(summary.all.response.quantile_of_all(0.5, tally.unfinished, 0), Quantile::Unfinished);
    let ledger = server.stop();
    assert!(
        ledger.aborted.body_bytes >= summary.stats.traffic.body,
        "the server must have sent all bytes that arrived"
    );
}

#[test]
fn kept_connections_that_the_server_closes_cost_no_operation() {
    let server = serve(Faults { close_after: NonZeroU64::new(7), ..Faults::default() });
    let mut plan = at(plan(), &format!("http://{}/blackhole/1KiB", server.addresses()[0]));
    (plan.load, plan.stop) = (closed(4), counted(700));
    let kept = run(&plan);
    let summary = summary(&plan, &kept.intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!(summary.stats.measured.ok, 700);
    let opened = summary.stats.connections.opened;
    assert!((100..=104).contains(&opened), "{opened} connections");
    assert_eq!(server.stop().connections_accepted, opened);
}

#[test]
fn timeouts_fire_when_they_are_due() {
    let server = serve(Faults { delay: server::Delay::Constant(Duration::from_secs(5)), ..Faults::default() });
    let mut plan = at(plan(), &format!("http://{}/blackhole/1KiB", server.addresses()[0]));
    (plan.load, plan.stop) = (closed(3), counted(3));
    plan.timeouts.head = ms(250);
    let kept = run(&plan);
    let summary = summary(&plan, &kept.intervals);
    assert_eq!(summary.stats.measured.causes.get(measure::Cause::HeadTimedOut), 3);
    near(&summary.all.failed_response, 1.0, ms(250), ms(60));
}

/// An observer that records the start. If `stops` is set, the observer stops the run at the first opportunity.
#[derive(Default)]
struct StartWatch {
    stops: bool,
    started: Option<measure::Instant>,
}

impl engine::Observer for StartWatch {
    fn started(&mut self, at: measure::Instant) {
        assert!(self.started.replace(at).is_none(), "started twice");
    }

    fn interval(&mut self, _: &measure::Interval, _: &engine::Control, _: measure::Instant) {}

    fn ops(&mut self, _: &[engine::OpEntry]) {}

    fn tick(&mut self, control: &engine::Control, now: measure::Instant) {
        if self.stops {
            control.stop(now, engine::StopReason::Interrupted);
        }
    }
}

#[test]
fn a_run_starts_at_the_zero_of_its_clock_unless_it_is_stopped_before() {
    for stops in [false, true] {
        let server = serve(Faults::default());
        let mut plan = at(plan(), &format!("http://{}/blackhole/1KiB", server.addresses()[0]));
        (plan.load, plan.stop, plan.threads) = (closed(4), counted(100), 2);
        let zero = std::time::Instant::now() + ms(400);
        let mut watch = StartWatch { stops, ..StartWatch::default() };
        let clock = measure::MonotonicClock::starting_at(zero);
        engine::run_from(clock, &plan, &engine::Control::default(), &mut watch).unwrap();
        assert_eq!(std::time::Instant::now() < zero, stops, "a run that is stopped does not wait for its start");
        assert_eq!(watch.started.is_some(), !stops);
        assert_eq!(server.stop().requests(), if stops { 0 } else { 100 });
    }
}
