//! Reception of frames on a multiplexed connection.

use super::multiplexed::Lost;
use crate::http2_session::{Event, EventKind};
use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::{ExchangeId, State};
use crate::run_loop::connections::transport::Received;
use crate::run_loop::invariant::Invariant;
use crate::run_loop::response::ReadStep;
use crate::tls::outcome;
use bytes::Bytes;
use measure::{Flag, Instant, Phase};

/// Invariant that debug builds check for connections on which frames are received.
const MULTIPLEXED: &str = "frames come from a multiplexed connection";

impl<N: Network> RunLoop<'_, N> {
    /// Reads the bytes that have arrived on a multiplexed connection.
    pub(in crate::run_loop) fn receive_frames(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return ReadStep::Over };
        let Some(http2) = connection.http2.as_mut().assert_some(MULTIPLEXED) else { return ReadStep::Over };
        if http2.session.input_waits() {
            // Reading continues after the waiting output is sent.
            return ReadStep::Drained;
        }
        let received = connection.transport.recv(net, &mut self.buffers.receive);
        if matches!(received, Received::Nothing) {
            return ReadStep::Drained;
        }
        *now = net.now();
        self.advance_to(net, *now);
        match received {
            Received::Nothing => ReadStep::Drained,
            Received::Bytes(bytes) => {
                if let Some(http2) = self.pool.multiplexed(token).assert_some(MULTIPLEXED) {
                    http2.unattributed.add(bytes as u64);
                    http2.last_received = *now;
                }
                self.read_frames_of_buffer(net, token, bytes, *now)
            }
            Received::End => {
                self.frames_ended(net, token, *now);
                ReadStep::Over
            }
            Received::Broken(error) => {
                self.lose_connection(net, token, Lost::broken(&error), *now);
                ReadStep::Over
            }
        }
    }

    /// Processes the frames in the first `bytes` bytes of the buffer.
    fn read_frames_of_buffer(&mut self, net: &mut N, token: Token, bytes: usize, now: Instant) -> ReadStep {
        let drained = bytes < self.buffers.receive.len();
        let Some(connection) = self.pool.connections.existing_mut(token) else { return ReadStep::Over };
        let buffer = std::mem::take(&mut self.buffers.receive);
        match &mut connection.http2 {
            Some(http2) if !connection.transport.is_tls() => {
                // The session processes the frames in the buffer without a copy, and returns the buffer.
                let mut events = std::mem::take(&mut self.buffers.events);
                self.buffers.receive = http2.session.drive_with(buffer, bytes, &mut events);
                self.pool.send_later(token);
                self.handle_events(net, token, events, now);
                if drained { self.after_short_read(token) } else { ReadStep::More }
            }
            _ => {
                let step = self.read_frames(net, token, &buffer[..bytes], drained, now);
                self.buffers.receive = buffer;
                step
            }
        }
    }

    /// Processes frames. With TLS, `input` is decrypted first. `drained` means that `input` was all that had arrived.
    pub(in crate::run_loop) fn read_frames(
        &mut self,
        net: &mut N,
        token: Token,
        input: &[u8],
        drained: bool,
        now: Instant,
    ) -> ReadStep {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return ReadStep::Over };
        let Some(http2) = connection.http2.as_mut().assert_some(MULTIPLEXED) else { return ReadStep::Over };
        let mut result = Ok(());
        let mut closed = false;
        match connection.transport.tls_mut() {
            None => http2.session.feed(input),
            Some(tls) => {
                result = tls.feed(input, |piece| {
                    http2.session.feed(piece);
                    true
                });
                closed = tls.peer_closed();
            }
        }
        self.pool.send_later(token);
        self.drive_session(net, token, now);
        match result {
            Err(error) => {
                let no_response = self.pool.multiplexed(token).is_some_and(|http2| http2.responses == 0);
                let found = outcome::of_record(&error, Phase::Head, no_response);
                let lost = Lost { class: found.class, cause: Some(found.cause), detail: outcome::detail(&error) };
                self.lose_connection(net, token, lost, now);
                ReadStep::Over
            }
            Ok(()) if closed => {
                self.frames_ended(net, token, now);
                ReadStep::Over
            }
            Ok(()) if drained => self.after_short_read(token),
            Ok(()) => ReadStep::More,
        }
    }

    /// Handles the end of the peer's stream.
    fn frames_ended(&mut self, net: &mut N, token: Token, now: Instant) {
        // The last frames may have ended the last stream, which closes the connection.
        let Some(connection) = self.pool.connections.get_mut(token) else { return };
        connection.exchange.closing = true;
        let unclean = connection.transport.tls().is_some_and(|tls| !tls.peer_closed());
        let Some(http2) = connection.http2.as_mut().assert_some(MULTIPLEXED) else { return };
        http2.session.feed_end();
        for stream in if unclean { http2.streams.clone() } else { Vec::new() } {
            if let Some(slot) = self.active_slot(stream)
                && let Some(op) = self.slots.op_mut(slot)
            {
                op.attempt.flags.set(Flag::UncleanTls);
            }
        }
        self.drive_session(net, token, now);
        self.abort_streams(net, token, now);
    }

    /// Handles the loss of a connection.
    fn lose_connection(&mut self, net: &mut N, token: Token, lost: Lost, now: Instant) {
        // Earlier frames may have ended the last stream, which closes the connection.
        let Some(connection) = self.pool.connections.get_mut(token) else { return };
        connection.exchange.closing = true;
        let Some(http2) = connection.http2.as_mut().assert_some(MULTIPLEXED) else { return };
        http2.lost.get_or_insert(lost);
        self.abort_streams(net, token, now);
    }

    /// Ends all streams of a connection.
    pub(super) fn abort_streams(&mut self, net: &mut N, token: Token, now: Instant) {
        if let Some(http2) = self.pool.multiplexed(token) {
            http2.session.abort();
            self.drive_session(net, token, now);
        }
    }

    /// Drives a session, and handles the events of its streams.
    pub(super) fn drive_session(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(http2) = self.pool.multiplexed(token).assert_some(MULTIPLEXED) else { return };
        let mut events = std::mem::take(&mut self.buffers.events);
        http2.session.drive(&mut events);
        self.handle_events(net, token, events, now);
    }

    /// Handles the events of a connection's streams.
    fn handle_events(&mut self, net: &mut N, token: Token, mut events: Vec<Event>, now: Instant) {
        let accepts = self.pool.multiplexed(token).is_some_and(|http2| http2.session.accepts());
        self.count_overhead(token, &mut events, now);
        if accepts {
            self.add_streams(token);
        } else {
            // The connection must be retired before the events are handled, because requests that are sent again must
            // not use this connection.
            self.retire(net, token);
        }
        for event in events.drain(..) {
            self.handle_event(net, token, event, now);
        }
        self.buffers.events = events;
    }

    /// Counts the received bytes that are not content. These bytes count for the first stream that has an event. If no
    /// stream has an event, the bytes count for one of the active streams.
    fn count_overhead(&mut self, token: Token, events: &mut [Event], now: Instant) {
        for event in events.iter_mut().filter(|event| !self.is_current(event)) {
            // The content of a stream that was reset counts as overhead.
            event.kind = EventKind::Body(Bytes::new());
        }
        let content = |event: &Event| if let EventKind::Body(bytes) = &event.kind { bytes.len() as u64 } else { 0 };
        let body: u64 = events.iter().map(content).sum();
        let receiver = events.iter().find(|event| self.is_current(event)).map(|event| event.owner);
        // If no stream is active, the bytes will count for the next attempt.
        let Some(receiver) = receiver.or_else(|| self.any_active_stream(token)) else { return };
        let Some(http2) = self.pool.multiplexed(token).assert_some(MULTIPLEXED) else { return };
        let overhead = http2.unattributed.attribute(body) - body;
        if overhead > 0 {
            self.count_received(ExchangeId::Stream(receiver), overhead as usize, 0, now);
        }
    }

    /// Returns whether the exchange to which an event belongs is still in progress.
    pub(super) fn is_current(&self, event: &Event) -> bool {
        let stream = self.pool.streams.get(event.owner);
        stream.is_some_and(|it| it.exchange.state == State::Active && it.key == Some(event.key))
    }

    /// Returns the newest stream of a connection that has an exchange.
    pub(super) fn any_active_stream(&self, token: Token) -> Option<Token> {
        let http2 = self.pool.connections.get(token)?.http2.as_ref().filter(|http2| http2.active > 0)?;
        http2.streams.iter().rev().find(|stream| self.active_slot(**stream).is_some()).copied()
    }

    /// Returns the slot of a stream that has an exchange.
    pub(super) fn active_slot(&self, stream: Token) -> Option<u32> {
        let exchange = &self.pool.streams.get(stream)?.exchange;
        (exchange.state == State::Active).then_some(exchange.slot)
    }
}
