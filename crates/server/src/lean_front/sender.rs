//! SendProgress one answer, as far as the kernel takes it.
//!
//! Head and small body leave in one `send`. A large body of known length goes by `sendfile`; pieces that must be framed,
//! or come from memory, are put together in a buffer first. The buffer holds at most one piece of content, so that what
//! the kernel took is told apart exactly: framing before it, content, framing after it.

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

/// A body up to this size leaves with its head.
const INLINE_MAX: u64 = 16 * 1024;
/// The largest piece of content in the buffer.
const PIECE_MAX: u64 = 64 * 1024;
/// Bytes that one connection sends before others have their turn.
const TURN_MAX: u64 = 4 << 20;

/// An answer on its way.
#[derive(Debug)]
pub(crate) struct ResponseSender {
    pub(crate) response: Response,
    /// What the kernel has taken.
    pub(crate) sent: SentBytes,
    staged: Vec<u8>,
    /// How much of `staged` the kernel has taken.
    at: usize,
    /// The content in `staged`.
    content: Range<usize>,
    /// Content that is not yet staged: from here,
    next: u64,
    /// so many bytes, or until its source ends.
    left: Remaining,
    /// Bytes after which it breaks off instead.
    cut: Option<u64>,
    /// A piece of a source, before it is framed.
    piece: Vec<u8>,
    /// Whether the end of the message is staged.
    ended: bool,
    /// Whether a small body has had its chance to leave with the head.
    begun: bool,
    pace: Option<Pace>,
}

/// Content that is still to be staged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remaining {
    Bytes(u64),
    Open,
}

impl Remaining {
    const NONE: Self = Self::Bytes(0);

    /// The most that is left.
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

/// How far sending came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SendProgress {
    /// Everything has been handed to the kernel.
    Done,
    /// The kernel has no room, or others have their turn: when the socket is writable, there is more.
    More,
    /// The rate allows more at that instant.
    Later(Duration),
    /// The content's source has nothing at present.
    Pending,
    /// The answer was to break off, and has.
    Cut,
    /// The client is gone, or the content.
    Broken,
}

impl ResponseSender {
    /// Begins with the head that is in `staged`; `interim` bytes went out before.
    pub(crate) fn new(
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

    /// The buffer, to be used again, and the content.
    pub(crate) fn into_parts(self) -> (Vec<u8>, Content) {
        (self.staged, self.response.content)
    }

    /// The socket that the content comes from.
    pub(crate) fn upstream(&self) -> Option<&Socket> {
        match &self.response.content {
            Content::Source(source) => source.waits_for(),
            Content::Empty | Content::Text(_) | Content::Pattern | Content::File(_) => None,
        }
    }

    /// SendProgress what goes now.
    pub(crate) fn drive(&mut self, socket: &Socket, pattern: &Pattern, now: Duration) -> SendProgress {
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
                    let (place, there) = Pattern::locate(self.next);
                    self.send_file(socket, &pattern.file, place, allowed.min(there))
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

    /// Appends a piece of content with its framing; false when its source has nothing at present. The content range of
    /// the buffer is empty before.
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

    /// Where the content was to break off: what comes next, once all before has been sent.
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
            // More follows at once, unless a rate makes it wait.
            let more = matches!(self.left, Remaining::Bytes(1..)) && self.pace.is_none() && self.cut.is_none();
            let taken = match if more { socket.send_more(rest) } else { socket.send(rest) } {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                response => response?,
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

    /// Moves up to `most` bytes; an answer that is smaller says that the socket is full.
    fn send_file(&self, socket: &Socket, file: &std::fs::File, offset: u64, most: u64) -> io::Result<u64> {
        let most = usize::try_from(most.min(TURN_MAX)).unwrap_or(usize::MAX);
        match sys::file::sendfile(socket, file, offset, most) {
            Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
            Ok(moved) => Ok(moved as u64),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// How much content may go now, or when there is a piece again.
    fn allowance(&self, now: Duration) -> Result<u64, Duration> {
        let left = self.left.most().min(self.left_before_cut().unwrap_or(u64::MAX));
        self.pace.map_or(Ok(left), |pace| pace.allows(self.sent.body, left, now))
    }

    /// Content that is still to be staged before the body breaks off, if it is to.
    fn left_before_cut(&self) -> Option<u64> {
        Some(self.cut?.saturating_sub(self.next - self.response.first))
    }
}

fn stopped(error: &io::Error) -> SendProgress {
    if error.kind() == ErrorKind::WouldBlock { SendProgress::More } else { SendProgress::Broken }
}
