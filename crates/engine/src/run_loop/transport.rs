//! What a connection speaks on its socket: HTTP itself, or TLS with HTTP inside.
//!
//! A plain connection costs one look at this enumeration for each call; what TLS needs is behind a pointer, since most
//! runs have none of it.

use crate::network::Network;
use crate::tls::{Session, Wire};
use std::io;

/// What is spoken on the socket.
#[derive(Debug)]
pub(super) enum Transport {
    Plain,
    Tls(Box<Session>),
}

impl Transport {
    /// Takes the session out, to be put back with [`Transport::put_back`]: what it decrypts is read while the connection is
    /// looked at.
    #[inline]
    pub fn take(&mut self) -> Option<Box<Session>> {
        match std::mem::replace(self, Self::Plain) {
            Self::Plain => None,
            Self::Tls(session) => Some(session),
        }
    }

    #[inline]
    pub fn put_back(&mut self, session: Box<Session>) {
        *self = Self::Tls(session);
    }

    #[inline]
    pub fn is_tls(&self) -> bool {
        matches!(self, Self::Tls(_))
    }

    /// The session, when there is one.
    pub fn session(&self) -> Option<&Session> {
        match self {
            Self::Plain => None,
            Self::Tls(session) => Some(session),
        }
    }

    /// Whether everything that was taken is on its way.
    #[inline]
    pub fn is_flushed(&self) -> bool {
        match self {
            Self::Plain => true,
            Self::Tls(session) => !session.wants_write(),
        }
    }

    /// Bytes that were received and not counted yet; none are left.
    #[inline]
    pub fn settle_all(&mut self) -> u64 {
        match self {
            Self::Plain => 0,
            Self::Tls(session) => session.settle_all(),
        }
    }

    /// Sends as much of `bytes` as fits. `WouldBlock` when nothing does. What TLS has taken and the kernel has not goes out
    /// with the next call, or with [`Self::flush`].
    #[inline]
    pub fn send<N: Network>(&mut self, net: &mut N, socket: &mut N::Socket, bytes: &[u8]) -> io::Result<Wire> {
        match self {
            Self::Plain => net.send(socket, bytes).map(|sent| Wire { taken: sent, sent }),
            Self::Tls(session) => session.send(bytes, |bytes| net.send(socket, bytes)),
        }
    }

    /// Sends what TLS has taken and the kernel has not. How many bytes went out.
    #[inline]
    pub fn flush<N: Network>(&mut self, net: &mut N, socket: &mut N::Socket) -> io::Result<usize> {
        match self {
            Self::Plain => Ok(0),
            Self::Tls(session) => session.flush(|bytes| net.send(socket, bytes)),
        }
    }

    /// Tells the server that nothing more will be sent, as TLS demands. How many bytes went out.
    #[inline]
    pub fn say_goodbye<N: Network>(&mut self, net: &mut N, socket: &mut N::Socket) -> usize {
        match self {
            Self::Plain => 0,
            Self::Tls(session) => {
                session.say_goodbye();
                session.flush(|bytes| net.send(socket, bytes)).unwrap_or(0)
            }
        }
    }
}
