//! Content that is made or fetched while it is sent, in pieces whose total may be unknown beforehand.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

use sys::Socket;

use super::pattern::Pattern;

/// The outcome of asking a source for a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Produced {
    /// The source appended at least one byte.
    Piece,
    /// The source has nothing now. The socket of [`Source::waits_for`] becomes readable when it has more.
    Pending,
    /// The content has ended.
    End,
}

/// A source of content.
pub(crate) trait Source: Debug + Send {
    /// Appends about `room` bytes of content, at most twice as many.
    ///
    /// # Errors
    /// The content cannot continue; the response breaks off.
    fn produce(&mut self, pattern: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced>;

    /// Returns the socket that must become readable before there is more.
    fn waits_for(&self) -> Option<&Socket> {
        None
    }

    /// Returns, after the end, a connection to a server that can be reused.
    fn into_connection(self: Box<Self>) -> Option<(SocketAddr, Socket)> {
        None
    }
}
