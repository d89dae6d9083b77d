//! Attempts that end before their response is complete, and the rules for sending their requests again.

use super::Reuse;
use super::exchange::{ExchangeId, State};
use crate::network::Network;
use crate::run_loop::RunLoop;
use crate::run_loop::invariant::Invariant;
use measure::sample::AttemptKind;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant};
use std::time::Duration;

/// A stale connection must break within this time, plus [`STALE_ROUND_TRIPS`] round trips, after a request was sent. If
/// it breaks later, the server was not yet closing it when the request arrived. The time allows for a server that
/// closes an idle connection just as a new request arrives.
const STALE_MAX: Duration = Duration::from_millis(5);

/// Number of round trips until the client learns that its request was refused. One round trip is the minimum. The
/// second one allows for queues on the path that have grown.
const STALE_ROUND_TRIPS: u32 = 2;

/// If the server has acknowledged at most this many bytes of a request, all of them may be in the receive buffer of a
/// connection that the server was about to close. If more bytes are acknowledged, the server has read some of them.
const STALE_BYTES_MAX: u64 = 64 << 10;

impl<N: Network> RunLoop<'_, N> {
    /// Starts an attempt for the slot's operation.
    pub(in crate::run_loop) fn begin_attempt(&mut self, net: &mut N, slot: u32, kind: AttemptKind, now: Instant) {
        let Some(op) = self.slots.op_mut(slot) else { return };
        op.begin_attempt(kind, now);
        if kind == AttemptKind::Resend {
            op.attempt.flags.set(Flag::Resent);
        }
        self.find_connection(net, slot, now);
    }

    /// Ends an attempt without reading the rest of its response, and closes its connection.
    pub(in crate::run_loop) fn cut(&mut self, net: &mut N, id: ExchangeId, outcome: AttemptOutcome, now: Instant) {
        let Some(slot) = self.pool.running(id).map(|exchange| exchange.slot) else { return };
        self.end_attempt(net, slot, outcome, Reuse::Close, now);
    }

    /// Ends an attempt like [`Self::cut`], with one exception. If the server was already closing a kept-alive
    /// connection when it received the request, the connection was stale. The request of a stale connection is sent one
    /// more time, on a new connection, if that is safe (docs/measurement.md).
    pub(in crate::run_loop) fn cut_or_resend(
        &mut self,
        net: &mut N,
        id: ExchangeId,
        outcome: AttemptOutcome,
        now: Instant,
    ) {
        let Some(exchange) = self.pool.running(id) else { return };
        let slot = exchange.slot;
        let unused = exchange.reader.is_untouched() && exchange.requests > 1;
        let was_stale = unused && self.was_closing(net, id);
        let Some(op) = self.slots.op(slot) else { return };
        if !was_stale || op.attempt.kind == AttemptKind::Resend {
            let outcome = self.of_no_response(id, outcome);
            return self.end_attempt(net, slot, outcome, Reuse::Close, now);
        }
        let stale = AttemptOutcome::failed(AttemptClass::StaleReuse, Cause::StaleConnection, outcome.phase);
        if self.plan.mix.requests()[op.request].is_idempotent() {
            self.resend(net, slot, stale, now);
        } else {
            self.end_attempt(net, slot, stale, Reuse::Close, now);
        }
    }

    /// Returns whether the server was already closing the connection when the request arrived, as far as the client can
    /// know. The result is `false` if the server worked on the request for some time, or read much of its body. Such a
    /// server had accepted the request and then broke it off.
    fn was_closing(&self, net: &mut N, id: ExchangeId) -> bool {
        let Some(exchange) = self.pool.exchange(id) else { return false };
        let Some(op) = self.slots.op(exchange.slot) else { return false };
        let Some(sent) = op.attempt.sent else { return true };
        let socket = match id {
            ExchangeId::Connection(token) => self.pool.connections.get(token).map(|it| it.transport.socket()),
            // The socket of a stream also carries other requests, so its counts do not show the progress of this
            // request.
            ExchangeId::Stream(_) => None,
        };
        let unacknowledged = socket.and_then(|socket| net.unacknowledged(socket));
        if unacknowledged.is_some_and(|bytes| op.attempt.sent_bytes > bytes + STALE_BYTES_MAX) {
            return false;
        }
        let round_trip = socket.and_then(|socket| net.path(socket)).map_or(0, |path| path.shortest);
        let limit = STALE_MAX + Duration::from_nanos(round_trip) * STALE_ROUND_TRIPS;
        self.load.events_since.since(sent) <= limit
    }

    /// Sends the request one more time, because the server reported that it did not process the request. Such a resend
    /// is safe for any method (RFC 9113 §8.7).
    pub(in crate::run_loop) fn resend_unprocessed(
        &mut self,
        net: &mut N,
        id: ExchangeId,
        outcome: AttemptOutcome,
        now: Instant,
    ) {
        let Some(slot) = self.pool.running(id).map(|exchange| exchange.slot) else { return };
        let Some(op) = self.slots.op_mut(slot) else { return };
        op.attempt.flags.set(Flag::Unprocessed);
        if op.attempt.kind == AttemptKind::Resend {
            self.end_attempt(net, slot, outcome, Reuse::Close, now);
        } else {
            self.resend(net, slot, outcome, now);
        }
    }

    /// Records the slot's attempt and starts another one for the same request, of the kind `Resend`. The recorder
    /// counts the new attempt when it ends.
    pub(in crate::run_loop) fn resend(&mut self, net: &mut N, slot: u32, outcome: AttemptOutcome, now: Instant) {
        let wasted = self.record_attempt(net, slot, outcome, Reuse::Close, now);
        self.recorder.wasted(wasted);
        self.begin_attempt(net, slot, AttemptKind::Resend, now);
    }

    /// Returns the outcome of an attempt without a response. A write whose request was sent completely is
    /// indeterminate, because the server may have carried it out.
    pub(in crate::run_loop) fn of_no_response(&self, id: ExchangeId, outcome: AttemptOutcome) -> AttemptOutcome {
        let exchange = self.pool.exchange(id).assert_some("an attempt without a response has an exchange");
        let Some(exchange) = exchange else { return outcome };
        let Some(op) = self.slots.op(exchange.slot) else { return outcome };
        let sent = exchange.unsent.is_empty() && exchange.body_is_sent();
        let no_response = exchange.state == State::Active && exchange.reader.head().is_none();
        let lost = matches!(
            outcome.class,
            AttemptClass::ClosedEarly
                | AttemptClass::Reset
                | AttemptClass::Incomplete
                | AttemptClass::TimeoutHead
                | AttemptClass::TimeoutTotal
        );
        if lost && sent && no_response && !self.plan.mix.requests()[op.request].is_safe() {
            return AttemptOutcome { class: AttemptClass::Indeterminate, ..outcome };
        }
        outcome
    }
}
