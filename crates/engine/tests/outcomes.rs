//! Tests of outcomes and flags that depend only on the bytes that were sent and received, and tests of the end of runs.

use crate::support::*;
use engine::plan::*;
use engine::sim::{Accept, Reply, SimNetwork, SimServer, simulate};
use measure::result::accounting::audit;
use measure::{AttemptClass, Cause, Flag, Instant, OpKind, Summary};
use std::num::NonZeroU64;
use std::time::Duration;

fn counted(ops: u64) -> StopAfter {
    StopAfter { ops: NonZeroU64::new(ops), ..StopAfter::default() }
}

fn text(text: impl Into<String>) -> Reply {
    Reply::Bytes(text.into().into_bytes())
}

/// Returns the summary of a run against a simulated server. Asserts that the counters of the run agree.
fn played<S: SimServer>(plan: &Plan, server: impl Fn() -> S) -> Summary {
    let (intervals, _) = simulate(plan, |_| SimNetwork::new(server()));
    let summary = summary(plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    summary
}

#[test]
fn the_first_byte_is_that_of_the_final_head_in_however_many_pieces_it_comes() {
    // Each case consists of the pieces of a response, each with its time in ms, and of the time at which the final head
    // begins.
    let whole = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    let interim = "HTTP/1.1 103 Early Hints\r\n\r\n";
    let cases: [(&[(u64, String)], u64); 5] = [
        (&[(10, whole[..3].into()), (30, whole[3..20].into()), (50, whole[20..].into())], 10),
        (&[(10, interim.into()), (30, whole[..9].into()), (50, whole[9..].into())], 30),
        (&[(10, format!("{interim}{}", &whole[..9])), (50, whole[9..].into())], 10),
        (
            &[
                (10, interim[..9].into()),
                (30, format!("{}{interim}{}", &interim[9..], &whole[..1])),
                (50, whole[1..].into()),
            ],
            30,
        ),
        (&[(10, format!("{interim}{}", &interim[..5])), (30, interim[5..].into()), (50, whole.into())], 50),
    ];
    for (pieces, first) in cases {
        let plan = Plan { stop: counted(3), ..plan() };
        let server =
            || |now: Instant, _: &str| pieces.iter().map(|(at, piece)| (now + ms(*at), text(piece.clone()))).collect();
        let summary = played(&plan, server);
        assert_eq!(summary.stats.measured.ok, 3);
        near(&summary.all.ttfb, 1.0, ms(first), Duration::from_micros(50));
        near(&summary.all.service, 1.0, ms(50), Duration::from_micros(50));
    }
}

#[test]
fn every_page_of_a_listing_has_the_whole_limit_of_redirects() {
    const PAGES: usize = 15;
    let mut plan = Plan { stop: counted(2), follow: Follow::up_to(1), ..plan() };
    let then = Then::Pages { most: 100 };
    plan.mix =
        Mix::one(RequestPlan { response_body: ResponseBody::Kept, then, ..RequestPlan::new("GET", OpKind::List) });
    let server = || {
        let mut page = 0;
        move |now: Instant, request: &str| {
            if request.starts_with("GET /object") {
                let head = "HTTP/1.1 307 There\r\nLocation: http://owner:81/page\r\nContent-Length: 0\r\n\r\n";
                return vec![(now + ms(1), text(head))];
            }
            page += 1;
            let more = page % PAGES != 0;
            let next = if more { "<NextContinuationToken>next</NextContinuationToken>" } else { "" };
            let body = format!("<ListBucketResult><IsTruncated>{more}</IsTruncated>{next}</ListBucketResult>");
            vec![(now + ms(1), text(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())))]
        }
    };
    let summary = played(&plan, server);
    let tally = &summary.stats.measured;
    assert_eq!((tally.ok, tally.hops), (2, 2 * PAGES as u64), "{:?}", tally.causes.nonzero().collect::<Vec<_>>());
}

#[test]
fn as_many_header_fields_as_a_head_can_have_may_be_expected() {
    let field = |number: usize| format!("X-Field-{number}: {number}");
    let mut plan = Plan { stop: counted(1), ..plan() };
    plan.mix.requests_mut()[0].checks.headers =
        (1..EXPECTED_HEADERS_MAX).map(|n| wire::Header::parse(&field(n)).unwrap()).collect();
    for missing in [None, Some(1), Some(64), Some(65), Some(99)] {
        let fields: String =
            (1..EXPECTED_HEADERS_MAX).filter(|n| Some(*n) != missing).map(|n| field(n) + "\r\n").collect();
        let server = || {
            |now: Instant, _: &str| vec![(now, text(format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 0\r\n\r\n")))]
        };
        let tally = played(&plan, server).stats.measured;
        let wanted = if missing.is_none() { (1, 0) } else { (0, 1) };
        assert_eq!((tally.ok, tally.causes.get(Cause::HeaderDiffers)), wanted, "without {missing:?}");
    }
}

#[test]
fn a_response_to_a_conditional_request_is_no_redirect() {
    let plan = Plan { stop: counted(2), ..plan() };
    let server = || |now: Instant, _: &str| vec![(now, text("HTTP/1.1 304 Not Modified\r\nETag: \"a\"\r\n\r\n"))];
    let tally = played(&plan, server).stats.measured;
    assert_eq!((tally.classes.get(AttemptClass::Http3xx), tally.causes.get(Cause::NotModified)), (2, 2));
    let mut expected = plan;
    expected.mix.requests_mut()[0].checks.statuses = vec![304];
    assert_eq!(played(&expected, server).stats.measured.ok, 2);
}

/// A server that responds after 1 ms. If `after` is set, the server closes the connection after this additional time,
/// without announcing this in the head.
fn closing(after: Option<Duration>) -> impl SimServer {
    move |now: Instant, _: &str| {
        let mut replies = respond_at(now + ms(1), 10);
        replies.extend(after.map(|after| (now + ms(1) + after, Reply::End)));
        replies
    }
}

#[test]
fn only_connections_that_stay_open_count_as_kept_alive() {
    let mut plan = Plan { stop: counted(100), ..plan() };
    plan.load = LoadModel::Closed { slots: engine::schedule::Profile::constant(1.0).unwrap(), think: ms(10) };
    for (after, kept) in [(None, 100), (Some(Duration::ZERO), 0), (Some(ms(1)), 0)] {
        let summary = played(&plan, || closing(after));
        let tally = &summary.stats.measured;
        assert_eq!((tally.ok, tally.flags.get(Flag::KeptAlive)), (100, kept), "closed after {after:?}");
        assert_eq!(tally.flags.get(Flag::Persistent), 100, "the heads do not announce the end of the connection");
    }
    // The server has also closed the connections that turned out to be stale. The client detects this only when it
    // sends the next request.
    let stale = || {
        let mut requests = 0;
        move |now: Instant, _: &str| {
            requests += 1;
            if requests % 3 == 0 { vec![(now + ms(1), Reply::End)] } else { respond_at(now + ms(1), 10) }
        }
    };
    let tally = played(&plan, stale).stats.measured;
    assert_eq!((tally.ok, tally.resends), (100, 49), "each connection has two responses");
    assert_eq!(tally.flags.get(Flag::KeptAlive), 100 - 49);
}

#[test]
fn the_peak_in_flight_is_seen_within_a_second() {
    // Each second, 20 operations start at the same time, and their responses take 10 ms. At the end of each second,
    // nothing is in flight.
    let slots = engine::schedule::Profile::constant(20.0).unwrap();
    let plan = Plan {
        load: LoadModel::Closed { slots, think: ms(990) },
        stop: StopAfter { time: Some(ms(4950)), ..StopAfter::default() },
        ..plan()
    };
    let server = || |now: Instant, _: &str| respond_at(now + ms(10), 10);
    let summary = played(&plan, server);
    assert_eq!((summary.in_flight_peak, summary.in_flight_at_end), (20, 0));
    // The peaks of all threads are added.
    let summary = played(&Plan { threads: 4, ..plan }, server);
    assert_eq!(summary.in_flight_peak, 20);
}

#[test]
fn an_open_run_ends_when_its_bytes_have_arrived() {
    // 100 operations arrive per second, and their responses of 1 MB take 500 ms. The tenth response therefore arrives
    // at 590 ms.
    let bytes = NonZeroU64::new(10_000_000);
    let stop = StopAfter { time: Some(Duration::from_secs(10)), bytes, ..StopAfter::default() };
    let plan = Plan { load: open(100.0, 1000), stop, ..plan() };
    let (intervals, ops) = simulate(&Plan { log_ops: true, ..plan.clone() }, |_| {
        SimNetwork::new(|now: Instant, _: &str| respond_at(now + ms(500), 1_000_000))
    });
    let found = summary(&plan, &intervals);
    assert_eq!(audit(&found, true).violations, []);
    let tally = &found.stats.measured;
    assert_eq!((tally.ok, tally.dropped, tally.failed), (10, 0, 0));
    assert_eq!((tally.causes.get(Cause::BytesReached), tally.unfinished, tally.unanswered), (49, 49, 0));
    assert_eq!((found.stats.traffic.body, found.success()), (10_000_000, Some(1.0)));
    assert!((found.measured.seconds - 0.59).abs() < 0.001, "{}", found.measured.seconds);
    assert_eq!(ops.iter().map(|op| op.end).max(), Some(Instant::ZERO + ms(590)));
}

#[test]
fn uploads_of_an_open_run_may_end_after_its_bytes_were_sent() {
    let mut plan = Plan { load: open(100.0, 1000), ..plan() };
    plan.stop = StopAfter { bytes: NonZeroU64::new(500_000), ..plan.stop };
    let body = Some(BodyPlan::of_bytes(vec![b'x'; 100_000].into()));
    plan.mix = Mix::one(RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Put) });
    struct Stored;
    impl SimServer for Stored {
        fn request(&mut self, _: Instant, _: &str) -> Vec<(Instant, Reply)> {
            Vec::new()
        }
        fn received(&mut self, now: Instant, _: usize, bytes: &mut Vec<u8>) -> Vec<(Instant, Reply)> {
            let head = bytes.windows(4).position(|four| four == b"\r\n\r\n").map_or(0, |at| at + 4);
            if bytes.len() < head + 100_000 {
                return Vec::new();
            }
            bytes.clear();
            respond_at(now + ms(100), 0)
        }
    }
    let summary = played(&plan, || Stored);
    let tally = &summary.stats.measured;
    assert_eq!((tally.started, tally.ok, tally.sent_body), (5, 5, 500_000));
}

/// A listener whose queue is full until the first instant. The second instant is the earliest time at which the client
/// may try to connect again, 1 ms after its last attempt.
struct Full(Instant, Instant);

impl SimServer for Full {
    fn connect(&mut self, now: Instant) -> Accept {
        if now >= self.0 {
            return Accept::After(ms(1));
        }
        assert!(self.1 <= now, "tried again too early, at {now:?}");
        self.1 = now + ms(1);
        Accept::Full
    }

    fn request(&mut self, now: Instant, _: &str) -> Vec<(Instant, Reply)> {
        respond_at(now + ms(1), 10)
    }
}

#[test]
fn a_unix_socket_with_a_full_queue_is_tried_again() {
    for load in [closed(1), closed(8), open(100.0, 100)] {
        let mut plan = Plan { load, stop: counted(8), ..plan() };
        plan.connections.route = Route::Unix("/run/server.sock".into());
        let full = |at: u64| move || Full(Instant::ZERO + ms(at), Instant::ZERO);
        let summary = played(&plan, full(200));
        let (tally, connections) = (&summary.stats.measured, &summary.stats.connections);
        assert_eq!((tally.ok, tally.attempts, connections.failed), (8, 8, 0));
        near(&summary.all.connect, 1.0, ms(201), ms(1));

        plan.timeouts.connect = ms(150);
        let (tally, first) = (played(&plan, full(10_000)).stats.measured, 8);
        assert_eq!((tally.ok, tally.causes.get(Cause::ConnectTimedOut)), (0, first), "{:?}", plan.load);
        assert_eq!(tally.classes.get(AttemptClass::ConnectTimeout), first);
    }
}
