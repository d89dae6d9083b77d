//! Two buffers in memory. The buffers replace the socket that the h2 library reads from and writes to.
//!
//! The library is polled by hand after bytes have been added or removed, so the pipe needs no waker. The output buffer
//! is limited. While this buffer is full, the library's writes are pending until the real socket has accepted bytes.
//! During that time, the library also stops reading.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Limit for waiting output bytes. While this limit is reached, further writes are pending. The write that reaches the
/// limit may exceed it by a few frames.
pub(super) const OUTPUT_MAX: usize = 256 * 1024;
/// Number of bytes that are kept from the start of the peer's data, to recognize a response in another protocol.
const BEGIN_BYTES: usize = 5;
/// Size of a frame's header, which begins with the length of the payload in three bytes.
const FRAME_HEAD_BYTES: u64 = 9;

/// Buffers of both directions.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    /// Bytes from the peer. The library has already read the first `read` bytes.
    input: Vec<u8>,
    read: usize,
    /// Buffer that is lent to the pipe. The library reads the bytes of this buffer after the bytes of `input`.
    lent: Box<[u8]>,
    lent_left: Range<usize>,
    ended: bool,
    /// Bytes to be sent. The first `sent` bytes have already been removed.
    output: Vec<u8>,
    sent: usize,
    /// `true` if a write has been pending since the last call of [`Self::take_blocked`].
    blocked: bool,
    /// The first bytes from the peer.
    begin: Vec<u8>,
    /// Total number of bytes received from the peer.
    received: u64,
}

impl Pipe {
    /// Adds bytes from the peer.
    pub fn put(&mut self, bytes: &[u8]) {
        self.count(bytes);
        self.keep(bytes);
    }

    /// Adds the first `bytes` bytes of a buffer, without copying them. [`Self::take_back`] must be called afterwards.
    pub fn lend(&mut self, buffer: Box<[u8]>, bytes: usize) {
        self.count(&buffer[..bytes]);
        (self.lent, self.lent_left) = (buffer, 0..bytes);
    }

    /// Returns the buffer that was lent. The pipe keeps a copy of the unread bytes.
    pub fn take_back(&mut self) -> Box<[u8]> {
        let (buffer, left) = (std::mem::take(&mut self.lent), std::mem::take(&mut self.lent_left));
        if !left.is_empty() {
            self.keep(&buffer[left]);
        }
        buffer
    }

    /// Counts received bytes.
    fn count(&mut self, bytes: &[u8]) {
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

    /// Records that the peer has ended its stream.
    pub fn end(&mut self) {
        self.ended = true;
    }

    /// Returns whether the first frame, which contains the peer's settings, has arrived completely.
    pub fn has_first_frame(&self) -> bool {
        let [high, middle, low, ..] = self.begin[..] else { return false };
        self.received >= FRAME_HEAD_BYTES + u64::from(u32::from_be_bytes([0, high, middle, low]))
    }

    /// Returns the first bytes from the peer.
    pub fn begin(&self) -> &[u8] {
        &self.begin
    }

    /// Returns whether bytes wait to be read.
    pub fn has_input(&self) -> bool {
        self.read < self.input.len() || !self.lent_left.is_empty()
    }

    /// Reads the next bytes into `room`.
    fn read_into(&mut self, room: &mut ReadBuf<'_>) {
        let bytes = room.remaining().min(self.input.len() - self.read);
        room.put_slice(&self.input[self.read..self.read + bytes]);
        self.read += bytes;
        let start = self.lent_left.start;
        let bytes = room.remaining().min(self.lent_left.len());
        room.put_slice(&self.lent[start..start + bytes]);
        self.lent_left.start += bytes;
    }

    /// Returns whether a write of the library was pending since the last call.
    pub fn take_blocked(&mut self) -> bool {
        std::mem::take(&mut self.blocked)
    }

    /// Returns the bytes to be sent.
    pub fn output(&self) -> &[u8] {
        &self.output[self.sent..]
    }

    /// Removes the first `bytes` bytes of the output, which have been sent.
    pub fn taken(&mut self, bytes: usize) {
        self.sent = (self.sent + bytes).min(self.output.len());
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
        }
    }
}

/// The library's end of the pipe.
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
