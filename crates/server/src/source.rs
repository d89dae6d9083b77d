//! Content that is made, or fetched, while it is sent: its bytes come in pieces, perhaps of a total that nobody knows
//! beforehand.

use std::fmt::Debug;
use std::io;
use std::net::SocketAddr;

use sys::Socket;

use crate::pattern::Pattern;

/// What a source came to when it was asked for a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Produced {
    /// At least one byte was appended.
    Piece,
    /// Nothing is there at present: [`Source::waits_for`] has a socket that will be readable.
    Pending,
    /// The content is over.
    End,
}

/// Where such content comes from.
pub(crate) trait Source: Debug + Send {
    /// Appends about `room` bytes of content, at most twice as many.
    ///
    /// # Errors
    /// The content cannot go on; the answer breaks off.
    fn produce(&mut self, pattern: &Pattern, room: usize, out: &mut Vec<u8>) -> io::Result<Produced>;

    /// The socket that must become readable before there is more.
    fn waits_for(&self) -> Option<&Socket> {
        None
    }

    /// After the end: a connection to a server that can be used again.
    fn into_connection(self: Box<Self>) -> Option<(SocketAddr, Socket)> {
        None
    }
}
