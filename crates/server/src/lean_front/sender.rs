//! Sends one response to the kernel.
//!
//! A head and a small body are sent with one call of `send`. A large body of known length is sent with `sendfile`.
//! Pieces of chunked bodies, and pieces that come from memory, are first assembled in a buffer. The buffer contains at
//! most one piece of content, with framing before and after it. The sender therefore always knows how many of the sent
//! bytes are content.

use std::io::{self, ErrorKind, Write};
use std::num::NonZeroU64;
use std::ops::Range;
use std::time::Duration;

use sys::Socket;

use crate::content::Content;
use crate::content::pattern::Pattern;
use crate::content::source::Produced;
use crate::ledger::counters::SentBytes;
use crate::pace::Pace;
use crate::response::{Framing, Response};

/// Maximum size of a body that is sent together with its head.
const INLINE_MAX: u64 = 16 * 1024;
/// Maximum size of a piece of content in the buffer.
const PIECE_MAX: u64 = 64 * 1024;
/// Maximum number of bytes that one connection sends before the other connections get their turn.
const TURN_MAX: u64 = 4 << 20;

/// A response while it is sent.
#[derive(Debug)]
pub(super) struct ResponseSender {
    pub(super) response: Response,
    /// The bytes that the kernel has accepted.
    pub(super) sent: SentBytes,
    staged: Vec<u8>,
    /// The number of bytes in `staged` that the kernel has accepted.
    at: usize,
    /// The part of `staged` that is content.
    content: Range<usize>,
    /// Offset in the content of the next byte to stage.
    next: u64,
    /// Content that has not been put into `staged` yet.
    left: Remaining,
    /// Number of bytes after which the body breaks off.
    cut: Option<u64>,
    /// A piece from a source, before it is framed.
    piece: Vec<u8>,
    /// `true` if the end of the message is staged.
    ended: bool,
    /// `true` after sending has begun. A small body is sent together with the head only at the beginning.
    begun: bool,
    pace: Option<Pace>,
}

/// Content that has not been put into `staged` yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remaining {
    Bytes(u64),
    Open,
}

impl Remaining {
    const NONE: Self = Self::Bytes(0);

    /// Returns the maximum number of bytes that can be left.
    fn most(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Open => u64::MAX,
        }
    }

    fn take(&mut self, bytes: u64) {
        if let Self::Bytes(left) = self {
            *left = left.saturating_sub(bytes);
        }
    }
}

/// The progress of sending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SendProgress {
    /// The kernel has accepted everything.
    Done,
    /// The send buffer is full, or other connections get their turn. Continue when the socket is writable.
    More,
    /// The rate limit does not allow more before this time.
    Later(Duration),
    /// The source of the content has no bytes now.
    Pending,
    /// The response has broken off on purpose.
    Cut,
    /// The connection or the content failed.
    Broken,
}

impl ResponseSender {
    /// Starts a response whose head is in `staged`. `interim` bytes of `100 Continue` were sent before.
    pub(super) fn new(
        response: Response,
        staged: Vec<u8>,
        interim: u64,
        rate: Option<NonZeroU64>,
        now: Duration,
    ) -> Self {
        Self {
            next: response.first,
            left: response.body_length().map_or(Remaining::Open, Remaining::Bytes),
            cut: response.body_faults.breaks_at(response.body_length()),
            piece: Vec::new(),
            ended: response.framing != Framing::Chunked,
            begun: false,
            content: staged.len()..staged.len(),
            at: 0,
            staged,
            sent: SentBytes { head: interim, body: 0 },
            pace: rate.map(|rate| Pace::new(rate, now)),
            response,
        }
    }

    /// Returns the buffer, so that it can be reused, and the content.
    pub(super) fn into_parts(self) -> (Vec<u8>, Content) {
        (self.staged, self.response.content)
    }

    /// Returns the socket from which the content is fetched, if the content waits for one.
    pub(super) fn upstream(&self) -> Option<&Socket> {
        match &self.response.content {
            Content::Source(source) => source.waits_for(),
            Content::Empty | Content::Text(_) | Content::Pattern | Content::File(_) => None,
        }
    }

    /// Sends as much as the kernel and the rate limit allow now.
    pub(super) fn drive(&mut self, socket: &Socket, pattern: &Pattern, now: Duration) -> SendProgress {
        let first = !std::mem::replace(&mut self.begun, true);
        if first && self.pace.is_none() && self.cut.is_none() {
            let inline = self.left == Remaining::Open || self.left.most() <= INLINE_MAX;
            if inline && self.stage(pattern, PIECE_MAX).is_err() {
                return SendProgress::Broken;
            }
        }
        let turn_ends = self.sent.body.saturating_add(TURN_MAX);
        loop {
            if let Err(error) = self.send_staged(socket) {
                return stopped(&error);
            }
            if self.left == Remaining::NONE && self.ended {
                return SendProgress::Done;
            }
            if let Some(sends) = self.break_off() {
                match sends {
                    SendProgress::More => continue,
                    sends => return sends,
                }
            }
            if self.sent.body >= turn_ends {
                return SendProgress::More;
            }
            let allowed = match self.allowance(now) {
                Ok(allowed) => allowed,
                Err(instant) => return SendProgress::Later(instant),
            };
            let by_file = matches!(self.response.framing, Framing::Length | Framing::UntilClose)
                && self.response.body_faults.flip.is_none();
            let moved = match &self.response.content {
                Content::Pattern if by_file => {
                    let (offset, available) = Pattern::locate(self.next);
                    self.send_file(socket, &pattern.file, offset, allowed.min(available))
                }
                Content::File(file) if by_file => self.send_file(socket, file, self.next, allowed),
                _ => {
                    self.staged.clear();
                    self.at = 0;
                    match self.stage(pattern, allowed.min(PIECE_MAX)) {
                        Ok(true) => Ok(0),
                        Ok(false) => return SendProgress::Pending,
                        Err(_) => return SendProgress::Broken,
                    }
                }
            };
            match moved {
                Ok(moved) => {
                    self.next += moved;
                    self.left.take(moved);
                    self.sent.body += moved;
                }
                Err(error) => return stopped(&error),
            }
        }
    }

    /// Appends a piece of content with its framing to `staged`, which must not contain content yet. Returns false if
    /// the source has no bytes now.
    fn stage(&mut self, pattern: &Pattern, most: u64) -> io::Result<bool> {
        let wanted = most.min(self.left.most()) as usize;
        let chunked = self.response.framing == Framing::Chunked;
        let mut piece = wanted;
        if let Content::Source(source) = &mut self.response.content {
            self.piece.clear();
            if wanted > 0 {
                match source.produce(pattern, wanted, &mut self.piece)? {
                    Produced::Piece => {}
                    Produced::Pending => return Ok(false),
                    Produced::End if self.left == Remaining::Open => self.left = Remaining::NONE,
                    Produced::End => return Err(ErrorKind::UnexpectedEof.into()),
                }
            }
            if self.cut.is_some() {
                self.piece.truncate(wanted);
            }
            piece = self.piece.len();
        }
        let out = &mut self.staged;
        if chunked && piece > 0 {
            write!(out, "{piece:x}\r\n")?;
        }
        let from = out.len();
        if matches!(self.response.content, Content::Source(_)) {
            out.extend_from_slice(&self.piece);
        } else {
            self.response.content.append(pattern, self.next, piece, out)?;
        }
        self.response.body_faults.apply(self.next - self.response.first, self.response.length, &mut out[from..]);
        self.content = from..out.len();
        if chunked && piece > 0 {
            out.extend_from_slice(b"\r\n");
        }
        self.next += piece as u64;
        self.left.take(piece as u64);
        if chunked && self.left == Remaining::NONE {
            out.extend_from_slice(b"0\r\n\r\n");
            self.ended = true;
        }
        Ok(true)
    }

    /// Breaks the response off if all content before the intended break was sent. Returns the next step.
    fn break_off(&mut self) -> Option<SendProgress> {
        if self.left_before_cut()? > 0 {
            return None;
        }
        self.staged.clear();
        self.at = 0;
        self.content = 0..0;
        let tail = std::mem::take(&mut self.response.cut_tail);
        self.staged.extend_from_slice(tail);
        Some(if tail.is_empty() { SendProgress::Cut } else { SendProgress::More })
    }

    fn send_staged(&mut self, socket: &Socket) -> io::Result<()> {
        while self.at < self.staged.len() {
            let rest = &self.staged[self.at..];
            // More bytes follow immediately, unless the rate limit delays them.
            let more = matches!(self.left, Remaining::Bytes(1..)) && self.pace.is_none() && self.cut.is_none();
            let taken = match if more { socket.send_more(rest) } else { socket.send(rest) } {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                taken => taken?,
            };
            let now_at = self.at + taken;
            let content = now_at.clamp(self.content.start, self.content.end)
                - self.at.clamp(self.content.start, self.content.end);
            self.sent.body += content as u64;
            self.sent.head += (taken - content) as u64;
            self.at = now_at;
        }
        Ok(())
    }

    /// Sends up to `most` bytes of a file. The kernel sends fewer if the send buffer is full.
    fn send_file(&self, socket: &Socket, file: &std::fs::File, offset: u64, most: u64) -> io::Result<u64> {
        let most = usize::try_from(most.min(TURN_MAX)).unwrap_or(usize::MAX);
        match sys::file::sendfile(socket, file, offset, most) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(moved) => Ok(moved as u64),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// Returns the number of content bytes that may be sent now. If there are none, the error is the time at which more
    /// may be sent.
    fn allowance(&self, now: Duration) -> Result<u64, Duration> {
        let left = self.left.most().min(self.left_before_cut().unwrap_or(u64::MAX));
        self.pace.map_or(Ok(left), |pace| pace.allows(self.sent.body, left, now))
    }

    /// Returns the number of content bytes before the intended break, if there is one.
    fn left_before_cut(&self) -> Option<u64> {
        Some(self.cut?.saturating_sub(self.next - self.response.first))
    }
}

fn stopped(error: &io::Error) -> SendProgress {
    if error.kind() == ErrorKind::WouldBlock { SendProgress::More } else { SendProgress::Broken }
}
