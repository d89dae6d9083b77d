//! Tests of operations whose server first accepts work and does the work later, on simulated time.

use crate::support::{self, *};
use engine::OpEntry;
use engine::plan::*;
use engine::sim::{Reply, SimNetwork, simulate};
use measure::result::accounting::audit;
use measure::{AttemptClass, Instant, OpKind, Summary};
use std::collections::BTreeMap;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

const EVERY: Duration = Duration::from_secs(15);

fn reply(status: &str, body: &str) -> Reply {
    Reply::Bytes(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes())
}

/// Returns a simulated siad that takes `length` to upload each file. If `fails` returns `true` for the number of a
/// call, the response to this call is a 500.
fn siad(length: Duration, fails: fn(u64) -> bool) -> impl FnMut(Instant, &str) -> Vec<(Instant, Reply)> {
    let mut begun: BTreeMap<String, Instant> = BTreeMap::new();
    let mut calls = 0;
    move |now, request| {
        calls += 1;
        let line = request.lines().next().unwrap();
        let reply = if fails(calls) {
            reply("500 No", r#"{"message":"no"}"#)
        } else if let Some(rest) = line.strip_prefix("POST /renter/upload/") {
            let name = rest.split(['?', ' ']).next().unwrap().replace("%20", " ");
            begun.entry(name).or_insert(now);
            Reply::Bytes(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec())
        } else {
            assert_eq!(line, "GET /renter/files HTTP/1.1");
            let percent = |at: Instant| 100.0 * (now.since(at).as_secs_f64() / length.as_secs_f64()).min(1.0);
            let under_way = begun.values().filter(|at| percent(**at) < 100.0).count();
            assert!(under_way <= 3, "{under_way} uploads are in progress with 3 slots");
            let file = |(name, at): (&String, &Instant)| {
                format!(r#"{{"siapath":"{name}","filesize":5,"uploadprogress":{}}}"#, percent(*at))
            };
            let files: Vec<String> = begun.iter().map(file).collect();
            reply("200 OK", &format!(r#"{{"files":[{}]}}"#, files.join(",")))
        };
        vec![(now + ms(2), reply)]
    }
}

fn plan(ops: u64) -> Plan {
    let mut targets = Targets::default();
    for number in 0..ops {
        let url = format!("http://sim/renter/upload/foo/a%20{number}.bin?source=/data/{number}");
        assert!(targets.push(&wire::Url::parse(&url).unwrap()));
    }
    let poll = Poll { request: 1, every: EVERY, check: PollCheck::SiadUpload };
    let upload = RequestPlan {
        then: Then::Poll(poll),
        response_body: ResponseBody::Kept,
        ..RequestPlan::new("POST", OpKind::Put)
    };
    let list = RequestPlan {
        path: Some("/renter/files".into()),
        response_body: ResponseBody::KeptList,
        ..RequestPlan::new("GET", OpKind::List)
    };
    let mix = Mix::of(vec![(1, upload), (0, list)]).unwrap();
    let stop = StopAfter { ops: NonZeroU64::new(ops), ..StopAfter::default() };
    Plan { targets: Arc::new(targets), mix, load: closed(3), stop, log_ops: true, ..support::plan() }
}

fn carry_out(plan: &Plan, length: Duration, fails: fn(u64) -> bool) -> (Summary, Vec<OpEntry>) {
    let (intervals, ops) = simulate(plan, |_| SimNetwork::new(siad(length, fails)));
    let summary = summary(plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    (summary, ops)
}

#[test]
fn an_operation_ends_when_the_server_has_done_its_work() {
    // After 40 s, the third poll finds that the upload is complete.
    let (summary, ops) = carry_out(&plan(10), Duration::from_secs(40), |_| false);
    let tally = &summary.stats.measured;
    assert_eq!((tally.ok, tally.attempts, tally.steps), (10, 40, 30));
    for op in &ops {
        assert_eq!((op.kind, op.attempts, op.outcome.class), (OpKind::Put, 4, AttemptClass::Ok));
        let took = op.end.since(op.started);
        assert!(took >= 3 * EVERY && took < 3 * EVERY + ms(20), "{took:?}");
    }
}

#[test]
fn an_upload_that_the_server_has_accepted_before_is_only_polled() {
    let server = |_| {
        SimNetwork::new(|now: Instant, request: &str| {
            let exists = r#"{"message":"upload failed: a file already exists at that location"}"#;
            let reply = match request.starts_with("POST") {
                true => reply("500 Internal Server Error", exists),
                false => reply("200 OK", r#"{"files":[{"siapath":"foo/a 0.bin","filesize":5,"uploadprogress":100}]}"#),
            };
            vec![(now + ms(2), reply)]
        })
    };
    let retrying = Plan { retry: Some(RetryPolicy::default()), ..plan(1) };
    let (intervals, ops) = simulate(&retrying, server);
    let summary = summary(&retrying, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    assert_eq!((summary.stats.measured.ok, summary.stats.measured.retries, ops[0].attempts), (1, 0, 2));
}

#[test]
fn failed_polls_are_retried_like_other_requests() {
    let fails = |call| call % 4 == 0;
    let retrying = Plan { retry: Some(RetryPolicy::default()), ..plan(10) };
    let (summary, _) = carry_out(&retrying, Duration::from_secs(40), fails);
    let tally = &summary.stats.measured;
    assert!(tally.ok == 10 && tally.retries >= 10, "{tally:?}");
    let (summary, _) = carry_out(&plan(3), Duration::from_secs(40), fails);
    assert!(summary.stats.measured.failed > 0 && summary.stats.measured.retries == 0);
}

#[test]
fn work_that_is_not_done_at_the_end_of_the_run_is_unfinished() {
    let stop = StopAfter { time: Some(Duration::from_secs(60)), ..StopAfter::default() };
    let (summary, ops) = carry_out(&Plan { stop, ..plan(10) }, Duration::from_secs(1_000), |_| false);
    assert_eq!((summary.stats.measured.unfinished, summary.stats.measured.ok), (3, 0));
    assert!(ops.iter().all(|op| op.outcome.class == AttemptClass::InflightAtEnd));
}

#[test]
fn a_mix_that_polls_needs_the_request_and_its_body() {
    let poll = Poll { request: 1, every: EVERY, check: PollCheck::SiadUpload };
    let kept = |then| RequestPlan { then, response_body: ResponseBody::Kept, ..RequestPlan::new("POST", OpKind::Put) };
    let discarded = RequestPlan::new("GET", OpKind::List);
    assert!(Mix::of(vec![(1, kept(Then::Poll(poll))), (0, kept(Then::End))]).is_some());
    assert!(Mix::of(vec![(1, kept(Then::Poll(poll)))]).is_none());
    assert!(Mix::of(vec![(1, kept(Then::Poll(poll))), (0, discarded.clone())]).is_none());
    assert!(Mix::of(vec![(1, RequestPlan { then: Then::Poll(poll), ..discarded }), (0, kept(Then::End))]).is_none());
}
