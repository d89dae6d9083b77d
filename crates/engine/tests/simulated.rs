//! Tests of the engine with servers whose delays are known, on simulated time. The results must be exact.

use crate::support::*;
use engine::plan::*;
use engine::schedule::{Profile, Spacing, StagePlan};
use engine::sim::{Accept, Reply, SimNetwork, SimServer, simulate};
use measure::limits;
use measure::result::accounting::audit;
use measure::{AttemptClass, Cause, Flag, Instant};
use std::cell::{Cell, RefCell};
use std::num::NonZeroU64;
use std::time::Duration;
use wire::sigv4::Timestamp;

/// Maximum error of the histograms.
const FINE: Duration = Duration::from_micros(50);

#[test]
fn constant_delay() {
    let plan = Plan { load: open(100.0, 1000), ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(20), 1000)));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!(summary.stats.measured.scheduled, 1000);
    assert_eq!(summary.stats.measured.ok, 1000);
    for q in [0.0, 0.5, 0.99, 1.0] {
        near(&summary.all.response, q, ms(20), FINE);
        near(&summary.all.service, q, ms(20), FINE);
        near(&summary.all.ttfb, q, ms(20), FINE);
        near(&summary.all.lateness, q, ms(0), FINE);
    }
    assert_eq!(summary.throughput().map(f64::round), Some(99_800.0), "2 of 1,000 responses arrive in the drain");
}

#[test]
fn bimodal_delay() {
    // Every tenth response takes 100 ms, and the others take 5 ms.
    let plan = Plan { load: open(100.0, 1000), ..plan() };
    let server = || {
        let mut count = 0;
        move |now: Instant, _: &str| {
            count += 1;
            respond_at(now + if count % 10 == 0 { ms(100) } else { ms(5) }, 10)
        }
    };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server()));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    near(&summary.all.response, 0.5, ms(5), FINE);
    near(&summary.all.response, 0.9, ms(5), FINE);
    near(&summary.all.response, 0.91, ms(100), ms(1));
    near(&summary.all.response, 0.99, ms(100), ms(1));
    let mean = summary.all.response.moments().mean().unwrap();
    assert!((mean - 14.5e6).abs() < 1e4, "the mean must be exact: {mean}");
}

/// A server that stops for one second, 4 s after the start of the run. At all other times, the server responds after
/// 100 µs.
fn stalling(now: Instant, _: &str) -> Vec<(Instant, Reply)> {
    let (from, to) = (Instant::ZERO + ms(4000), Instant::ZERO + ms(5000));
    let at = if now >= from && now < to { to } else { now };
    respond_at(at + Duration::from_micros(100), 10)
}

#[test]
fn a_stall_of_one_second_shows_whole_in_an_open_run() {
    let plan = Plan { load: open(1000.0, 10_000), ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(stalling));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((summary.stats.measured.scheduled, summary.stats.measured.ok), (10_000, 10_000));
    // Of 10,000 operations, 1,000 wait. The waits are distributed uniformly between 0 and 1 s.
    for (q, truth) in [(0.5, 0), (0.9, 0), (0.95, 500), (0.99, 900), (0.999, 990), (1.0, 1000)] {
        near(&summary.all.response, q, ms(truth), ms(2));
    }
}

#[test]
fn slots_that_are_full_do_not_hide_the_stall() {
    // With 64 slots, only 64 requests are in flight during the stall. The other operations wait for a slot, and this
    // wait must count.
    let plan = Plan { load: open(1000.0, 64), ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(stalling));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((summary.stats.measured.ok, summary.stats.measured.dropped), (10_000, 0));
    near(&summary.all.response, 0.99, ms(900), ms(2));
    near(&summary.all.response, 0.95, ms(500), ms(2));
    near(&summary.all.service, 0.99, ms(0), ms(1));
    assert!(summary.all.slot_wait.count() >= 930, "{}", summary.all.slot_wait.count());
    near(&summary.all.lateness, 1.0, ms(0), FINE);
    assert_eq!(limits::limited_by(&summary, &plan.load.model()), measure::LimitedBy::Rate);
}

#[test]
fn operations_that_never_start_are_dropped_and_infinite() {
    // There are no responses after 5 s. The 10 slots therefore fill up, and all later arrivals are dropped.
    let dead = |now: Instant, _: &str| if now < Instant::ZERO + ms(5000) { respond_at(now, 1) } else { Vec::new() };
    let plan = Plan { load: open(100.0, 10), drain: ms(500), ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(dead));
    let summary = summary(&plan, &intervals);
    let tally = &summary.stats.measured;
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((tally.scheduled, tally.ok, tally.unfinished, tally.dropped), (1000, 500, 10, 490));
    assert_eq!(tally.classes.get(AttemptClass::InflightAtEnd), 10);
    assert_eq!(summary.all.response.quantile_of_all(0.52, 10, 490), measure::Quantile::Failed);
    assert_eq!(limits::limited_by(&summary, &plan.load.model()), measure::LimitedBy::Target);
    assert_eq!(summary.success(), Some(0.5), "dropped and unfinished operations must not count as successes");
}

#[test]
fn closed_slots_start_when_they_are_free() {
    let plan = Plan { load: closed(4), ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(10), 5)));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!(summary.stats.measured.ok, 4000);
    assert!((summary.mean_in_flight().unwrap() - 4.0).abs() < 1e-6);
    assert_eq!(summary.stats.connections.opened, 4);
    assert_eq!(limits::limited_by(&summary, &plan.load.model()), measure::LimitedBy::Concurrency);
}

#[test]
fn think_time_is_no_response_time() {
    let slots = Profile::constant(2.0).unwrap();
    let plan = Plan { load: LoadModel::Closed { slots, think: ms(90) }, ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(10), 5)));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!(summary.stats.measured.ok, 200);
    near(&summary.all.response, 1.0, ms(10), FINE);
}

#[test]
fn threads_share_a_number_of_operations() {
    for threads in [1, 3] {
        let stop = StopAfter { ops: NonZeroU64::new(1001), ..StopAfter::default() };
        let plan = Plan { load: closed(7), stop, threads, log_ops: true, ..plan() };
        let (intervals, ops) = simulate(&plan, |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(1), 5)));
        let summary = summary(&plan, &intervals);
        assert_eq!(audit(&summary, true).violations, []);
        assert_eq!(summary.stats.measured.ok, 1001);
        let mut numbers: Vec<u64> = ops.iter().map(|op| op.number).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..1001).collect::<Vec<_>>());
    }
}

#[test]
fn an_open_run_of_n_operations_offers_exactly_n() {
    let stop = StopAfter { ops: NonZeroU64::new(777), ..StopAfter::default() };
    for threads in [1, 4] {
        let plan = Plan { load: open(500.0, 100), stop, threads, ..plan() };
        let (intervals, _) = simulate(&plan, |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(3), 5)));
        let summary = summary(&plan, &intervals);
        assert_eq!(audit(&summary, true).violations, []);
        assert_eq!((summary.stats.measured.scheduled, summary.stats.measured.ok), (777, 777));
    }
}

#[test]
fn each_slot_does_its_share() {
    let stop = StopAfter { ops_per_slot: NonZeroU64::new(1), ..StopAfter::default() };
    let plan = Plan { load: closed(100), stop, threads: 2, ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(3), 5)));
    let summary = summary(&plan, &intervals);
    assert_eq!((audit(&summary, true).violations, summary.stats.measured.ok), (vec![], 100));
}

#[test]
fn stages_offer_the_integral_of_their_rate() {
    let stages = [
        StagePlan { length: ms(4000), level: 500.0 },
        StagePlan { length: ms(2000), level: 500.0 },
        StagePlan { length: ms(4000), level: 0.0 },
    ];
    let rate = Profile::stages(0.0, &stages).unwrap();
    let in_flight_max = NonZeroU64::new(100).unwrap();
    for spacing in [Spacing::Constant, Spacing::Poisson] {
        let load = LoadModel::Open { rate: rate.clone(), spacing, in_flight_max };
        let plan = Plan { load, threads: 2, ..plan() };
        let (intervals, _) = simulate(&plan, |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(1), 5)));
        let summary = summary(&plan, &intervals);
        assert_eq!(audit(&summary, true).violations, []);
        let offered = summary.stats.measured.scheduled as f64;
        // 3,000 operations are expected. The tolerance for Poisson spacing is four standard deviations.
        assert!((offered - 3000.0).abs() <= if spacing == Spacing::Constant { 1.0 } else { 220.0 }, "{offered}");
    }
}

#[test]
fn slots_of_a_ramp_come_one_by_one() {
    let slots = Profile::ramp(10.0, ms(5000)).unwrap();
    let plan = Plan { load: LoadModel::Closed { slots, think: Duration::ZERO }, threads: 2, ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(10), 5)));
    let at_ends: Vec<u64> = intervals.iter().take(7).map(|interval| interval.in_flight).collect();
    assert_eq!(at_ends, [2, 4, 6, 8, 10, 10, 10]);
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    // A slot is used as soon as the level includes a part of it. The mean is therefore computed from ∫ ⌈level⌉ dt =
    // 27.5 + 50 slot-seconds.
    let mean = summary.mean_in_flight().unwrap();
    assert!((mean - 7.75).abs() < 0.02, "{mean}");
}

#[test]
fn the_warm_up_is_not_measured() {
    let plan = Plan { load: open(100.0, 100), warmup: ms(3000), ..plan() };
    // The server is slow for 3 s, and fast after that.
    let server =
        |now: Instant, _: &str| respond_at(now + if now < Instant::ZERO + ms(3000) { ms(400) } else { ms(1) }, 100);
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((summary.stats.outside.ok, summary.stats.measured.ok), (300, 1000));
    near(&summary.all.response, 1.0, ms(1), FINE);
    assert!((summary.measured.seconds - 10.0).abs() < 1e-9);
    // Bytes count when they arrive. The measured window therefore includes 40 responses to requests of the warm-up.
    assert_eq!(summary.measured.traffic.body, 104_000);
}

#[test]
fn a_run_in_which_nothing_can_end_still_has_a_throughput() {
    let plan = Plan {
        load: closed(2),
        drain: ms(1000),
        stop: StopAfter { time: Some(ms(5000)), ..StopAfter::default() },
        ..plan()
    };
    // Every 10 ms, the server sends 1,000 bytes of a body that would take hours.
    let server = |now: Instant, _: &str| {
        let mut replies = vec![(now, Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n".to_vec()))];
        replies.extend((1..2000).map(|i| (now + ms(10 * i), Reply::Filler(1000))));
        replies
    };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((summary.stats.measured.unfinished, summary.stats.measured.ok), (2, 0));
    assert_eq!(summary.throughput().map(|bytes| (bytes / 1000.0).round()), Some(200.0));
    assert_eq!(
        summary.goodput(),
        summary.throughput(),
        "bytes of operations that were healthy at the end of the run must count as goodput"
    );
    assert!(
        summary.drain.traffic.body >= 190_000,
        "bytes of the drain must be counted: {}",
        summary.drain.traffic.body
    );
    assert_eq!(summary.success(), None);
}

#[test]
fn a_client_that_cannot_keep_up_is_reported() {
    // Each send costs 200 µs, so the client's limit is 5,000/s. The requested rate of 10,000/s exceeds this limit.
    let network =
        |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(1), 5)).with_send_cost(Duration::from_micros(200));
    let asked_twice = Plan { load: open(10_000.0, 1000), ..plan() };
    let (intervals, _) = simulate(&asked_twice, network);
    let twice = summary(&asked_twice, &intervals);
    assert_eq!(audit(&twice, true).violations, []);
    assert_eq!(limits::limited_by(&twice, &asked_twice.load.model()), measure::LimitedBy::ClientCpu);
    let asked_half = Plan { load: open(2_500.0, 1000), ..plan() };
    let (intervals, _) = simulate(&asked_half, network);
    let half = summary(&asked_half, &intervals);
    assert_eq!(limits::limited_by(&half, &asked_half.load.model()), measure::LimitedBy::Rate);
    assert_eq!(half.stats.measured.ok, 25_000);
}

#[test]
fn a_stale_connection_is_resent_once_and_flagged() {
    /// A server that responds to the first of every two requests. When the second request arrives, the server closes
    /// the connection.
    struct Stale {
        requests: u64,
    }
    impl SimServer for Stale {
        fn request(&mut self, now: Instant, _: &str) -> Vec<(Instant, Reply)> {
            self.requests += 1;
            if self.requests.is_multiple_of(2) { vec![(now, Reply::End)] } else { respond_at(now, 10) }
        }
    }
    let stop = StopAfter { ops: NonZeroU64::new(10), ..StopAfter::default() };
    let plan = Plan { stop, ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(Stale { requests: 0 }));
    let summary = summary(&plan, &intervals);
    let tally = &summary.stats.measured;
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((tally.ok, tally.failed), (10, 0));
    assert_eq!((tally.resends, tally.causes.get(Cause::StaleConnection), tally.flags.get(Flag::Resent)), (9, 9, 9));
    assert_eq!(tally.attempts, 19);
}

#[test]
fn every_hop_is_an_attempt() {
    let server = |now: Instant, request: &str| {
        let to = |place: &str, status: u16| {
            let text = format!("HTTP/1.1 {status} Moved\r\nLocation: {place}\r\nContent-Length: 4\r\n\r\nhere");
            vec![(now + ms(1), Reply::Bytes(text.into_bytes()))]
        };
        if request.starts_with("GET /object ") {
            to("http://other:81/second", 307)
        } else if request.starts_with("GET /second ") {
            assert!(request.contains("Host: other:81\r\n") && !request.contains("Cookie"), "{request}");
            to("/third?x=1", 302)
        } else {
            assert!(request.starts_with("GET /third?x=1 HTTP/1.1\r\nHost: other:81\r\n"), "{request}");
            respond_at(now + ms(1), 100)
        }
    };
    let stop = StopAfter { ops: NonZeroU64::new(5), ..StopAfter::default() };
    let mut plan = Plan { stop, ..plan() };
    plan.mix.requests_mut()[0].headers = vec![wire::Header::parse("Cookie: a=b").unwrap()];
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
    let followed = summary(&plan, &intervals);
    let tally = &followed.stats.measured;
    assert_eq!(audit(&followed, true).violations, []);
    assert_eq!((tally.ok, tally.attempts, tally.hops), (5, 15, 10));
    assert_eq!(tally.statuses.sorted(), [(200, 5), (302, 5), (307, 5)]);
    assert_eq!(followed.stats.traffic.wasted, 5 * 8, "bodies of redirects must not count as goodput");
    near(&followed.all.response, 1.0, ms(3), FINE);
    assert_eq!(followed.stats.connections.opened, 2);

    plan.follow = Follow::Never;
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
    let refused = summary(&plan, &intervals);
    assert_eq!(refused.stats.measured.classes.get(AttemptClass::Http3xx), 5);
    plan.follow = Follow::up_to(1);
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
    let limited = summary(&plan, &intervals);
    assert_eq!(limited.stats.measured.causes.get(Cause::TooManyRedirects), 5);
}

#[test]
fn timeouts_have_their_phase_and_their_instant() {
    struct Silent(Accept, Vec<Reply>);
    impl SimServer for Silent {
        fn connect(&mut self, _: Instant) -> Accept {
            self.0
        }
        fn request(&mut self, now: Instant, _: &str) -> Vec<(Instant, Reply)> {
            // One reply is sent every 30 ms.
            self.1.iter().enumerate().map(|(i, reply)| (now + ms(30 * i as u64), reply.clone())).collect()
        }
    }
    let at_once = Accept::After(Duration::ZERO);
    let slow_head: Vec<Reply> = b"HTTP/1.1 200 OK\r\n".iter().map(|byte| Reply::Bytes(vec![*byte])).collect();
    let mut trickle = vec![Reply::Bytes(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n".to_vec())];
    let stalls = trickle.clone();
    trickle.extend((0..1000).map(|_| Reply::Filler(1)));
    let cases = [
        (Accept::Ignore, Vec::new(), AttemptClass::ConnectTimeout, 100),
        (at_once, Vec::new(), AttemptClass::TimeoutHead, 200),
        (at_once, slow_head, AttemptClass::TimeoutHead, 200),
        (at_once, stalls, AttemptClass::TimeoutIdle, 300),
        (at_once, trickle, AttemptClass::TimeoutTotal, 1000),
    ];
    for (accept, replies, class, after) in cases {
        let timeouts = Timeouts { connect: ms(100), head: ms(200), idle: ms(300), total: Some(ms(1000)) };
        let stop = StopAfter { ops: NonZeroU64::new(3), ..StopAfter::default() };
        let plan = Plan { stop, timeouts, ..plan() };
        let (intervals, _) = simulate(&plan, |_| SimNetwork::new(Silent(accept, replies.clone())));
        let summary = summary(&plan, &intervals);
        assert_eq!(audit(&summary, true).violations, []);
        assert_eq!(summary.stats.measured.classes.get(class), 3, "{class}: {:?}", summary.stats.measured.classes);
        near(&summary.all.failed_response, 1.0, ms(after), ms(1));
    }
}

#[test]
fn a_dead_target_is_not_flooded_and_ends_the_run() {
    struct Refusing;
    impl SimServer for Refusing {
        fn connect(&mut self, _: Instant) -> Accept {
            Accept::Refuse
        }
        fn request(&mut self, _: Instant, _: &str) -> Vec<(Instant, Reply)> {
            unreachable!("no connection is ever established")
        }
    }
    let plan = Plan { load: closed(10), ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(Refusing));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    let refused = summary.stats.measured.classes.get(AttemptClass::ConnectRefused);
    assert!((100..200).contains(&refused), "{refused}");
    assert!(intervals.last().unwrap().end < Instant::ZERO + ms(5000), "the run must end early");
}

#[test]
fn a_backlog_that_ends_in_the_drain_was_not_sustained() {
    // The target processes 100 requests per second, but receives 200 requests per second. After 4 s, half of the
    // requests still wait. These requests complete in the drain.
    let server = || {
        let mut free = Instant::ZERO;
        move |now: Instant, _: &str| {
            free = free.max(now) + ms(10);
            respond_at(free, 5)
        }
    };
    let stop = StopAfter { time: Some(ms(6000)), ..StopAfter::default() };
    let plan = Plan { load: open(200.0, 10_000), stop, ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server()));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((summary.stats.measured.ok, summary.stats.measured.unfinished), (1200, 0));
    assert_eq!(limits::limited_by(&summary, &plan.load.model()), measure::LimitedBy::Target);
}

#[test]
fn a_number_of_arrivals_takes_the_time_that_the_rate_gives_it() {
    let stop = StopAfter { ops: NonZeroU64::new(100), ..StopAfter::default() };
    let plan = Plan { load: open(50.0, 100), stop, ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(|now, _: &str| respond_at(now + ms(1), 5)));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!(summary.stats.measured.ok, 100);
    assert_eq!(summary.offered_rate(), Some(50.0));
    assert_eq!(summary.completed_rate(), Some(50.0));
}

#[test]
fn a_fixed_range_that_reaches_beyond_the_object_ends_with_it() {
    let answers = |head: &'static str, body: u64| {
        move |now: Instant, _: &str| vec![(now, Reply::Bytes(head.as_bytes().to_vec())), (now, Reply::Filler(body))]
    };
    let asked = |first: u64| {
        let range = wire::range::ByteRange::of_length(first, 100).map(RangeChoice::Fixed);
        let stop = StopAfter { ops: NonZeroU64::new(3), ..StopAfter::default() };
        let request = RequestPlan { range, ..RequestPlan::new("GET", measure::OpKind::Get) };
        Plan { mix: Mix::one(request), stop, ..plan() }
    };
    let plan = asked(950);
    let rest = "HTTP/1.1 206 OK\r\nContent-Range: bytes 950-999/1000\r\nContent-Length: 50\r\n\r\n";
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(answers(rest, 50)));
    assert_eq!(summary(&plan, &intervals).stats.measured.ok, 3);
    let short = "HTTP/1.1 206 OK\r\nContent-Range: bytes 950-979/1000\r\nContent-Length: 30\r\n\r\n";
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(answers(short, 30)));
    assert_eq!(summary(&plan, &intervals).stats.measured.causes.get(Cause::WrongContentRange), 3);
    let plan = asked(2000);
    let beyond = "HTTP/1.1 416 No\r\nContent-Range: bytes */1000\r\nContent-Length: 1\r\n\r\n";
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(answers(beyond, 1)));
    assert_eq!(summary(&plan, &intervals).stats.measured.causes.get(Cause::RangeBeyondEnd), 3);
}

#[test]
fn an_endless_unwanted_body_is_not_read_completely() {
    let endless = |status: &'static str| {
        move |now: Instant, request: &str| {
            if request.contains("/end") {
                return respond_at(now, 5);
            }
            let head = format!("HTTP/1.1 {status}\r\nLocation: /end\r\n\r\n").into_bytes();
            vec![(now, Reply::Bytes(head)), (now, Reply::Filler(1 << 40))]
        }
    };
    let stop = StopAfter { ops: NonZeroU64::new(2), ..StopAfter::default() };
    let plan = Plan { stop, ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(endless("500 Bad")));
    let failed = summary(&plan, &intervals);
    assert_eq!(failed.stats.measured.classes.get(AttemptClass::Http5xx), 2);
    assert!(failed.measured.traffic.body < 200 << 20, "{}", failed.measured.traffic.body);
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(endless("302 There")));
    let followed = summary(&plan, &intervals);
    assert_eq!((audit(&followed, true).violations, followed.stats.measured.ok), (vec![], 2));
}

#[test]
fn free_connections_make_room_for_new_ones() {
    // Each object is on a different host, and only 8 connections may be open.
    let hop = |now: Instant, request: &str| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        let number: u64 = path.trim_start_matches("/go/").parse().unwrap_or(0);
        if request.contains("Host: sim\r\n") {
            let to = format!("HTTP/1.1 307 Go\r\nLocation: http://h{}/x\r\nContent-Length: 0\r\n\r\n", number % 50);
            return vec![(now, Reply::Bytes(to.into_bytes()))];
        }
        respond_at(now + ms(1), 5)
    };
    let mut targets = Targets::default();
    for number in 0..50 {
        assert!(targets.push(&wire::Url::parse(&format!("http://sim/go/{number}")).unwrap()));
    }
    let stop = StopAfter { ops: NonZeroU64::new(500), ..StopAfter::default() };
    let mut plan = Plan { targets: targets.into(), load: closed(2), stop, ..plan() };
    plan.connections.open_max = 8;
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(hop).with_descriptors(8));
    let summary = summary(&plan, &intervals);
    assert_eq!((audit(&summary, true).violations, summary.stats.measured.ok), (vec![], 500));
    plan.connections.open_max = 100;
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(hop).with_descriptors(8));
    let starved = self::summary(&plan, &intervals);
    assert!(
        starved.stats.measured.classes.get(AttemptClass::ClientResource) > 0,
        "without the limit of connections, descriptors must run out"
    );
    assert_eq!(limits::limited_by(&starved, &plan.load.model()), measure::LimitedBy::ClientResources);
}

#[test]
fn a_target_that_stalls_is_not_flooded_with_connections() {
    let server = |now: Instant, _: &str| {
        let (from, to) = (Instant::ZERO + ms(1000), Instant::ZERO + ms(1500));
        let at = if now >= from && now < to { to } else { now };
        respond_at(at + ms(1), 10)
    };
    let stop = StopAfter { time: Some(ms(3000)), ..StopAfter::default() };
    let plan = Plan { load: open(5000.0, 10_000), stop, ..plan() };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server));
    let summary = summary(&plan, &intervals);
    assert_eq!((audit(&summary, true).violations, summary.stats.measured.ok), (vec![], 15_000));
    // 2,500 arrivals wait. The token bucket allows 64 connections immediately, and one more in each millisecond of the
    // stall.
    let opened = summary.stats.connections.opened;
    assert!((500..700).contains(&opened), "{opened}");
    // The wait for a connection must also count.
    near(&summary.all.response, 1.0, ms(501), ms(2));
    near(&summary.all.response, 0.9, ms(201), ms(5));
    near(&summary.all.lateness, 1.0, ms(0), ms(1));
}

#[test]
fn signatures_follow_a_wall_clock_that_is_set() {
    /// Returns the wall time of a clock that is set forward by a day, 5 s after the start of the run.
    fn wall_clock(now: Instant) -> u64 {
        let seconds = now.nanos_since(Instant::ZERO) / 1_000_000_000;
        1_700_000_000 + seconds + if seconds >= 5 { 86_400 } else { 0 }
    }
    let plan = Plan { auth: s3_auth(), ..plan() };
    let (signed, off) = (Cell::new(0), RefCell::new(Vec::new()));
    let server = |now: Instant, request: &str| {
        let date = request.lines().find_map(|line| line.strip_prefix("x-amz-date: ")).unwrap_or_default();
        let date = Timestamp::parse(date).expect("a signed request").unix_seconds();
        signed.set(signed.get() + 1);
        if date.abs_diff(wall_clock(now)) > 1 {
            off.borrow_mut().push(now.nanos_since(Instant::ZERO) / 1_000_000_000);
        }
        respond_at(now + ms(100), 10)
    };
    let (intervals, _) = simulate(&plan, |_| SimNetwork::new(server).with_wall_clock(wall_clock));
    assert_eq!(audit(&summary(&plan, &intervals), true).violations, []);
    // The clock is read once per second. Signatures are wrong only before the first reading, and for at most one second
    // after the clock was set.
    let off = off.into_inner();
    assert!(signed.get() >= 90 && off.iter().all(|second| [0, 5].contains(second)), "{off:?}");
}
