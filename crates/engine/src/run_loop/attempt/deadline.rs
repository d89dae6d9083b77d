//! Timeouts.
//!
//! Each exchange stores its own deadline, and there is no sorted queue of deadlines. Most deadlines are replaced long
//! before they expire. Checking all deadlines whenever the earliest may have expired therefore costs less than updating
//! a queue for each request.

use super::Reuse;
use super::exchange::{ExchangeId, State};
use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use std::io;
use wire::message::Reading;

impl<N: Network> RunLoop<'_, N> {
    /// Sets the instant at which the current phase of an exchange times out.
    #[inline]
    pub(in crate::run_loop) fn set_deadline(&mut self, id: ExchangeId, deadline: Instant) {
        let Some(exchange) = self.pool.running(id) else { return };
        let deadline = match self.plan.timeouts.total {
            None => deadline,
            Some(total) => {
                let started = self.slots.op(exchange.slot).map_or(Instant::NEVER, |op| op.attempt.started);
                deadline.min(started + total)
            }
        };
        exchange.deadline = deadline;
        self.pool.next_deadline = self.pool.next_deadline.min(deadline);
    }

    /// Sets the instant at which the current phase of a connection times out.
    pub(in crate::run_loop) fn set_connection_deadline(&mut self, token: Token, deadline: Instant) {
        self.set_deadline(ExchangeId::Connection(token), deadline);
    }

    /// Ends the attempts whose deadline has passed.
    pub(in crate::run_loop) fn expire_deadlines(&mut self, net: &mut N, now: Instant) {
        let late: Vec<ExchangeId> =
            self.pool.exchanges().filter(|(_, exchange)| exchange.deadline <= now).map(|(id, _)| id).collect();
        for id in late {
            self.time_out(net, id, now);
        }
        let next = self.pool.exchanges().map(|(_, exchange)| exchange.deadline).min();
        self.pool.next_deadline = next.unwrap_or(Instant::NEVER);
    }

    /// Handles the timeout of a phase of an exchange.
    fn time_out(&mut self, net: &mut N, id: ExchangeId, now: Instant) {
        // An earlier timeout in this step may have closed the connection.
        let Some(exchange) = self.pool.exchange(id) else { return };
        let (slot, state) = (exchange.slot, exchange.state);
        let Some(op) = self.slots.op(slot) else { return };
        let started = op.attempt.started;
        let total_over = self.plan.timeouts.total.is_some_and(|total| now >= started + total);
        let upload = exchange.upload.as_ref();
        if !total_over && upload.is_some_and(|upload| upload.awaits_continue()) {
            return self.continue_body(net, id, now);
        }
        let sending = state == State::Active && upload.is_some_and(|upload| upload.is_under_way());
        let phase = match (state, exchange.reader.phase()) {
            (State::Opening, _) => Phase::Connect,
            (State::Handshaking, _) => Phase::Tls,
            (_, Reading::Head) if sending => Phase::Send,
            (_, Reading::Head) => Phase::Head,
            (_, Reading::Body | Reading::Trailers | Reading::Complete) => Phase::Body,
        };
        let outcome = of_timeout(phase, total_over);
        match (state, id) {
            (State::Opening, ExchangeId::Connection(token)) if !total_over => {
                // Another address of the host may respond, so `connect_failed` tries the next one.
                self.close(net, token);
                self.connect_failed(net, slot, &io::ErrorKind::TimedOut.into(), now);
            }
            (State::Opening | State::Handshaking, _) => self.unreached(net, slot, outcome, now),
            _ => {
                let outcome = self.of_no_response(id, outcome);
                self.retire_if_silent(net, id, started);
                self.end_attempt(net, slot, outcome, Reuse::Close, now);
            }
        }
    }
}

/// Returns the outcome of a timeout in `phase`. `total_over` means that the whole attempt took too long, and not only
/// its current phase.
fn of_timeout(phase: Phase, total_over: bool) -> AttemptOutcome {
    let (class, cause) = match phase {
        _ if total_over => (AttemptClass::TimeoutTotal, Cause::TotalTimedOut),
        Phase::Connect => (AttemptClass::ConnectTimeout, Cause::ConnectTimedOut),
        Phase::Tls => (AttemptClass::TimeoutHead, Cause::TlsTimedOut),
        Phase::Send => (AttemptClass::TimeoutIdle, Cause::SendStalled),
        Phase::Body => (AttemptClass::TimeoutIdle, Cause::BodyStalled),
        _ => (AttemptClass::TimeoutHead, Cause::HeadTimedOut),
    };
    AttemptOutcome::failed(class, cause, phase)
}
