//! HTTP/1 requests. The head is sent together with the first piece of the body, if there is a body. The other pieces
//! are sent one by one, as the kernel accepts them.

use crate::network::{Network, Token};
use crate::plan::{ExpectedChecksum, ResponseBody};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::{ExchangeId, State};
use crate::run_loop::invariant::Invariant;
use crate::run_loop::request::upload::PIECES_MAX;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use std::io;
use wire::response::RequestKind;

/// Result of sending a piece.
enum Sent {
    /// The whole piece was accepted.
    Whole,
    /// A part of the piece was accepted, and the kernel may accept more.
    Part,
    /// Nothing more is accepted for now.
    Nothing,
}

const SEND_FAILED: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Reset, Cause::SendFailed, Phase::Send);
const RESET_IN_BODY: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Reset, Cause::ResetInBody, Phase::Body);

impl<N: Network> RunLoop<'_, N> {
    /// Sends the request of an exchange's attempt.
    pub(in crate::run_loop) fn send_request(&mut self, net: &mut N, id: ExchangeId, now: Instant) {
        match id {
            ExchangeId::Connection(token) => self.send_http1_request(net, token, now),
            ExchangeId::Stream(token) => self.open_stream(net, token, now),
        }
    }

    fn send_http1_request(&mut self, net: &mut N, token: Token, now: Instant) {
        let id = ExchangeId::Connection(token);
        let Some(connection) = self.pool.connections.existing_mut(token) else { return };
        let exchange = &mut connection.exchange;
        let slot = exchange.slot;
        let Some(op) = self.slots.op_mut(slot) else { return };
        op.attempt.exchange = Some(id);
        let template = &self.pool.origins[exchange.origin].templates[op.request];
        let upload = match self.requests.compose(self.plan, op, template, slot, now) {
            Ok(upload) => upload,
            Err(error) => return self.request_failed(net, id, &error, now),
        };
        template.http1.write(self.requests.target(), self.requests.fields(), &mut self.buffers.send);
        let plan = &self.plan.mix.requests()[op.request];
        exchange.reader.start(if plan.method.as_ref() == "HEAD" { RequestKind::Head } else { RequestKind::Other });
        if matches!(plan.response_body, ResponseBody::Hashed(ExpectedChecksum::FromResponse)) {
            exchange.reader.keep_trailers();
        }
        exchange.state = State::Active;
        exchange.requests += 1;
        exchange.unsent.clear();
        exchange.upload = upload;
        op.note_sent(now);
        if let Some(upload) = &mut exchange.upload {
            upload.follow_head(self.buffers.send.len());
            self.begin_body(net, token, now);
        } else {
            self.set_deadline(id, now + self.plan.timeouts.head);
            if let Some(Sent::Part) = self.send_buffer(net, token, now) {
                self.send_on(net, token, now);
            }
        }
        self.stalls.request_taken(slot);
    }

    /// Sends the head together with the first piece of the body. If the body waits for `100 Continue`, sends only the
    /// head.
    fn begin_body(&mut self, net: &mut N, token: Token, now: Instant) {
        let id = ExchangeId::Connection(token);
        match self.write_piece(id, self.buffers.send.len()) {
            Ok(_) => {
                self.expect_progress(id, now);
                self.send_buffer(net, token, now);
                self.send_on(net, token, now);
            }
            Err(error) => self.request_failed(net, id, &error, now),
        }
    }

    /// Sends the bytes in the buffer, and keeps the bytes that the kernel does not accept.
    #[inline]
    fn send_buffer(&mut self, net: &mut N, token: Token, now: Instant) -> Option<Sent> {
        let connection = self.pool.connections.existing_mut(token)?;
        let bytes = &self.buffers.send;
        let unsent = &mut connection.exchange.unsent;
        match connection.transport.send(net, bytes) {
            Ok(wire) => {
                let whole = wire.taken == bytes.len();
                if !whole {
                    unsent.clear();
                    unsent.extend_from_slice(&bytes[wire.taken..]);
                }
                self.count_taken(token, wire.taken, wire.sent, now);
                Some(if whole { Sent::Whole } else { Sent::Part })
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                unsent.clear();
                unsent.extend_from_slice(bytes);
                Some(Sent::Nothing)
            }
            Err(error) => {
                self.send_failed(net, token, &error, now);
                None
            }
        }
    }

    /// Sends the bytes that were kept.
    fn send_kept(&mut self, net: &mut N, token: Token, now: Instant) -> Option<Sent> {
        let connection = self.pool.connections.existing_mut(token)?;
        let unsent = &mut connection.exchange.unsent;
        match connection.transport.send(net, unsent) {
            Ok(wire) => {
                let whole = wire.taken == unsent.len();
                unsent.drain(..wire.taken);
                self.count_taken(token, wire.taken, wire.sent, now);
                Some(if whole { Sent::Whole } else { Sent::Part })
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(Sent::Nothing),
            Err(error) => {
                self.send_failed(net, token, &error, now);
                None
            }
        }
    }

    /// Counts bytes of a request. `taken` is the number of bytes that need not be sent again, and `sent` the number of
    /// bytes that the kernel accepted.
    #[inline]
    fn count_taken(&mut self, token: Token, taken: usize, sent: usize, now: Instant) {
        let Some(exchange) = self.pool.running(ExchangeId::Connection(token)) else { return };
        let slot = exchange.slot;
        if let Some(upload) = &mut exchange.upload {
            let data = upload.take(taken) as u64;
            if upload.rewind(exchange.unsent.len()) {
                exchange.unsent.clear();
            }
            self.count_uploaded(slot, data, now);
        }
        self.count_sent(slot, sent);
    }

    /// Continues to send a request that the kernel has not accepted completely.
    pub(in crate::run_loop) fn send_on(&mut self, net: &mut N, token: Token, now: Instant) {
        let id = ExchangeId::Connection(token);
        for _ in 0..PIECES_MAX {
            // The connection may have been closed after it became ready, or by the previous send.
            let Some(connection) = self.pool.connections.get(token) else { return };
            let exchange = &connection.exchange;
            let body_left = exchange.upload.as_ref().is_some_and(|upload| upload.is_under_way());
            let left = body_left || !exchange.unsent.is_empty() || !connection.transport.is_flushed();
            if exchange.state != State::Active || !left {
                return;
            }
            let before = exchange.upload.as_ref().map(|upload| upload.taken());
            let sent = if exchange.unsent.is_empty() {
                match self.write_piece(id, 0) {
                    Ok(true) => self.send_buffer(net, token, now),
                    Ok(false) => return self.flush(net, token, now),
                    Err(error) => return self.request_failed(net, id, &error, now),
                }
            } else {
                self.send_kept(net, token, now)
            };
            // `None` means that sending has failed.
            let Some(sent) = sent else { return };
            let Some(exchange) = self.pool.running(id) else { return };
            if exchange.upload.as_ref().map(|upload| upload.taken()) != before {
                self.expect_progress(id, now);
            }
            if matches!(sent, Sent::Nothing) {
                return;
            }
        }
        self.pool.read_later(token);
    }

    /// Sends the bytes that are still in the TLS session. When there are none left, the request counts as sent.
    fn flush(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return };
        if !connection.transport.is_flushed() {
            let slot = connection.exchange.slot;
            match connection.transport.flush(net) {
                Ok(sent) => self.count_sent(slot, sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.send_failed(net, token, &error, now),
            }
        }
        let Some(connection) = self.pool.connections.existing_mut(token) else { return };
        if connection.transport.is_flushed()
            && let Some(upload) = &mut connection.exchange.upload
            && upload.mark_sent()
        {
            // The clock is read again, because it takes time to generate and send a body.
            let now = net.now();
            if let Some(op) = self.slots.op_mut(connection.exchange.slot) {
                op.sent_all = Some(now);
            }
            self.expect_progress(ExchangeId::Connection(token), now);
        }
    }

    /// Handles a request that could not be sent. Before the server closed the connection, it may have responded to the
    /// upload. The bytes that have arrived are therefore read first.
    fn send_failed(&mut self, net: &mut N, token: Token, error: &io::Error, now: Instant) {
        let id = ExchangeId::Connection(token);
        self.notes.set_detail(error.to_string().as_bytes());
        let Some(exchange) = self.pool.running(id) else { return };
        if let Some(upload) = &mut exchange.upload {
            upload.break_off();
            exchange.unsent.clear();
            exchange.closing = true;
            self.read_connection(net, token, now);
        }
        // End the attempt here, unless reading has already ended it or more bytes can be read.
        if self.pool.connections.get(token).is_some_and(|connection| !connection.queued) {
            let outcome = self.of_lost(id, SEND_FAILED);
            self.cut_or_resend(net, id, outcome, now);
        }
    }

    /// Returns the outcome of an attempt whose connection was lost. The outcome does not depend on whether sending or
    /// receiving detected the loss. If the response head arrived, the response failed. If no head arrived and the
    /// request was not sent completely, the request failed.
    pub(in crate::run_loop) fn of_lost(&self, id: ExchangeId, outcome: AttemptOutcome) -> AttemptOutcome {
        let Some(exchange) = self.pool.exchange(id).assert_some("a lost attempt has an exchange") else {
            return outcome;
        };
        let Some(upload) = &exchange.upload else { return outcome };
        let unsent = upload.is_broken() || (upload.is_under_way() && outcome.class == AttemptClass::Reset);
        match exchange.reader.head() {
            None if unsent => SEND_FAILED,
            // After a failed send, the kernel reports the end of the stream instead of the reset.
            Some(_) if upload.is_broken() => RESET_IN_BODY,
            _ => outcome,
        }
    }
}
