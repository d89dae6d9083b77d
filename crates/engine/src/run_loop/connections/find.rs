//! The choice of a connection for an attempt. An attempt uses a free connection, waits for one, or opens a new one.

use crate::network::Network;
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::Reuse;
use crate::run_loop::attempt::exchange::ExchangeId;
use crate::run_loop::pacing::Pacer;
use measure::sample::AttemptKind;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};

const CONNECT_TIMED_OUT: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::ConnectTimeout, Cause::ConnectTimedOut, Phase::Connect);

impl<N: Network> RunLoop<'_, N> {
    /// Finds a connection for the slot's attempt.
    pub(in crate::run_loop) fn find_connection(&mut self, net: &mut N, slot: u32, now: Instant) {
        let Some(op) = self.slots.op(slot) else { return };
        let origin = op.attempt_origin();
        // With HTTP/1, a resend needs a new connection, because the other kept-alive connections are probably stale
        // too. HTTP/2 uses few connections, and the server announces the end of a connection. A resend with HTTP/2
        // therefore needs no new connection.
        let new_only = op.attempt.kind == AttemptKind::Resend && !self.pool.origins[origin].multiplexes();
        let idle = if new_only { None } else { self.pool.take_idle(origin) };
        match idle {
            Some(id) => self.use_idle(net, id, slot, now),
            None if self.pool.origins[origin].stream_is_coming() || (!new_only && self.must_wait(origin, now)) => {
                self.pool.origins[origin].waiting.push_back(slot);
                self.pool.waits.for_connection += 1;
            }
            None => self.open(net, slot, now),
        }
    }

    fn use_idle(&mut self, net: &mut N, id: ExchangeId, slot: u32, now: Instant) {
        if let Some(exchange) = self.pool.running(id) {
            exchange.slot = slot;
        }
        if self.redirect_is_forbidden_on(slot, id) {
            self.release(net, id, Reuse::Keep);
            self.deny_private_address(net, slot, now);
        } else {
            self.send_request(net, id, now);
        }
    }

    /// Returns whether an attempt must wait for a connection. In the closed model, no attempt waits, because there
    /// should be as many connections as slots.
    fn must_wait(&mut self, origin: usize, now: Instant) -> bool {
        let waits = !self.pool.origins[origin].waiting.is_empty();
        matches!(self.pacer, Pacer::Open(_)) && (waits || !self.pool.budget.take(now))
    }

    /// Assigns free connections to waiting attempts. If no connection is free, opens new connections as far as allowed.
    #[inline]
    pub(in crate::run_loop) fn serve_waiting(&mut self, net: &mut N, now: Instant) {
        if self.pool.waits.for_connection == 0 {
            return;
        }
        self.pool.budget.reset_demand();
        for origin in 0..self.pool.origins.len() {
            if self.pool.waits.for_connection == 0 {
                return;
            }
            while self.serve_first(net, origin, now) {}
        }
    }

    /// Assigns a connection to the attempt that has waited longest. Returns `false` if no attempt waits, or if no
    /// connection is available.
    fn serve_first(&mut self, net: &mut N, origin: usize, now: Instant) -> bool {
        let Some(slot) = self.pool.origins[origin].waiting.front().copied() else { return false };
        let Some(op) = self.slots.op(slot) else {
            // An entry without an operation is a defect of this program, but it must not block the other waiting
            // attempts.
            self.remove_first(origin);
            return true;
        };
        let timed_out = now.since(op.attempt.started) >= self.plan.timeouts.connect;
        let idle = self.pool.take_idle(origin);
        if idle.is_none() && !timed_out && !self.may_open(origin, now) {
            return false;
        }
        self.remove_first(origin);
        match idle {
            Some(id) => self.use_idle(net, id, slot, now),
            None if timed_out => self.unreached(net, slot, CONNECT_TIMED_OUT, now),
            None => self.open(net, slot, now),
        }
        true
    }

    /// Removes the attempt that has waited longest.
    fn remove_first(&mut self, origin: usize) {
        self.pool.origins[origin].waiting.pop_front();
        self.pool.waits.for_connection -= 1;
    }

    /// Returns whether a connection may be opened for the attempt that has waited longest.
    fn may_open(&mut self, origin: usize, now: Instant) -> bool {
        let state = &self.pool.origins[origin];
        state.streams_coming() < state.waiting.len()
            && (matches!(self.pacer, Pacer::Closed(_)) || self.pool.budget.take(now))
    }
}
