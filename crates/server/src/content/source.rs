//! Content that is generated or fetched while it is sent, piece by piece. The total length may be unknown until the
//! end.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

use sys::Socket;

use super::pattern::Pattern;

/// The result of requesting a piece from a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Produced {
    /// A piece: the source appended at least one byte.
    Piece,
    /// The source has no bytes now. More bytes are available when the socket of [`Source::waits_for`] becomes readable.
    Pending,
    /// The content has ended.
    End,
}

/// A source of content.
pub(crate) trait Source: Debug + Send {
    /// Appends the next piece of content: about `room` bytes, and at most twice as many.
    ///
    /// # Errors
    /// Fails if the rest of the content cannot be produced. The response must then break off.
    fn produce(&mut self, pattern: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced>;

    /// Returns the socket that the source waits for. More content is available when this socket becomes readable.
    fn waits_for(&self) -> Option<&Socket> {
        None
    }

    /// Returns the connection from which the content was fetched, and the address of its server. `None` if the
    /// connection cannot be reused. Call this only after the end of the content.
    fn into_connection(self: Box<Self>) -> Option<(SocketAddr, Socket)> {
        None
    }
}
