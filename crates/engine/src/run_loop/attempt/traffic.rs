//! The bytes of an attempt. This module sends request bodies, and counts sent and received bytes.

use super::exchange::ExchangeId;
use crate::control::NOTICE;
use crate::network::Network;
use crate::run_loop::RunLoop;
use crate::run_loop::invariant::Invariant;
use crate::run_loop::pacing::Pacer;
use measure::{Instant, Stage};
use std::io;

impl<N: Network> RunLoop<'_, N> {
    /// Writes the next piece of an exchange's request body to the send buffer. The piece replaces the bytes from offset
    /// `at` on. Returns `false` if no piece is left.
    pub(in crate::run_loop) fn write_piece(&mut self, id: ExchangeId, at: usize) -> io::Result<bool> {
        let Some(exchange) = self.pool.running(id) else { return Ok(false) };
        let Some(op) = self.slots.op(exchange.slot) else { return Ok(false) };
        // A request without a body has no pieces.
        let Some(upload) = &mut exchange.upload else { return Ok(false) };
        let body = self.plan.mix.requests()[op.request].body.as_ref().assert_some("a body that is sent is planned");
        let Some(body) = body else { return Ok(false) };
        let mut source = op.body_source(self.plan, body, &mut self.requests.key);
        upload.next_piece(&mut source, &mut self.buffers.send, at)
    }

    /// Sets the deadline of an exchange with a request body. While the body is being sent, this deadline limits the
    /// time without progress. Afterwards, it is the timeout of the response head.
    pub(in crate::run_loop) fn expect_progress(&mut self, id: ExchangeId, now: Instant) {
        // A failed write may have ended the attempt.
        let Some(upload) = self.pool.exchange(id).and_then(|exchange| exchange.upload.as_ref()) else { return };
        let deadline = match upload.continue_until() {
            Some(until) => until,
            None if upload.is_under_way() => now + self.plan.timeouts.idle,
            None => now + self.plan.timeouts.head,
        };
        self.set_deadline(id, deadline);
    }

    /// Ends the wait for `100 Continue`. On an HTTP/1 connection, sending begins only in the next step, because the
    /// caller may be in the middle of reading a response.
    pub(in crate::run_loop) fn continue_body(&mut self, net: &mut N, id: ExchangeId, now: Instant) {
        let Some(exchange) = self.pool.running(id) else { return };
        let upload = exchange.upload.as_mut().assert_some("a request that waits for 100 Continue has a body");
        let Some(upload) = upload else { return };
        upload.release();
        if let Some(op) = self.slots.op_mut(exchange.slot) {
            op.note_continue(now);
        }
        self.expect_progress(id, now);
        match id {
            ExchangeId::Connection(token) => self.pool.read_later(token),
            ExchangeId::Stream(token) => self.send_pieces(net, token, now),
        }
    }

    /// Counts bytes sent for the slot's attempt.
    pub(in crate::run_loop) fn count_sent(&mut self, slot: u32, bytes: usize) {
        self.recorder.sent(bytes as u64);
        // The operation may have ended already, for example if these bytes are a TLS alert.
        if let Some(op) = self.slots.find_op_mut(slot) {
            op.attempt.sent_bytes += bytes as u64;
        }
    }

    /// Counts bytes of a request's body that the kernel, TLS or HTTP/2 has accepted.
    pub(in crate::run_loop) fn count_uploaded(&mut self, slot: u32, bytes: u64, now: Instant) {
        self.recorder.uploaded(bytes);
        let measured = self.recorder.timeline().stage(now) == Stage::Measured;
        if measured {
            self.count_towards_stop(bytes, now);
        }
        if let Some(op) = self.slots.op_mut(slot) {
            op.attempt.sent_body += bytes;
            op.attempt.window.sent += if measured { bytes } else { 0 };
        }
    }

    /// Counts `total` received bytes, of which `body` bytes are content. The bytes count for the interval that contains
    /// the instant of the read.
    #[inline]
    pub(in crate::run_loop) fn count_received(&mut self, id: ExchangeId, total: usize, body: usize, now: Instant) {
        self.recorder.received(body as u64, (total - body) as u64);
        let Some(exchange) = self.pool.running(id) else { return };
        let Some(op) = self.slots.op_mut(exchange.slot) else { return };
        op.attempt.received_bytes += total as u64;
        if self.recorder.timeline().stage(now) == Stage::Measured {
            op.attempt.window.received += body as u64;
            self.count_towards_stop(body as u64, now);
        }
    }

    /// Counts body bytes inside the measured window, if the plan ends the run after a number of body bytes.
    #[inline]
    fn count_towards_stop(&self, bytes: u64, now: Instant) {
        if self.plan.stop.bytes.is_some() {
            let end = if matches!(self.pacer, Pacer::Open(_)) { now } else { now + NOTICE };
            self.control.note_bytes(end, bytes);
        }
    }
}
