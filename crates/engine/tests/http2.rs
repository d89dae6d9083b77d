//! Tests of HTTP/2. Operations on HTTP/2 streams must be measured in the same way as operations on HTTP/1 connections.
//! Each misbehavior of a server must have its own class and cause, and the counters of both sides must agree.

use crate::frames::*;
use crate::support::*;
use engine::OpEntry;
use engine::plan::*;
use engine::sim::{Reply, SimNetwork, simulate};
use engine::tls::{self, TlsSettings, Trust};
use measure::result::accounting::audit;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant, OpKind, Phase, Summary};
use proptest::prelude::*;
use server::{Config, Faults, HyperServer, Identity, Tls};
use std::cell::RefCell;
use std::num::{NonZeroU32, NonZeroU64};
use std::rc::Rc;
use std::sync::Arc;

fn counted(ops: u64) -> StopAfter {
    StopAfter { ops: NonZeroU64::new(ops), ..StopAfter::default() }
}

/// Returns a plan with these numbers of operations, slots, and streams per connection.
fn plan2(ops: u64, slots: u64, streams: u32) -> Plan {
    let mut plan = plan();
    (plan.load, plan.stop, plan.log_ops) = (closed(slots), counted(ops), true);
    plan.connections.http2 = Some(Http2Plan { streams: NonZeroU32::new(streams).unwrap() });
    plan
}

/// Runs a plan against a scripted server. Also returns the number of connections.
fn play(
    plan: &Plan,
    taking: Option<u32>,
    script: impl Fn(StreamRequest) -> Vec<(Instant, Reply)> + Clone + 'static,
) -> (Summary, Vec<OpEntry>, usize) {
    let connections = Rc::new(RefCell::new(0));
    let (intervals, ops) = simulate(plan, |_| {
        let (script, connections) = (script.clone(), Rc::clone(&connections));
        let server = Frames::new(move |request: StreamRequest| {
            let mut most = connections.borrow_mut();
            *most = (*most).max(request.connection + 1);
            script(request)
        });
        SimNetwork::new(match taking {
            Some(streams) => server.taking(streams),
            None => server,
        })
    });
    let summary = summary(plan, &intervals);
    assert_eq!(audit(&summary, true).violations, [], "{:?}", summary.stats.measured);
    let connections = *connections.borrow();
    (summary, ops, connections)
}

fn failed(class: AttemptClass, cause: Cause, phase: Phase) -> AttemptOutcome {
    AttemptOutcome::failed(class, cause, phase)
}

#[test]
fn slots_share_connections_as_streams() {
    for (slots, streams, taking, expected) in [
        (1, 100, None, 1),
        (32, 100, None, 1),
        (32, 8, None, 4),
        (33, 8, None, 5),
        (32, 100, Some(10), 4),
        (8, 1, None, 8),
    ] {
        let plan = plan2(500, slots, streams);
        let (summary, ops, connections) = play(&plan, taking, |request| page(request, ms(1), 1000));
        let tally = &summary.stats.measured;
        assert_eq!((tally.ok, summary.stats.traffic.body), (500, 500_000), "{slots} {streams}");
        assert_eq!(summary.stats.connections.opened, connections as u64);
        let pages = 500 * [head(1, 200, false), data(1, 1000, true)].concat().len();
        let arrived = summary.stats.traffic.body + summary.stats.traffic.overhead;
        assert_eq!(
            arrived,
            (pages + connections * greeting(taking).len()) as u64,
            "every received byte must be counted"
        );
        // A server announces its limit on streams only after the first request. Until then, enough connections are
        // opened for all slots.
        assert_eq!(connections, expected, "{slots} slots, {streams} streams, {taking:?} taken");
        assert!(ops.iter().all(|op| op.status == Some(200) && op.body_bytes == 1000));
        for op in &ops {
            let (sent, first) = (op.sent.unwrap(), op.first_byte.unwrap());
            assert_eq!((first.since(sent), op.end), (ms(1), first), "{op:?}");
        }
    }
}

#[test]
fn an_open_run_takes_streams_as_they_come() {
    let mut plan = plan2(1, 1, 50);
    (plan.load, plan.stop) = (open(1000.0, 1000), StopAfter { time: Some(ms(2000)), ..StopAfter::default() });
    let (summary, ops, connections) = play(&plan, None, |request| page(request, ms(100), 10));
    assert_eq!((summary.stats.measured.ok, ops.len()), (2000, 2000));
    // On average, 100 requests are in flight.
    assert!((2..=4).contains(&connections), "{connections}");
    near(&summary.all.service, 0.5, ms(100), ms(1));
}

#[test]
fn refused_requests_are_sent_again_once() {
    for (name, cause, refusal) in [
        ("REFUSED_STREAM", Cause::StreamRefused, reset as fn(u32, u32) -> Vec<u8>),
        ("GOAWAY", Cause::AboveGoaway, |_, _| goaway(0, 0)),
    ] {
        for (refused, method) in [(1, "GET"), (1, "POST"), (2, "GET")] {
            let mut plan = plan2(1, 1, 10);
            plan.mix = Mix::one(RequestPlan::new(method, OpKind::Request));
            let (summary, ops, connections) = play(&plan, None, move |request| {
                if request.before < refused {
                    return vec![(request.now + ms(1), Reply::Bytes(refusal(request.stream, REFUSED_STREAM)))];
                }
                page(request, ms(1), 10)
            });
            let tally = &summary.stats.measured;
            let ok = u64::from(refused == 1);
            assert_eq!((tally.ok, tally.attempts, tally.resends), (ok, 2, 1), "{name}");
            assert_eq!(tally.flags.get(Flag::Unprocessed), refused as u64, "{name}");
            assert_eq!(tally.flags.get(Flag::Resent), 1);
            assert_eq!(tally.causes.get(cause), refused as u64);
            assert_eq!(ops[0].outcome.cause, if refused == 1 { Cause::None } else { cause });
            // A connection that refused one stream can still be used. A connection that sent GOAWAY is not used again.
            assert_eq!(connections, if cause == Cause::AboveGoaway { 2 } else { 1 }, "{name}");
        }
    }
}

#[test]
fn a_goaway_loses_nothing() {
    // Each connection accepts 21 requests, and announces its end while other requests are in flight.
    let plan = plan2(1000, 16, 16);
    let (summary, _, connections) = play(&plan, None, |request| {
        let mut replies = page(request, ms(2), 100);
        if request.stream == 41 {
            replies.insert(0, (request.now + ms(1), Reply::Bytes(goaway(41, 0))));
        }
        replies
    });
    let tally = &summary.stats.measured;
    let unprocessed = tally.flags.get(Flag::Unprocessed);
    assert_eq!((tally.ok, tally.resends, tally.causes.get(Cause::AboveGoaway)), (1000, unprocessed, unprocessed));
    assert_eq!(connections, 1000_usize.div_ceil(21));
    assert!(unprocessed > 100, "{unprocessed}");
}

type Script = fn(StreamRequest) -> Vec<(Instant, Reply)>;

#[test]
fn every_fault_ends_in_its_own_cause() {
    use AttemptClass::{ClosedEarly, Incomplete, Protocol, Reset, TimeoutHead, TimeoutIdle};
    use Phase::{Body, Head};
    fn then(request: StreamRequest, bytes: &[Vec<u8>], last: Option<Reply>) -> Vec<(Instant, Reply)> {
        let mut replies = vec![(request.now + ms(1), Reply::Bytes(bytes.concat()))];
        replies.extend(last.map(|reply| (request.now + ms(2), reply)));
        replies
    }
    let cases: [(&str, Script, AttemptOutcome); 18] = [
        ("reset", |a| then(a, &[reset(a.stream, INTERNAL_ERROR)], None), failed(Reset, Cause::StreamReset, Head)),
        (
            "reset in the body",
            |a| then(a, &[head(a.stream, 200, false), data(a.stream, 9, false), reset(a.stream, 0)], None),
            failed(Reset, Cause::StreamReset, Body),
        ),
        ("closed", |a| then(a, &[], Some(Reply::End)), failed(ClosedEarly, Cause::ClosedBeforeHead, Head)),
        (
            "closed in the body",
            |a| then(a, &[head(a.stream, 200, false), data(a.stream, 9, false)], Some(Reply::End)),
            failed(Incomplete, Cause::BodyCutShort, Body),
        ),
        (
            "closed in a frame",
            |a| then(a, &[head(a.stream, 200, false), data(a.stream, 9, true)[..12].to_vec()], Some(Reply::End)),
            failed(Incomplete, Cause::BodyCutShort, Body),
        ),
        ("connection reset", |a| then(a, &[], Some(Reply::Reset)), failed(Reset, Cause::ResetInHead, Head)),
        (
            "connection reset in the body",
            |a| then(a, &[head(a.stream, 200, false)], Some(Reply::Reset)),
            failed(Reset, Cause::ResetInBody, Body),
        ),
        (
            "GOAWAY with an error",
            |a| then(a, &[goaway(a.stream, INTERNAL_ERROR)], Some(Reply::End)),
            failed(Reset, Cause::GoneAway, Head),
        ),
        (
            "HTTP/1",
            |a| then(a, &[b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec()], Some(Reply::End)),
            failed(Protocol, Cause::BadHttp2, Head),
        ),
        ("a frame of no stream", |a| then(a, &[data(0, 1, false)], None), failed(Protocol, Cause::BadHttp2, Head)),
        ("content first", |a| then(a, &[data(a.stream, 1, true)], None), failed(Protocol, Cause::BadHttp2, Head)),
        (
            "a field that HTTP/2 does not allow",
            |a| then(a, &[frame(1, 5, a.stream, b"\x88\x00\x0aconnection\x05close")], None),
            failed(Protocol, Cause::BadStream, Head),
        ),
        (
            "less content than announced",
            |a| then(a, &[frame(1, 4, a.stream, b"\x88\x0f\x0d\x0210"), data(a.stream, 9, true)], None),
            failed(Protocol, Cause::BadStream, Body),
        ),
        (
            "a length that is none",
            |a| then(a, &[frame(1, 4, a.stream, b"\x88\x0f\x0d\x02xx"), data(a.stream, 9, true)], None),
            failed(Protocol, Cause::BadStream, Head),
        ),
        (
            "too many interim heads",
            |a| then(a, &(0..99).map(|_| head(a.stream, 103, false)).collect::<Vec<_>>(), None),
            failed(Protocol, Cause::TooManyInterim, Head),
        ),
        ("silence", |_| Vec::new(), failed(TimeoutHead, Cause::HeadTimedOut, Head)),
        (
            "silence in the body",
            |a| then(a, &[head(a.stream, 200, false), data(a.stream, 9, false)], None),
            failed(TimeoutIdle, Cause::BodyStalled, Body),
        ),
        (
            "a status that is none",
            |a| then(a, &[head(a.stream, 600, true)], None),
            failed(Protocol, Cause::BadStatus, Head),
        ),
    ];
    for (name, script, outcome) in cases {
        let (summary, ops, _) = play(&plan2(1, 1, 10), None, script);
        assert_eq!(ops[0].outcome, outcome, "{name}");
        assert_eq!(summary.stats.measured.attempts, 1, "{name}");
        let example = summary.stats.examples.iter().find(|it| it.outcome == outcome);
        assert!(example.is_some(), "{name}");
    }
}

#[test]
fn bodies_are_checked_on_request() {
    for (bytes, outcome) in [
        (1000, AttemptOutcome::OK),
        (MESSAGE_BYTES_MAX + 1, failed(AttemptClass::Protocol, Cause::MessageTooLarge, Phase::Body)),
    ] {
        let mut plan = plan2(1, 1, 10);
        plan.mix = Mix::one(RequestPlan { response_body: ResponseBody::Kept, ..RequestPlan::new("GET", OpKind::Get) });
        let (_, ops, _) = play(&plan, None, move |request| {
            let mut response = head(request.stream, 200, false);
            for left in (1..=bytes).rev().step_by(16_000) {
                response.extend(data(request.stream, left.min(16_000), left <= 16_000));
            }
            vec![(request.now + ms(1), Reply::Bytes(response))]
        });
        assert_eq!(ops[0].outcome, outcome, "{bytes} bytes");
    }
}

#[test]
fn a_checksum_in_a_trailer_is_compared_with_the_content() {
    fn with_checksum(request: StreamRequest, sum: &'static [u8]) -> Vec<(Instant, Reply)> {
        let announced = [&b"\x88\x00\x07trailer\x14x-amz-checksum-crc32"[..]].concat();
        let field = [&b"\x00\x14x-amz-checksum-crc32\x08"[..], sum].concat();
        let frames = [
            frame(1, 4, request.stream, &announced),
            data(request.stream, 5, false),
            frame(1, 5, request.stream, &field),
        ];
        vec![(request.now + ms(1), Reply::Bytes(frames.concat()))]
    }
    let differs = failed(AttemptClass::Integrity, Cause::HashDiffers, Phase::Body);
    // The second checksum belongs to another body.
    let cases: [(Script, AttemptOutcome); 2] = [
        (|request| with_checksum(request, b"QtHneA=="), AttemptOutcome::OK),
        (|request| with_checksum(request, b"uxircw=="), differs),
    ];
    for (script, outcome) in cases {
        let mut plan = plan2(1, 1, 10);
        plan.mix = Mix::one(RequestPlan {
            response_body: ResponseBody::Hashed(ExpectedChecksum::FromResponse),
            ..RequestPlan::new("GET", OpKind::Get)
        });
        let (_, ops, _) = play(&plan, None, script);
        assert_eq!(ops[0].outcome, outcome);
    }
}

#[test]
fn other_protocols_on_the_port_are_recognized() {
    for (response, cause) in [
        (&b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"[..], Cause::NotHttp2),
        (&[21, 3, 3, 0, 2, 2, 70, 0, 0, 0][..], Cause::TlsResponse),
        (&[0xff; 40][..], Cause::BadHttp2),
    ] {
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let plan = at(plan2(1, 1, 10), &format!("http://{}/", listener.local_addr().unwrap()));
        let response = response.to_vec();
        let thread = std::thread::spawn(move || {
            use std::io::{Read, Write};
            let (mut socket, _) = listener.accept().unwrap();
            socket.write_all(&response).unwrap();
            let _ = socket.read_to_end(&mut Vec::new());
        });
        let kept = run(&plan);
        assert_eq!(kept.ops[0].outcome, failed(AttemptClass::Protocol, cause, Phase::Head));
        thread.join().unwrap();
    }
}

#[test]
fn one_stream_that_stalls_or_breaks_leaves_the_others_alone() {
    let mut plan = plan2(100, 10, 10);
    plan.timeouts.head = ms(500);
    let (summary, _, connections) = play(&plan, None, |request| match request.before {
        20 => Vec::new(),
        30 => vec![(request.now + ms(1), Reply::Bytes(reset(request.stream, INTERNAL_ERROR)))],
        _ => page(request, ms(30), 10),
    });
    let tally = &summary.stats.measured;
    assert_eq!((tally.ok, tally.failed, connections), (98, 2, 1));
}

#[test]
fn a_connection_that_is_silent_is_not_used_again() {
    let mut plan = plan2(3, 1, 10);
    plan.timeouts.head = ms(500);
    let (summary, _, connections) =
        play(&plan, None, |request| if request.connection == 0 { Vec::new() } else { page(request, ms(1), 10) });
    // The server's settings arrive after the first request began, so a timeout of that request does not prove that the
    // connection is dead.
    let tally = &summary.stats.measured;
    assert_eq!((tally.ok, tally.failed, connections), (1, 2, 2), "{tally:?}");
}

#[test]
fn connections_that_close_between_requests_are_stale() {
    let mut plan = plan2(4, 1, 10);
    if let LoadModel::Closed { think, .. } = &mut plan.load {
        *think = ms(10);
    }
    let (summary, _, connections) = play(&plan, None, |request| match request.before {
        // The server closes the connection of the second request without GOAWAY.
        1 => vec![(request.now + ms(1), Reply::End)],
        _ => page(request, ms(1), 10),
    });
    let tally = &summary.stats.measured;
    assert_eq!((tally.ok, tally.resends, connections), (4, 1, 2));
    assert_eq!(tally.causes.get(Cause::StaleConnection), 1);
}

#[test]
fn connections_are_closed_after_the_requests_that_they_may_carry() {
    let mut plan = plan2(100, 10, 10);
    plan.connections.requests_max = NonZeroU64::new(20);
    let (summary, _, connections) = play(&plan, None, |request| page(request, ms(1), 10));
    assert_eq!((summary.stats.measured.ok, connections), (100, 5));
    let mut plan = plan2(30, 3, 10);
    plan.http.keep_alive = false;
    let (summary, _, connections) = play(&plan, None, |request| page(request, ms(1), 10));
    assert_eq!((summary.stats.measured.ok, connections), (30, 30));
}

/// Starts the embedded server, with or without TLS.
fn serve(faults: Faults, secure: bool) -> (HyperServer, Option<tempfile::NamedTempFile>) {
    let tls = secure.then_some(Tls { identity: Identity::SelfSigned, client_ca: None });
    let front = HyperServer::start(&Config { faults, ..Config::default() }, tls.as_ref()).unwrap();
    let authority = front.ca_pem().map(|pem| {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), pem).unwrap();
        file
    });
    (front, authority)
}

fn toward(plan: Plan, front: &HyperServer, authority: Option<&tempfile::NamedTempFile>, path: &str) -> Plan {
    let scheme = if authority.is_some() { "https" } else { "http" };
    let mut plan = at(plan, &format!("{scheme}://{}{path}", front.addresses()[0]));
    if let Some(authority) = authority {
        let trust = Trust::Files(vec![authority.path().to_owned()]);
        let protocols = vec![(*b"h2").into(), (*b"http/1.1").into()];
        plan.connections.tls =
            Arc::new(tls::configure(&TlsSettings { trust, protocols, ..TlsSettings::default() }).unwrap());
    }
    plan
}

#[test]
fn client_and_server_count_the_same() {
    let cases: [(&str, u64, u64, u32); 5] = [
        ("/blackhole/1KiB", 3000, 16, 4),
        ("/blackhole/1KiB", 500, 64, 100),
        ("/blackhole/3MiB", 40, 16, 100),
        ("/blackhole/700KiB?chunked", 60, 16, 16),
        ("/blackhole/0", 300, 16, 3),
    ];
    let mut samples = 0;
    for secure in [false, true] {
        for (path, ops, slots, streams) in cases {
            let (front, authority) = serve(Faults::default(), secure);
            let mut plan = toward(plan2(ops, slots, streams), &front, authority.as_ref(), path);
            plan.threads = 2;
            let kept = run(&plan);
            let summary = summary(&plan, &kept.intervals);
            let ledger = front.stop();
            assert_eq!(audit(&summary, true).violations, [], "{path}");
            assert_eq!(summary.stats.measured.ok, ops, "{path}: {:?}", summary.stats.measured);
            assert_eq!((ledger.requests(), ledger.complete.count), (ops, ops), "{path}");
            assert_eq!(ledger.complete.body_bytes, summary.stats.traffic.body, "{path}");
            assert_eq!(ledger.received_bytes, summary.stats.traffic.sent, "{path}");
            assert_eq!(ledger.connections_accepted, summary.stats.connections.opened, "{path}");
            // A run may have no samples, because the kernel needs some time to switch timestamps on.
            if let Some(share) = summary.client_share() {
                samples += share.samples;
                assert!(share.at_least, "the last read may belong to another stream: {share:?}");
            }
            let connections = 2 * (slots / 2).div_ceil(u64::from(streams));
            assert_eq!(ledger.connections_accepted, connections, "{path}: {slots} slots on {streams} streams");
        }
    }
    assert!(samples > 0, "no read was sampled");
}

#[test]
fn ranges_heads_bodies_and_redirects_work_as_in_http1() {
    let (front, authority) = serve(Faults::default(), true);
    let to = |path: &str| toward(plan2(50, 8, 100), &front, authority.as_ref(), path);
    let mut ranged = to("/blackhole/1000000");
    let range = NonZeroU64::new(10_000).map(|length| RangeChoice::Random { length });
    ranged.mix = Mix::one(RequestPlan { range, ..RequestPlan::new("GET", OpKind::GetRange) });
    engine::object_sizes::discover_sizes(&mut ranged, &mut |_, _, _| {}).unwrap();
    let mut heads = to("/blackhole/10GiB");
    heads.mix = Mix::one(RequestPlan::new("HEAD", OpKind::Head));
    let hopped = to("/blackhole/100?redirect=/blackhole/30");
    for (plan, bytes, hops) in [(ranged, 500_000, 0), (heads, 0, 0), (hopped, 1500, 50)] {
        let kept = run(&plan);
        let summary = summary(&plan, &kept.intervals);
        let tally = &summary.stats.measured;
        assert_eq!(audit(&summary, true).violations, []);
        assert_eq!((tally.ok, tally.hops), (50, hops), "{tally:?}");
        assert_eq!(kept.ops.iter().map(|op| op.body_bytes).sum::<u64>(), bytes);
    }
}

#[test]
fn request_bodies_are_sent_as_the_server_takes_them() {
    for (bytes, fails) in [(100, false), (3_000_000, false), (10_000, true)] {
        let faults = Faults { error_every: NonZeroU64::new(u64::from(fails)), ..Faults::default() };
        let (front, authority) = serve(faults, false);
        let mut plan = toward(plan2(20, 4, 4), &front, authority.as_ref(), "/blackhole/1");
        let body = Some(BodyPlan::of_bytes(Arc::from(vec![7; bytes])));
        plan.mix = Mix::one(RequestPlan { body, ..RequestPlan::new("POST", OpKind::Request) });
        let kept = run(&plan);
        let summary = summary(&plan, &kept.intervals);
        let (ledger, traffic) = (front.stop(), &summary.stats.traffic);
        assert_eq!(audit(&summary, true).violations, []);
        assert_eq!((ledger.received_bytes, ledger.requests()), (traffic.sent, 20));
        assert_eq!(summary.stats.measured.ok, if fails { 0 } else { 20 });
        assert!(fails || ledger.request_body_bytes == 20 * bytes as u64, "{bytes}: {}", ledger.request_body_bytes);
        assert!(fails || traffic.sent_body == 20 * bytes as u64, "{bytes}: {} of data", traffic.sent_body);
        assert_eq!(traffic.wasted_sent, if fails { traffic.sent_body } else { 0 }, "{bytes}");
        assert!(traffic.sent_body > 0);
    }
}

#[test]
fn a_server_that_chooses_http1_gets_http1() {
    let (front, authority) = serve(Faults::default(), true);
    let mut plan = toward(plan2(200, 16, 100), &front, authority.as_ref(), "/blackhole/1KiB");
    let trust = Trust::Files(vec![authority.as_ref().unwrap().path().to_owned()]);
    // The client does not offer HTTP/2, so the server cannot choose it.
    plan.connections.tls = Arc::new(tls::configure(&TlsSettings { trust, ..TlsSettings::default() }).unwrap());
    let kept = run(&plan);
    let summary = summary(&plan, &kept.intervals);
    let ledger = front.stop();
    assert_eq!((audit(&summary, true).violations, summary.stats.measured.ok, ledger.requests()), (vec![], 200, 200));
    assert_eq!(ledger.connections_accepted, 16);
}

/// Reaction of a server to a request.
#[derive(Clone, Debug)]
enum Deed {
    Respond { bytes: usize, parts: usize },
    Status(u16),
    Reset { code: u32, after_head: bool },
    Goaway { back: u32, code: u32 },
    Garbage(Vec<u8>),
    Silence,
    Cut { at: usize },
    ResetConnection,
    Close,
}

fn deeds() -> impl Strategy<Value = Vec<(Deed, u64)>> {
    let deed = prop_oneof![
        8 => (0_usize..16_000, 1_usize..4).prop_map(|(bytes, parts)| Deed::Respond { bytes, parts }),
        1 => prop::sample::select(vec![204_u16, 304, 404, 429, 500, 503]).prop_map(Deed::Status),
        2 => (0_u32..14, any::<bool>()).prop_map(|(code, after_head)| Deed::Reset { code, after_head }),
        2 => (0_u32..8, 0_u32..3).prop_map(|(back, code)| Deed::Goaway { back, code }),
        1 => prop::collection::vec(any::<u8>(), 1..100).prop_map(Deed::Garbage),
        1 => Just(Deed::Silence),
        1 => (0_usize..60).prop_map(|at| Deed::Cut { at }),
        1 => Just(Deed::ResetConnection),
        1 => Just(Deed::Close),
    ];
    // With shorter delays, many connections would be closed soon after they were opened, and the simulation would
    // become slow.
    prop::collection::vec((deed, 20_u64..300), 1..12)
}

fn carry_out(deed: &Deed, delay: u64, request: StreamRequest) -> Vec<(Instant, Reply)> {
    let (at, stream) = (request.now + ms(delay), request.stream);
    let bytes = |bytes: Vec<u8>| vec![(at, Reply::Bytes(bytes))];
    match deed {
        Deed::Respond { bytes, parts } => {
            let mut replies = vec![(at, Reply::Bytes(head(stream, 200, false)))];
            for part in 1..=*parts {
                let later = at + ms(20 * part as u64);
                replies.push((later, Reply::Bytes(data(stream, bytes / parts, part == *parts))));
            }
            replies
        }
        Deed::Status(status) => bytes(head(stream, *status, true)),
        Deed::Reset { code, after_head: false } => bytes(reset(stream, *code)),
        Deed::Reset { code, after_head: true } => bytes([head(stream, 200, false), reset(stream, *code)].concat()),
        Deed::Goaway { back, code } => bytes(goaway(stream.saturating_sub(2 * back), *code)),
        Deed::Garbage(garbage) => bytes(garbage.clone()),
        Deed::Silence => Vec::new(),
        Deed::Cut { at: length } => {
            let text = [head(stream, 200, false), data(stream, 40, true)].concat();
            vec![(at, Reply::Bytes(text[..(*length).clamp(1, text.len())].to_vec())), (at + ms(1), Reply::End)]
        }
        Deed::ResetConnection => vec![(at, Reply::Reset)],
        Deed::Close => vec![(at, Reply::End)],
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// The counters must agree for any load and any misbehavior of the server.
    #[test]
    fn the_books_balance(
        deeds in deeds(),
        (slots, streams, taking) in (1_u64..40, 1_u32..20, prop::option::of(0_u32..10)),
        rate in prop::option::of(1.0_f64..200.0),
        (idempotent, drain) in (any::<bool>(), 0_u64..400),
    ) {
        let mut plan = plan2(1, slots, streams);
        plan.stop = StopAfter { time: Some(ms(3000)), ..StopAfter::default() };
        if let Some(rate) = rate {
            plan.load = open(rate, slots);
        }
        plan.drain = ms(drain);
        plan.timeouts = Timeouts { head: ms(400), idle: ms(200), connect: ms(300), total: None };
        plan.mix = Mix::one(RequestPlan::new(if idempotent { "GET" } else { "POST" }, OpKind::Request));
        let (summary, ops, _) = play(&plan, taking, move |request| {
            let (deed, delay) = &deeds[request.before % deeds.len()];
            carry_out(deed, *delay, request)
        });
        let tally = &summary.stats.measured;
        prop_assert_eq!(ops.len() as u64, tally.started);
        prop_assert_eq!(tally.classes.get(AttemptClass::Internal), 0);
        let by_ops: u64 = ops.iter().map(|op| op.received_bytes).sum();
        prop_assert_eq!(by_ops, summary.stats.traffic.body + summary.stats.traffic.overhead);
    }
}
