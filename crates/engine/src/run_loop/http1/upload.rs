//! The body of a request on its way out: made or read piece by piece, framed, and counted as the kernel takes it.
//!
//! A body is never held. What a piece did not get rid of waits with its connection, one piece at most; where the length
//! frames the body, not even that: the bytes are made again.

use crate::plan::{BodyPlan, Framing, Source, Subject, Targets};
use measure::Instant;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::time::Duration;
use wire::sigv4::ChunkEncoder;

/// Data bytes of a piece. S3 wants chunks of 8 KiB at least; larger pieces save calls.
pub(in crate::run_loop) const PIECE_BYTES: usize = 64 << 10;
/// Pieces that one connection sends before the others have their turn.
pub(in crate::run_loop) const PIECES_MAX: usize = 16;
/// How long a server has to agree to a body before it is sent anyway (curl's default).
pub(in crate::run_loop) const CONTINUE_WAIT: Duration = Duration::from_secs(1);

/// How the pieces of a body are framed.
#[derive(Debug)]
pub(in crate::run_loop) enum Frame {
    Length,
    Chunked,
    /// `None` once it has ended.
    Aws(Option<Box<ChunkEncoder>>),
}

/// Where sending stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The server has been asked to agree.
    Asked {
        until: Instant,
    },
    Sending,
    /// All of it is with the kernel.
    Sent,
    /// The answer has come before: the rest is not sent.
    Stopped,
    /// The connection broke: the rest can not be sent.
    Broken,
}

/// A body that is being sent.
#[derive(Debug)]
pub(in crate::run_loop) struct Upload {
    frame: Frame,
    stage: Stage,
    file: Option<File>,
    /// Data bytes in all.
    total: u64,
    /// Data bytes that pieces were made of.
    framed: u64,
    /// Data bytes that the kernel, or TLS, has taken.
    taken: u64,
    /// The framing's end is in a piece.
    ended: bool,
    /// Of what waits to be sent, the bytes before the data of its piece, and those data.
    before: usize,
    data: usize,
}

/// What the pieces of one body are made from.
pub(in crate::run_loop) struct Maker<'a> {
    pub body: &'a BodyPlan,
    pub targets: &'a Targets,
    pub subject: Subject,
    /// Room for a key.
    pub key: &'a mut String,
    /// A message that the operation has made.
    pub own: &'a [u8],
    /// The part of the body that is sent: offset and length; all of it otherwise.
    pub slice: Option<(u64, u64)>,
}

impl Maker<'_> {
    /// Size of the body in bytes.
    pub fn size(&self) -> u64 {
        if let Some((_, length)) = self.slice {
            return length;
        }
        self.whole_size()
    }

    /// Size of the body of which a part may be sent.
    pub fn whole_size(&self) -> u64 {
        match (&self.body.source, self.subject) {
            (Source::Bytes(bytes), _) => bytes.len() as u64,
            (Source::Own, _) => self.own.len() as u64,
            (Source::Content(_), subject) => self.targets.size(subject).unwrap_or(0),
            (Source::Files(files), Subject::Target(index)) => files.get(index as usize).map_or(0, |(_, size)| *size),
            (Source::Files(_), Subject::Fresh(_) | Subject::Container) => 0,
        }
    }

    /// Writes the bytes from `offset` on into the whole of `out`.
    fn fill(&mut self, file: &mut Option<File>, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = offset + self.slice.map_or(0, |(first, _)| first);
        match &self.body.source {
            Source::Bytes(bytes) => copy(bytes, offset, out)?,
            Source::Own => copy(self.own, offset, out)?,
            Source::Content(content) => {
                if let Some(area) = self.targets.area() {
                    area.read_key(self.subject, self.key);
                }
                content.object(self.key).fill(offset, out);
            }
            Source::Files(files) => {
                let Subject::Target(index) = self.subject else { return Err(io::ErrorKind::NotFound.into()) };
                let (path, _) = files.get(index as usize).ok_or(io::ErrorKind::NotFound)?;
                let file = match file {
                    Some(file) => file,
                    None => file.insert(File::open(path)?),
                };
                file.read_exact_at(out, offset)?;
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
    /// A body that is to be sent; `asked` until when a server that was asked may take to agree.
    pub fn new(total: u64, frame: Frame, asked: Option<Instant>) -> Self {
        let stage = asked.map_or(Stage::Sending, |until| Stage::Asked { until });
        Self { frame, stage, file: None, total, framed: 0, taken: 0, ended: false, before: 0, data: 0 }
    }

    /// The framing that a plan asks for; that of S3's chunks is made when the head is signed.
    pub fn frame(framing: Framing) -> Frame {
        match framing {
            Framing::Length => Frame::Length,
            Framing::Chunked => Frame::Chunked,
        }
    }

    /// The head goes out by itself, and the end is told in another way than by chunks, as in HTTP/2.
    pub fn unframed(&mut self) {
        self.before = 0;
        if matches!(self.frame, Frame::Chunked) {
            self.frame = Frame::Length;
        }
    }

    /// Whether the last piece was made.
    pub fn is_made(&self) -> bool {
        self.ended
    }

    /// Data bytes that were taken.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Whether all of it is with the kernel.
    pub fn is_sent(&self) -> bool {
        self.stage == Stage::Sent
    }

    /// Whether there is still something to be sent, now or once the server has agreed.
    pub fn is_under_way(&self) -> bool {
        matches!(self.stage, Stage::Asked { .. } | Stage::Sending)
    }

    /// Whether the server has yet to agree.
    pub fn is_asked(&self) -> bool {
        matches!(self.stage, Stage::Asked { .. })
    }

    /// Until when it is waited for the server to agree.
    pub fn asked_until(&self) -> Option<Instant> {
        match self.stage {
            Stage::Asked { until } => Some(until),
            Stage::Sending | Stage::Sent | Stage::Stopped | Stage::Broken => None,
        }
    }

    /// The server has agreed, or has had its time.
    pub fn release(&mut self) {
        if self.is_asked() {
            self.stage = Stage::Sending;
        }
    }

    /// The rest is not wanted.
    pub fn stop(&mut self) {
        if self.is_under_way() {
            self.stage = Stage::Stopped;
        }
    }

    /// The rest can not be sent.
    pub fn break_off(&mut self) {
        if self.is_under_way() {
            self.stage = Stage::Broken;
        }
    }

    /// Whether the connection broke before all of it was sent.
    pub fn is_broken(&self) -> bool {
        self.stage == Stage::Broken
    }

    /// Notes that everything is with the kernel; whether that is news.
    pub fn note_sent(&mut self) -> bool {
        let news = self.stage == Stage::Sending && self.ended;
        if news {
            self.stage = Stage::Sent;
        }
        news
    }

    /// So many bytes of something else go out before the first piece: the head.
    pub fn precede(&mut self, bytes: usize) {
        self.before = bytes;
    }

    /// Appends the next piece to `out`; `false` when there is none.
    pub fn next_piece(&mut self, maker: &mut Maker<'_>, out: &mut Vec<u8>) -> io::Result<bool> {
        if self.stage != Stage::Sending || self.ended {
            return Ok(false);
        }
        let length = (self.total - self.framed).min(PIECE_BYTES as u64) as usize;
        let start = out.len();
        match &mut self.frame {
            Frame::Length => {
                out.resize(start + length, 0);
                maker.fill(&mut self.file, self.framed, &mut out[start..])?;
            }
            Frame::Chunked => {
                if length > 0 {
                    out.extend_from_slice(format!("{length:x}\r\n").as_bytes());
                    self.before += out.len() - start;
                    let data = out.len();
                    out.resize(data + length, 0);
                    maker.fill(&mut self.file, self.framed, &mut out[data..])?;
                    out.extend_from_slice(b"\r\n");
                }
            }
            Frame::Aws(encoder) => {
                let mut data = vec![0; length];
                maker.fill(&mut self.file, self.framed, &mut data)?;
                if let Some(encoder) = encoder
                    && encoder.chunk_head(&data, out)
                {
                    self.before += out.len() - start;
                    out.extend_from_slice(&data);
                    out.extend_from_slice(ChunkEncoder::CHUNK_END);
                }
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
            Frame::Aws(encoder) => {
                if let Some(encoder) = encoder.take() {
                    encoder.finish(out);
                }
            }
        }
    }

    /// So many bytes of what waits have been taken. How many of them are data.
    pub fn took(&mut self, bytes: usize) -> usize {
        let before = bytes.min(self.before);
        self.before -= before;
        let data = (bytes - before).min(self.data);
        self.data -= data;
        self.taken += data as u64;
        data
    }

    /// What is left of a piece need not be kept when it can be made again from where it is: `true` when that is so, and
    /// then the next piece begins there.
    pub fn makes_again(&mut self, left: usize) -> bool {
        if !matches!(self.frame, Frame::Length) || self.before > 0 || left != self.data {
            return false;
        }
        self.framed -= left as u64;
        self.data = 0;
        self.ended = self.ended && left == 0;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::sync::Arc;

    /// Sends a body, the kernel taking as much of each piece as `takes` says.
    fn sent(bytes: &[u8], framing: Framing, takes: &[usize]) -> (Vec<u8>, u64) {
        let body = BodyPlan { framing, ..BodyPlan::of_bytes(Arc::from(bytes)) };
        let (targets, mut key) = (Targets::default(), String::new());
        let mut maker =
            Maker { body: &body, targets: &targets, subject: Subject::Target(0), key: &mut key, own: &[], slice: None };
        let mut upload = Upload::new(maker.size(), Upload::frame(framing), None);
        let (mut wire, mut waits, mut takes) = (Vec::new(), b"head".to_vec(), takes.iter().cycle());
        upload.precede(waits.len());
        let mut data = 0;
        loop {
            if waits.is_empty() && !upload.next_piece(&mut maker, &mut waits).unwrap() {
                break;
            }
            let taken = waits.len().min(*takes.next().unwrap());
            data += upload.took(taken) as u64;
            wire.extend(waits.drain(..taken));
            if upload.makes_again(waits.len()) {
                waits.clear();
            }
        }
        assert!(upload.note_sent() && upload.is_sent() && !upload.note_sent());
        assert_eq!(upload.taken(), data);
        (wire, data)
    }

    proptest! {
        #[test]
        fn every_byte_goes_out_once_however_the_kernel_takes_them(
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
    fn a_body_waits_for_the_server_and_stops_with_its_answer() {
        let body = BodyPlan::of_bytes(Arc::from(*b"body"));
        let (targets, mut key) = (Targets::default(), String::new());
        let mut maker =
            Maker { body: &body, targets: &targets, subject: Subject::Target(0), key: &mut key, own: &[], slice: None };
        let mut upload = Upload::new(4, Frame::Length, Some(Instant::ZERO));
        assert!(upload.is_under_way() && !upload.next_piece(&mut maker, &mut Vec::new()).unwrap());
        upload.release();
        assert!(upload.next_piece(&mut maker, &mut Vec::new()).unwrap());
        upload.stop();
        assert!(!upload.is_under_way() && !upload.is_sent() && !upload.note_sent());
    }
}
