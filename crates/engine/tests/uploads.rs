//! Tests of uploads that end before they are sent completely. The tests run on simulated time, where the order of
//! events is known.

use crate::frames::*;
use crate::support::*;
use engine::plan::*;
use engine::sim::{Reply, SimNetwork, simulate};
use measure::result::accounting::audit;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, OpKind, Phase, Summary};
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

const BODY: usize = 8 << 20;

/// Runs one upload to a server that sends `100 Continue` after 1 ms. After 2 ms, about ten pieces have been sent, and
/// the server reacts with `then`. The client detects the reaction when it sends, because the client is not reading at
/// that time.
fn upload(then: &[Reply]) -> (Summary, engine::OpEntry) {
    let mut plan = Plan { log_ops: true, ..plan() };
    plan.stop = StopAfter { ops: NonZeroU64::new(1), ..StopAfter::default() };
    let request = &mut plan.mix.requests_mut()[0];
    request.method = "PUT".into();
    request.body = Some(BodyPlan { expect_continue: true, ..BodyPlan::of_bytes(vec![b'x'; BODY].into()) });
    let server = |then: Vec<Reply>| {
        move |now: Instant, _: &str| {
            let agrees = (now + ms(1), Reply::Bytes(b"HTTP/1.1 100 Continue\r\n\r\n".to_vec()));
            [agrees].into_iter().chain(then.iter().map(|reply| (now + ms(2), reply.clone()))).collect()
        }
    };
    let network = || SimNetwork::new(server(then.to_vec())).with_send_cost(Duration::from_micros(100));
    let (intervals, ops) = simulate(&plan, |_| network());
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    let sent = summary.stats.measured.sent_body;
    assert!((5 << 16..BODY as u64 / 2).contains(&sent), "{sent} bytes were sent");
    (summary, ops.into_iter().next().unwrap())
}

fn refusal(length: u64) -> Reply {
    Reply::Bytes(format!("HTTP/1.1 403 Forbidden\r\nContent-Length: {length}\r\n\r\n").into_bytes())
}

#[test]
fn the_response_is_read_even_if_the_connection_broke() {
    for length in [6, 700 << 10] {
        let (_, op) = upload(&[refusal(length), Reply::Filler(length), Reply::Reset]);
        assert_eq!((op.outcome.class, op.outcome.cause), (AttemptClass::Http4xx, Cause::Status), "{length}");
        assert_eq!((op.body_bytes, op.attempts, op.status), (length, 1, Some(403)));
    }
}

/// A success response does not count if it arrives before the whole body was sent. The outcome does not depend on
/// whether a failed send or a read detects this response.
#[test]
fn a_success_before_the_whole_body_was_sent_is_an_early_response() {
    let created =
        |length: u64| Reply::Bytes(format!("HTTP/1.1 201 Created\r\nContent-Length: {length}\r\n\r\n").into_bytes());
    let until_close = Reply::Bytes(b"HTTP/1.1 201 Created\r\nConnection: close\r\n\r\n".to_vec());
    let early = (AttemptClass::Protocol, Cause::EarlyResponse);
    for then in [
        vec![created(0)],
        vec![created(0), Reply::Reset],
        vec![created(0), Reply::End],
        vec![created(100), Reply::Filler(50), Reply::Reset],
        vec![created(100), Reply::Filler(50), Reply::End],
        vec![until_close.clone(), Reply::Reset],
        vec![until_close, Reply::End],
    ] {
        let (summary, op) = upload(&then);
        assert_eq!((op.outcome.class, op.outcome.cause), early, "{then:?}");
        assert_eq!((summary.stats.measured.ok, op.status), (0, Some(201)), "{then:?}");
    }
}

#[test]
fn a_broken_upload_without_a_response_failed_to_send() {
    for reply in [&[Reply::Reset][..], &[Reply::Bytes(b"HTTP/1.1 4".to_vec()), Reply::Reset]] {
        let (_, op) = upload(reply);
        assert_eq!((op.outcome.class, op.outcome.cause), (AttemptClass::Reset, Cause::SendFailed));
    }
}

#[test]
fn an_incomplete_response_does_not_count() {
    let (_, op) = upload(&[refusal(100), Reply::Filler(50), Reply::Reset]);
    assert_eq!((op.outcome.class, op.outcome.cause, op.body_bytes), (AttemptClass::Reset, Cause::ResetInBody, 50));
}

#[test]
fn the_end_of_the_stream_ends_an_upload_at_once() {
    let (summary, op) = upload(&[Reply::End]);
    assert_eq!((op.outcome.class, op.outcome.cause), (AttemptClass::Incomplete, Cause::HeadCutShort));
    assert!(summary.stats.measured.failed == 1);
}

/// With HTTP/2, too, the outcome of the early success must be the same, whether a failed send or a read detects it.
#[test]
fn a_success_on_a_stream_before_the_whole_body_was_sent_is_an_early_response() {
    for then in [vec![], vec![Reply::Reset], vec![Reply::End]] {
        let mut plan = Plan { log_ops: true, ..plan() };
        plan.stop = StopAfter { ops: NonZeroU64::new(1), ..StopAfter::default() };
        plan.connections.http2 = Some(Http2Plan { streams: NonZeroU32::MIN });
        let body = Some(BodyPlan::of_bytes(vec![b'x'; BODY].into()));
        plan.mix = Mix::one(RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Put) });
        let (intervals, ops) = simulate(&plan, |_| {
            let then = then.clone();
            let server = Frames::new(move |request: StreamRequest| {
                let room = [window_update(0, 1 << 30), window_update(request.stream, 1 << 30)].concat();
                let mut replies = vec![(request.now, Reply::Bytes(room))];
                replies.push((request.now + ms(2), Reply::Bytes(head(request.stream, 201, true))));
                replies.extend(then.iter().map(|reply| (request.now + ms(2), reply.clone())));
                replies
            });
            SimNetwork::new(server).with_send_cost(Duration::from_micros(100))
        });
        let sent = summary(&plan, &intervals).stats.measured.sent_body;
        assert!((1 << 16..BODY as u64).contains(&sent), "{sent} bytes were sent");
        assert_eq!(
            ops[0].outcome,
            AttemptOutcome::failed(AttemptClass::Protocol, Cause::EarlyResponse, Phase::Send),
            "{then:?}"
        );
    }
}
