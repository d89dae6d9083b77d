//! Content that is generated or fetched while it is sent, piece by piece. Its total length may be unknown beforehand.

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
    /// Appends the next piece of content: about `room` bytes, and never more than twice as many.
    ///
    /// # Errors
    /// The rest of the content cannot be produced, so the response must break off.
    fn produce(&mut self, pattern: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced>;

    /// Returns the socket that must become readable before there is more content.
    fn waits_for(&self) -> Option<&Socket> {
        None
    }

    /// Returns the connection from which the content was fetched, and its server, if it can be reused. It must be
    /// called after the end of the content.
    fn into_connection(self: Box<Self>) -> Option<(SocketAddr, Socket)> {
        None
    }
}
