//! The body of a request while it is sent. The body is generated or read piece by piece, and framed. The bytes of the
//! body are counted when the kernel accepts them.
//!
//! A body is never kept in memory as a whole. If the kernel does not accept all of a piece, the connection keeps the
//! rest of the piece. The rest is not kept for a body with `Content-Length`, because its bytes can be generated again.

use crate::plan::{BodyPlan, Source, Subject, Targets};
use crate::run_loop::invariant::Invariant;
use measure::Instant;
use sha2::{Digest, Sha256};
use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;
use wire::sigv4::ChunkEncoder;

/// Number of data bytes in a piece. S3 requires chunks of at least 8 KiB, and larger pieces save system calls.
pub(in crate::run_loop) const PIECE_BYTES: usize = 64 << 10;
/// Maximum number of pieces that one connection sends in its turn.
pub(in crate::run_loop) const PIECES_MAX: usize = 16;
/// Maximum wait for `100 Continue`. After this time, the client sends the body anyway. curl waits for the same time by
/// default.
pub(in crate::run_loop) const CONTINUE_WAIT: Duration = Duration::from_secs(1);

/// Invariant that debug builds check for bodies that are generated or read from a file.
const HAS_OBJECT: &str = "the content of a body belongs to an object";
/// Invariant that debug builds check for bodies in S3's chunks.
const HAS_ENCODER: &str = "the encoder of chunks exists until it has created the last chunk";

/// The framing of a body.
#[derive(Debug)]
pub(in crate::run_loop) enum Frame {
    Length,
    Chunked,
    /// S3's chunks; the encoder is `None` after the last chunk was created.
    S3Chunks(Option<Box<ChunkEncoder>>),
}

/// Error for a body that cannot be created because of a defect of this program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run_loop) enum BodyDefect {
    NoObject,
    NoEncoder,
}

impl fmt::Display for BodyDefect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NoObject => "the object of the body does not exist",
            Self::NoEncoder => "the body has no encoder of chunks",
        })
    }
}

impl Error for BodyDefect {}

impl From<BodyDefect> for io::Error {
    fn from(defect: BodyDefect) -> Self {
        Self::other(defect)
    }
}

/// State of sending a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The body waits for `100 Continue`.
    AwaitingContinue {
        until: Instant,
    },
    Sending,
    /// The kernel has accepted the whole body.
    Sent,
    /// The response arrived before the body was sent, so the rest is not sent.
    Stopped,
    /// The connection broke, so the rest cannot be sent.
    Broken,
}

/// A body that is being sent.
#[derive(Debug)]
pub(in crate::run_loop) struct Upload {
    frame: Frame,
    stage: Stage,
    file: Option<File>,
    /// Number of data bytes in the whole body.
    total: u64,
    /// Number of data bytes that were put into pieces so far.
    framed: u64,
    /// Number of data bytes that the kernel or TLS has accepted.
    taken: u64,
    /// `true` if the last piece has been created.
    ended: bool,
    /// Number of bytes in front of the data of the current piece that are still to be sent. These bytes are framing, or
    /// the head.
    before: usize,
    /// Number of data bytes of the current piece that are still to be sent.
    data: usize,
}

/// Source of the bytes of one body.
pub(in crate::run_loop) struct BodySource<'a> {
    pub body: &'a BodyPlan,
    pub targets: &'a Targets,
    pub subject: Subject,
    /// Buffer for the key of an object.
    pub key: &'a mut String,
    /// Message that the operation sends, for [`Source::Own`].
    pub own: &'a [u8],
    /// Offset and length of the part of the body that is sent; `None` for the whole body.
    pub slice: Option<(u64, u64)>,
}

impl BodySource<'_> {
    /// Returns the number of bytes to send.
    pub fn size(&self) -> u64 {
        if let Some((_, length)) = self.slice {
            return length;
        }
        self.whole_size()
    }

    /// Returns the size of the whole body, even if only a part of the body is sent.
    pub fn whole_size(&self) -> u64 {
        match (&self.body.source, self.subject) {
            (Source::Bytes(bytes), _) => bytes.len() as u64,
            (Source::Own, _) => self.own.len() as u64,
            (Source::Content(_) | Source::Files(_), subject) => self.targets.size(subject).unwrap_or(0),
        }
    }

    /// Fills `out` with the bytes from `offset` on.
    fn fill(&mut self, file: &mut Option<File>, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let first = self.slice.map_or(0, |(first, _)| first);
        let (offset, end) = (first + offset, first + self.size());
        match &self.body.source {
            Source::Bytes(bytes) => copy(bytes, offset, out)?,
            Source::Own => copy(self.own, offset, out)?,
            Source::Content(content) => {
                let known = self.targets.area().and_then(|area| area.read_key(self.subject, self.key));
                known.assert_some(HAS_OBJECT).ok_or(BodyDefect::NoObject)?;
                content.object(self.key).fill(offset, out);
            }
            Source::Files(files) => {
                let local = self.targets.object_number(self.subject).and_then(|number| files.file(number));
                let local = local.assert_some(HAS_OBJECT).ok_or(BodyDefect::NoObject)?;
                let file = match file {
                    Some(file) => file,
                    None => file.insert(local.open()?),
                };
                let read = file.read_exact_at(out, offset);
                // The last bytes are sent only if the file has not changed since it was found.
                if read.is_err() || offset + out.len() as u64 == end {
                    local.check(file)?;
                }
                read?;
            }
        }
        Ok(())
    }
}

fn copy(bytes: &[u8], offset: u64, out: &mut [u8]) -> io::Result<()> {
    let from = usize::try_from(offset).map_err(io::Error::other)?;
    let bytes = bytes.get(from..from.saturating_add(out.len())).ok_or(io::ErrorKind::UnexpectedEof)?;
    out.copy_from_slice(bytes);
    Ok(())
}

impl Upload {
    /// Returns a body of `total` bytes that is to be sent. If `continue_until` is set, the body waits for `100
    /// Continue` until that instant.
    pub fn new(total: u64, frame: Frame, continue_until: Option<Instant>) -> Self {
        let stage = continue_until.map_or(Stage::Sending, |until| Stage::AwaitingContinue { until });
        Self { frame, stage, file: None, total, framed: 0, taken: 0, ended: false, before: 0, data: 0 }
    }

    /// Removes the chunk framing, because HTTP/2 has its own framing.
    pub fn remove_chunks(&mut self) {
        if matches!(self.frame, Frame::Chunked) {
            self.frame = Frame::Length;
        }
    }

    /// Returns whether the last piece has been created.
    pub fn is_made(&self) -> bool {
        self.ended
    }

    /// Returns the number of data bytes that were accepted.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Returns whether the kernel has accepted the whole body.
    pub fn is_sent(&self) -> bool {
        self.stage == Stage::Sent
    }

    /// Returns whether bytes must still be sent, now or after `100 Continue`.
    pub fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::AwaitingContinue { .. } | Stage::Sending)
    }

    /// Returns whether the body waits for `100 Continue`.
    pub fn awaits_continue(&self) -> bool {
        matches!(self.stage, Stage::AwaitingContinue { .. })
    }

    /// Returns the instant until which the body waits for `100 Continue`.
    pub fn continue_until(&self) -> Option<Instant> {
        match self.stage {
            Stage::AwaitingContinue { until } => Some(until),
            Stage::Sending | Stage::Sent | Stage::Stopped | Stage::Broken => None,
        }
    }

    /// Ends the wait for `100 Continue`.
    pub fn release(&mut self) {
        if self.awaits_continue() {
            self.stage = Stage::Sending;
        }
    }

    /// Stops sending, because the response has arrived.
    pub fn stop(&mut self) {
        if self.is_under_way() {
            self.stage = Stage::Stopped;
        }
    }

    /// Stops sending, because the connection broke.
    pub fn break_off(&mut self) {
        if self.is_under_way() {
            self.stage = Stage::Broken;
        }
    }

    /// Returns whether the connection broke before the whole body was sent.
    pub fn is_broken(&self) -> bool {
        self.stage == Stage::Broken
    }

    /// Marks the body as sent if its last piece was created. Returns whether this call marked the body.
    pub fn mark_sent(&mut self) -> bool {
        let newly_sent = self.stage == Stage::Sending && self.ended;
        if newly_sent {
            self.stage = Stage::Sent;
        }
        newly_sent
    }

    /// Records that a head of `bytes` bytes is sent before the first piece.
    pub fn follow_head(&mut self, bytes: usize) {
        self.before = bytes;
    }

    /// Writes the next piece to `out`, where it replaces the bytes from offset `at` on. Returns `false` if there is no
    /// further piece.
    ///
    /// Callers leave the previous piece in `out`, and the next piece overwrites it. If `out` were cleared first, it
    /// would be filled with zeros before each piece is written. Filling `out` with zeros would take 6 to 8 % of the CPU
    /// time of an upload.
    pub fn next_piece(&mut self, source: &mut BodySource<'_>, out: &mut Vec<u8>, at: usize) -> io::Result<bool> {
        if self.stage != Stage::Sending || self.ended {
            out.truncate(at);
            return Ok(false);
        }
        let length = (self.total - self.framed).min(PIECE_BYTES as u64) as usize;
        let mut fill = |out: &mut [u8]| source.fill(&mut self.file, self.framed, out);
        match &mut self.frame {
            Frame::Length => {
                out.resize(at + length, 0);
                fill(&mut out[at..])?;
            }
            Frame::Chunked => {
                out.truncate(at);
                if length == 0 {
                    // Even an empty file may have changed.
                    fill(&mut [])?;
                } else {
                    out.extend_from_slice(format!("{length:x}\r\n").as_bytes());
                    self.before += out.len() - at;
                    let data = out.len();
                    out.resize(data + length, 0);
                    fill(&mut out[data..])?;
                    out.extend_from_slice(b"\r\n");
                }
            }
            Frame::S3Chunks(encoder) => {
                let encoder = encoder.as_mut().assert_some(HAS_ENCODER).ok_or(BodyDefect::NoEncoder)?;
                self.before += encoder.chunk_at(at, length, out, fill)?;
            }
        }
        self.data = length;
        self.framed += length as u64;
        if self.framed == self.total {
            self.end(out);
        }
        Ok(true)
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.ended = true;
        match &mut self.frame {
            Frame::Length => {}
            Frame::Chunked => out.extend_from_slice(b"0\r\n\r\n"),
            Frame::S3Chunks(encoder) => {
                if let Some(encoder) = encoder.take().assert_some(HAS_ENCODER) {
                    encoder.finish(out);
                }
            }
        }
    }

    /// Records that `bytes` more bytes of the current piece were accepted. Returns how many of them are data.
    pub fn take(&mut self, bytes: usize) -> usize {
        let before = bytes.min(self.before);
        self.before -= before;
        let data = (bytes - before).min(self.data);
        self.data -= data;
        self.taken += data as u64;
        data
    }

    /// Returns whether the last `left` bytes of a piece can be generated again, so that they need not be kept. If so,
    /// the next piece begins with these bytes.
    pub fn rewind(&mut self, left: usize) -> bool {
        if !matches!(self.frame, Frame::Length) || self.before > 0 || left != self.data {
            return false;
        }
        self.framed -= left as u64;
        self.data = 0;
        self.ended = self.ended && left == 0;
        true
    }
}

/// Returns the SHA-256 of a body. `next` writes the next piece of the body, and returns `false` at the end.
pub(in crate::run_loop) fn digest(mut next: impl FnMut(&mut Vec<u8>) -> io::Result<bool>) -> io::Result<[u8; 32]> {
    let (mut hash, mut piece) = (Sha256::new(), Vec::new());
    while next(&mut piece)? {
        hash.update(&piece);
    }
    Ok(hash.finalize().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Framing;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Returns the source of a body that has the same bytes each time.
    fn source<'a>(body: &'a BodyPlan, targets: &'a Targets, key: &'a mut String) -> BodySource<'a> {
        BodySource { body, targets, subject: Subject::Target(0), key, own: &[], slice: None }
    }

    /// Sends a body to a simulated kernel. `takes` contains, for each call, the number of bytes that the kernel
    /// accepts.
    fn sent(bytes: &[u8], framing: Framing, takes: &[usize]) -> (Vec<u8>, u64) {
        let body = BodyPlan { framing, ..BodyPlan::of_bytes(Arc::from(bytes)) };
        let (targets, mut key) = (Targets::default(), String::new());
        let mut source = source(&body, &targets, &mut key);
        let frame = match framing {
            Framing::Length => Frame::Length,
            Framing::Chunked => Frame::Chunked,
        };
        let mut upload = Upload::new(source.size(), frame, None);
        let (mut wire, mut waits, mut takes) = (Vec::new(), b"head".to_vec(), takes.iter().cycle());
        upload.follow_head(waits.len());
        let mut data = 0;
        loop {
            if waits.is_empty() && !upload.next_piece(&mut source, &mut waits, 0).unwrap() {
                break;
            }
            let taken = waits.len().min(*takes.next().unwrap());
            data += upload.take(taken) as u64;
            wire.extend(waits.drain(..taken));
            if upload.rewind(waits.len()) {
                waits.clear();
            }
        }
        assert!(upload.mark_sent() && upload.is_sent() && !upload.mark_sent());
        assert_eq!(upload.taken(), data);
        (wire, data)
    }

    proptest! {
        #[test]
        fn every_byte_is_sent_once_however_the_kernel_takes_them(
            length in 0_usize..200_000, takes in prop::collection::vec(1_usize..90_000, 1..6),
        ) {
            let bytes: Vec<u8> = (0..length).map(|at| (at % 251) as u8).collect();
            let (wire, data) = sent(&bytes, Framing::Length, &takes);
            prop_assert_eq!(data, length as u64);
            prop_assert!(wire == [b"head", &bytes[..]].concat());
            let (wire, data) = sent(&bytes, Framing::Chunked, &takes);
            prop_assert_eq!(data, length as u64);
            let mut expected = b"head".to_vec();
            for chunk in bytes.chunks(PIECE_BYTES) {
                expected.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
                expected.extend_from_slice(chunk);
                expected.extend_from_slice(b"\r\n");
            }
            expected.extend_from_slice(b"0\r\n\r\n");
            prop_assert!(wire == expected);
        }
    }

    #[test]
    fn a_body_waits_for_continue_and_stops_at_the_response() {
        let body = BodyPlan::of_bytes(Arc::from(*b"body"));
        let (targets, mut key) = (Targets::default(), String::new());
        let mut source = source(&body, &targets, &mut key);
        let mut upload = Upload::new(4, Frame::Length, Some(Instant::ZERO));
        assert!(upload.is_under_way() && !upload.next_piece(&mut source, &mut Vec::new(), 0).unwrap());
        upload.release();
        assert!(upload.next_piece(&mut source, &mut Vec::new(), 0).unwrap());
        upload.stop();
        assert!(!upload.is_under_way() && !upload.is_sent() && !upload.mark_sent());
    }
}
