//! Requests go out here: the head at once, a body piece by piece as the kernel takes it.

use crate::network::{Network, Token};
use crate::plan::{Answers, Auth, Wanted};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::end::After;
use crate::run_loop::connections::State;
use crate::run_loop::http1::encode::{Body, Parts, Signing, digest};
use crate::run_loop::http1::upload::{CONTINUE_WAIT, Frame, PIECES_MAX, Upload};
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase, Stage};
use std::io;
use wire::response::RequestKind;
use wire::sigv4::Timestamp;

/// What sending a piece came to.
enum Pushed {
    /// All of it was taken.
    Whole,
    /// A part of it: the kernel may take more.
    Part,
    /// Nothing more for now.
    Full,
}

impl<N: Network> RunLoop<'_, N> {
    /// Sends the slot's request on an established connection.
    pub(in crate::run_loop) fn send_request(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        if connection.transport.carrier().is_some() {
            return self.open_stream(net, token, now);
        }
        let slot = connection.slot;
        let body = match self.compose(slot, connection.origin, now) {
            Ok(body) => body,
            Err(error) => return self.unsendable(net, token, &error, now),
        };
        let Some(connection) = self.connections.get_mut(token) else { return };
        let Some(op) = &mut self.slots[slot as usize].op else { return };
        let plan = &self.plan.mix.requests()[op.request];
        let kind = if plan.method.as_ref() == "HEAD" { RequestKind::Head } else { RequestKind::Other };
        connection.reader.start(kind);
        if matches!(plan.answers, Answers::Digested(Wanted::Told)) {
            connection.reader.keep_trailers();
        }
        connection.state = State::Active;
        connection.requests += 1;
        connection.unsent.clear();
        connection.upload = body;
        op.attempt.connection = Some(token);
        op.note_sent(now);
        if connection.upload.is_some() {
            self.begin_body(net, token, now);
        } else {
            self.set_deadline(token, now + self.plan.timeouts.head);
            if let Some(Pushed::Part) = self.push_scratch(net, token, now) {
                self.send_on(net, token, now);
            }
        }
        self.note_handed(slot);
    }

    /// Writes the head of the slot's request, and says what is to be sent behind it.
    #[inline]
    pub(in crate::run_loop) fn compose(
        &mut self,
        slot: u32,
        origin: usize,
        now: Instant,
    ) -> io::Result<Option<Box<Upload>>> {
        let Some(op) = &self.slots[slot as usize].op else { return Ok(None) };
        let plan = self.plan;
        self.target.clear();
        match &op.hop {
            None => {
                plan.targets.write_path(op.subject, &mut self.key, &mut self.target);
                let query = plan.mix.requests()[op.request].query.as_deref();
                let mut mark = if self.target.contains('?') { '&' } else { '?' };
                for part in query.into_iter().chain(op.pages.next.as_deref()) {
                    self.target.push(mark);
                    self.target.push_str(part);
                    mark = '&';
                }
            }
            Some(hop) => self.target.push_str(hop.url.target()),
        }
        let template = &self.origins[origin].templates[op.request];
        let signing = match (&plan.auth, &mut self.signer) {
            (Auth::S3 { carried, payload, .. }, Some(signer)) => {
                let seconds = self.wall.unix_seconds() + now.nanos_since(Instant::ZERO) / 1_000_000_000;
                let now = Timestamp::from_unix_seconds(seconds);
                Some(Signing { signer, carried: *carried, payload: *payload, now })
            }
            _ => None,
        };
        let session = match self.sessions.as_ref() {
            [] => &[][..],
            lines => &lines[slot as usize % lines.len()],
        };
        let Some(body) = &plan.mix.requests()[op.request].body else {
            let parts = Parts { target: &self.target, range: op.range, session, body: None };
            template.write(parts, signing, &mut self.scratch)?;
            return Ok(None);
        };
        let mut maker = op.maker(plan, body, &mut self.key);
        let bytes = maker.size();
        // There is nothing to agree to in an empty body (RFC 9110 §10.1.1).
        let asks = body.expect_continue && !op.unasked && bytes > 0;
        let mut whole = || {
            let mut upload = Upload::new(bytes, Frame::Length, None);
            digest(|piece| upload.next_piece(&mut maker, piece))
        };
        let md5 = op.message.as_ref().map(|message| message.md5.as_ref());
        let body = Body { plan: body, bytes, asks, md5, digest: &mut whole };
        let parts = Parts { target: &self.target, range: op.range, session, body: Some(body) };
        let frame = template.write(parts, signing, &mut self.scratch)?;
        let mut upload = Upload::new(bytes, frame, asks.then(|| now + CONTINUE_WAIT));
        upload.precede(self.scratch.len());
        Ok(Some(Box::new(upload)))
    }

    /// Sends the head together with the first piece, or alone where the server is asked to agree.
    fn begin_body(&mut self, net: &mut N, token: Token, now: Instant) {
        match self.append_piece(token) {
            Ok(_) => {
                self.expect_progress(token, now);
                self.push_scratch(net, token, now);
                self.send_on(net, token, now);
            }
            Err(error) => self.unsendable(net, token, &error, now),
        }
    }

    /// Appends the next piece of the body to what is to be sent; `false` when there is none.
    pub(in crate::run_loop) fn append_piece(&mut self, token: Token) -> io::Result<bool> {
        let Some(connection) = self.connections.get_mut(token) else { return Ok(false) };
        let Some(op) = &self.slots[connection.slot as usize].op else { return Ok(false) };
        let Some(body) = &self.plan.mix.requests()[op.request].body else { return Ok(false) };
        let Some(upload) = &mut connection.upload else { return Ok(false) };
        let mut maker = op.maker(self.plan, body, &mut self.key);
        upload.next_piece(&mut maker, &mut self.scratch)
    }

    /// While a body goes out, it has to move; then the answer has its time.
    pub(in crate::run_loop) fn expect_progress(&mut self, token: Token, now: Instant) {
        let Some(upload) = self.connections.get(token).and_then(|connection| connection.upload.as_ref()) else {
            return;
        };
        let deadline = match upload.asked_until() {
            Some(until) => until,
            None if upload.is_under_way() => now + self.plan.timeouts.idle,
            None => now + self.plan.timeouts.head,
        };
        self.set_deadline(token, deadline);
    }

    /// Hands what was composed to the kernel, and keeps what it does not take.
    #[inline]
    fn push_scratch(&mut self, net: &mut N, token: Token, now: Instant) -> Option<Pushed> {
        let connection = self.connections.get_mut(token)?;
        match connection.transport.send(net, &self.scratch) {
            Ok(wire) => {
                let whole = wire.taken == self.scratch.len();
                if !whole {
                    let left = self.scratch.len() - wire.taken;
                    connection.unsent.clear();
                    connection.unsent.extend_from_slice(&self.scratch[self.scratch.len() - left..]);
                }
                self.note_taken(token, wire.taken, wire.sent, now);
                Some(if whole { Pushed::Whole } else { Pushed::Part })
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                connection.unsent.clear();
                connection.unsent.extend_from_slice(&self.scratch);
                Some(Pushed::Full)
            }
            Err(error) => {
                self.send_failed(net, token, &error, now);
                None
            }
        }
    }

    /// Hands on what was kept.
    fn push_unsent(&mut self, net: &mut N, token: Token, now: Instant) -> Option<Pushed> {
        let connection = self.connections.get_mut(token)?;
        match connection.transport.send(net, &connection.unsent) {
            Ok(wire) => {
                let whole = wire.taken == connection.unsent.len();
                connection.unsent.drain(..wire.taken);
                self.note_taken(token, wire.taken, wire.sent, now);
                Some(if whole { Pushed::Whole } else { Pushed::Part })
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(Pushed::Full),
            Err(error) => {
                self.send_failed(net, token, &error, now);
                None
            }
        }
    }

    /// Counts what was taken of a request, and what of it went to the kernel.
    #[inline]
    fn note_taken(&mut self, token: Token, taken: usize, sent: usize, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let slot = connection.slot;
        if let Some(upload) = &mut connection.upload {
            let data = upload.took(taken) as u64;
            if upload.makes_again(connection.unsent.len()) {
                connection.unsent.clear();
            }
            self.note_uploaded(slot, data, now);
        }
        self.note_sent(slot, sent);
    }

    /// Counts data of a request's body that was taken.
    pub(in crate::run_loop) fn note_uploaded(&mut self, slot: u32, data: u64, now: Instant) {
        self.recorder.uploaded(data);
        let measured = self.recorder.timeline().stage(now) == Stage::Measured;
        if measured {
            self.note_bytes(data, now);
        }
        if let Some(op) = &mut self.slots[slot as usize].op {
            op.attempt.sent_body += data;
            op.attempt.window.sent += if measured { data } else { 0 };
        }
    }

    pub(in crate::run_loop) fn note_sent(&mut self, slot: u32, bytes: usize) {
        self.recorder.sent(bytes as u64);
        if let Some(op) = &mut self.slots[slot as usize].op {
            op.attempt.sent_bytes += bytes as u64;
        }
    }

    /// Goes on sending a request that is not with the kernel yet.
    pub(in crate::run_loop) fn send_on(&mut self, net: &mut N, token: Token, now: Instant) {
        if self.connections.get(token).is_some_and(|connection| connection.transport.carrier().is_some()) {
            return self.send_pieces(net, token, now);
        }
        for _ in 0..PIECES_MAX {
            let Some(connection) = self.connections.get(token) else { return };
            let body_left = connection.upload.as_ref().is_some_and(|upload| upload.is_under_way());
            let left = body_left || !connection.unsent.is_empty() || !connection.transport.is_flushed();
            if connection.state != State::Active || !left {
                return;
            }
            let before = connection.upload.as_ref().map(|upload| upload.taken());
            let pushed = if connection.unsent.is_empty() {
                self.scratch.clear();
                match self.append_piece(token) {
                    Ok(true) => self.push_scratch(net, token, now),
                    Ok(false) => return self.flush(net, token, now),
                    Err(error) => return self.unsendable(net, token, &error, now),
                }
            } else {
                self.push_unsent(net, token, now)
            };
            let Some(pushed) = pushed else { return };
            let Some(connection) = self.connections.get(token) else { return };
            if connection.upload.as_ref().map(|upload| upload.taken()) != before {
                self.expect_progress(token, now);
            }
            if matches!(pushed, Pushed::Full) {
                return;
            }
        }
        self.go_on_later(token);
    }

    /// Hands over what TLS still holds; then the request is sent.
    fn flush(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        if !connection.transport.is_flushed() {
            let slot = connection.slot;
            match connection.transport.flush(net) {
                Ok(sent) => self.note_sent(slot, sent),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) => return self.send_failed(net, token, &error, now),
            }
        }
        let Some(connection) = self.connections.get_mut(token) else { return };
        if connection.transport.is_flushed()
            && let Some(upload) = &mut connection.upload
            && upload.note_sent()
        {
            // Making and sending a body takes its time.
            let now = net.now();
            if let Some(op) = &mut self.slots[connection.slot as usize].op {
                op.sent_all = Some(now);
            }
            self.expect_progress(token, now);
        }
    }

    /// The server has agreed to the body, or has had its time to. On a connection sending begins at the next step: an answer
    /// may be in the middle of being read.
    pub(in crate::run_loop) fn release_body(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        if let Some(upload) = &mut connection.upload {
            upload.release();
            if let Some(op) = &mut self.slots[connection.slot as usize].op {
                op.note_agreement(now);
            }
            let on_stream = connection.transport.carrier().is_some();
            self.expect_progress(token, now);
            if on_stream {
                self.send_pieces(net, token, now);
            } else {
                self.go_on_later(token);
            }
        }
    }

    /// The request could not be sent. The server may have answered an upload before it closed, so what has come is read.
    fn send_failed(&mut self, net: &mut N, token: Token, error: &io::Error, now: Instant) {
        self.note_detail(error.to_string().as_bytes());
        let Some(connection) = self.connections.get_mut(token) else { return };
        if let Some(upload) = &mut connection.upload {
            upload.break_off();
            connection.unsent.clear();
            connection.closing = true;
            self.readable(net, token, now);
        }
        // What was read may have ended the attempt, and there may be more to read.
        if self.connections.get(token).is_some_and(|connection| !connection.queued) {
            let outcome = self.of_lost(token, SEND_FAILED);
            self.cut_or_resend(net, token, outcome, now);
        }
    }

    /// Returns how an attempt ends whose connection was lost, whichever way that was noticed: with the request when not all
    /// of it could be sent and no response has come, with the response when its head has come.
    pub(in crate::run_loop) fn of_lost(&self, token: Token, outcome: AttemptOutcome) -> AttemptOutcome {
        let Some(connection) = self.connections.get(token) else { return outcome };
        let Some(upload) = &connection.upload else { return outcome };
        let unsent = upload.is_broken() || (upload.is_under_way() && outcome.class == AttemptClass::Reset);
        match connection.reader.head() {
            None if unsent => SEND_FAILED,
            // After a failed send the kernel reports the end of the stream instead of the reset.
            Some(_) if upload.is_broken() => RESET_IN_BODY,
            _ => outcome,
        }
    }

    /// The request can not be made: a file is gone or shorter than it was, or there is no room for a signature.
    pub(in crate::run_loop) fn unsendable(&mut self, net: &mut N, token: Token, error: &io::Error, now: Instant) {
        self.note_detail(error.to_string().as_bytes());
        let outcome = AttemptOutcome::failed(AttemptClass::ClientResource, Cause::BodyUnreadable, Phase::Send);
        let Some(connection) = self.connections.get(token) else { return };
        let slot = connection.slot;
        if let Some(op) = &mut self.slots[slot as usize].op {
            op.attempt.connection = Some(token);
        }
        self.end_attempt(net, slot, outcome, After::Close, now);
    }
}

const RESET_IN_BODY: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Reset, Cause::ResetInBody, Phase::Body);
const SEND_FAILED: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Reset, Cause::SendFailed, Phase::Send);
