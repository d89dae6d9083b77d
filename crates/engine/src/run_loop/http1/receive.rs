//! Answers are read here.
//!
//! One `recv` into a buffer that all connections share is enough for a small answer. The rest of a large body is
//! dropped inside the kernel, all but its last byte: reading that one as well would hide bytes that the server sent too
//! many.

use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::connections::State;
use crate::run_loop::response::checks;
use crate::run_loop::response::head::of_unwanted;
use crate::run_loop::response::header_watch::HeaderWatch;
use crate::run_loop::response::reader::Reader;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase, Stage};
use std::io;
use wire::message::{Event, Reading};

/// A rest of a body above this is dropped in the kernel.
const DISCARD_MIN: u64 = 8 * 1024;
/// The most that is dropped by one call, so that a fast peer on one connection does not keep the others waiting.
const DISCARD_MAX: u64 = 64 << 20;
/// Where large bodies are expected, the head is read with so much room, so that little of the body is copied.
const HEAD_ROOM: usize = 1024;
/// Reads of one connection before the others have their turn.
const READS_MAX: usize = 8;

/// What one read came to.
pub(in crate::run_loop) enum ReadStep {
    /// There may be more to read at once.
    More,
    /// Everything that had come is read.
    Drained,
    /// The attempt has ended.
    Over,
}

/// What pieces of an answer held.
#[derive(Default)]
pub(in crate::run_loop) struct Parsed {
    /// Body bytes in them.
    pub body: usize,
    pub end: ParseEnd,
}

/// Where a piece of an answer ended.
#[derive(Clone, Copy, Default)]
pub(in crate::run_loop) enum ParseEnd {
    #[default]
    NeedMore,
    /// The answer is complete; so many bytes came after it.
    Complete { excess: usize },
    /// The rest is not wanted.
    Cut(AttemptOutcome),
}

/// How a socket answered.
pub(in crate::run_loop) enum Got {
    Bytes(usize),
    Nothing,
    End,
    Broken(io::Error),
}

pub(in crate::run_loop) fn got(result: io::Result<usize>) -> Got {
    match result {
        Ok(0) => Got::End,
        Ok(bytes) => Got::Bytes(bytes),
        Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Got::Nothing,
        Err(error) => Got::Broken(error),
    }
}

impl<N: Network> RunLoop<'_, N> {
    /// Reads what has come on a connection. Answers the present instant.
    pub(in crate::run_loop) fn readable(&mut self, net: &mut N, token: Token, mut now: Instant) -> Instant {
        for _ in 0..READS_MAX {
            let Some(connection) = self.connections.get(token) else { return now };
            match connection.state {
                State::Active => {}
                State::Opening => return now,
                State::Carrying => match self.receive_frames(net, token, &mut now) {
                    ReadStep::More => continue,
                    ReadStep::Drained | ReadStep::Over => return now,
                },
                State::Handshaking => match self.shake(net, token, &mut now) {
                    ReadStep::More => continue,
                    ReadStep::Drained | ReadStep::Over => return now,
                },
                State::Idle => {
                    self.closed_while_idle(net, token);
                    return now;
                }
            }
            let opaque = connection.reader.opaque_bytes();
            let step = if connection.transport.is_tls() {
                self.receive_secure(net, token, &mut now)
            } else if opaque > DISCARD_MIN && !connection.looked_at {
                self.discard(net, token, opaque, &mut now)
            } else {
                self.receive(net, token, &mut now)
            };
            self.adjust_low_water(net, token);
            match step {
                ReadStep::More => {}
                ReadStep::Drained | ReadStep::Over => return now,
            }
        }
        self.go_on_later(token);
        now
    }

    /// The others have their turn before this connection goes on.
    pub(in crate::run_loop) fn go_on_later(&mut self, token: Token) {
        if let Some(connection) = self.connections.get_mut(token)
            && !connection.queued
        {
            connection.queued = true;
            self.unfinished.push(token);
        }
    }

    /// Keeps the mark below what is still to come, so that no tail waits for bytes that do not exist. The kernel looks
    /// anew at what has arrived whenever the mark is set.
    #[inline]
    fn adjust_low_water(&mut self, net: &mut N, token: Token) {
        let Some(wish) = self.plan.connections.receive_low_water else { return };
        let Some(connection) = self.connections.get_mut(token) else { return };
        if connection.transport.is_tls() {
            // How much ciphertext is still to come nobody knows.
            return;
        }
        let left = connection.reader.opaque_bytes().saturating_sub(1);
        let mark = if left > wish as u64 { wish } else { 1 };
        if mark != connection.low_water {
            connection.low_water = mark;
            connection.transport.set_low_water(net, mark);
        }
    }

    /// A free connection has something to say: its end, or bytes that nobody asked for, and either way it is of no use;
    /// or nothing at all, when what was told has been read already.
    pub(in crate::run_loop) fn closed_while_idle(&mut self, net: &mut N, token: Token) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let of_no_use = if connection.transport.is_tls() {
            self.spoken_while_idle(net, token)
        } else {
            !matches!(got(connection.transport.recv(net, &mut self.buffer[..1])), Got::Nothing)
        };
        if of_no_use {
            self.close(net, token);
        }
    }

    fn discard(&mut self, net: &mut N, token: Token, opaque: u64, now: &mut Instant) -> ReadStep {
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        let left = opaque - 1;
        let wanted = left.min(DISCARD_MAX) as usize;
        match got(connection.transport.discard(net, wanted)) {
            Got::Bytes(bytes) => {
                if let Reader::Http1(reader) = &mut connection.reader {
                    reader.skip(bytes as u64);
                }
                *now = net.now();
                self.turn(net, *now);
                self.arrived(token, bytes, bytes, *now);
                if self.is_too_long(token) {
                    return self.cut_too_long(net, token, *now);
                }
                self.set_deadline(token, *now + self.plan.timeouts.idle);
                if bytes == wanted { ReadStep::More } else { self.after_short_read(token) }
            }
            Got::Nothing => ReadStep::Drained,
            Got::End => self.ended_by_peer(net, token, now),
            Got::Broken(error) => self.broken(net, token, &error, now),
        }
    }

    fn receive(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        let before_body = connection.reader.head().is_none();
        let room = if before_body && connection.large_bodies { HEAD_ROOM } else { self.buffer.len() };
        match got(connection.transport.recv(net, &mut self.buffer[..room])) {
            Got::Bytes(bytes) => {
                *now = net.now();
                self.turn(net, *now);
                let step = self.parse(net, token, bytes, *now);
                if matches!(step, ReadStep::More) && bytes < room { self.after_short_read(token) } else { step }
            }
            Got::Nothing => ReadStep::Drained,
            Got::End => self.ended_by_peer(net, token, now),
            Got::Broken(error) => self.broken(net, token, &error, now),
        }
    }

    /// A read that brought less than there was room for has emptied the socket; only an end can be left.
    pub(in crate::run_loop) fn after_short_read(&self, token: Token) -> ReadStep {
        let closing = self.connections.get(token).is_some_and(|connection| connection.closing);
        if closing { ReadStep::More } else { ReadStep::Drained }
    }

    /// Counts bytes by their arrival.
    #[inline]
    pub(in crate::run_loop) fn arrived(&mut self, token: Token, total: usize, body: usize, now: Instant) {
        self.recorder.received(body as u64, (total - body) as u64);
        let Some(connection) = self.connections.get(token) else { return };
        let Some(op) = &mut self.slots[connection.slot as usize].op else { return };
        op.attempt.received_bytes += total as u64;
        if self.recorder.timeline().stage(now) == Stage::Measured {
            op.attempt.window.received += body as u64;
            self.note_bytes(body as u64, now);
        }
    }

    /// Reads an answer from the first `bytes` bytes of the buffer.
    fn parse(&mut self, net: &mut N, token: Token, bytes: usize, now: Instant) -> ReadStep {
        let buffer = std::mem::take(&mut self.buffer);
        let step = self.parse_bytes(net, token, &buffer[..bytes], now);
        self.buffer = buffer;
        step
    }

    fn parse_bytes(&mut self, net: &mut N, token: Token, input: &[u8], now: Instant) -> ReadStep {
        let mut parsed = Parsed::default();
        self.read_piece(token, input, &mut parsed, now);
        self.arrived(token, input.len(), parsed.body, now);
        self.act_on(net, token, parsed.end, now)
    }

    /// Reads one more piece of an answer; what comes behind its end is only counted.
    #[inline]
    pub(in crate::run_loop) fn read_piece(&mut self, token: Token, piece: &[u8], parsed: &mut Parsed, now: Instant) {
        match &mut parsed.end {
            ParseEnd::NeedMore => {
                let before = self.heads_so_far(token);
                if let Some(read) = self.read_events(token, piece) {
                    parsed.body += read.body;
                    parsed.end = read.end;
                }
                if let Some(before) = before {
                    self.note_first_byte(token, before, now);
                }
                if matches!(parsed.end, ParseEnd::Cut(_)) && self.mismatch.is_none() {
                    self.note_detail(piece);
                }
            }
            ParseEnd::Complete { excess } => *excess += piece.len(),
            ParseEnd::Cut(_) => {}
        }
    }

    /// Goes on as what was read demands.
    #[inline]
    pub(in crate::run_loop) fn act_on(&mut self, net: &mut N, token: Token, end: ParseEnd, now: Instant) -> ReadStep {
        match end {
            ParseEnd::Complete { excess } => {
                self.complete(net, token, excess, now);
                ReadStep::Over
            }
            ParseEnd::Cut(outcome) => {
                self.cut(net, token, outcome, now);
                ReadStep::Over
            }
            ParseEnd::NeedMore if self.is_too_long(token) => self.cut_too_long(net, token, now),
            ParseEnd::NeedMore => {
                // The head's deadline is absolute; the body's is moved by every arrival.
                let Some(connection) = self.connections.get(token) else { return ReadStep::Over };
                if connection.reader.phase() != Reading::Head {
                    self.set_deadline(token, now + self.plan.timeouts.idle);
                } else if connection.reader.interim() > 0
                    && connection.upload.as_ref().is_some_and(|upload| upload.is_asked())
                {
                    self.release_body(net, token, now);
                }
                ReadStep::More
            }
        }
    }

    /// Interim heads read so far, and whether a head has begun without being complete; `None` once the final head is known.
    #[inline]
    fn heads_so_far(&self, token: Token) -> Option<(u32, bool)> {
        let Reader::Http1(reader) = &self.connections.get(token)?.reader else { return None };
        reader.head().is_none().then(|| (reader.interim(), reader.is_within_head()))
    }

    /// Notes when the first byte of the response came, from what was known `before` the piece that has just been read. It is
    /// that of the final head, in however many pieces this comes: interim heads are passed over, and that of a redirect
    /// makes room for the next.
    #[inline]
    fn note_first_byte(&mut self, token: Token, before: (u32, bool), now: Instant) {
        let Some(connection) = self.connections.get(token) else { return };
        let Some(op) = &mut self.slots[connection.slot as usize].op else { return };
        let (interim, within_head) = before;
        if !within_head || connection.reader.interim() != interim {
            op.first_byte = Some(now);
        }
    }

    /// Reads what `input` holds of the answer on a connection.
    fn read_events(&mut self, token: Token, input: &[u8]) -> Option<Parsed> {
        let (mut at, mut body) = (0, 0);
        let mut cut = None;
        loop {
            let connection = self.connections.get_mut(token)?;
            if connection.reader.is_untouched() {
                // What a head said that was cut short is not said of the next.
                self.group_value.clear();
                self.heard.clear();
            }
            let op = self.slots[connection.slot as usize].op.as_mut()?;
            let Reader::Http1(reader) = &mut connection.reader else { return None };
            let (read, matched) = if reader.head().is_some() {
                (reader.read(&input[at..], &mut |_, _| {}), 0)
            } else {
                let software = if self.first_answer.is_none() { Some(&mut self.software) } else { None };
                let mut watch = HeaderWatch::new(
                    self.plan,
                    (op.request, op.subject),
                    &mut self.group_value,
                    &mut self.heard,
                    software,
                    op.part.map(|_| &mut op.attempt.etag),
                );
                (reader.read(&input[at..], &mut |name, value| watch.see(name, value)), watch.matched)
            };
            let progress = match read {
                Ok(progress) => progress,
                Err(error) => {
                    let phase = if connection.reader.head().is_some() { Phase::Body } else { Phase::Head };
                    let plain = !connection.transport.is_tls();
                    let outcome = checks::of_malformed(error, phase, plain && crate::tls::outcome::is_tls(input));
                    return Some(Parsed { body, end: ParseEnd::Cut(outcome) });
                }
            };
            let piece = &input[at..];
            at += progress.consumed;
            match (progress.event, cut) {
                (Event::Body(range), _) => {
                    body += range.len();
                    if let Err(unwanted) = op.body.take(&piece[range]) {
                        let outcome = of_unwanted(unwanted, &mut self.mismatch, &mut self.said);
                        return Some(Parsed { body, end: ParseEnd::Cut(outcome) });
                    }
                }
                // What came along with a head that rules the answer out still counts as its body.
                (Event::Head, _) => cut = self.head_known(token, matched),
                (Event::NeedMore | Event::End, Some(outcome)) => {
                    return Some(Parsed { body, end: ParseEnd::Cut(outcome) });
                }
                (Event::NeedMore, None) => return Some(Parsed { body, end: ParseEnd::NeedMore }),
                (Event::End, None) => {
                    return Some(Parsed { body, end: ParseEnd::Complete { excess: input.len() - at } });
                }
            }
        }
    }

    /// The server closed its side.
    pub(in crate::run_loop) fn ended_by_peer(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        *now = net.now();
        self.turn(net, *now);
        let Some(connection) = self.connections.get_mut(token) else { return ReadStep::Over };
        match connection.reader.end_of_stream() {
            Ok(()) => self.complete(net, token, 0, *now),
            Err(error) => {
                let outcome = self.of_lost(token, checks::of_truncated(error));
                self.cut_or_resend(net, token, outcome, *now);
            }
        }
        ReadStep::Over
    }

    /// The connection broke while its answer was awaited.
    pub(in crate::run_loop) fn broken(
        &mut self,
        net: &mut N,
        token: Token,
        error: &io::Error,
        now: &mut Instant,
    ) -> ReadStep {
        *now = net.now();
        self.turn(net, *now);
        let Some(connection) = self.connections.get(token) else { return ReadStep::Over };
        let (cause, phase) = match connection.reader.phase() {
            Reading::Head => (Cause::ResetInHead, Phase::Head),
            Reading::Body | Reading::Trailers | Reading::Complete => (Cause::ResetInBody, Phase::Body),
        };
        self.note_detail(error.to_string().as_bytes());
        let outcome = self.of_lost(token, AttemptOutcome::failed(AttemptClass::Reset, cause, phase));
        self.cut_or_resend(net, token, outcome, *now);
        ReadStep::Over
    }
}
