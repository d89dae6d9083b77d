//! The end of an attempt. The loop judges the response, records the attempt, and chooses the next step of the
//! operation.

use super::Reuse;
use super::exchange::{EXCHANGE_EXISTS, ExchangeId};
use crate::network::Network;
use crate::run_loop::RunLoop;
use crate::run_loop::invariant::Invariant;
use crate::run_loop::operation::next_request::Next;
use crate::run_loop::operation::op::Op;
use crate::run_loop::response::body::BodySink;
use crate::run_loop::response::checks::{self, AfterHead};
use crate::run_loop::response::first_response::FirstResponse;
use crate::run_loop::response::header_values::speaks_s3;
use crate::run_loop::response::refusal;
use crate::tls::Negotiated;
use measure::sample::HopSample;
use measure::sample::{AttemptKind, AttemptSample, BodyBytes, LabelId};
use measure::{AttemptOutcome, Cause, Flag, Instant};

/// Invariant that debug builds check: a complete response has an exchange.
const HAS_EXCHANGE: &str = "a complete response has an exchange";
/// Invariant that debug builds check: a complete response has a head.
const HAS_HEAD: &str = "a complete response has a head";

impl<N: Network> RunLoop<'_, N> {
    /// Handles a complete response. `excess` bytes were received after the response.
    pub(in crate::run_loop) fn complete(&mut self, net: &mut N, id: ExchangeId, excess: usize, now: Instant) {
        self.sample_unread(net, id, now);
        let request_sent = self.pool.request_is_sent(id);
        let Some(exchange) = self.pool.exchange(id).assert_some(HAS_EXCHANGE) else { return };
        let slot = exchange.slot;
        let Some(op) = self.slots.op_mut(slot) else { return };
        let Some(head) = exchange.reader.head().assert_some(HAS_HEAD) else { return };
        let status = head.status;
        // In HTTP/2, no response field announces the end of a connection. Instead, GOAWAY announces that the server
        // accepts no more requests.
        let goaway = exchange.closing && matches!(id, ExchangeId::Stream(_));
        let persistent = exchange.reader.reusable() && request_sent && self.plan.http.keep_alive && !goaway;
        if excess > 0 {
            op.attempt.flags.set(Flag::ExcessBytes);
        } else if persistent {
            op.attempt.flags.set(Flag::Persistent);
        }
        let may_repeat = self.plan.connections.requests_max.is_none_or(|most| exchange.requests < most.get());
        let kept = persistent && !exchange.closing && may_repeat && excess == 0;
        let body_bytes = exchange.reader.body_bytes();
        let request = &self.plan.mix.requests()[op.request];
        let has_body = request.method.as_ref() != "HEAD" && !matches!(status, 204 | 304);
        let after_head = op.attempt.after_head;
        let message = &mut self.notes.message;
        let outcome = match after_head {
            AfterHead::Read => {
                let expected = op.expected(self.plan.follow);
                match checks::judge_size(&expected, &request.checks, body_bytes, has_body) {
                    AttemptOutcome::OK if has_body => {
                        let s3 = speaks_s3(self.plan);
                        refusal::of_success(&mut op.body, s3, exchange.reader.trailers(), message)
                    }
                    outcome => outcome,
                }
            }
            AfterHead::ReadAndFail(outcome) if outcome.cause == Cause::Status => {
                refusal::of_refusal(outcome, &op.body, op.attempt.refusal, message)
            }
            AfterHead::ReadAndFail(outcome) | AfterHead::Close(outcome) => outcome,
            AfterHead::Redirect => AttemptOutcome::OK,
        };
        let expects = request.body.as_ref().is_some_and(|body| body.expect_continue);
        if status == 417 && expects && !op.expectation_failed && after_head != AfterHead::Read {
            // The server does not support `Expect`, so the request is sent again without this field.
            op.expectation_failed = true;
            if op.continue_nanos.is_none() {
                op.note_continue(now);
            }
            return self.resend(net, slot, outcome, now);
        }
        // Body lengths are compared only for complete responses that are not redirects. A redirect is not the requested
        // response, and a body that was cut off was not read to its end.
        let comparable = matches!(after_head, AfterHead::Read | AfterHead::ReadAndFail(_));
        if comparable && self.first_response.length_differs(body_bytes) {
            op.attempt.flags.set(Flag::LengthDiffers);
        }
        if outcome == AttemptOutcome::OK && after_head == AfterHead::Read && self.first_response.found.is_none() {
            self.keep_first_response(id, body_bytes);
        }
        self.note_kept(id, kept);
        self.end_attempt(net, slot, outcome, if kept { Reuse::Keep } else { Reuse::Close }, now);
    }

    /// Keeps the properties of the server that are visible in the first successful response.
    #[cold]
    fn keep_first_response(&mut self, id: ExchangeId, body_bytes: u64) {
        let Some(exchange) = self.pool.exchange(id).assert_some(HAS_EXCHANGE) else { return };
        let Some(head) = exchange.reader.head().assert_some(HAS_HEAD) else { return };
        let host = &self.pool.origins[exchange.origin].origin.host;
        self.first_response.found = Some(FirstResponse {
            software: self.first_response.software.take(),
            address: exchange.address.to_string(),
            status: head.status,
            body_bytes,
            version: head.version,
            tls: self.pool.tls_session(id).map(|session| Negotiated::of(session, host)),
        });
    }

    /// Ends the slot's attempt. Also ends the slot's operation, unless a redirect is followed or the operation makes
    /// another request.
    pub(in crate::run_loop) fn end_attempt(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        reuse: Reuse,
        now: Instant,
    ) {
        if self.end_aborted_multipart(net, slot, outcome, reuse, now) {
            return;
        }
        let Some(op) = self.slots.op(slot) else { return };
        if outcome == AttemptOutcome::OK && op.attempt.after_head == AfterHead::Redirect {
            return self.follow_redirect(net, slot, reuse, now);
        }
        match self.next_request(slot, outcome) {
            Ok(Next::Parts) => {
                self.record_attempt(net, slot, AttemptOutcome::OK, reuse, now);
                self.begin_parts(net, slot, now);
            }
            Ok(Next::Request) => {
                self.record_attempt(net, slot, AttemptOutcome::OK, reuse, now);
                if let Some(op) = self.slots.op_mut(slot) {
                    op.redirect = None;
                }
                self.begin_attempt(net, slot, AttemptKind::Step, now);
            }
            Ok(Next::Poll(poll)) => self.poll_later(net, slot, poll, reuse, now),
            Ok(Next::Nothing) => self.end_last_attempt(net, slot, outcome, reuse, now),
            Err(outcome) => self.end_last_attempt(net, slot, outcome, reuse, now),
        }
    }

    /// Ends the slot's operation with this attempt, unless the attempt is retried.
    pub(super) fn end_last_attempt(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        reuse: Reuse,
        now: Instant,
    ) {
        if self.retry_later(net, slot, outcome, reuse, now) {
            return;
        }
        if self.completion_is_refused(slot, outcome) {
            self.record_attempt(net, slot, outcome, reuse, now);
            self.finish_multipart(net, slot, now);
        } else {
            self.end_op(net, slot, outcome, reuse, now);
        }
    }

    /// Records the slot's attempt and releases its connection. Returns the body bytes that the attempt sent and
    /// received inside the measured window.
    pub(in crate::run_loop) fn record_attempt(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        reuse: Reuse,
        now: Instant,
    ) -> BodyBytes {
        let Some(op) = self.slots.op_mut(slot) else { return BodyBytes::default() };
        // While the parts of an object are in flight, the operation itself has no running attempt to record.
        if std::mem::replace(&mut op.attempt.over, true) {
            return BodyBytes::default();
        }
        if self.plan.mix.requests()[op.request].sends_object() {
            op.uploaded_bytes += op.attempt.sent_body;
        }
        let id = op.attempt.exchange;
        if outcome != AttemptOutcome::OK && self.recorder.wants_example(outcome.cause) {
            self.keep_example(slot, outcome, now);
        }
        self.notes.clear_failure();
        let unattributed = id.map_or(0, |id| self.pool.take_unattributed(id));
        self.recorder.received(0, unattributed);
        let Some(op) = self.slots.op_mut(slot) else { return BodyBytes::default() };
        op.attempt.received_bytes += unattributed;
        let exchange = id.and_then(|id| self.pool.exchange(id).assert_some(EXCHANGE_EXISTS));
        let body_bytes = exchange.map_or(0, |exchange| exchange.reader.body_bytes());
        let sample = AttemptSample {
            op_intended: op.intended,
            kind: op.attempt.kind,
            outcome,
            flags: op.attempt.flags,
            status: exchange.and_then(|exchange| exchange.reader.head()).map(|head| head.status),
            body_bytes,
            overhead_bytes: op.attempt.received_bytes.saturating_sub(body_bytes),
            sent_bytes: op.attempt.sent_bytes,
            sent_body: op.attempt.sent_body,
        };
        self.recorder.attempt(&sample);
        if op.chain.is_some() {
            let host = self.pool.origins[op.attempt_origin()].label;
            add_hop(op, &sample, host, now);
        }
        op.body = BodySink::Discard;
        let window = op.attempt.window;
        if let Some(id) = op.attempt.exchange.take() {
            self.release(net, id, reuse);
        }
        window
    }
}

/// Adds an ended attempt to the redirect chain of its operation.
#[cold]
fn add_hop(op: &mut Op<'_>, sample: &AttemptSample, host: LabelId, end: Instant) {
    let hop = HopSample {
        host,
        sent: op.attempt.sent,
        end,
        attempts: 1,
        redirected: sample.outcome == AttemptOutcome::OK && op.attempt.after_head == AfterHead::Redirect,
        opened: u64::from(op.attempt.opened),
        status: sample.status,
        body_bytes: sample.body_bytes,
        overhead_bytes: sample.overhead_bytes,
    };
    // An operation counts as sent when its first attempt was sent, even if the connection of that attempt was stale.
    let hop = if op.redirects == 0 { HopSample { sent: op.sent, ..hop } } else { hop };
    if let Some(chain) = op.chain.as_mut().assert_some("the operation of a hop has a chain") {
        chain.add(op.redirects, hop);
    }
}
