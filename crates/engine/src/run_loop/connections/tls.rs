//! The TLS handshake between connecting and the first request.

use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::State;
use crate::run_loop::connections::transport::Received;
use crate::run_loop::invariant::Invariant;
use crate::run_loop::response::ReadStep;
use crate::tls::{Session, outcome};
use measure::recorder::Handshake;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use rustls::ClientConfig;
use std::io;
use std::sync::Arc;

/// Invariant that debug builds check for a connection during its handshake.
const HAS_SESSION: &str = "a connection in its handshake has a TLS session";

impl<N: Network> RunLoop<'_, N> {
    /// Returns the TLS settings of this thread. The settings are created when the first connection needs them.
    fn tls_config(&mut self) -> Option<Arc<ClientConfig>> {
        if self.pool.tls.is_none() {
            self.pool.tls = self.plan.connections.tls.for_thread();
        }
        self.pool.tls.clone()
    }

    pub(in crate::run_loop) fn begin_handshake(&mut self, net: &mut N, token: Token, now: Instant) {
        let config = self.tls_config();
        let Some(connection) = self.pool.connections.existing_mut(token) else { return };
        let name = crate::tls::server_name(&self.pool.origins[connection.exchange.origin].origin);
        let Some(config) = config else {
            return self.handshake_failed(net, token, (AttemptClass::TlsCert, Cause::CertUnknownIssuer), now);
        };
        let session = name.and_then(|name| Session::new(config, name).ok());
        let Some(session) = session else {
            return self.handshake_failed(net, token, (AttemptClass::TlsHandshake, Cause::TlsIncompatible), now);
        };
        connection.transport.set_tls(Box::new(session));
        connection.exchange.state = State::Handshaking;
        self.set_connection_deadline(token, now + self.plan.timeouts.connect);
        self.send_handshake(net, token, now);
    }

    /// Sends the part of the handshake that is due.
    pub(in crate::run_loop) fn send_handshake(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return };
        let slot = connection.exchange.slot;
        match connection.transport.flush(net) {
            Ok(sent) => self.count_sent(slot, sent),
            Err(error) => self.handshake_broken(net, token, &error, now),
        }
    }

    /// Reads the handshake, and any bytes after the handshake.
    pub(in crate::run_loop) fn receive_handshake(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return ReadStep::Over };
        let received = connection.transport.recv(net, &mut self.buffers.receive);
        if matches!(received, Received::Nothing) {
            return ReadStep::Drained;
        }
        *now = net.now();
        self.advance_to(net, *now);
        match received {
            Received::Nothing => ReadStep::Drained,
            Received::End => {
                self.handshake_failed(net, token, (AttemptClass::TlsHandshake, Cause::TlsClosed), *now);
                ReadStep::Over
            }
            Received::Broken(error) => {
                self.handshake_broken(net, token, &error, *now);
                ReadStep::Over
            }
            Received::Bytes(bytes) => {
                let drained = bytes < self.buffers.receive.len();
                let buffer = std::mem::take(&mut self.buffers.receive);
                let step = self.continue_handshake(net, token, &buffer[..bytes], drained, *now);
                self.buffers.receive = buffer;
                step
            }
        }
    }

    fn continue_handshake(&mut self, net: &mut N, token: Token, input: &[u8], drained: bool, now: Instant) -> ReadStep {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return ReadStep::Over };
        let slot = connection.exchange.slot;
        let Some(session) = connection.transport.tls_mut().assert_some(HAS_SESSION) else { return ReadStep::Over };
        session.received(input.len());
        let result = session.handshake(input);
        let is_plain_http = session.begin().starts_with(b"HTTP/");
        match result {
            Err(error) => {
                // This `flush` sends the TLS alert to the server. If sending fails, the server has already closed the
                // connection.
                let sent = connection.transport.flush(net).unwrap_or(0);
                self.count_sent(slot, sent);
                self.notes.set_detail(outcome::detail(&error).as_bytes());
                let outcome = outcome::of_handshake(&error, is_plain_http);
                self.handshake_failed(net, token, (outcome.class, outcome.cause), now);
                ReadStep::Over
            }
            Ok(None) => {
                self.send_handshake(net, token, now);
                if drained { self.after_short_read(token) } else { ReadStep::More }
            }
            Ok(Some(used)) => {
                self.send_handshake(net, token, now);
                self.handshake_done(net, token, now);
                self.decrypt(net, token, &input[used..], drained, now)
            }
        }
    }

    /// Handles a complete handshake. Does nothing if the connection was closed while the last part of the handshake was
    /// sent.
    fn handshake_done(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.pool.connections.get(token) else { return };
        let Some(session) = connection.transport.tls().assert_some(HAS_SESSION) else { return };
        let nanos = now.nanos_since(connection.connected);
        self.recorder.tls_handshake(nanos, if session.is_resumed() { Handshake::Resumed } else { Handshake::Full });
        if let Some(op) = self.slots.op_mut(connection.exchange.slot) {
            op.handshake_nanos = Some(op.handshake_nanos.unwrap_or(0) + nanos);
        }
        self.reached(net, token, now);
    }

    /// Ends the attempt whose handshake failed.
    fn handshake_failed(&mut self, net: &mut N, token: Token, why: (AttemptClass, Cause), now: Instant) {
        let Some(connection) = self.pool.connections.existing(token) else { return };
        self.unreached(net, connection.exchange.slot, AttemptOutcome::failed(why.0, why.1, Phase::Tls), now);
    }

    fn handshake_broken(&mut self, net: &mut N, token: Token, error: &io::Error, now: Instant) {
        self.notes.set_detail(error.to_string().as_bytes());
        self.handshake_failed(net, token, (AttemptClass::Reset, Cause::TlsReset), now);
    }
}
