//! What a connection speaks, and on what: HTTP itself on a socket, TLS with HTTP inside, or a stream of another connection
//! that speaks HTTP/2.
//!
//! A plain connection costs one look at this enumeration for each call; what TLS needs is behind a pointer, since most
//! runs have none of it.

use crate::http2::Key;
use crate::network::{Network, Token};
use crate::tls::{Session, Wire};
use std::io;

/// What is spoken, and on what.
#[derive(Debug)]
pub(in crate::run_loop) enum Transport<S> {
    /// A socket of its own, perhaps with TLS on it.
    Socket { socket: S, tls: Option<Box<Session>> },
    /// A stream of the connection `carrier`; `key` names it while it is open. The calls below do nothing for it: bytes go
    /// the carrier's way.
    Stream { carrier: Token, key: Option<Key> },
}

/// What a stream answers to who takes it for a socket.
fn no_socket<T>() -> io::Result<T> {
    Err(io::ErrorKind::WouldBlock.into())
}

impl<S> Transport<S> {
    /// A plain connection.
    pub fn plain(socket: S) -> Self {
        Self::Socket { socket, tls: None }
    }

    /// From now on TLS is spoken.
    pub fn begin_tls(&mut self, session: Box<Session>) {
        if let Self::Socket { tls, .. } = self {
            *tls = Some(session);
        }
    }

    /// Takes the session out, to be put back with [`Transport::begin_tls`]: what it decrypts is read while the connection
    /// is looked at.
    #[inline]
    pub fn take_tls(&mut self) -> Option<Box<Session>> {
        match self {
            Self::Socket { tls, .. } => tls.take(),
            Self::Stream { .. } => None,
        }
    }

    #[inline]
    pub fn is_tls(&self) -> bool {
        self.tls().is_some()
    }

    /// The session, when there is one.
    #[inline]
    pub fn tls(&self) -> Option<&Session> {
        match self {
            Self::Socket { tls, .. } => tls.as_deref(),
            Self::Stream { .. } => None,
        }
    }

    /// The session, when there is one.
    #[inline]
    pub fn tls_mut(&mut self) -> Option<&mut Session> {
        match self {
            Self::Socket { tls, .. } => tls.as_deref_mut(),
            Self::Stream { .. } => None,
        }
    }

    /// The connection that a stream belongs to.
    #[inline]
    pub fn carrier(&self) -> Option<Token> {
        match self {
            Self::Socket { .. } => None,
            Self::Stream { carrier, .. } => Some(*carrier),
        }
    }

    /// The open stream.
    #[inline]
    pub fn key(&self) -> Option<Key> {
        match self {
            Self::Socket { .. } => None,
            Self::Stream { key, .. } => *key,
        }
    }

    /// Notes which stream is open.
    pub fn set_key(&mut self, opened: Option<Key>) {
        if let Self::Stream { key, .. } = self {
            *key = opened;
        }
    }

    /// Whether everything that was taken is on its way.
    #[inline]
    pub fn is_flushed(&self) -> bool {
        self.tls().is_none_or(|session| !session.wants_write())
    }

    /// Bytes that were received and not counted yet; none are left.
    #[inline]
    pub fn settle_all(&mut self) -> u64 {
        self.tls_mut().map_or(0, Session::settle_all)
    }

    /// The socket, where there is one.
    pub fn socket(&self) -> Option<&S> {
        match self {
            Self::Socket { socket, .. } => Some(socket),
            Self::Stream { .. } => None,
        }
    }

    /// The socket, to be closed.
    pub fn into_socket(self) -> Option<S> {
        match self {
            Self::Socket { socket, .. } => Some(socket),
            Self::Stream { .. } => None,
        }
    }

    /// Asks whether a connection that was being opened is established.
    pub fn connected<N: Network<Socket = S>>(&mut self, net: &mut N) -> io::Result<()> {
        match self {
            Self::Socket { socket, .. } => net.connected(socket),
            Self::Stream { .. } => Ok(()),
        }
    }

    /// Receives what has come, encrypted as it may be.
    #[inline]
    pub fn recv<N: Network<Socket = S>>(&mut self, net: &mut N, room: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Socket { socket, .. } => net.recv(socket, room),
            Self::Stream { .. } => no_socket(),
        }
    }

    /// Drops what has come, up to so many bytes.
    #[inline]
    pub fn discard<N: Network<Socket = S>>(&mut self, net: &mut N, most: usize) -> io::Result<usize> {
        match self {
            Self::Socket { socket, .. } => net.discard(socket, most),
            Self::Stream { .. } => no_socket(),
        }
    }

    /// Asks not to be woken before so many bytes have come.
    pub fn set_low_water<N: Network<Socket = S>>(&self, net: &mut N, bytes: usize) {
        if let Self::Socket { socket, .. } = self {
            net.set_low_water(socket, bytes);
        }
    }

    /// Sends as much of `bytes` as fits. `WouldBlock` when nothing does. What TLS has taken and the kernel has not goes out
    /// with the next call, or with [`Self::flush`].
    #[inline]
    pub fn send<N: Network<Socket = S>>(&mut self, net: &mut N, bytes: &[u8]) -> io::Result<Wire> {
        match self {
            Self::Socket { socket, tls: None } => net.send(socket, bytes).map(|sent| Wire { taken: sent, sent }),
            Self::Socket { socket, tls: Some(session) } => session.send(bytes, |bytes| net.send(socket, bytes)),
            Self::Stream { .. } => no_socket(),
        }
    }

    /// Sends what TLS has taken and the kernel has not. How many bytes went out.
    #[inline]
    pub fn flush<N: Network<Socket = S>>(&mut self, net: &mut N) -> io::Result<usize> {
        match self {
            Self::Socket { socket, tls: Some(session) } => session.flush(|bytes| net.send(socket, bytes)),
            Self::Socket { tls: None, .. } | Self::Stream { .. } => Ok(0),
        }
    }

    /// Tells the server that nothing more will be sent, as TLS demands. How many bytes went out.
    #[inline]
    pub fn say_goodbye<N: Network<Socket = S>>(&mut self, net: &mut N) -> usize {
        match self {
            Self::Socket { socket, tls: Some(session) } => {
                session.say_goodbye();
                session.flush(|bytes| net.send(socket, bytes)).unwrap_or(0)
            }
            Self::Socket { tls: None, .. } | Self::Stream { .. } => 0,
        }
    }
}
