//! Encrypted responses.
//!
//! Ciphertext is received into the buffer that all connections share, and is decrypted completely. Edge-triggered
//! readiness therefore works in the same way as for plain sockets. After a short read, the socket is empty, and no
//! plaintext waits in the session. Bodies must be decrypted, so they cannot be discarded inside the kernel.

use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::ExchangeId;
use crate::run_loop::attempt::failure_outcomes;
use crate::run_loop::connections::transport::Received;
use crate::run_loop::invariant::Invariant;
use crate::run_loop::response::{Parsed, ParsedEnd, ReadStep};
use crate::tls::outcome;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant, Phase};
use wire::message::Reading;

/// Invariant that debug builds check for connections whose ciphertext is read.
const HAS_SESSION: &str = "a connection with TLS has a session";

impl<N: Network> RunLoop<'_, N> {
    /// Reads the bytes of an encrypted response that have arrived.
    pub(super) fn receive_tls(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return ReadStep::Over };
        match connection.transport.recv(net, &mut self.buffers.receive) {
            Received::Bytes(bytes) => {
                if let Some(session) = connection.transport.tls_mut().assert_some(HAS_SESSION) {
                    session.received(bytes);
                }
                *now = net.now();
                self.advance_to(net, *now);
                let buffer = std::mem::take(&mut self.buffers.receive);
                let step = self.decrypt(net, token, &buffer[..bytes], bytes < buffer.len(), *now);
                self.buffers.receive = buffer;
                step
            }
            Received::Nothing => ReadStep::Drained,
            Received::End => self.ended_without_close(net, token, now),
            Received::Broken(error) => self.broken(net, token, &error, now),
        }
    }

    /// Handles a server's stream that ended without the alert that TLS requires. A body that ends here may be
    /// incomplete.
    fn ended_without_close(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let id = ExchangeId::Connection(token);
        *now = net.now();
        self.advance_to(net, *now);
        self.flag_unclean(token);
        let Some(exchange) = self.pool.running(id) else { return ReadStep::Over };
        let outcome = match exchange.reader.end_of_stream() {
            Ok(()) => AttemptOutcome::failed(AttemptClass::Incomplete, Cause::BodyCutShort, Phase::Body),
            Err(error) => failure_outcomes::of_truncated(error),
        };
        let outcome = self.of_lost(id, outcome);
        self.cut_or_resend(net, id, outcome, *now);
        ReadStep::Over
    }

    fn flag_unclean(&mut self, token: Token) {
        let Some(connection) = self.pool.connections.existing(token) else { return };
        let session = connection.transport.tls().assert_some(HAS_SESSION);
        if session.is_some_and(|session| !session.peer_closed())
            && let Some(op) = self.slots.op_mut(connection.exchange.slot)
        {
            op.attempt.flags.set(Flag::UncleanTls);
        }
    }

    /// Decrypts and parses ciphertext. `drained` means that `input` was all that had arrived.
    pub(in crate::run_loop) fn decrypt(
        &mut self,
        net: &mut N,
        token: Token,
        input: &[u8],
        drained: bool,
        now: Instant,
    ) -> ReadStep {
        let id = ExchangeId::Connection(token);
        // The first request after the handshake may have failed, which closes the connection.
        let Some(connection) = self.pool.connections.get_mut(token) else { return ReadStep::Over };
        if connection.http2.is_some() {
            return self.read_frames(net, token, input, drained, now);
        }
        let Some(mut session) = connection.transport.take_tls().assert_some(HAS_SESSION) else { return ReadStep::Over };
        let mut parsed = Parsed::default();
        let result = session.feed(input, |piece| {
            self.parse_piece(token, piece, &mut parsed, now);
            !matches!(parsed.end, ParsedEnd::Cut(_))
        });
        let counted = session.attribute(parsed.body);
        let (peer_closed, wants_write) = (session.peer_closed(), session.wants_write());
        let Some(connection) = self.pool.connections.existing_mut(token) else { return ReadStep::Over };
        connection.transport.set_tls(session);
        let ended = drained && connection.exchange.closing;
        connection.exchange.closing |= peer_closed || result.is_err();
        if wants_write {
            // TLS itself may have to send bytes, for example in response to new keys. If this `flush` fails, the next
            // send fails too.
            let (slot, sent) = (connection.exchange.slot, connection.transport.flush(net).unwrap_or(0));
            self.count_sent(slot, sent);
        }
        self.count_received(id, counted, parsed.body, now);
        match (parsed.end, result) {
            (ParsedEnd::Incomplete, Err(error)) => self.bad_record(net, token, &error, now),
            (ParsedEnd::Incomplete, Ok(())) if peer_closed => self.ended_by_peer(net, token, &mut { now }),
            (end, _) => {
                if ended && matches!(end, ParsedEnd::Complete { .. }) {
                    self.flag_unclean(token);
                }
                let step = self.after_parsing(net, token, end, now);
                if matches!(step, ReadStep::More) && drained { self.after_short_read(token) } else { step }
            }
        }
    }

    fn bad_record(&mut self, net: &mut N, token: Token, error: &rustls::Error, now: Instant) -> ReadStep {
        let id = ExchangeId::Connection(token);
        let Some(exchange) = self.pool.running(id) else { return ReadStep::Over };
        let no_response = exchange.requests <= 1 && exchange.reader.is_untouched();
        let phase = if exchange.reader.phase() == Reading::Head { Phase::Head } else { Phase::Body };
        self.notes.set_detail(outcome::detail(error).as_bytes());
        self.cut_or_resend(net, id, outcome::of_record(error, phase, no_response), now);
        ReadStep::Over
    }

    /// Reads the bytes that arrived on an idle connection. Returns whether these bytes make the connection unusable.
    pub(in crate::run_loop) fn is_unusable_tls(&mut self, net: &mut N, token: Token) -> bool {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return false };
        loop {
            let bytes = match connection.transport.recv(net, &mut self.buffers.receive) {
                Received::Bytes(bytes) => bytes,
                // The bytes that made the socket readable were already read together with the last response.
                Received::Nothing => return false,
                Received::End | Received::Broken(_) => return true,
            };
            let Some(session) = connection.transport.tls_mut().assert_some(HAS_SESSION) else { return true };
            session.received(bytes);
            let mut unexpected = false;
            let result = session.feed(&self.buffers.receive[..bytes], |_| {
                unexpected = true;
                false
            });
            if result.is_err() || unexpected || session.peer_closed() {
                return true;
            }
            if bytes < self.buffers.receive.len() {
                // These bytes were new keys or session tickets, so the connection is still usable.
                return false;
            }
        }
    }
}
