//! Sending of frames on a multiplexed connection.
//!
//! The requests that start together are sent with one system call. They count as sent when they are passed to the
//! kernel.

use super::multiplexed::Lost;
use crate::http2_session::Key;
use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::ExchangeId;
use crate::run_loop::invariant::Invariant;
use bytes::Bytes;
use measure::Instant;
use std::io;

/// Maximum number of send calls of one connection in its turn.
const SENDS_MAX: usize = 16;

/// Invariant that debug builds check for connections on which frames are sent.
const MULTIPLEXED: &str = "frames are sent on a multiplexed connection";

impl<N: Network> RunLoop<'_, N> {
    /// Sends pieces of a request's body while the stream has capacity for them. Pieces count as sent as soon as they
    /// are in the session, because the session keeps only a few pieces.
    pub(in crate::run_loop) fn send_pieces(&mut self, net: &mut N, stream: Token, now: Instant) {
        let id = ExchangeId::Stream(stream);
        while let Some((connection, key)) = self.open_key(stream) {
            let http2 = self.pool.multiplexed(connection).assert_some(MULTIPLEXED);
            if http2.is_none_or(|http2| http2.session.capacity(key) == 0) {
                return;
            }
            match self.write_piece(id, 0) {
                Ok(true) => self.send_piece(connection, stream, key, now),
                Ok(false) => return,
                Err(error) => return self.request_failed(net, id, &error, now),
            }
        }
    }

    /// Passes the piece in the buffer to the session.
    fn send_piece(&mut self, connection: Token, stream: Token, key: Key, now: Instant) {
        let id = ExchangeId::Stream(stream);
        let Some(exchange) = self.pool.running(id) else { return };
        let slot = exchange.slot;
        let Some(upload) = exchange.upload.as_mut().assert_some("a piece belongs to a body") else { return };
        let last = upload.is_made();
        let data = upload.take(self.buffers.send.len()) as u64;
        let newly_sent = upload.mark_sent();
        self.count_uploaded(slot, data, now);
        if newly_sent && let Some(op) = self.slots.op_mut(slot) {
            op.sent_all = Some(now);
        }
        let piece = Bytes::copy_from_slice(&self.buffers.send);
        if let Some(http2) = self.pool.multiplexed(connection).assert_some(MULTIPLEXED) {
            // If the stream accepts no more, its next event reports the reason.
            let _ = http2.session.send(key, piece, last);
        }
        self.expect_progress(id, now);
        self.pool.send_later(connection);
    }

    /// Sends the output of all multiplexed connections that have output.
    #[inline]
    pub(in crate::run_loop) fn send_queued(&mut self, net: &mut N, now: Instant) {
        for token in std::mem::take(&mut self.pool.to_send) {
            if let Some(http2) = self.pool.multiplexed(token) {
                http2.queued = false;
                self.drive_session(net, token, now);
                self.send_frames(net, token, now);
            }
        }
    }

    /// Sends as much of a connection's output as the kernel accepts. Returns `true` if reading had stopped because
    /// output was waiting, and can now continue.
    pub(in crate::run_loop) fn send_frames(&mut self, net: &mut N, token: Token, now: Instant) -> bool {
        let requests = self.mark_requests_sent(net, token);
        let read_on = self.send_output(net, token, now);
        self.mark_requests_taken(token, requests);
        read_on
    }

    /// Sends the output of the session.
    fn send_output(&mut self, net: &mut N, token: Token, now: Instant) -> bool {
        let mut read_on = false;
        for _ in 0..SENDS_MAX {
            // Stream events may have closed the connection.
            let Some(connection) = self.pool.connections.get_mut(token) else { return false };
            let Some(http2) = connection.http2.as_mut().assert_some(MULTIPLEXED) else { return false };
            if !http2.session.has_output() && connection.transport.is_flushed() {
                let input_waits = http2.session.input_waits();
                if !http2.session.take_blocked() && !input_waits {
                    return read_on;
                }
                read_on |= input_waits;
                self.drive_session(net, token, now);
                continue;
            }
            let transport = &mut connection.transport;
            match http2.session.with_output(|output| transport.send(net, output)) {
                Ok(wire) => {
                    http2.session.output_taken(wire.taken);
                    self.count_frames_sent(token, wire.sent);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return read_on,
                Err(error) => {
                    self.send_frames_failed(net, token, &error, now);
                    return false;
                }
            }
        }
        // The other connections get their turn now.
        self.pool.send_later(token);
        read_on
    }

    /// Handles a failure to send frames. Bytes that arrived before the connection broke are read first, so that the
    /// outcome does not depend on whether a send or a read fails first.
    fn send_frames_failed(&mut self, net: &mut N, token: Token, error: &io::Error, now: Instant) {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return };
        connection.exchange.closing = true;
        let Some(http2) = connection.http2.as_mut().assert_some(MULTIPLEXED) else { return };
        http2.lost.get_or_insert(Lost::broken(error));
        self.read_connection(net, token, now);
        // If more bytes can be read, they are read first, and the streams end afterwards.
        if self.pool.connections.get(token).is_some_and(|connection| !connection.queued) {
            self.abort_streams(net, token, now);
        }
    }

    /// Records the current instant as the send time of the requests that are about to be passed to the kernel. Returns
    /// the streams of these requests.
    fn mark_requests_sent(&mut self, net: &mut N, token: Token) -> Vec<Token> {
        let Some(http2) = self.pool.multiplexed(token).filter(|http2| !http2.unsent.is_empty()) else {
            return Vec::new();
        };
        let unsent = std::mem::take(&mut http2.unsent);
        let now = net.now();
        for stream in &unsent {
            if let Some(slot) = self.active_slot(*stream)
                && let Some(op) = self.slots.op_mut(slot)
            {
                op.note_sent(now);
            }
        }
        unsent
    }

    /// Records that the kernel has accepted the requests of these streams.
    fn mark_requests_taken(&mut self, token: Token, mut streams: Vec<Token>) {
        if streams.is_empty() {
            return;
        }
        for stream in streams.drain(..) {
            if let Some(slot) = self.active_slot(stream) {
                self.stalls.request_taken(slot);
            }
        }
        // The emptied list is put back, so that the next requests can use its memory.
        if let Some(http2) = self.pool.multiplexed(token).filter(|http2| http2.unsent.is_empty()) {
            http2.unsent = streams;
        }
    }

    /// Counts sent bytes for one of the active streams, because one write may contain frames of several streams.
    fn count_frames_sent(&mut self, token: Token, bytes: usize) {
        match self.any_active_stream(token).and_then(|stream| self.active_slot(stream)) {
            Some(slot) => self.count_sent(slot, bytes),
            None => self.recorder.sent(bytes as u64),
        }
    }
}
