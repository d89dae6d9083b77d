//! The connections of one thread. This module finds a connection for each attempt, and opens, encrypts and closes
//! connections.

pub(in crate::run_loop) mod addresses;
pub(in crate::run_loop) mod close;
pub(in crate::run_loop) mod connect_budget;
pub(in crate::run_loop) mod connection;
pub(in crate::run_loop) mod find;
pub(in crate::run_loop) mod open;
pub(in crate::run_loop) mod origin;
pub(in crate::run_loop) mod stream_forecast;
pub(in crate::run_loop) mod table;
pub(in crate::run_loop) mod tls;
pub(in crate::run_loop) mod transport;

use super::attempt::exchange::{Exchange, ExchangeId};
use super::http2::multiplexed::Multiplexed;
use super::http2::streams::MULTIPLEXED;
use super::invariant::Invariant;
use crate::network::Token;
use connect_budget::ConnectBudget;
use connection::{Connection, Stream};
use measure::Instant;
use origin::OriginPool;
use rustls::ClientConfig;
use std::sync::Arc;
use table::Table;

/// Connections of one thread.
///
/// Invariants:
///
/// * The exchange of a running attempt exists, and its `slot` is the slot of the attempt.
/// * An idle connection or stream is in the `idle` list of its origin.
/// * `waits.for_connection` is the sum of the lengths of the origins' `waiting` queues.
/// * `queued` is set for the connections in `unfinished`, and `Multiplexed::queued` for the connections in `to_send`.
#[derive(Debug)]
pub(in crate::run_loop) struct Pool<S> {
    pub connections: Table<Connection<S>>,
    /// Streams of multiplexed connections.
    pub streams: Table<Stream>,
    pub origins: Vec<OriginPool>,
    pub budget: ConnectBudget,
    pub waits: Waits,
    /// Connections that may have more bytes than could be read in one turn.
    pub unfinished: Vec<Token>,
    /// Multiplexed connections that have bytes to send.
    pub to_send: Vec<Token>,
    /// No exchange times out before this instant.
    pub next_deadline: Instant,
    /// Number of attempts in a row that got no connection.
    pub failures_in_a_row: u32,
    /// TLS settings of this thread. The settings are created when the first connection needs them.
    pub(super) tls: Option<Arc<ClientConfig>>,
}

/// Attempts that have no connection yet.
#[derive(Debug)]
pub(in crate::run_loop) struct Waits {
    /// Number of attempts that wait for a connection, at all origins.
    pub for_connection: usize,
    /// Slots whose attempt waits for a name lookup.
    pub for_name: Vec<u32>,
    /// Slots whose attempt waits for space in the queue of a listening Unix socket.
    pub for_backlog: Vec<u32>,
    /// Instant at which the slots in `for_backlog` try again.
    pub next_backlog_retry: Instant,
}

impl<S> Pool<S> {
    /// Returns a pool without connections.
    pub fn new(origins: Vec<OriginPool>, start: Instant) -> Self {
        let waits =
            Waits { for_connection: 0, for_name: Vec::new(), for_backlog: Vec::new(), next_backlog_retry: start };
        Self {
            connections: Table::default(),
            streams: Table::default(),
            origins,
            budget: ConnectBudget::new(start),
            waits,
            unfinished: Vec::new(),
            to_send: Vec::new(),
            next_deadline: Instant::NEVER,
            failures_in_a_row: 0,
            tls: None,
        }
    }

    /// Returns an exchange, unless its connection is closed.
    #[inline]
    pub fn exchange(&self, id: ExchangeId) -> Option<&Exchange> {
        match id {
            ExchangeId::Connection(token) => self.connections.get(token).map(|connection| &connection.exchange),
            ExchangeId::Stream(token) => self.streams.get(token).map(|stream| &stream.exchange),
        }
    }

    /// Returns an exchange, unless its connection is closed.
    #[inline]
    pub fn exchange_mut(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        match id {
            ExchangeId::Connection(token) => self.connections.get_mut(token).map(|connection| &mut connection.exchange),
            ExchangeId::Stream(token) => self.streams.get_mut(token).map(|stream| &mut stream.exchange),
        }
    }

    /// Returns the exchange of a running attempt. The exchange must exist.
    #[inline]
    pub fn running(&mut self, id: ExchangeId) -> Option<&mut Exchange> {
        let exchange = self.exchange_mut(id);
        debug_assert!(exchange.is_some(), "the exchange {id:?} of a running attempt does not exist");
        exchange
    }

    /// Returns the exchanges of all connections and streams.
    pub fn exchanges(&self) -> impl Iterator<Item = (ExchangeId, &Exchange)> {
        let connections = self.connections.iter().map(|(token, it)| (ExchangeId::Connection(token), &it.exchange));
        connections.chain(self.streams.iter().map(|(token, it)| (ExchangeId::Stream(token), &it.exchange)))
    }

    /// Returns the HTTP/2 side of a connection, if the connection is open and multiplexed.
    #[inline]
    pub fn multiplexed(&mut self, token: Token) -> Option<&mut Multiplexed> {
        self.connections.get_mut(token)?.http2.as_deref_mut()
    }

    /// Removes and returns the most recently used free connection or stream of an origin.
    #[inline]
    pub fn take_idle(&mut self, origin: usize) -> Option<ExchangeId> {
        while let Some(id) = self.origins[origin].idle.pop() {
            if self.exchange(id).is_some() {
                return Some(id);
            }
        }
        None
    }

    /// Adds a connection or stream to the free connections and streams of its origin.
    #[inline]
    pub fn put_idle(&mut self, id: ExchangeId) {
        let Some(exchange) = self.running(id) else { return };
        let origin = exchange.origin;
        self.origins[origin].idle.push(id);
        // The list of free connections may contain identifiers of connections that the server closed while they were
        // idle. These identifiers are removed when the list has become long.
        if self.origins[origin].idle.len() > 2 * (self.connections.len() + self.streams.len()) + 64 {
            let mut idle = std::mem::take(&mut self.origins[origin].idle);
            idle.retain(|id| self.exchange(*id).is_some());
            self.origins[origin].idle = idle;
        }
    }

    /// Finds the origin with the most free connections. Removes and returns the connection of this origin that has been
    /// free for the longest time.
    pub fn take_stalest(&mut self) -> Option<ExchangeId> {
        let fullest = self.origins.iter_mut().max_by_key(|origin| origin.idle.len())?;
        (!fullest.idle.is_empty()).then(|| fullest.idle.remove(0))
    }

    /// Returns whether the kernel has accepted the whole request of an exchange.
    pub fn request_is_sent(&self, id: ExchangeId) -> bool {
        let flushed = match id {
            ExchangeId::Connection(token) => self.connections.get(token).is_some_and(|it| it.transport.is_flushed()),
            ExchangeId::Stream(_) => true,
        };
        flushed && self.exchange(id).is_some_and(|it| it.unsent.is_empty() && it.body_is_sent())
    }

    /// Returns the TLS session that an exchange uses, when there is one.
    pub fn tls_session(&self, id: ExchangeId) -> Option<&crate::tls::Session> {
        let token = match id {
            ExchangeId::Connection(token) => token,
            ExchangeId::Stream(token) => self.streams.get(token)?.connection,
        };
        self.connections.get(token)?.transport.tls()
    }

    /// Returns and resets the number of received bytes that are not counted yet. Called at the end of the attempt for
    /// which the bytes were received. On a multiplexed connection, the bytes count for the last active attempt.
    pub fn take_unattributed(&mut self, id: ExchangeId) -> u64 {
        match id {
            ExchangeId::Connection(token) => {
                self.connections.existing_mut(token).map_or(0, |connection| connection.transport.take_unattributed())
            }
            ExchangeId::Stream(token) => {
                let stream = self.streams.existing(token);
                let Some(connection) = stream.map(|stream| stream.connection) else { return 0 };
                let http2 = self.multiplexed(connection).assert_some(MULTIPLEXED);
                let last = http2.filter(|http2| http2.active == 1);
                last.map_or(0, |http2| http2.unattributed.take_all())
            }
        }
    }

    /// Adds a connection that is being opened to the forecast of its origin. Further attempts then wait for these
    /// streams.
    pub fn begin_forecast(&mut self, token: Token) {
        let Some(connection) = self.connections.existing_mut(token) else { return };
        if let Some(forecast) = &mut self.origins[connection.exchange.origin].forecast {
            connection.forecast = true;
            forecast.begin();
        }
    }

    /// Removes a connection from the forecast, unless the connection is closed. `streams` is the number of streams of
    /// the connection, if known.
    pub fn end_forecast(&mut self, token: Token, streams: Option<usize>) {
        let Some(connection) = self.connections.get_mut(token) else { return };
        let counted = std::mem::take(&mut connection.forecast);
        if let Some(forecast) = &mut self.origins[connection.exchange.origin].forecast {
            forecast.end(counted, streams);
        }
    }

    /// Records that the server of a connection has chosen HTTP/1.1. Attempts that wait for a stream then need their own
    /// connections.
    pub fn set_single(&mut self, token: Token) {
        self.end_forecast(token, Some(1));
        let Some(connection) = self.connections.existing(token) else { return };
        if let Some(forecast) = &mut self.origins[connection.exchange.origin].forecast {
            forecast.set_single();
        }
    }

    /// Schedules another read of a connection, after the turns of the other connections.
    pub fn read_later(&mut self, token: Token) {
        if let Some(connection) = self.connections.get_mut(token)
            && !std::mem::replace(&mut connection.queued, true)
        {
            self.unfinished.push(token);
        }
    }

    /// Records that a multiplexed connection has bytes to send.
    pub fn send_later(&mut self, token: Token) {
        if let Some(http2) = self.multiplexed(token)
            && !std::mem::replace(&mut http2.queued, true)
        {
            self.to_send.push(token);
        }
    }
}
