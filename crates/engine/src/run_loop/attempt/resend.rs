//! Attempts that end before their answer is complete: cut short, sent again, or timed out.

use crate::control::StopReason;
use crate::network::{Network, Token};
use crate::plan::RequestPlan;
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::end::After;
use crate::run_loop::connections::State;
use measure::sample::AttemptKind;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant, Phase};
use std::io;
use wire::message::Reading;

impl<N: Network> RunLoop<'_, N> {
    /// Ends an attempt whose answer is not read any further; its connection is closed.
    pub(in crate::run_loop) fn cut(&mut self, net: &mut N, token: Token, outcome: AttemptOutcome, now: Instant) {
        let Some(slot) = self.connections.get(token).map(|connection| connection.slot) else { return };
        self.end_attempt(net, slot, outcome, After::Close, now);
    }

    /// As [`Self::cut`], but a kept connection that was closed before the first byte is only stale: the request is sent
    /// again on a new one, once, when doing so is safe (docs/measurement.md).
    pub(in crate::run_loop) fn cut_or_resend(
        &mut self,
        net: &mut N,
        token: Token,
        outcome: AttemptOutcome,
        now: Instant,
    ) {
        let Some(connection) = self.connections.get(token) else { return };
        let slot = connection.slot;
        let Some(op) = &self.slots[slot as usize].op else { return };
        let untouched = connection.reader.is_untouched() && connection.requests > 1;
        if !untouched || op.attempt.kind == AttemptKind::Resend {
            let outcome = self.of_unanswered(token, outcome);
            self.end_attempt(net, slot, outcome, After::Close, now);
            return;
        }
        let stale = AttemptOutcome::failed(AttemptClass::StaleReuse, Cause::StaleConnection, outcome.phase);
        if self.plan.mix.requests()[op.request].is_idempotent() {
            self.resend(net, slot, stale, now);
        } else {
            self.end_attempt(net, slot, stale, After::Close, now);
        }
    }

    /// The server says that it has not processed the request: it is sent again once, whatever it asks for (RFC 9113 §8.7).
    pub(in crate::run_loop) fn resend_unprocessed(
        &mut self,
        net: &mut N,
        token: Token,
        outcome: AttemptOutcome,
        now: Instant,
    ) {
        let Some(slot) = self.connections.get(token).map(|connection| connection.slot) else { return };
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        op.attempt.flags.set(Flag::Unprocessed);
        if op.attempt.kind == AttemptKind::Resend {
            self.end_attempt(net, slot, outcome, After::Close, now);
        } else {
            self.resend(net, slot, outcome, now);
        }
    }

    /// Records the running attempt and makes another one for the same operation.
    pub(in crate::run_loop) fn resend(&mut self, net: &mut N, slot: u32, outcome: AttemptOutcome, now: Instant) {
        let wasted = self.record_attempt(net, slot, outcome, After::Close, now);
        self.recorder.wasted(wasted);
        self.begin_attempt(net, slot, AttemptKind::Resend, now);
    }

    /// What is said of a write whose answer never came, though all of it was sent: it may have taken place.
    pub(in crate::run_loop) fn of_unanswered(&self, token: Token, outcome: AttemptOutcome) -> AttemptOutcome {
        let Some(connection) = self.connections.get(token) else { return outcome };
        let Some(op) = &self.slots[connection.slot as usize].op else { return outcome };
        let sent = connection.unsent.is_empty() && connection.upload.as_ref().is_none_or(|upload| upload.is_sent());
        let unanswered = connection.state == State::Active && connection.reader.head().is_none();
        let lost = matches!(
            outcome.class,
            AttemptClass::ClosedEarly
                | AttemptClass::Reset
                | AttemptClass::Incomplete
                | AttemptClass::TimeoutHead
                | AttemptClass::TimeoutTotal
        );
        if lost && sent && unanswered && !self.plan.mix.requests()[op.request].is_safe() {
            return AttemptOutcome { class: AttemptClass::Indeterminate, ..outcome };
        }
        outcome
    }

    /// A phase took too long.
    pub(in crate::run_loop) fn timed_out(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        let slot = connection.slot;
        let Some(op) = &self.slots[slot as usize].op else { return };
        let opening = connection.state == State::Opening;
        let total_over = self.plan.timeouts.total.is_some_and(|total| now >= op.attempt.started + total);
        if !total_over && connection.upload.as_ref().is_some_and(|upload| upload.is_asked()) {
            return self.release_body(net, token, now);
        }
        let sending = connection.upload.as_ref().is_some_and(|upload| upload.is_under_way());
        let phase = match connection.reader.phase() {
            _ if connection.state == State::Handshaking => Phase::Tls,
            Reading::Head if sending && connection.state == State::Active => Phase::Send,
            Reading::Head => Phase::Head,
            Reading::Body | Reading::Trailers | Reading::Complete => Phase::Body,
        };
        let outcome = match (opening, phase) {
            (true, _) if total_over => {
                AttemptOutcome::failed(AttemptClass::TimeoutTotal, Cause::TotalTimedOut, Phase::Connect)
            }
            (true, _) => AttemptOutcome::failed(AttemptClass::ConnectTimeout, Cause::ConnectTimedOut, Phase::Connect),
            _ if total_over => AttemptOutcome::failed(AttemptClass::TimeoutTotal, Cause::TotalTimedOut, phase),
            (false, Phase::Tls) => AttemptOutcome::failed(AttemptClass::TimeoutHead, Cause::TlsTimedOut, phase),
            (false, Phase::Send) => AttemptOutcome::failed(AttemptClass::TimeoutIdle, Cause::SendStalled, phase),
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
            let begun = op.attempt.started;
            let outcome = self.of_unanswered(token, outcome);
            self.doubt(net, token, begun);
            self.end_attempt(net, slot, outcome, After::Close, now);
        }
    }

    /// The drain is over: everything in flight is left as it is.
    pub(in crate::run_loop) fn abandon_all(&mut self, net: &mut N, now: Instant) {
        let by_user = self.control.is_abandoned() && self.control.reason() != Some(StopReason::ThreadLost);
        let (class, cause) = if by_user {
            (AttemptClass::Interrupted, Cause::UserInterrupt)
        } else {
            (AttemptClass::InflightAtEnd, Cause::RunEnded)
        };
        self.leave_all(net, class, cause, |_| true, now);
    }

    /// As many bytes have come as were asked for: reads in flight would only bring more. Writes may end, since a part of an
    /// object is of no use to anybody.
    pub(in crate::run_loop) fn cut_reads(&mut self, net: &mut N, now: Instant) {
        self.leave_all(net, AttemptClass::InflightAtEnd, Cause::BytesReached, RequestPlan::is_safe, now);
        for origin in &mut self.origins {
            origin.waiting.retain(|slot| self.slots[*slot as usize].op.is_some());
        }
        self.waiting = self.origins.iter().map(|origin| origin.waiting.len()).sum();
    }

    /// Ends the operations in flight whose request is one of those.
    fn leave_all(
        &mut self,
        net: &mut N,
        class: AttemptClass,
        cause: Cause,
        which: impl Fn(&RequestPlan) -> bool,
        now: Instant,
    ) {
        for slot in 0..self.slots.len() as u32 {
            let Some(op) = &self.slots[slot as usize].op else { continue };
            if !which(&self.plan.mix.requests()[op.request]) {
                continue;
            }
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
