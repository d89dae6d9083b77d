//! Attempts and operations end here, and are recorded.

use crate::network::{Network, Token};
use crate::plan::{Pick, Subject};
use crate::run_loop::FirstAnswer;
use crate::run_loop::RunLoop;
use crate::run_loop::connections::{Connection, State};
use crate::run_loop::operation::log::HopEntry;
use crate::run_loop::operation::next_request::Next;
use crate::run_loop::operation::op::{Answer, Body, Chain, Op};
use crate::run_loop::pacing::Pacer;
use crate::run_loop::response::checks::{self, AtHead};
use crate::run_loop::response::header_values;
use crate::tls::Negotiated;
use measure::chains::HopSample;
use measure::sample::{AttemptKind, AttemptSample, LabelId, Moved};
use measure::{AttemptClass, AttemptOutcome, Cause, Example, Flag, Instant, OpOutcome, Phase};
use std::collections::VecDeque;
use std::time::Duration;
use wire::message::Version;
use wire::response::{Location, RangeField};

/// After connections have failed, slots wait before they try again: 5 ms, doubled with each failure in a row, up to
/// 160 ms. Without it a dead target would be hammered, and the figures filled with millions of failures.
const BACK_OFF: Duration = Duration::from_millis(5);
const BACK_OFF_DOUBLINGS: u32 = 5;
/// Objects that a thread has made and remembers, to delete them.
const MADE_MAX: usize = 1 << 20;
/// Bytes of what was seen that an example keeps.
const DETAIL_BYTES_MAX: usize = 64;

/// What becomes of the connection of an ended attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run_loop) enum After {
    Keep,
    Close,
}

impl<N: Network> RunLoop<'_, N> {
    /// Remembers what was seen, for an example of the failure that it leads to.
    pub(in crate::run_loop) fn note_detail(&mut self, seen: &[u8]) {
        self.scratch.clear();
        self.scratch.extend_from_slice(&seen[..seen.len().min(DETAIL_BYTES_MAX)]);
    }

    /// An answer is complete; `excess` bytes came after it.
    pub(in crate::run_loop) fn complete(&mut self, net: &mut N, token: Token, excess: usize, now: Instant) {
        self.note_unread(net, token, now);
        let Some(connection) = self.connections.get(token) else { return };
        let slot = connection.slot;
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        let Some(head) = connection.reader.head() else { return };
        let request_sent = connection.unsent.is_empty()
            && connection.transport.is_flushed()
            && connection.upload.as_ref().is_none_or(|upload| upload.is_sent());
        let may_repeat = self.plan.connections.requests_max.is_none_or(|most| connection.requests < most.get());
        // HTTP/2 has no word for it in a response: GOAWAY says that the connection takes no more.
        let gone_away = connection.closing && connection.transport.carrier().is_some();
        let persistent = connection.reader.reusable() && request_sent && self.plan.http.keep_alive && !gone_away;
        if excess > 0 {
            op.attempt.flags.set(Flag::ExcessBytes);
        } else if persistent {
            op.attempt.flags.set(Flag::Persistent);
        }
        let kept = persistent && !connection.closing && may_repeat && excess == 0;
        let body_bytes = connection.reader.body_bytes();
        let request = &self.plan.mix.requests()[op.request];
        let has_body = request.method.as_ref() != "HEAD" && !matches!(head.status, 204 | 304);
        let outcome = match op.attempt.at_head {
            AtHead::Read => {
                let asked = op.asked(self.plan.follow);
                let outcome = checks::at_end(&asked, &request.checks, body_bytes, has_body);
                let s3 = header_values::speaks_s3(self.plan);
                match outcome {
                    AttemptOutcome::OK if has_body => {
                        header_values::of_success(&mut op.body, s3, connection.reader.trailers(), &mut self.said)
                    }
                    _ => outcome,
                }
            }
            AtHead::Doomed(outcome) if outcome.cause == Cause::Status => {
                header_values::of_refusal(outcome, &op.body, op.attempt.refusal, &mut self.said)
            }
            AtHead::Doomed(outcome) | AtHead::Cut(outcome) => outcome,
            AtHead::Redirect => AttemptOutcome::OK,
        };
        let expected = request.body.as_ref().is_some_and(|body| body.expect_continue);
        if head.status == 417 && expected && !op.unasked && op.attempt.at_head != AtHead::Read {
            // The server does not know what it was asked: it is not asked again.
            op.unasked = true;
            if op.agreement_nanos.is_none() {
                op.note_agreement(now);
            }
            return self.resend(net, slot, outcome, now);
        }
        // An answer that leads elsewhere is not what was asked for, and the body of one that was cut was not read.
        if matches!(op.attempt.at_head, AtHead::Read | AtHead::Doomed(_)) && self.first_length.differs(body_bytes) {
            op.attempt.flags.set(Flag::LengthDiffers);
        }
        if outcome == AttemptOutcome::OK && op.attempt.at_head == AtHead::Read && self.first_answer.is_none() {
            self.keep_first_answer(token, body_bytes);
        }
        let after = if kept { After::Keep } else { After::Close };
        self.note_kept(token, kept);
        self.end_attempt(net, slot, outcome, after, now);
    }

    /// A response is complete on a connection, which has thus stayed open after the one before; `kept` says that it is left
    /// open again.
    #[inline]
    fn note_kept(&mut self, token: Token, kept: bool) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let Some(op) = &self.slots[connection.slot as usize].op else { return };
        let before = std::mem::replace(&mut connection.kept_for, kept.then_some(op.intended));
        if let Some(before) = before {
            self.recorder.kept_alive(before);
        }
    }

    /// The run is over: counts the connections that are still open after their last response.
    pub(in crate::run_loop) fn count_kept(&mut self, net: &mut N) {
        let idle = |(token, it): (Token, &Connection<N::Socket>)| {
            (it.state == State::Idle && it.kept_for.is_some()).then_some(token)
        };
        let idle: Vec<Token> = self.connections.iter().filter_map(idle).collect();
        for token in idle {
            // The server may have closed it meanwhile.
            self.closed_while_idle(net, token);
            if let Some(before) = self.connections.get_mut(token).and_then(|connection| connection.kept_for.take()) {
                self.recorder.kept_alive(before);
            }
        }
    }

    /// Keeps what the first good answer says of the server.
    #[cold]
    fn keep_first_answer(&mut self, token: Token, body_bytes: u64) {
        let Some(connection) = self.connections.get(token) else { return };
        let Some(head) = connection.reader.head() else { return };
        self.first_answer = Some(FirstAnswer {
            software: self.software.take(),
            address: connection.address.to_string(),
            status: head.status,
            body_bytes,
            version: head.version,
            tls: self
                .tls_of(token)
                .map(|session| Negotiated::of(session, &self.origins[connection.origin].origin.host)),
        });
    }

    /// Ends the slot's running attempt, and with it the operation, unless a redirect is to be followed.
    pub(in crate::run_loop) fn end_attempt(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        after: After,
        now: Instant,
    ) {
        if self.end_given_up(net, slot, outcome, after, now) {
            return;
        }
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        let redirected = outcome == AttemptOutcome::OK && op.attempt.at_head == AtHead::Redirect;
        if redirected && self.is_in_parts(slot) {
            // Its requests belong to one server.
            let outcome = AttemptOutcome::failed(AttemptClass::Http3xx, Cause::NotFollowed, Phase::Head);
            return self.end_op(net, slot, outcome, after, now);
        }
        if redirected {
            match self.next_hop(slot) {
                Ok(hop) => {
                    if let Some(op) = &mut self.slots[slot as usize].op {
                        op.attempt.flags.set(Flag::Followed);
                        let (attempts, received) = (op.attempts, op.received_before);
                        op.chain.get_or_insert_with(|| Box::new(Chain::begin(attempts, received)));
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
            return;
        }
        match self.next_step(slot, outcome) {
            Ok(Next::Parts) => {
                self.record_attempt(net, slot, AttemptOutcome::OK, after, now);
                self.begin_parts(net, slot, now);
            }
            Ok(Next::Request) => {
                self.record_attempt(net, slot, AttemptOutcome::OK, after, now);
                if let Some(op) = &mut self.slots[slot as usize].op {
                    op.hop = None;
                }
                self.begin_attempt(net, slot, AttemptKind::Step, now);
            }
            Ok(Next::End) => self.end_last(net, slot, outcome, after, now),
            Err(outcome) => self.end_last(net, slot, outcome, after, now),
        }
    }

    fn end_last(&mut self, net: &mut N, slot: u32, outcome: AttemptOutcome, after: After, now: Instant) {
        if self.parts_are_refused(slot, outcome) {
            self.record_attempt(net, slot, outcome, after, now);
            self.finish_parts(net, slot, now);
        } else {
            self.end_op(net, slot, outcome, after, now);
        }
    }

    /// Records the running attempt and lets go of its connection. Answers what it moved inside the window.
    pub(in crate::run_loop) fn record_attempt(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        after: After,
        now: Instant,
    ) -> Moved {
        // While parts of an object are on their way, its operation has no attempt of its own.
        let running =
            self.slots[slot as usize].op.as_mut().is_some_and(|op| !std::mem::replace(&mut op.attempt.over, true));
        if !running {
            return Moved::default();
        }
        if outcome != AttemptOutcome::OK && self.recorder.wants_example(outcome.cause) {
            self.keep_example(slot, outcome, now);
        }
        self.said.clear();
        let on = self.slots[slot as usize].op.as_ref().and_then(|op| op.attempt.connection);
        let kept_back = on.map_or(0, |token| self.settle_all(token));
        let Some(op) = &mut self.slots[slot as usize].op else { return Moved::default() };
        self.recorder.received(0, kept_back);
        op.attempt.received_bytes += kept_back;
        let attempt = &op.attempt;
        let connection = attempt.connection.and_then(|token| self.connections.get(token));
        let body_bytes = connection.map_or(0, |connection| connection.reader.body_bytes());
        let sample = AttemptSample {
            op_intended: op.intended,
            kind: attempt.kind,
            outcome,
            flags: attempt.flags,
            status: connection.and_then(|connection| connection.reader.head()).map(|head| head.status),
            body_bytes,
            overhead_bytes: attempt.received_bytes.saturating_sub(body_bytes),
            sent_bytes: attempt.sent_bytes,
            sent_body: attempt.sent_body,
        };
        self.recorder.attempt(&sample);
        if op.chain.is_some() {
            let host = self.origins[op.attempt_origin()].label;
            note_hop(op, &sample, host, now);
        }
        op.body = Body::Dropped;
        let attempt = &op.attempt;
        let window = attempt.window;
        if let Some(token) = op.attempt.connection.take() {
            self.let_go(net, token, after);
        }
        window
    }

    pub(in crate::run_loop) fn let_go(&mut self, net: &mut N, token: Token, after: After) {
        if self.connections.get(token).is_some_and(|connection| connection.transport.carrier().is_some()) {
            return self.free_seat(net, token);
        }
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

    pub(in crate::run_loop) fn close(&mut self, net: &mut N, token: Token) {
        self.made(token, None);
        if let Some(mut connection) = self.connections.remove(token) {
            // It carried a part of another response.
            let used = connection.state == State::Active && !connection.reader.is_untouched();
            if let Some(before) = connection.kept_for.filter(|_| used) {
                self.recorder.kept_alive(before);
            }
            if !connection.closing {
                let carrier = connection.carrier.as_deref_mut();
                let last = carrier.map_or(0, |carrier| carrier.say_goodbye(net, &mut connection.transport));
                let sent = last + connection.transport.say_goodbye(net);
                self.recorder.sent(sent as u64);
            }
            if let Some(socket) = connection.transport.into_socket() {
                net.closed(socket);
            }
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
        let mismatch = self.mismatch.filter(|_| outcome.cause == Cause::ContentDiffers);
        let detail = if !self.said.is_empty() {
            self.said.clone()
        } else if let Some(mismatch) = mismatch {
            mismatch.to_string()
        } else if shows_bytes {
            String::from_utf8_lossy(&self.scratch).into_owned()
        } else {
            String::new()
        };
        let url = match &op.hop {
            Some(hop) => hop.url.to_string(),
            None => self.url_of(op),
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
    pub(in crate::run_loop) fn end_op(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        after: After,
        now: Instant,
    ) {
        if self.slots[slot as usize].op.as_ref().is_some_and(|op| op.part.is_some()) {
            return self.end_part(net, slot, outcome, after, now);
        }
        let verdict = match outcome.class {
            AttemptClass::Ok => OpOutcome::Ok,
            AttemptClass::InflightAtEnd if outcome.cause == Cause::BytesReached => OpOutcome::CutOff,
            AttemptClass::InflightAtEnd | AttemptClass::Interrupted => OpOutcome::Unfinished,
            _ => OpOutcome::Failed(outcome),
        };
        let (body_bytes, answer) = self.final_answer(slot);
        let body =
            self.slots[slot as usize].op.as_mut().filter(|_| self.plan.log_ops).map(|op| std::mem::take(&mut op.body));
        self.record_attempt(net, slot, outcome, after, now);
        // Looked at where it stands: it is large, and moving it out would cost more than all that is done here.
        let Some(op) = &self.slots[slot as usize].op else { return };
        self.origins[op.origin].in_flight -= 1;
        let request = &self.plan.mix.requests()[op.request];
        let moved = if let Some(parts) = &op.parts {
            parts.sent_body
        } else if request.is_upload() {
            op.attempt.sent_body
        } else {
            op.pages.body_bytes + body_bytes
        };
        if request.pick == Pick::Fresh && verdict == OpOutcome::Ok {
            note_made(&mut self.made, op.subject);
        }
        let mut sample = op.sample(now, verdict, moved);
        if let Some(parts) = &op.parts {
            sample.window.sent += parts.window.sent;
        }
        // A stall is noted when the step in which it shows is over.
        let present = now.nanos_since(self.stepped);
        let added = self.control.stalls().touch(op.intended, op.stalls_before);
        sample.affected_by = added.map(|added| added.saturating_add(present));
        self.recorder.ended(&sample);
        self.in_flight -= 1;
        if let Some(chain) = &op.chain {
            self.recorder.chain(&sample, u64::from(op.attempts), &chain.hops);
        }
        if self.plan.log_ops || outcome.class == AttemptClass::Integrity {
            let mut entry = op.entry(slot, &sample, outcome, answer);
            entry.differs_at =
                self.mismatch.filter(|_| outcome.cause == Cause::ContentDiffers).map(|found| found.offset);
            entry.chain = self.hop_entries(op);
            if let Some(Body::Kept(message) | Body::Said(message)) = body {
                entry.message = Some(message.into_boxed_slice());
            }
            self.log.push(entry);
        }
        if verdict != OpOutcome::Ok {
            self.note_open_upload(slot, outcome);
        }
        self.slots[slot as usize].op = None;
        let unreached =
            matches!(outcome.phase, Phase::Resolve | Phase::Connect | Phase::Tls) && verdict != OpOutcome::Ok;
        self.free_slot(slot, unreached, now);
    }

    fn final_answer(&self, slot: u32) -> (u64, Answer) {
        let op = self.slots[slot as usize].op.as_ref();
        let connection = op.and_then(|op| op.attempt.connection).and_then(|token| self.connections.get(token));
        let Some(connection) = connection else { return (0, Answer::NONE) };
        let Some(head) = connection.reader.head() else { return (connection.reader.body_bytes(), Answer::NONE) };
        let object_bytes = match head.content_range {
            RangeField::Valid(range) => range.complete,
            RangeField::Absent | RangeField::Invalid => head.declared_length,
        };
        let location = if self.plan.log_ops { head.location.clone() } else { Location::Absent };
        (connection.reader.body_bytes(), Answer { status: Some(head.status), location, object_bytes })
    }

    /// The requests of an operation that was redirected, with the names of their hosts.
    fn hop_entries(&self, op: &Op) -> Vec<HopEntry> {
        let hops = op.chain.iter().flat_map(|chain| &chain.hops);
        let entry = |hop: &HopSample| HopEntry {
            host: self.recorder.host_name(hop.host).clone(),
            sent: hop.sent,
            end: hop.end,
            status: hop.status,
            bytes: hop.body_bytes + hop.overhead_bytes,
        };
        hops.map(entry).collect()
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
                    if pause > closed.think {
                        self.recorder.backed_off(now + closed.think, now + pause);
                    }
                }
            }
        }
    }
}

/// An object is there that an operation of this thread may delete.
fn note_made(made: &mut VecDeque<u64>, subject: Subject) {
    if let Subject::Fresh(number) = subject
        && made.len() < MADE_MAX
    {
        made.push_back(number);
    }
}

/// Adds an attempt that has ended to the chain of its operation.
#[cold]
fn note_hop(op: &mut Op, sample: &AttemptSample, host: LabelId, end: Instant) {
    let hop = HopSample {
        host,
        sent: op.attempt.sent,
        end,
        attempts: 1,
        redirected: sample.outcome == AttemptOutcome::OK && op.attempt.at_head == AtHead::Redirect,
        opened: u64::from(op.attempt.opened),
        status: sample.status,
        body_bytes: sample.body_bytes,
        overhead_bytes: sample.overhead_bytes,
    };
    // What was sent first on a connection that was stale is when the operation was sent.
    let hop = if op.hops == 0 { HopSample { sent: op.sent, ..hop } } else { hop };
    if let Some(chain) = &mut op.chain {
        chain.add(op.hops, hop);
    }
}

impl FirstAnswer {
    /// The version in the form of a status line.
    #[must_use]
    pub fn version_text(&self) -> &'static str {
        match self.version {
            Version::Http10 => "HTTP/1.0",
            Version::Http11 => "HTTP/1.1",
            Version::Http2 => "HTTP/2",
        }
    }
}
