//! What goes to and fro on a carrier's socket: frames are received and told to their streams, requests and what HTTP/2
//! itself has to say are sent.
//!
//! Requests that are started at once go out together, with one call. They count as sent when the kernel gets them.

use crate::http2::{Event, Failure, Key, What};
use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::connections::State;
use crate::run_loop::http1::receive::{Got, ReadStep, got};
use crate::run_loop::http2::connection::Lost;
use crate::run_loop::response::checks;
use crate::run_loop::response::head::of_unwanted;
use crate::run_loop::response::header_watch::HeaderWatch;
use crate::tls::outcome;
use bytes::Bytes;
use http::response::Parts;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant, Phase};
use std::io;
use wire::message::{Reading, Version};
use wire::response::Head;

/// Calls by which one carrier sends before the others have their turn.
const SENDS_MAX: usize = 16;

impl<N: Network> RunLoop<'_, N> {
    /// Reads what has come on a carrier.
    pub(in crate::run_loop) fn receive_frames(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        let Some(carrier) = &mut connection.carrier else { return ReadStep::Over };
        if carrier.session.is_stuffed() {
            // Goes on when what waits to be sent has been.
            return ReadStep::Drained;
        }
        let received = got(connection.transport.recv(net, &mut self.buffer));
        if matches!(received, Got::Nothing) {
            return ReadStep::Drained;
        }
        *now = net.now();
        self.turn(net, *now);
        match received {
            Got::Bytes(bytes) => {
                if let Some(carrier) = self.carrier_mut(token) {
                    carrier.owed.add(bytes as u64);
                    carrier.heard = *now;
                }
                self.take_in_buffer(net, token, bytes, *now)
            }
            Got::Nothing => ReadStep::Drained,
            Got::End => {
                self.ended(net, token, *now);
                ReadStep::Over
            }
            Got::Broken(error) => {
                self.lose(net, token, broken(&error), *now);
                ReadStep::Over
            }
        }
    }

    /// Reads frames from the first `bytes` bytes of the buffer.
    fn take_in_buffer(&mut self, net: &mut N, token: Token, bytes: usize, now: Instant) -> ReadStep {
        let drained = bytes < self.buffer.len();
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        let buffer = std::mem::take(&mut self.buffer);
        match &mut connection.carrier {
            Some(carrier) if !connection.transport.is_tls() => {
                // Frames are read where they are; then the buffer is free again.
                let mut events = std::mem::take(&mut self.frames);
                self.buffer = carrier.session.drive_with(buffer, bytes, &mut events);
                self.queue(token);
                self.tell_all(net, token, events, now);
                if drained { self.after_short_read(token) } else { ReadStep::More }
            }
            _ => {
                let step = self.take_in(net, token, &buffer[..bytes], drained, now);
                self.buffer = buffer;
                step
            }
        }
    }

    /// Reads frames, decrypted first inside TLS; `drained` says that it was all that had come.
    pub(in crate::run_loop) fn take_in(
        &mut self,
        net: &mut N,
        token: Token,
        input: &[u8],
        drained: bool,
        now: Instant,
    ) -> ReadStep {
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        let Some(carrier) = &mut connection.carrier else { return ReadStep::Over };
        let mut fed = Ok(());
        let mut over = false;
        match connection.transport.tls_mut() {
            None => carrier.session.feed(input),
            Some(tls) => {
                fed = tls.feed(input, |piece| {
                    carrier.session.feed(piece);
                    true
                });
                over = tls.peer_closed();
            }
        }
        self.queue(token);
        self.hear_all(net, token, now);
        match fed {
            Err(error) => {
                let unanswered = self.carrier_mut(token).is_some_and(|carrier| carrier.answered == 0);
                let found = outcome::of_record(&error, Phase::Head, unanswered);
                let (class, cause, detail) = (found.class, Some(found.cause), outcome::detail(&error));
                self.lose(net, token, Lost { class, cause, detail }, now);
                ReadStep::Over
            }
            Ok(()) if over => {
                self.ended(net, token, now);
                ReadStep::Over
            }
            Ok(()) if drained => self.after_short_read(token),
            Ok(()) => ReadStep::More,
        }
    }

    /// The peer has closed its side.
    fn ended(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        connection.closing = true;
        let unclean = connection.transport.tls().is_some_and(|tls| !tls.peer_closed());
        let Some(carrier) = &mut connection.carrier else { return };
        carrier.session.feed_end();
        for seat in if unclean { carrier.seats.clone() } else { Vec::new() } {
            if let Some(connection) = self.connections.get(seat).filter(|seat| seat.state == State::Active)
                && let Some(op) = &mut self.slots[connection.slot as usize].op
            {
                op.attempt.flags.set(Flag::UncleanTls);
            }
        }
        self.hear_all(net, token, now);
        self.abort(net, token, now);
    }

    /// The connection is lost.
    fn lose(&mut self, net: &mut N, token: Token, lost: Lost, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        connection.closing = true;
        let Some(carrier) = &mut connection.carrier else { return };
        carrier.lost.get_or_insert(lost);
        self.abort(net, token, now);
    }

    /// Ends the streams that are left on a carrier.
    fn abort(&mut self, net: &mut N, token: Token, now: Instant) {
        if let Some(carrier) = self.carrier_mut(token) {
            carrier.session.abort();
            self.hear_all(net, token, now);
        }
    }

    /// Goes on with a carrier's session, and tells its streams what they got.
    fn hear_all(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let Some(carrier) = &mut connection.carrier else { return };
        let mut events = std::mem::take(&mut self.frames);
        carrier.session.drive(&mut events);
        self.tell_all(net, token, events, now);
    }

    /// Tells the streams of a carrier what they got.
    fn tell_all(&mut self, net: &mut N, token: Token, mut events: Vec<Event>, now: Instant) {
        let accepts = self.carrier_mut(token).is_some_and(|carrier| carrier.session.accepts());
        self.count_arrived(token, &mut events, now);
        if accepts {
            self.add_seats(token);
        } else {
            // Before the streams hear of it: what is sent again must not come back here.
            self.leave(net, token);
        }
        for event in events.drain(..) {
            self.hear(net, token, event, now);
        }
        self.frames = events;
    }

    /// Counts what is not content by its arrival, with the first stream that got something, or any that waits.
    fn count_arrived(&mut self, token: Token, events: &mut [Event], now: Instant) {
        for event in events.iter_mut().filter(|event| !self.listens(event.owner, event.key)) {
            // Nobody's content, as of a stream that was cut off, is no content.
            event.what = What::Body(Bytes::new());
        }
        let content = |event: &Event| if let What::Body(bytes) = &event.what { bytes.len() as u64 } else { 0 };
        let body: u64 = events.iter().map(content).sum();
        let listener = events.iter().find(|event| self.listens(event.owner, event.key)).map(|event| event.owner);
        let listener = listener.or_else(|| self.any_active(token));
        // When there is nobody, it counts with the next attempt.
        let (Some(listener), Some(carrier)) = (listener, self.carrier_mut(token)) else { return };
        let overhead = carrier.owed.settle(body) - body;
        if overhead > 0 {
            self.arrived(listener, overhead as usize, 0, now);
        }
    }

    /// A seat with an attempt on it, the last one that was made.
    fn any_active(&self, token: Token) -> Option<Token> {
        let carrier = self.connections.get(token)?.carrier.as_ref().filter(|carrier| carrier.active > 0)?;
        let is_active = |seat: &&Token| self.connections.get(**seat).is_some_and(|seat| seat.state == State::Active);
        carrier.seats.iter().rev().find(is_active).copied()
    }

    /// Whether an attempt is on that stream.
    fn listens(&self, seat: Token, key: Key) -> bool {
        self.connections.get(seat).is_some_and(|it| it.state == State::Active && it.transport.key() == Some(key))
    }

    /// A stream has something to say.
    fn hear(&mut self, net: &mut N, carrier: Token, event: Event, now: Instant) {
        let Event { owner: seat, key, what } = event;
        if !self.listens(seat, key) {
            // It was somebody's content when it was counted.
            if let (What::Body(bytes), Some(carrier)) = (what, self.carrier_mut(carrier)) {
                carrier.owed.add(bytes.len() as u64);
            }
            return;
        }
        match what {
            What::Head(head) => self.hear_head(net, seat, &head, now),
            What::Body(piece) => self.hear_body(net, seat, &piece, now),
            What::Interim(count) => {
                let Some(connection) = self.connections.get_mut(seat) else { return };
                if let Some(reader) = connection.reader.stream_mut() {
                    reader.set_interim(count);
                }
                if connection.upload.as_ref().is_some_and(|upload| upload.is_asked()) {
                    self.release_body(net, seat, now);
                }
            }
            What::Trailers(fields) => {
                if let Some(reader) = self.connections.get_mut(seat).and_then(|seat| seat.reader.stream_mut()) {
                    reader.set_trailers(*fields);
                }
            }
            What::Room => self.send_pieces(net, seat, now),
            What::End => {
                if let Some(carrier) = self.carrier_mut(carrier) {
                    carrier.answered += 1;
                }
                if let Some(connection) = self.connections.get_mut(seat) {
                    connection.transport.set_key(None);
                    if let Some(reader) = connection.reader.stream_mut() {
                        reader.set_complete();
                    }
                }
                self.complete(net, seat, 0, now);
            }
            What::Failed(failure) => {
                if let Some(connection) = self.connections.get_mut(seat) {
                    connection.transport.set_key(None);
                }
                self.hear_failure(net, carrier, seat, failure, now);
            }
        }
    }

    fn hear_head(&mut self, net: &mut N, seat: Token, head: &Parts, now: Instant) {
        self.group_value.clear();
        self.heard.clear();
        let Some(connection) = self.connections.get_mut(seat) else { return };
        let Some(op) = &mut self.slots[connection.slot as usize].op else { return };
        op.first_byte = Some(now);
        let Some(reader) = connection.reader.stream_mut() else { return };
        let mut watch = HeaderWatch::new(
            self.plan,
            (op.request, op.subject),
            &mut self.group_value,
            &mut self.heard,
            if self.first_answer.is_none() { Some(&mut self.software) } else { None },
            op.part.map(|_| &mut op.attempt.etag),
        );
        let fields = head.headers.iter().map(|(name, value)| (name.as_str(), value.as_bytes()));
        let read = Head::of_fields(Version::Http2, head.status.as_u16(), reader.kind, fields, &mut |name, value| {
            watch.see(name, value);
        });
        let matched = watch.matched;
        let cut = match read {
            Ok(head) => {
                reader.set_head(head);
                self.head_known(seat, matched)
            }
            Err(error) => {
                self.note_detail(&[]);
                Some(checks::of_malformed(error, Phase::Head, false))
            }
        };
        match cut {
            Some(outcome) => self.cut(net, seat, outcome, now),
            None => self.set_deadline(seat, now + self.plan.timeouts.idle),
        }
    }

    fn hear_body(&mut self, net: &mut N, seat: Token, piece: &[u8], now: Instant) {
        let Some(connection) = self.connections.get_mut(seat) else { return };
        if let Some(reader) = connection.reader.stream_mut() {
            reader.add_body(piece.len() as u64);
        }
        let slot = connection.slot as usize;
        let taken = self.slots[slot].op.as_mut().map_or(Ok(()), |op| op.body.take(piece));
        self.arrived(seat, piece.len(), piece.len(), now);
        if let Err(unwanted) = taken {
            let outcome = of_unwanted(unwanted, &mut self.mismatch, &mut self.said);
            self.cut(net, seat, outcome, now);
        } else if self.is_too_long(seat) {
            self.cut_too_long(net, seat, now);
        } else {
            self.set_deadline(seat, now + self.plan.timeouts.idle);
        }
    }

    /// Sends pieces of a request's body while there is room for them. They count as sent once the session has them: no more
    /// than a few pieces wait there.
    pub(in crate::run_loop) fn send_pieces(&mut self, net: &mut N, seat: Token, now: Instant) {
        loop {
            let Some(connection) = self.connections.get(seat) else { return };
            let (carrier, key) = (connection.transport.carrier(), connection.transport.key());
            let Some((carrier, key)) = carrier.zip(key) else { return };
            if self.carrier_mut(carrier).is_none_or(|it| it.session.room(key) == 0) {
                return;
            }
            self.scratch.clear();
            match self.append_piece(seat) {
                Ok(true) => self.give_piece(carrier, seat, key, now),
                Ok(false) => return,
                Err(error) => return self.unsendable(net, seat, &error, now),
            }
        }
    }

    /// Gives the session a piece that was made.
    fn give_piece(&mut self, carrier: Token, seat: Token, key: Key, now: Instant) {
        let Some(connection) = self.connections.get_mut(seat) else { return };
        let Some(upload) = &mut connection.upload else { return };
        let last = upload.is_made();
        let data = upload.took(self.scratch.len()) as u64;
        let over = upload.note_sent();
        let slot = connection.slot;
        self.note_uploaded(slot, data, now);
        if over && let Some(op) = &mut self.slots[slot as usize].op {
            op.sent_all = Some(now);
        }
        let piece = Bytes::copy_from_slice(&self.scratch);
        if let Some(carrier) = self.carrier_mut(carrier) {
            // A stream that takes no more tells why.
            let _ = carrier.session.give(key, piece, last);
        }
        self.expect_progress(seat, now);
        self.queue(carrier);
    }

    fn hear_failure(&mut self, net: &mut N, carrier: Token, seat: Token, failure: Failure, now: Instant) {
        let Some(connection) = self.connections.get_mut(seat) else { return };
        let reading = connection.reader.phase();
        let phase = if reading == Reading::Head { Phase::Head } else { Phase::Body };
        let cut_short = connection.reader.end_of_stream().err();
        let lost = self.carrier_mut(carrier).and_then(|it| it.lost.as_ref());
        if let (Failure::Closed, Some(lost)) = (failure, lost) {
            let cause = match (lost.cause, phase) {
                (Some(cause), _) => cause,
                (None, Phase::Head) => Cause::ResetInHead,
                (None, _) => Cause::ResetInBody,
            };
            let (outcome, detail) = (AttemptOutcome::failed(lost.class, cause, phase), lost.detail.clone());
            self.note_detail(detail.as_bytes());
            let outcome = self.of_lost(seat, outcome);
            return self.cut_or_resend(net, seat, outcome, now);
        }
        self.note_detail(failure.detail().unwrap_or_default().as_bytes());
        match failure {
            Failure::Refused | Failure::AboveGoaway => {
                let outcome = checks::of_stream(failure, phase, |_| false);
                self.resend_unprocessed(net, seat, outcome, now);
            }
            Failure::Closed => {
                let outcome =
                    cut_short.map_or_else(|| checks::of_stream(failure, phase, |_| false), checks::of_truncated);
                self.cut_or_resend(net, seat, outcome, now);
            }
            _ => {
                let begins = |test: fn(&[u8]) -> bool| {
                    let carrier = self.connections.get(carrier).and_then(|it| it.carrier.as_deref());
                    carrier.is_some_and(|carrier| carrier.session.begins_with(test))
                };
                let outcome = self.of_unanswered(seat, checks::of_stream(failure, phase, begins));
                self.cut(net, seat, outcome, now);
            }
        }
    }

    /// Notes that a carrier has something to send.
    pub(in crate::run_loop) fn queue(&mut self, token: Token) {
        if let Some(carrier) = self.carrier_mut(token)
            && !std::mem::replace(&mut carrier.queued, true)
        {
            self.to_send.push(token);
        }
    }

    /// Sends what carriers have to send.
    #[inline]
    pub(in crate::run_loop) fn send_queued(&mut self, net: &mut N, now: Instant) {
        for token in std::mem::take(&mut self.to_send) {
            if let Some(carrier) = self.carrier_mut(token) {
                carrier.queued = false;
                self.hear_all(net, token, now);
                self.send_frames(net, token, now);
            }
        }
    }

    /// Sends what waits on a carrier, as far as the kernel takes it; `true` when bytes that were received can be read on.
    pub(in crate::run_loop) fn send_frames(&mut self, net: &mut N, token: Token, now: Instant) -> bool {
        let handed = self.stamp_sent(net, token);
        let read_on = self.send_output(net, token, now);
        self.note_frames_handed(token, handed);
        read_on
    }

    /// Sends what the session has to say.
    fn send_output(&mut self, net: &mut N, token: Token, now: Instant) -> bool {
        let mut read_on = false;
        for _ in 0..SENDS_MAX {
            let Some(connection) = self.connections.get_mut(token) else { return false };
            let Some(carrier) = &mut connection.carrier else { return false };
            if !carrier.session.has_output() && connection.transport.is_flushed() {
                let stuffed = carrier.session.is_stuffed();
                if !carrier.session.take_blocked() && !stuffed {
                    return read_on;
                }
                read_on |= stuffed;
                self.hear_all(net, token, now);
                continue;
            }
            let transport = &mut connection.transport;
            match carrier.session.with_output(|output| transport.send(net, output)) {
                Ok(wire) => {
                    carrier.session.taken(wire.taken);
                    self.note_frames_sent(token, wire.sent);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return read_on,
                Err(error) => {
                    self.sending_failed(net, token, &error, now);
                    return false;
                }
            }
        }
        // The others have their turn.
        self.queue(token);
        read_on
    }

    /// Frames could not be sent. What came before the connection broke is read first, so that it does not matter whether
    /// this or a failed read is noticed first.
    fn sending_failed(&mut self, net: &mut N, token: Token, error: &io::Error, now: Instant) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        connection.closing = true;
        let Some(carrier) = &mut connection.carrier else { return };
        carrier.lost.get_or_insert(broken(error));
        self.readable(net, token, now);
        // There may be more to read.
        if self.connections.get(token).is_some_and(|connection| !connection.queued) {
            self.abort(net, token, now);
        }
    }

    /// Requests that are about to be handed to the kernel count as sent now. Returns their streams.
    fn stamp_sent(&mut self, net: &mut N, token: Token) -> Vec<Token> {
        let Some(carrier) = self.carrier_mut(token).filter(|carrier| !carrier.unsent.is_empty()) else {
            return Vec::new();
        };
        let unsent = std::mem::take(&mut carrier.unsent);
        let now = net.now();
        for seat in &unsent {
            if let Some(slot) = self.active_slot(*seat)
                && let Some(op) = &mut self.slots[slot as usize].op
            {
                op.note_sent(now);
            }
        }
        unsent
    }

    /// The kernel has the requests of these streams.
    fn note_frames_handed(&mut self, token: Token, mut handed: Vec<Token>) {
        if handed.is_empty() {
            return;
        }
        for seat in handed.drain(..) {
            if let Some(slot) = self.active_slot(seat) {
                self.note_handed(slot);
            }
        }
        // It has room for the next ones.
        if let Some(carrier) = self.carrier_mut(token).filter(|carrier| carrier.unsent.is_empty()) {
            carrier.unsent = handed;
        }
    }

    fn active_slot(&self, seat: Token) -> Option<u32> {
        self.connections.get(seat).filter(|it| it.state == State::Active).map(|connection| connection.slot)
    }

    /// Bytes sent count with one of the streams that are open; whose they are nobody can tell.
    fn note_frames_sent(&mut self, token: Token, bytes: usize) {
        let active = self.any_active(token).and_then(|seat| self.connections.get(seat));
        match active.map(|connection| connection.slot) {
            Some(slot) => self.note_sent(slot, bytes),
            None => self.recorder.sent(bytes as u64),
        }
    }
}

fn broken(error: &io::Error) -> Lost {
    Lost { class: AttemptClass::Reset, cause: None, detail: error.to_string() }
}
