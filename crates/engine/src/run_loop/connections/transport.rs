//! The socket of a connection, with or without TLS.
//!
//! For a plain connection, TLS support costs only one check per call. The TLS state is behind a pointer, because most
//! runs do not use TLS.

use crate::network::Network;
use crate::tls::{Session, Wire};
use std::io;

/// A socket, and its TLS session, if there is one.
#[derive(Debug)]
pub(in crate::run_loop) struct Transport<S> {
    socket: S,
    tls: Option<Box<Session>>,
}

/// The result of a read.
pub(in crate::run_loop) enum Received {
    Bytes(usize),
    Nothing,
    End,
    Broken(io::Error),
}

impl From<io::Result<usize>> for Received {
    #[inline]
    fn from(result: io::Result<usize>) -> Self {
        match result {
            Ok(0) => Self::End,
            Ok(bytes) => Self::Bytes(bytes),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Self::Nothing
            }
            Err(error) => Self::Broken(error),
        }
    }
}

impl<S> Transport<S> {
    /// Returns a plain connection.
    pub fn plain(socket: S) -> Self {
        Self { socket, tls: None }
    }

    /// Adds a TLS session to the socket.
    pub fn set_tls(&mut self, session: Box<Session>) {
        self.tls = Some(session);
    }

    /// Removes and returns the TLS session, so that the session's plaintext can be read while the connection is
    /// borrowed. The caller must then put it back with [`Self::set_tls`].
    #[inline]
    pub fn take_tls(&mut self) -> Option<Box<Session>> {
        self.tls.take()
    }

    /// Returns whether TLS is used.
    #[inline]
    pub fn is_tls(&self) -> bool {
        self.tls.is_some()
    }

    /// Returns the session, when there is one.
    #[inline]
    pub fn tls(&self) -> Option<&Session> {
        self.tls.as_deref()
    }

    /// Returns the session, when there is one.
    #[inline]
    pub fn tls_mut(&mut self) -> Option<&mut Session> {
        self.tls.as_deref_mut()
    }

    /// Returns whether the kernel has accepted all bytes that TLS has encrypted.
    #[inline]
    pub fn is_flushed(&self) -> bool {
        self.tls().is_none_or(|session| !session.wants_write())
    }

    /// Returns the number of received bytes that are not counted yet. After this call, these bytes are considered
    /// counted.
    #[inline]
    pub fn take_unattributed(&mut self) -> u64 {
        self.tls_mut().map_or(0, Session::take_unattributed)
    }

    /// Returns the socket.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// Returns the socket, so that it can be closed.
    pub fn into_socket(self) -> S {
        self.socket
    }

    /// Returns whether a connection that was being opened is established.
    pub fn connected<N: Network<Socket = S>>(&mut self, net: &mut N) -> io::Result<()> {
        net.connected(&mut self.socket)
    }

    /// Receives the bytes that have arrived, without decrypting them.
    #[inline]
    pub fn recv<N: Network<Socket = S>>(&mut self, net: &mut N, room: &mut [u8]) -> Received {
        net.recv(&mut self.socket, room).into()
    }

    /// Discards up to `most` of the bytes that have arrived.
    #[inline]
    pub fn discard<N: Network<Socket = S>>(&mut self, net: &mut N, most: usize) -> Received {
        net.discard(&mut self.socket, most).into()
    }

    /// Sets the number of bytes that must have arrived before the kernel reports the socket as readable.
    pub fn set_low_water<N: Network<Socket = S>>(&self, net: &mut N, bytes: usize) {
        net.set_low_water(&self.socket, bytes);
    }

    /// Sends as many of `bytes` as are accepted. TLS may accept bytes that the kernel does not accept yet. The next
    /// call, or [`Self::flush`], sends these bytes.
    ///
    /// # Errors
    /// Fails with `WouldBlock` if nothing is accepted.
    #[inline]
    pub fn send<N: Network<Socket = S>>(&mut self, net: &mut N, bytes: &[u8]) -> io::Result<Wire> {
        let Self { socket, tls } = self;
        match tls {
            None => net.send(socket, bytes).map(|sent| Wire { taken: sent, sent }),
            Some(session) => session.send(bytes, |bytes| net.send(socket, bytes)),
        }
    }

    /// Sends bytes that TLS has accepted but the kernel has not yet accepted. Returns the number of bytes sent.
    #[inline]
    pub fn flush<N: Network<Socket = S>>(&mut self, net: &mut N) -> io::Result<usize> {
        let Self { socket, tls } = self;
        tls.as_mut().map_or(Ok(0), |session| session.flush(|bytes| net.send(socket, bytes)))
    }

    /// Announces to the server that nothing more will be sent, as TLS requires. Returns the number of bytes sent.
    #[inline]
    pub fn send_close<N: Network<Socket = S>>(&mut self, net: &mut N) -> usize {
        let Self { socket, tls } = self;
        tls.as_mut().map_or(0, |session| {
            session.close();
            session.flush(|bytes| net.send(socket, bytes)).unwrap_or(0)
        })
    }
}
