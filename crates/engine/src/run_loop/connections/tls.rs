//! TLS in the loop: the handshake between connecting and the first request, and answers that come encrypted.
//!
//! Ciphertext is received in the largest pieces into the buffer that all connections share, and decrypted whole, so that
//! the rule of edge-triggered readiness holds as for plain sockets: less than there was room for means drained, and no
//! plaintext waits unseen. Bodies have to be decrypted, and can not be dropped inside the kernel.

use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::connections::State;
use crate::run_loop::http1::receive::{Got, ParseEnd, Parsed, ReadStep, got};
use crate::run_loop::response::checks;
use crate::tls::{Session, outcome};
use measure::recorder::Handshake;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant, Phase};
use rustls::ClientConfig;
use std::io;
use std::sync::Arc;
use wire::message::Reading;
use wire::url::Scheme;

impl<N: Network> RunLoop<'_, N> {
    /// This thread's settings, made when the first connection needs them.
    fn tls_config(&mut self) -> Option<Arc<ClientConfig>> {
        if self.tls.is_none() {
            self.tls = self.plan.connections.tls.for_thread();
        }
        self.tls.clone()
    }

    /// A connection is established: what is spoken on it begins.
    pub(in crate::run_loop) fn speak(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        match self.origins[connection.origin].origin.scheme {
            Scheme::Http => self.reached(net, token, now),
            Scheme::Https => self.begin_handshake(net, token, now),
        }
    }

    fn begin_handshake(&mut self, net: &mut N, token: Token, now: Instant) {
        let config = self.tls_config();
        self.note_detail(&[]);
        let Some(connection) = self.connections.get_mut(token) else { return };
        let name = crate::tls::server_name(&self.origins[connection.origin].origin);
        let Some(config) = config else {
            return self.handshake_failed(net, token, (AttemptClass::TlsCert, Cause::CertUnknownIssuer), now);
        };
        let session = name.and_then(|name| Session::new(config, name).ok());
        let Some(session) = session else {
            return self.handshake_failed(net, token, (AttemptClass::TlsHandshake, Cause::TlsIncompatible), now);
        };
        connection.transport.begin_tls(Box::new(session));
        connection.state = State::Handshaking;
        self.set_deadline(token, now + self.plan.timeouts.connect);
        self.push_handshake(net, token, now);
    }

    /// Sends what is to be sent of the handshake.
    pub(in crate::run_loop) fn push_handshake(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let slot = connection.slot;
        match connection.transport.flush(net) {
            Ok(sent) => self.note_sent(slot, sent),
            Err(error) => self.handshake_broken(net, token, &error, now),
        }
    }

    /// Reads what has come of a handshake, and of what follows it.
    pub(in crate::run_loop) fn shake(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        let bytes = match got(connection.transport.recv(net, &mut self.buffer)) {
            Got::Bytes(bytes) => bytes,
            Got::Nothing => return ReadStep::Drained,
            Got::End => {
                *now = net.now();
                self.turn(net, *now);
                self.note_detail(&[]);
                self.handshake_failed(net, token, (AttemptClass::TlsHandshake, Cause::TlsClosed), *now);
                return ReadStep::Over;
            }
            Got::Broken(error) => {
                *now = net.now();
                self.turn(net, *now);
                self.handshake_broken(net, token, &error, *now);
                return ReadStep::Over;
            }
        };
        *now = net.now();
        self.turn(net, *now);
        let drained = bytes < self.buffer.len();
        let buffer = std::mem::take(&mut self.buffer);
        let step = self.shake_with(net, token, &buffer[..bytes], drained, *now);
        self.buffer = buffer;
        step
    }

    fn shake_with(&mut self, net: &mut N, token: Token, input: &[u8], drained: bool, now: Instant) -> ReadStep {
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        let Some(session) = connection.transport.tls_mut() else { return ReadStep::Over };
        session.received(input.len());
        let shaken = session.shake(input);
        let began_plain = session.begin().starts_with(b"HTTP/");
        match shaken {
            Err(error) => {
                // The server is told why; when that fails, it knows.
                let (slot, sent) = (connection.slot, connection.transport.flush(net).unwrap_or(0));
                self.note_sent(slot, sent);
                self.note_detail(outcome::detail(&error).as_bytes());
                let outcome = outcome::of_handshake(&error, began_plain);
                self.handshake_failed(net, token, (outcome.class, outcome.cause), now);
                ReadStep::Over
            }
            Ok(None) => {
                self.push_handshake(net, token, now);
                if drained { self.after_short_read(token) } else { ReadStep::More }
            }
            Ok(Some(used)) => {
                self.push_handshake(net, token, now);
                self.secured(net, token, now);
                self.digest(net, token, &input[used..], drained, now)
            }
        }
    }

    /// The handshake is complete.
    fn secured(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        let Some(session) = connection.transport.tls() else { return };
        let nanos = now.nanos_since(connection.connected);
        self.recorder.secured(nanos, if session.is_resumed() { Handshake::Resumed } else { Handshake::Full });
        if let Some(op) = &mut self.slots[connection.slot as usize].op {
            op.handshake_nanos = Some(op.handshake_nanos.unwrap_or(0) + nanos);
        }
        self.reached(net, token, now);
    }

    /// A handshake ended without a session, and its attempt with it.
    fn handshake_failed(&mut self, net: &mut N, token: Token, why: (AttemptClass, Cause), now: Instant) {
        let Some(slot) = self.connections.get(token).map(|connection| connection.slot) else { return };
        self.unreached(net, slot, AttemptOutcome::failed(why.0, why.1, Phase::Tls), now);
    }

    fn handshake_broken(&mut self, net: &mut N, token: Token, error: &io::Error, now: Instant) {
        self.note_detail(error.to_string().as_bytes());
        self.handshake_failed(net, token, (AttemptClass::Reset, Cause::TlsReset), now);
    }

    /// Reads what has come of an answer inside TLS.
    pub(in crate::run_loop) fn receive_secure(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        match got(connection.transport.recv(net, &mut self.buffer)) {
            Got::Bytes(bytes) => {
                *now = net.now();
                self.turn(net, *now);
                if let Some(connection) = self.connections.get_mut(token)
                    && let Some(session) = connection.transport.tls_mut()
                {
                    session.received(bytes);
                }
                let buffer = std::mem::take(&mut self.buffer);
                let step = self.digest(net, token, &buffer[..bytes], bytes < buffer.len(), *now);
                self.buffer = buffer;
                step
            }
            Got::Nothing => ReadStep::Drained,
            Got::End => self.ended_unclean(net, token, now),
            Got::Broken(error) => self.broken(net, token, &error, now),
        }
    }

    /// The server has closed its side without a farewell: a body that ends there may be only a part of what it was.
    fn ended_unclean(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        *now = net.now();
        self.turn(net, *now);
        self.note_unclean(token);
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        let outcome = match connection.reader.end_of_stream() {
            Ok(()) => AttemptOutcome::failed(AttemptClass::Incomplete, Cause::BodyCutShort, Phase::Body),
            Err(error) => checks::of_truncated(error),
        };
        let outcome = self.of_lost(token, outcome);
        self.cut_or_resend(net, token, outcome, *now);
        ReadStep::Over
    }

    fn note_unclean(&mut self, token: Token) {
        let Some(connection) = self.connections.get(token) else { return };
        if connection.transport.tls().is_some_and(|session| !session.peer_closed())
            && let Some(op) = &mut self.slots[connection.slot as usize].op
        {
            op.attempt.flags.set(Flag::UncleanTls);
        }
    }

    /// Decrypts and reads ciphertext; `drained` says that it was all that had come.
    fn digest(&mut self, net: &mut N, token: Token, input: &[u8], drained: bool, now: Instant) -> ReadStep {
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        if connection.carrier.is_some() {
            return self.take_in(net, token, input, drained, now);
        }
        let Some(mut session) = connection.transport.take_tls() else { return ReadStep::Over };
        let mut parsed = Parsed::default();
        let fed = session.feed(input, |piece| {
            self.read_piece(token, piece, &mut parsed, now);
            !matches!(parsed.end, ParseEnd::Cut(_))
        });
        let counted = session.settle(parsed.body);
        let (peer_closed, wants_write) = (session.peer_closed(), session.wants_write());
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        connection.transport.begin_tls(session);
        let ended = drained && connection.closing;
        connection.closing |= peer_closed || fed.is_err();
        if wants_write {
            // An answer of TLS itself, as to new keys. Should it fail, so will what follows.
            let (slot, sent) = (connection.slot, connection.transport.flush(net).unwrap_or(0));
            self.note_sent(slot, sent);
        }
        self.arrived(token, counted, parsed.body, now);
        match (parsed.end, fed) {
            (ParseEnd::NeedMore, Err(error)) => self.bad_record(net, token, &error, now),
            (ParseEnd::NeedMore, Ok(())) if peer_closed => self.ended_by_peer(net, token, &mut { now }),
            (end, _) => {
                if ended && matches!(end, ParseEnd::Complete { .. }) {
                    self.note_unclean(token);
                }
                let step = self.act_on(net, token, end, now);
                if matches!(step, ReadStep::More) && drained { self.after_short_read(token) } else { step }
            }
        }
    }

    /// What a free connection received: `true` when it is of no use any more.
    pub(in crate::run_loop) fn spoken_while_idle(&mut self, net: &mut N, token: Token) -> bool {
        let Some(connection) = self.connections.get_mut(token) else { return false };
        loop {
            let bytes = match got(connection.transport.recv(net, &mut self.buffer)) {
                Got::Bytes(bytes) => bytes,
                // What it became ready for was read together with the last response.
                Got::Nothing => return false,
                Got::End | Got::Broken(_) => return true,
            };
            let Some(session) = connection.transport.tls_mut() else { return true };
            session.received(bytes);
            let mut unasked = false;
            let fed = session.feed(&self.buffer[..bytes], |_| {
                unasked = true;
                false
            });
            if fed.is_err() || unasked || session.peer_closed() {
                return true;
            }
            if bytes < self.buffer.len() {
                // Keys or sessions: the connection is as good as it was.
                return false;
            }
        }
    }

    fn bad_record(&mut self, net: &mut N, token: Token, error: &rustls::Error, now: Instant) -> ReadStep {
        let Some(connection) = self.connections.get(token) else { return ReadStep::Over };
        let unanswered = connection.requests <= 1 && connection.reader.is_untouched();
        let phase = if connection.reader.phase() == Reading::Head { Phase::Head } else { Phase::Body };
        self.note_detail(outcome::detail(error).as_bytes());
        self.cut_or_resend(net, token, outcome::of_record(error, phase, unanswered), now);
        ReadStep::Over
    }
}
