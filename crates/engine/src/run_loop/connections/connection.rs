//! Connections, and the streams of multiplexed connections.

use super::transport::Transport;
use crate::http2_session::Key;
use crate::network::{Address, Token};
use crate::run_loop::attempt::exchange::{Exchange, State};
use crate::run_loop::http2::multiplexed::Multiplexed;
use crate::run_loop::response::reader::Reader;
use measure::Instant;

/// A connection with a socket.
#[derive(Debug)]
pub(in crate::run_loop) struct Connection<S> {
    pub transport: Transport<S>,
    /// Exchange on the connection. If the connection is multiplexed, the exchanges are on its streams instead.
    pub exchange: Exchange,
    pub opened: Instant,
    /// Time at which the connection was established, before the TLS handshake.
    pub connected: Instant,
    /// Low-water mark of the socket.
    pub low_water: usize,
    /// `true` if the connection is in `Pool::unfinished`, because more bytes may have to be read.
    pub queued: bool,
    /// `true` if this connection's streams are included in the origin's forecast of streams.
    pub forecast: bool,
    /// The HTTP/2 side of a multiplexed connection.
    pub http2: Option<Box<Multiplexed>>,
}

/// Place for a stream on a multiplexed connection. The place is either idle or has an exchange.
#[derive(Debug)]
pub(in crate::run_loop) struct Stream {
    pub connection: Token,
    /// Open stream in the HTTP/2 session.
    pub key: Option<Key>,
    pub exchange: Exchange,
}

impl<S> Connection<S> {
    /// Returns a connection that is being opened for the attempt of `slot`.
    pub fn opening(socket: S, origin: usize, address: Address, slot: u32, opened: Instant) -> Self {
        Self {
            transport: Transport::plain(socket),
            exchange: Exchange::opening(Reader::http1(), origin, address, slot),
            opened,
            connected: opened,
            low_water: 1,
            queued: false,
            forecast: false,
            http2: None,
        }
    }

    /// Returns a free stream for this connection, whose token is `connection`.
    pub fn idle_stream(&self, connection: Token) -> Stream {
        let (origin, address) = (self.exchange.origin, self.exchange.address.clone());
        let exchange = Exchange { state: State::Idle, ..Exchange::opening(Reader::http2(), origin, address, 0) };
        Stream { connection, key: None, exchange }
    }
}
