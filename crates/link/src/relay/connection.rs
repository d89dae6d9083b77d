//! One connection through the relay: two sockets, and the bytes that the relay stores between them.

use measure::time::Instant;
use std::collections::VecDeque;
use std::io;
use sys::Socket;

/// Maximum number of bytes that are due but that the receiver has not accepted. At this number, the relay stops reading
/// from the sender. A receiver that does not read therefore costs this much memory, in addition to the bytes that are
/// not due yet.
const OVERDUE_MAX_BYTES: usize = 256 << 10;

/// Identifier of a connection. The generation distinguishes successive connections in the same place of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub place: u32,
    pub generation: u32,
}

/// Bytes from one read. An empty chunk marks the end of the stream.
#[derive(Debug)]
struct Chunk {
    due: Instant,
    bytes: Vec<u8>,
}

/// One direction of a connection.
#[derive(Debug, Default)]
pub(super) struct Pipe {
    chunks: VecDeque<Chunk>,
    /// Number of bytes of the first chunk that were already sent.
    sent: usize,
    /// `true` if the source may have bytes to read.
    pub readable: bool,
    /// `true` if this pipe is in the queue of its direction.
    pub has_turn: bool,
    /// `true` if the receiver may accept bytes.
    pub writable: bool,
    /// `true` if the end of the stream was read.
    pub ended: bool,
    /// `true` if the end of the stream was passed on.
    pub closed: bool,
    /// Number of bytes that were due when the receiver last refused bytes.
    overdue: usize,
}

impl Pipe {
    /// Returns whether the pipe needs a turn to read.
    pub fn wants_turn(&self) -> bool {
        self.readable && !self.has_turn && !self.ended && self.overdue < OVERDUE_MAX_BYTES
    }

    /// Stores bytes until they are due. An empty chunk marks the end of the stream.
    pub fn store(&mut self, bytes: Vec<u8>, due: Instant) {
        self.ended |= bytes.is_empty();
        self.chunks.push_back(Chunk { due, bytes });
    }

    /// Passes on the bytes that are due. Returns their number.
    pub fn pass_on(&mut self, now: Instant, to: &Socket) -> io::Result<usize> {
        let mut passed = 0;
        while self.writable
            && let Some(chunk) = self.chunks.front().filter(|chunk| chunk.due <= now)
        {
            if chunk.bytes.is_empty() {
                to.shutdown_write()?;
                self.closed = true;
                self.chunks.pop_front();
                continue;
            }
            match to.send(&chunk.bytes[self.sent..]) {
                Ok(sent) => {
                    passed += sent;
                    self.sent += sent;
                    if self.sent == chunk.bytes.len() {
                        self.sent = 0;
                        self.chunks.pop_front();
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => self.writable = false,
                Err(error) => return Err(error),
            }
        }
        self.overdue = self.overdue_bytes(now);
        Ok(passed)
    }

    fn overdue_bytes(&self, now: Instant) -> usize {
        if self.writable {
            return 0;
        }
        let due = self.chunks.iter().take_while(|chunk| chunk.due <= now);
        due.map(|chunk| chunk.bytes.len()).sum::<usize>().saturating_sub(self.sent)
    }

    /// Returns the number of stored bytes.
    pub fn stored_bytes(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.bytes.len()).sum::<usize>().saturating_sub(self.sent)
    }
}

/// A client, the target, and the bytes stored between them.
#[derive(Debug)]
pub(super) struct Connection {
    pub generation: u32,
    pub client: Socket,
    pub target: Socket,
    /// `true` if the connection to the target is established.
    pub connected: bool,
    /// Instant at which the relay begins to read from the client: one round trip after the client has connected.
    pub opens_at: Instant,
    pub down: Pipe,
    pub up: Pipe,
}
