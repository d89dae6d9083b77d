//! The socket that the h2 library believes to have: two buffers in memory.
//!
//! The library is polled by hand after bytes have been put in or taken out, so that nobody waits for the pipe and it keeps
//! no waker. What the library may write ahead is limited: when that much waits for the real socket, it is told to wait, and
//! then stops reading as well.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// From so many bytes on that wait to be sent, the library has to wait. One write may go beyond it, by a few frames.
pub(super) const OUTPUT_MAX: usize = 256 * 1024;
/// Bytes by which an answer in another protocol is told from HTTP/2.
const BEGIN_BYTES: usize = 5;
/// What stands before a frame's payload; it begins with the payload's length, in three bytes.
const FRAME_HEAD_BYTES: u64 = 9;

/// Both directions.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// What came from the peer and is not read yet.
    input: Vec<u8>,
    read: usize,
    /// What came behind it, in a buffer that is lent, and how much of it is not read yet.
    lent: Box<[u8]>,
    lent_left: Range<usize>,
    ended: bool,
    /// What is to be sent.
    output: Vec<u8>,
    sent: usize,
    /// The library was told to wait since it was asked last.
    blocked: bool,
    /// The first bytes that came.
    begin: Vec<u8>,
    /// All bytes that came.
    received: u64,
}

impl Pipe {
    pub fn put(&mut self, bytes: &[u8]) {
        self.note(bytes);
        self.keep(bytes);
    }

    /// Puts in the first `bytes` bytes of a buffer without copying them, until [`Self::take_back`].
    pub fn lend(&mut self, buffer: Box<[u8]>, bytes: usize) {
        self.note(&buffer[..bytes]);
        (self.lent, self.lent_left) = (buffer, 0..bytes);
    }

    /// Gives back the buffer that was lent. What was not read of it is kept.
    pub fn take_back(&mut self) -> Box<[u8]> {
        let (buffer, left) = (std::mem::take(&mut self.lent), std::mem::take(&mut self.lent_left));
        if !left.is_empty() {
            self.keep(&buffer[left]);
        }
        buffer
    }

    /// Counts what came.
    fn note(&mut self, bytes: &[u8]) {
        if self.begin.len() < BEGIN_BYTES {
            let more = (BEGIN_BYTES - self.begin.len()).min(bytes.len());
            self.begin.extend_from_slice(&bytes[..more]);
        }
        self.received += bytes.len() as u64;
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.read == self.input.len() {
            self.input.clear();
            self.read = 0;
        }
        self.input.extend_from_slice(bytes);
    }

    /// Nothing more comes.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Whether the first frame has come whole, which is that with the peer's settings.
    pub fn has_first_frame(&self) -> bool {
        let [high, middle, low, ..] = self.begin[..] else { return false };
        self.received >= FRAME_HEAD_BYTES + u64::from(u32::from_be_bytes([0, high, middle, low]))
    }

    pub fn begin(&self) -> &[u8] {
        &self.begin
    }

    /// Whether bytes wait to be read.
    pub fn has_input(&self) -> bool {
        self.read < self.input.len() || !self.lent_left.is_empty()
    }

    /// Moves the next bytes that wait into `room`.
    fn read_into(&mut self, room: &mut ReadBuf<'_>) {
        let bytes = room.remaining().min(self.input.len() - self.read);
        room.put_slice(&self.input[self.read..self.read + bytes]);
        self.read += bytes;
        let start = self.lent_left.start;
        let bytes = room.remaining().min(self.lent_left.len());
        room.put_slice(&self.lent[start..start + bytes]);
        self.lent_left.start += bytes;
    }

    /// Whether the library has more to write than it could.
    pub fn take_blocked(&mut self) -> bool {
        std::mem::take(&mut self.blocked)
    }

    pub fn output(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// Notes that the first `bytes` bytes of the output are on their way.
    pub fn taken(&mut self, bytes: usize) {
        self.sent = (self.sent + bytes).min(self.output.len());
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
        }
    }
}

/// The library's end.
#[derive(Clone, Debug, Default)]
pub(super) struct PipeEnd(pub Rc<RefCell<Pipe>>);

impl AsyncRead for PipeEnd {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, room: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut pipe = self.0.borrow_mut();
        if !pipe.has_input() {
            return if pipe.ended { Poll::Ready(Ok(())) } else { Poll::Pending };
        }
        pipe.read_into(room);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for PipeEnd {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut pipe = self.0.borrow_mut();
        if pipe.output().len() >= OUTPUT_MAX {
            pipe.blocked = true;
            return Poll::Pending;
        }
        pipe.output.extend_from_slice(bytes);
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
