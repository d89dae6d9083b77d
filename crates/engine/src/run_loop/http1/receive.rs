//! HTTP/1 responses.
//!
//! A small response needs only one `recv` into a buffer that all connections share. The rest of a large body is
//! discarded inside the kernel, except for the last byte. The last byte is read normally, so that surplus bytes after
//! the body are detected.

use crate::network::{Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::exchange::{ExchangeId, State};
use crate::run_loop::attempt::failure_outcomes;
use crate::run_loop::connections::transport::Received;
use crate::run_loop::response::{Parsed, ParsedEnd, ReadStep};
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use std::io;
use wire::message::{Event, Reading};

/// Minimum number of remaining body bytes at which the kernel discards them. Fewer bytes are read normally.
const DISCARD_MIN: u64 = 8 * 1024;
/// Maximum number of bytes that one call discards. Without a limit, a fast peer could keep other connections waiting.
const DISCARD_MAX: u64 = 64 << 20;
/// Size of the buffer for the head if large bodies are expected. The buffer is small, so that little of the body is
/// copied.
const HEAD_BUFFER_BYTES: usize = 1024;
/// Maximum number of reads from one connection in its turn.
const READS_MAX: usize = 8;

impl<N: Network> RunLoop<'_, N> {
    /// Reads the bytes that have arrived on a connection. Returns the current instant.
    pub(in crate::run_loop) fn read_connection(&mut self, net: &mut N, token: Token, mut now: Instant) -> Instant {
        for _ in 0..READS_MAX {
            // The connection may have been closed after it became ready, or by the previous read.
            let Some(connection) = self.pool.connections.get(token) else { return now };
            let exchange = &connection.exchange;
            let step = match exchange.state {
                State::Opening => return now,
                State::Idle => {
                    self.check_idle(net, token);
                    return now;
                }
                State::Multiplexed => self.receive_frames(net, token, &mut now),
                State::Handshaking => self.receive_handshake(net, token, &mut now),
                State::Active => {
                    let opaque = exchange.reader.opaque_bytes();
                    let step = if connection.transport.is_tls() {
                        self.receive_tls(net, token, &mut now)
                    } else if opaque > DISCARD_MIN && !exchange.body_is_read {
                        self.discard(net, token, opaque, &mut now)
                    } else {
                        self.receive(net, token, &mut now)
                    };
                    self.adjust_low_water(net, token);
                    step
                }
            };
            match step {
                ReadStep::More => {}
                ReadStep::Drained | ReadStep::Over => return now,
            }
        }
        self.pool.read_later(token);
        now
    }

    /// Keeps the low-water mark at or below the number of bytes that are still expected. With a higher mark, the kernel
    /// would wait for bytes that never arrive, and the client would not see the end of a body. When the mark is set,
    /// the kernel checks again which bytes have arrived.
    #[inline]
    fn adjust_low_water(&mut self, net: &mut N, token: Token) {
        let Some(wanted) = self.plan.connections.receive_low_water else { return };
        // The connection may have been closed at the end of a response.
        let Some(connection) = self.pool.connections.get_mut(token) else { return };
        if connection.transport.is_tls() {
            // With TLS, it is unknown how many more bytes are expected.
            return;
        }
        let left = connection.exchange.reader.opaque_bytes().saturating_sub(1);
        let mark = if left > wanted as u64 { wanted } else { 1 };
        if mark != connection.low_water {
            connection.low_water = mark;
            connection.transport.set_low_water(net, mark);
        }
    }

    fn discard(&mut self, net: &mut N, token: Token, opaque: u64, now: &mut Instant) -> ReadStep {
        let id = ExchangeId::Connection(token);
        let Some(connection) = self.pool.connections.existing_mut(token) else { return ReadStep::Over };
        let wanted = (opaque - 1).min(DISCARD_MAX) as usize;
        match connection.transport.discard(net, wanted) {
            Received::Bytes(bytes) => {
                if let Some(reader) = connection.exchange.reader.http1_mut() {
                    reader.skip(bytes as u64);
                }
                *now = net.now();
                self.advance_to(net, *now);
                self.count_received(id, bytes, bytes, *now);
                if self.is_too_long(id) {
                    self.cut_too_long(net, id, *now);
                    return ReadStep::Over;
                }
                self.set_deadline(id, *now + self.plan.timeouts.idle);
                if bytes == wanted { ReadStep::More } else { self.after_short_read(token) }
            }
            Received::Nothing => ReadStep::Drained,
            Received::End => self.ended_by_peer(net, token, now),
            Received::Broken(error) => self.broken(net, token, &error, now),
        }
    }

    fn receive(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return ReadStep::Over };
        let head_alone = connection.exchange.large_bodies && connection.exchange.reader.head().is_none();
        let size = if head_alone { HEAD_BUFFER_BYTES } else { self.buffers.receive.len() };
        match connection.transport.recv(net, &mut self.buffers.receive[..size]) {
            Received::Bytes(bytes) => {
                *now = net.now();
                self.advance_to(net, *now);
                let step = self.parse(net, token, bytes, *now);
                if matches!(step, ReadStep::More) && bytes < size { self.after_short_read(token) } else { step }
            }
            Received::Nothing => ReadStep::Drained,
            Received::End => self.ended_by_peer(net, token, now),
            Received::Broken(error) => self.broken(net, token, &error, now),
        }
    }

    /// Returns the next step after a read that did not fill the buffer. After such a read, the socket is empty, or only
    /// the end of the stream remains to be read.
    pub(in crate::run_loop) fn after_short_read(&self, token: Token) -> ReadStep {
        let closing = self.pool.connections.get(token).is_some_and(|connection| connection.exchange.closing);
        if closing { ReadStep::More } else { ReadStep::Drained }
    }

    /// Parses the first `bytes` bytes of the buffer.
    fn parse(&mut self, net: &mut N, token: Token, bytes: usize, now: Instant) -> ReadStep {
        let buffer = std::mem::take(&mut self.buffers.receive);
        let mut parsed = Parsed::default();
        self.parse_piece(token, &buffer[..bytes], &mut parsed, now);
        self.count_received(ExchangeId::Connection(token), bytes, parsed.body, now);
        let step = self.after_parsing(net, token, parsed.end, now);
        self.buffers.receive = buffer;
        step
    }

    /// Parses one more piece of a response. Bytes after the end of the response are only counted.
    #[inline]
    pub(in crate::run_loop) fn parse_piece(&mut self, token: Token, piece: &[u8], parsed: &mut Parsed, now: Instant) {
        match &mut parsed.end {
            ParsedEnd::Incomplete => {
                let before = self.heads_so_far(token);
                if let Some(read) = self.parse_events(token, piece) {
                    parsed.body += read.body;
                    parsed.end = read.end;
                }
                if let Some(before) = before {
                    self.note_first_byte(token, before, now);
                }
                if matches!(parsed.end, ParsedEnd::Cut(_)) {
                    self.notes.set_detail(piece);
                }
            }
            ParsedEnd::Complete { excess } => *excess += piece.len(),
            ParsedEnd::Cut(_) => {}
        }
    }

    /// Continues according to the result of parsing.
    #[inline]
    pub(in crate::run_loop) fn after_parsing(
        &mut self,
        net: &mut N,
        token: Token,
        end: ParsedEnd,
        now: Instant,
    ) -> ReadStep {
        let id = ExchangeId::Connection(token);
        match end {
            ParsedEnd::Complete { excess } => {
                self.complete(net, id, excess, now);
                ReadStep::Over
            }
            ParsedEnd::Cut(outcome) => {
                self.cut(net, id, outcome, now);
                ReadStep::Over
            }
            ParsedEnd::Incomplete if self.is_too_long(id) => {
                self.cut_too_long(net, id, now);
                ReadStep::Over
            }
            ParsedEnd::Incomplete => {
                // Received bytes extend the deadline of the body, but not the deadline of the head.
                let Some(exchange) = self.pool.running(id) else { return ReadStep::Over };
                if exchange.reader.phase() != Reading::Head {
                    self.set_deadline(id, now + self.plan.timeouts.idle);
                } else if exchange.reader.interim() > 0
                    && exchange.upload.as_ref().is_some_and(|upload| upload.awaits_continue())
                {
                    self.continue_body(net, id, now);
                }
                ReadStep::More
            }
        }
    }

    /// Returns the number of complete interim heads, and whether another head has begun but is not complete. Returns
    /// `None` if the final head is complete.
    #[inline]
    fn heads_so_far(&self, token: Token) -> Option<(u32, bool)> {
        let reader = &self.pool.connections.existing(token)?.exchange.reader;
        reader.head().is_none().then(|| (reader.interim(), reader.is_within_head()))
    }

    /// Records the time at which the first byte of the response arrived. `before` is the result of
    /// [`Self::heads_so_far`] before the last piece was parsed. The recorded time is the arrival of the first byte of
    /// the final head, even if this head arrives in several pieces. Interim heads do not count. After a redirect, the
    /// first byte of the next response replaces the first byte of the redirect.
    #[inline]
    fn note_first_byte(&mut self, token: Token, before: (u32, bool), now: Instant) {
        let Some(exchange) = self.pool.running(ExchangeId::Connection(token)) else { return };
        let Some(op) = self.slots.op_mut(exchange.slot) else { return };
        let (interim, within_head) = before;
        if !within_head || exchange.reader.interim() != interim {
            op.first_byte = Some(now);
        }
    }

    /// Parses the bytes of a response in `input`.
    fn parse_events(&mut self, token: Token, input: &[u8]) -> Option<Parsed> {
        let id = ExchangeId::Connection(token);
        let (mut at, mut body) = (0, 0);
        let mut cut = None;
        loop {
            let connection = self.pool.connections.existing_mut(token)?;
            let exchange = &mut connection.exchange;
            if exchange.reader.is_untouched() {
                // Values of an incomplete head must not be used for the next head.
                self.notes.clear_head();
            }
            let op = self.slots.op_mut(exchange.slot)?;
            let reader = exchange.reader.http1_mut()?;
            let (read, matched) = if reader.head().is_some() {
                (reader.read(&input[at..], &mut |_, _| {}), 0)
            } else {
                let mut watch = self.notes.watch(self.plan, op, self.first_response.software_wanted());
                (reader.read(&input[at..], &mut |name, value| watch.add(name, value)), watch.matched)
            };
            let progress = match read {
                Ok(progress) => progress,
                Err(error) => {
                    let phase = if reader.head().is_some() { Phase::Body } else { Phase::Head };
                    let is_tls = !connection.transport.is_tls() && crate::tls::outcome::is_tls(input);
                    let outcome = failure_outcomes::of_malformed(error, phase, is_tls);
                    return Some(Parsed { body, end: ParsedEnd::Cut(outcome) });
                }
            };
            let piece = &input[at..];
            at += progress.consumed;
            match (progress.event, cut) {
                (Event::Body(range), _) => {
                    body += range.len();
                    if let Err(fault) = op.body.take(&piece[range]) {
                        let outcome = self.notes.of_body_fault(fault);
                        return Some(Parsed { body, end: ParsedEnd::Cut(outcome) });
                    }
                }
                // The bytes after the head count as body bytes, even if the head ends the attempt.
                (Event::Head, _) => cut = self.judge_head(id, matched),
                (Event::NeedMore | Event::End, Some(outcome)) => {
                    return Some(Parsed { body, end: ParsedEnd::Cut(outcome) });
                }
                (Event::NeedMore, None) => return Some(Parsed { body, end: ParsedEnd::Incomplete }),
                (Event::End, None) => {
                    return Some(Parsed { body, end: ParsedEnd::Complete { excess: input.len() - at } });
                }
            }
        }
    }

    /// Handles the end of the server's stream.
    pub(in crate::run_loop) fn ended_by_peer(&mut self, net: &mut N, token: Token, now: &mut Instant) -> ReadStep {
        let id = ExchangeId::Connection(token);
        *now = net.now();
        self.advance_to(net, *now);
        let Some(exchange) = self.pool.running(id) else { return ReadStep::Over };
        match exchange.reader.end_of_stream() {
            Ok(()) => self.complete(net, id, 0, *now),
            Err(error) => {
                let outcome = self.of_lost(id, failure_outcomes::of_truncated(error));
                self.cut_or_resend(net, id, outcome, *now);
            }
        }
        ReadStep::Over
    }

    /// Handles a connection that broke before its response was complete.
    pub(in crate::run_loop) fn broken(
        &mut self,
        net: &mut N,
        token: Token,
        error: &io::Error,
        now: &mut Instant,
    ) -> ReadStep {
        let id = ExchangeId::Connection(token);
        *now = net.now();
        self.advance_to(net, *now);
        let Some(exchange) = self.pool.running(id) else { return ReadStep::Over };
        let (cause, phase) = match exchange.reader.phase() {
            Reading::Head => (Cause::ResetInHead, Phase::Head),
            Reading::Body | Reading::Trailers | Reading::Complete => (Cause::ResetInBody, Phase::Body),
        };
        self.notes.set_detail(error.to_string().as_bytes());
        let outcome = self.of_lost(id, AttemptOutcome::failed(AttemptClass::Reset, cause, phase));
        self.cut_or_resend(net, id, outcome, *now);
        ReadStep::Over
    }
}
