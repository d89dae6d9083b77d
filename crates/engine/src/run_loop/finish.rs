//! Attempts and operations end here, and are recorded.

use super::checks::{self, AtHead};
use super::connections::State;
use super::op::Answer;
use super::pacer::Pacer;
use super::{FirstAnswer, RunLoop};
use crate::network::{Network, Token};
use crate::tls::Negotiated;
use measure::sample::{AttemptKind, AttemptSample};
use measure::{AttemptClass, AttemptOutcome, Cause, Example, Flag, Instant, OpOutcome, Phase};
use std::io;
use std::time::Duration;
use wire::message::{Reading, Version};
use wire::response::RangeField;

/// After connections have failed, slots wait before they try again: 5 ms, doubled with each failure in a row, up to
/// 160 ms. Without it a dead target would be hammered, and the figures filled with millions of failures.
const BACK_OFF: Duration = Duration::from_millis(5);
const BACK_OFF_DOUBLINGS: u32 = 5;
/// Bytes of what was seen that an example keeps.
const DETAIL_BYTES_MAX: usize = 64;

/// What becomes of the connection of an ended attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum After {
    Keep,
    Close,
}

impl<N: Network> RunLoop<'_, N> {
    /// Remembers what was seen, for an example of the failure that it leads to.
    pub(super) fn note_detail(&mut self, seen: &[u8]) {
        self.scratch.clear();
        self.scratch.extend_from_slice(&seen[..seen.len().min(DETAIL_BYTES_MAX)]);
    }

    /// An answer is complete; `excess` bytes came after it.
    pub(super) fn complete(&mut self, net: &mut N, token: Token, excess: usize, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        let slot = connection.slot;
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        let Some(head) = connection.reader.head() else { return };
        let request_sent = connection.unsent.is_empty()
            && connection.transport.is_flushed()
            && connection.body_sent == self.plan.request.body.as_ref().map_or(0, |body| body.len());
        let may_repeat = self.plan.connections.requests_max.is_none_or(|most| connection.requests < most.get());
        let kept = connection.reader.reusable() && request_sent && self.plan.request.keep_alive && !connection.closing;
        if excess > 0 {
            op.attempt.flags.set(Flag::ExcessBytes);
        } else if kept {
            op.attempt.flags.set(Flag::KeptAlive);
        }
        let body_bytes = connection.reader.body_bytes();
        let has_body = self.plan.request.method.as_ref() != "HEAD" && !matches!(head.status, 204 | 304);
        let outcome = match op.attempt.at_head {
            AtHead::Read => {
                let size = self.plan.targets.items()[op.item as usize].size;
                checks::at_end(&op.asked(self.plan.follow, size), &self.plan.checks, body_bytes, has_body)
            }
            AtHead::Doomed(outcome) | AtHead::Cut(outcome) => outcome,
            AtHead::Redirect => AttemptOutcome::OK,
        };
        if outcome == AttemptOutcome::OK && op.attempt.at_head == AtHead::Read {
            self.note_good_answer(token, body_bytes);
        }
        let after = if kept && may_repeat && excess == 0 { After::Keep } else { After::Close };
        self.end_attempt(net, slot, outcome, after, now);
    }

    /// Compares with the first good answer, or keeps it as such.
    #[inline]
    fn note_good_answer(&mut self, token: Token, body_bytes: u64) {
        let Some(connection) = self.connections.get(token) else { return };
        let first = *self.first_length.get_or_insert(body_bytes);
        if first != body_bytes
            && let Some(op) = &mut self.slots[connection.slot as usize].op
        {
            op.attempt.flags.set(Flag::LengthDiffers);
        }
        if self.first_answer.is_none()
            && let Some(head) = connection.reader.head()
        {
            self.first_answer = Some(FirstAnswer {
                software: self.software.take(),
                address: connection.address.to_string(),
                status: head.status,
                body_bytes,
                version: head.version,
                tls: connection
                    .transport
                    .session()
                    .map(|session| Negotiated::of(session, &self.origins[connection.origin].origin.host)),
            });
        }
    }

    /// Ends an attempt whose answer is not read any further; its connection is closed.
    pub(super) fn cut(&mut self, net: &mut N, token: Token, outcome: AttemptOutcome, now: Instant) {
        let Some(slot) = self.connections.get(token).map(|connection| connection.slot) else { return };
        self.end_attempt(net, slot, outcome, After::Close, now);
    }

    /// As [`Self::cut`], but a kept connection that was closed before the first byte is only stale: the request is sent
    /// again on a new one, once, when doing so is safe (docs/measurement.md).
    pub(super) fn cut_or_resend(&mut self, net: &mut N, token: Token, outcome: AttemptOutcome, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        let slot = connection.slot;
        let Some(op) = &self.slots[slot as usize].op else { return };
        let untouched = connection.reader.head_bytes() == 0 && connection.requests > 1;
        if !untouched || op.attempt.kind == AttemptKind::Resend {
            self.end_attempt(net, slot, outcome, After::Close, now);
            return;
        }
        let stale = AttemptOutcome::failed(AttemptClass::StaleReuse, Cause::StaleConnection, outcome.phase);
        if self.plan.request.is_idempotent() {
            let wasted = self.record_attempt(net, slot, stale, After::Close, now);
            self.recorder.wasted(wasted);
            self.begin_attempt(net, slot, AttemptKind::Resend, now);
        } else {
            self.end_attempt(net, slot, stale, After::Close, now);
        }
    }

    /// The request could not be sent.
    pub(super) fn send_failed(&mut self, net: &mut N, token: Token, error: &io::Error, now: Instant) {
        self.note_detail(error.to_string().as_bytes());
        let outcome = AttemptOutcome::failed(AttemptClass::Reset, Cause::SendFailed, Phase::Send);
        self.cut_or_resend(net, token, outcome, now);
    }

    /// A phase took too long.
    pub(super) fn timed_out(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        let slot = connection.slot;
        let Some(op) = &self.slots[slot as usize].op else { return };
        let opening = connection.state == State::Opening;
        let phase = match connection.reader.phase() {
            _ if connection.state == State::Handshaking => Phase::Tls,
            Reading::Head => Phase::Head,
            Reading::Body | Reading::Trailers | Reading::Complete => Phase::Body,
        };
        let total_over = self.plan.timeouts.total.is_some_and(|total| now >= op.attempt.started + total);
        let outcome = match (opening, phase) {
            (true, _) if total_over => {
                AttemptOutcome::failed(AttemptClass::TimeoutTotal, Cause::TotalTimedOut, Phase::Connect)
            }
            (true, _) => AttemptOutcome::failed(AttemptClass::ConnectTimeout, Cause::ConnectTimedOut, Phase::Connect),
            _ if total_over => AttemptOutcome::failed(AttemptClass::TimeoutTotal, Cause::TotalTimedOut, phase),
            (false, Phase::Tls) => AttemptOutcome::failed(AttemptClass::TimeoutHead, Cause::TlsTimedOut, phase),
            (false, Phase::Body) => AttemptOutcome::failed(AttemptClass::TimeoutIdle, Cause::BodyStalled, phase),
            (false, _) => AttemptOutcome::failed(AttemptClass::TimeoutHead, Cause::HeadTimedOut, phase),
        };
        if opening && !total_over {
            // The next address may answer.
            self.close(net, token);
            self.connect_failed(net, slot, &io::ErrorKind::TimedOut.into(), now);
        } else if opening || phase == Phase::Tls {
            self.unreached(net, slot, outcome, now);
        } else {
            self.end_attempt(net, slot, outcome, After::Close, now);
        }
    }

    /// Ends the slot's running attempt, and with it the operation, unless a redirect is to be followed.
    pub(super) fn end_attempt(&mut self, net: &mut N, slot: u32, outcome: AttemptOutcome, after: After, now: Instant) {
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        let redirected = outcome == AttemptOutcome::OK && op.attempt.at_head == AtHead::Redirect;
        if redirected {
            match self.next_hop(slot) {
                Ok(hop) => {
                    if let Some(op) = &mut self.slots[slot as usize].op {
                        op.attempt.flags.set(Flag::Followed);
                    }
                    let wasted = self.record_attempt(net, slot, AttemptOutcome::OK, after, now);
                    self.recorder.wasted(wasted);
                    if let Some(op) = &mut self.slots[slot as usize].op {
                        op.hops += 1;
                        op.hop = Some(Box::new(hop));
                    }
                    self.begin_attempt(net, slot, AttemptKind::Hop, now);
                }
                Err(outcome) => self.end_op(net, slot, outcome, after, now),
            }
        } else {
            self.end_op(net, slot, outcome, after, now);
        }
    }

    /// Records the running attempt and lets go of its connection. Answers its body bytes inside the window.
    fn record_attempt(&mut self, net: &mut N, slot: u32, outcome: AttemptOutcome, after: After, now: Instant) -> u64 {
        if outcome != AttemptOutcome::OK && self.recorder.wants_example(outcome.cause) {
            self.keep_example(slot, outcome, now);
        }
        let Some(op) = &mut self.slots[slot as usize].op else { return 0 };
        if let Some(connection) = op.attempt.connection.and_then(|token| self.connections.get_mut(token)) {
            let kept_back = connection.transport.settle_all();
            self.recorder.received(0, kept_back);
            op.attempt.received_bytes += kept_back;
        }
        let attempt = &op.attempt;
        let connection = attempt.connection.and_then(|token| self.connections.get(token));
        let body_bytes = connection.map_or(0, |connection| connection.reader.body_bytes());
        self.recorder.attempt(&AttemptSample {
            op_intended: op.intended,
            kind: attempt.kind,
            outcome,
            flags: attempt.flags,
            status: connection.and_then(|connection| connection.reader.head()).map(|head| head.status),
            body_bytes,
            overhead_bytes: attempt.received_bytes.saturating_sub(body_bytes),
            sent_bytes: attempt.sent_bytes,
        });
        let window_bytes = attempt.window_bytes;
        if let Some(token) = op.attempt.connection.take() {
            self.let_go(net, token, after);
        }
        window_bytes
    }

    pub(super) fn let_go(&mut self, net: &mut N, token: Token, after: After) {
        match after {
            After::Close => self.close(net, token),
            After::Keep => {
                let Some(connection) = self.connections.get_mut(token) else { return };
                connection.state = State::Idle;
                connection.deadline = Instant::NEVER;
                let origin = connection.origin;
                self.origins[origin].put_idle(token, &self.connections);
            }
        }
    }

    pub(super) fn close(&mut self, net: &mut N, token: Token) {
        if let Some(mut connection) = self.connections.remove(token) {
            if !connection.closing {
                let sent = connection.transport.say_goodbye(net, &mut connection.socket);
                self.recorder.sent(sent as u64);
            }
            net.closed(connection.socket);
        }
    }

    fn keep_example(&mut self, slot: u32, outcome: AttemptOutcome, now: Instant) {
        let Some(op) = &self.slots[slot as usize].op else { return };
        let connection = op.attempt.connection.and_then(|token| self.connections.get(token));
        let shows_bytes = matches!(
            outcome.class,
            AttemptClass::Protocol
                | AttemptClass::Reset
                | AttemptClass::TlsHandshake
                | AttemptClass::TlsCert
                | AttemptClass::RedirectDenied
        );
        let detail = if shows_bytes { String::from_utf8_lossy(&self.scratch).into_owned() } else { String::new() };
        let url = match &op.hop {
            Some(hop) => hop.url.to_string(),
            None => self.url_of(op.item),
        };
        self.recorder.example(Example {
            outcome,
            at: now,
            url,
            address: connection.map(|connection| connection.address.to_string()),
            status: connection.and_then(|connection| connection.reader.head()).map(|head| head.status),
            detail,
        });
    }

    /// Ends the slot's operation with its last attempt.
    fn end_op(&mut self, net: &mut N, slot: u32, outcome: AttemptOutcome, after: After, now: Instant) {
        let verdict = match outcome.class {
            AttemptClass::Ok => OpOutcome::Ok,
            AttemptClass::InflightAtEnd | AttemptClass::Interrupted => OpOutcome::Unfinished,
            _ => OpOutcome::Failed(outcome),
        };
        let (body_bytes, answer) = self.final_answer(slot);
        self.record_attempt(net, slot, outcome, after, now);
        let Some(op) = self.slots[slot as usize].op.take() else { return };
        let sample = op.sample(now, verdict, body_bytes);
        self.recorder.ended(&sample);
        self.in_flight -= 1;
        if self.plan.log_ops {
            self.log.push(op.entry(slot, &sample, outcome, answer));
        }
        let unreached =
            matches!(outcome.phase, Phase::Resolve | Phase::Connect | Phase::Tls) && verdict != OpOutcome::Ok;
        self.free_slot(slot, unreached, now);
    }

    fn final_answer(&self, slot: u32) -> (u64, Answer) {
        let op = self.slots[slot as usize].op.as_ref();
        let connection = op.and_then(|op| op.attempt.connection).and_then(|token| self.connections.get(token));
        let Some(connection) = connection else { return (0, Answer::default()) };
        let Some(head) = connection.reader.head() else { return (connection.reader.body_bytes(), Answer::default()) };
        let object_bytes = match head.content_range {
            RangeField::Valid(range) => range.complete,
            RangeField::Absent | RangeField::Invalid => head.declared_length,
        };
        (connection.reader.body_bytes(), Answer { status: Some(head.status), object_bytes })
    }

    #[inline]
    fn free_slot(&mut self, slot: u32, unreached: bool, now: Instant) {
        self.slots[slot as usize].freed = now;
        match &mut self.pacer {
            Pacer::Open(open) => open.free_slots.push(slot),
            Pacer::Closed(closed) => {
                let doublings = self.connect_failures_in_a_row.saturating_sub(1).min(BACK_OFF_DOUBLINGS);
                let back_off = if unreached { BACK_OFF * (1 << doublings) } else { Duration::ZERO };
                let pause = closed.think.max(back_off);
                if pause.is_zero() {
                    closed.waiting.push_back((slot, now));
                } else {
                    closed.pause(slot, now + pause);
                }
            }
        }
    }

    /// The drain is over: everything in flight is left as it is.
    pub(super) fn abandon_all(&mut self, net: &mut N, now: Instant) {
        let (class, cause) = if self.control.is_abandoned() {
            (AttemptClass::Interrupted, Cause::UserInterrupt)
        } else {
            (AttemptClass::InflightAtEnd, Cause::RunEnded)
        };
        for slot in 0..self.slots.len() as u32 {
            let Some(op) = &self.slots[slot as usize].op else { continue };
            let connection = op.attempt.connection.and_then(|token| self.connections.get(token));
            let phase = match connection.map(|connection| (connection.state, connection.reader.phase())) {
                None if self.resolving.contains(&slot) => Phase::Resolve,
                None => Phase::Connect,
                Some((State::Opening, _)) => Phase::Connect,
                Some((State::Handshaking, _)) => Phase::Tls,
                Some((_, Reading::Head)) => Phase::Head,
                Some(_) => Phase::Body,
            };
            self.end_op(net, slot, AttemptOutcome::failed(class, cause, phase), After::Close, now);
        }
    }
}

impl FirstAnswer {
    /// The version in the form of a status line.
    #[must_use]
    pub fn version_text(&self) -> &'static str {
        match self.version {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
        }
    }
}
