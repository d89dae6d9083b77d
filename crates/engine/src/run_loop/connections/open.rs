//! Opening of connections, including name lookups, the choice of an address, and failures.

use super::addresses::AddressLookup;
use super::connection::Connection;
use crate::network::{Address, Connecting, NameError, Network, Token};
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::Reuse;
use crate::run_loop::attempt::exchange::ExchangeId;
use crate::run_loop::attempt::failure_outcomes;
use crate::run_loop::attempt::redirect;
use measure::{AttemptClass, AttemptOutcome, Cause, Flag, Instant, Phase};
use std::io;
use std::time::Duration;
use wire::url::Scheme;

/// Interval between attempts to connect to a listening Unix socket whose queue is full.
const BACKLOG_RETRY_EVERY: Duration = Duration::from_millis(1);

const CONNECT_TIMED_OUT: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::ConnectTimeout, Cause::ConnectTimedOut, Phase::Connect);
const RESOLVER_FAILED: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Dns, Cause::ResolverFailed, Phase::Resolve);
const NAME_NOT_FOUND: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Dns, Cause::NameNotFound, Phase::Resolve);

impl<N: Network> RunLoop<'_, N> {
    /// Opens a connection for the slot's attempt.
    pub(in crate::run_loop) fn open(&mut self, net: &mut N, slot: u32, now: Instant) {
        let Some(op) = self.slots.op_mut(slot) else { return };
        let origin = op.attempt_origin();
        let addresses = &mut self.pool.origins[origin].addresses;
        if op.attempt.addresses_tried == 0 {
            op.attempt.first_address = addresses.rotate();
        }
        let place = op.attempt.first_address.wrapping_add(op.attempt.addresses_tried);
        let address = match addresses.look_up(net, place, now) {
            AddressLookup::Found(address) => address,
            AddressLookup::Pending => return self.pool.waits.for_name.push(slot),
            AddressLookup::Failed(NameError::NotFound) => return self.unreached(net, slot, NAME_NOT_FOUND, now),
            AddressLookup::Failed(NameError::NoAnswer) => return self.unreached(net, slot, RESOLVER_FAILED, now),
        };
        op.attempt.addresses_tried += 1;
        if op.redirect.as_ref().is_some_and(|target| redirect::is_forbidden(target, &address)) {
            self.notes.set_detail(address.to_string().as_bytes());
            self.deny_private_address(net, slot, now);
        } else if matches!(address, Address::Unix(_)) && !self.pool.waits.for_backlog.is_empty() {
            self.wait_for_backlog(slot, now);
        } else {
            self.connect(net, slot, origin, address, now);
        }
    }

    fn connect(&mut self, net: &mut N, slot: u32, origin: usize, address: Address, now: Instant) {
        self.make_room(net);
        let token = self.pool.connections.reserve();
        match net.connect(token, &address) {
            Ok((socket, connecting)) => {
                let Some(op) = self.slots.op_mut(slot) else { return };
                let id = ExchangeId::Connection(token);
                op.attempt.exchange = Some(id);
                let opened = op.attempt.backlog_since.take().unwrap_or(now);
                self.pool.connections.insert(token, Connection::opening(socket, origin, address, slot, opened));
                self.pool.begin_forecast(token);
                self.set_deadline(id, opened + self.plan.timeouts.connect);
                if connecting == Connecting::Done {
                    self.established(net, token, now);
                }
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && matches!(address, Address::Unix(_)) => {
                self.pool.waits.next_backlog_retry = now + BACKLOG_RETRY_EVERY;
                self.wait_for_backlog(slot, now);
            }
            Err(error) => self.connect_failed(net, slot, &error, now),
        }
    }

    /// Makes the slot's attempt wait and try again, because the queue of the listening Unix socket is full.
    fn wait_for_backlog(&mut self, slot: u32, now: Instant) {
        let Some(op) = self.slots.op_mut(slot) else { return };
        op.attempt.addresses_tried -= 1;
        op.attempt.backlog_since.get_or_insert(now);
        self.pool.waits.for_backlog.push(slot);
    }

    /// Tries again to connect to Unix sockets whose queue was full, until the timeout for opening a connection has
    /// passed.
    pub(in crate::run_loop) fn retry_backlogged(&mut self, net: &mut N, now: Instant) {
        if self.pool.waits.for_backlog.is_empty() || now < self.pool.waits.next_backlog_retry {
            return;
        }
        let mut full = false;
        for slot in std::mem::take(&mut self.pool.waits.for_backlog) {
            // The end of the run may have ended the operation.
            let Some(op) = self.slots.find_op(slot) else { continue };
            let since = op.attempt.backlog_since.unwrap_or(now);
            if now.since(since) >= self.plan.timeouts.connect {
                self.unreached(net, slot, CONNECT_TIMED_OUT, now);
            } else if full {
                self.pool.waits.for_backlog.push(slot);
            } else {
                self.open(net, slot, now);
                full = self.pool.waits.for_backlog.last() == Some(&slot);
            }
        }
        self.pool.waits.next_backlog_retry = now + BACKLOG_RETRY_EVERY;
    }

    /// Closes free connections until a file descriptor is available for a new connection.
    fn make_room(&mut self, net: &mut N) {
        while self.pool.connections.len() >= self.plan.connections.open_max {
            match self.pool.take_stalest() {
                None => return,
                Some(ExchangeId::Connection(token)) => self.close(net, token),
                Some(ExchangeId::Stream(token)) => {
                    if let Some(connection) = self.pool.streams.get(token).map(|stream| stream.connection) {
                        self.retire(net, connection);
                    }
                }
            }
        }
    }

    /// Repeats the name lookups for which attempts wait.
    pub(in crate::run_loop) fn retry_names(&mut self, net: &mut N, now: Instant) {
        for slot in std::mem::take(&mut self.pool.waits.for_name) {
            // The end of the run may have ended the operation.
            let Some(op) = self.slots.find_op(slot) else { continue };
            let timeouts = &self.plan.timeouts;
            let most = timeouts.total.map_or(timeouts.connect, |total| total.min(timeouts.connect));
            if now.since(op.attempt.started) >= most {
                self.unreached(net, slot, RESOLVER_FAILED, now);
            } else if self.pool.origins[op.attempt_origin()].stream_is_coming() {
                self.find_connection(net, slot, now);
            } else {
                self.open(net, slot, now);
            }
        }
    }

    /// Handles a connection that was being opened and is now established or has failed. Returns the current instant.
    pub(in crate::run_loop) fn opened(&mut self, net: &mut N, token: Token) -> Instant {
        let now = net.now();
        self.advance_to(net, now);
        let Some(connection) = self.pool.connections.existing_mut(token) else { return now };
        match connection.transport.connected(net) {
            Ok(()) => self.established(net, token, now),
            Err(error) => {
                let slot = connection.exchange.slot;
                self.close(net, token);
                self.connect_failed(net, slot, &error, now);
            }
        }
        now
    }

    /// Begins TLS or HTTP on an established connection.
    fn established(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.pool.connections.existing_mut(token) else { return };
        let nanos = now.nanos_since(connection.opened);
        connection.connected = now;
        if let Some(op) = self.slots.op_mut(connection.exchange.slot) {
            op.connect_nanos = Some(op.connect_nanos.unwrap_or(0) + nanos);
        }
        match self.pool.origins[connection.exchange.origin].origin.scheme {
            Scheme::Http => self.reached(net, token, now),
            Scheme::Https => self.begin_handshake(net, token, now),
        }
    }

    /// Handles a connection that is ready for its first request.
    pub(in crate::run_loop) fn reached(&mut self, net: &mut N, token: Token, now: Instant) {
        let Some(connection) = self.pool.connections.existing(token) else { return };
        let host = self.pool.origins[connection.exchange.origin].label;
        self.recorder.connected(connection.connected.nanos_since(connection.opened), host);
        if let Some(op) = self.slots.op_mut(connection.exchange.slot) {
            op.attempt.opened = true;
        }
        self.pool.failures_in_a_row = 0;
        self.control.note_reached();
        if self.speaks_http2(token) {
            return self.multiplex(net, token, now);
        }
        self.pool.set_single(token);
        self.send_request(net, ExchangeId::Connection(token), now);
    }

    /// Handles a connection that could not be opened. Tries the next address of the host, if there is one.
    pub(in crate::run_loop) fn connect_failed(&mut self, net: &mut N, slot: u32, error: &io::Error, now: Instant) {
        let Some(op) = self.slots.op_mut(slot) else { return };
        op.attempt.exchange = None;
        let outcome = failure_outcomes::of_connect_error(error);
        let own_fault = outcome.class == AttemptClass::ClientResource;
        if !own_fault && op.attempt.addresses_tried < self.pool.origins[op.attempt_origin()].addresses.count() {
            op.attempt.flags.set(Flag::Failover);
            self.recorder.connect_failed();
            self.open(net, slot, now);
        } else {
            self.unreached(net, slot, outcome, now);
        }
    }

    /// Ends an attempt that got no connection.
    pub(in crate::run_loop) fn unreached(&mut self, net: &mut N, slot: u32, outcome: AttemptOutcome, now: Instant) {
        self.recorder.connect_failed();
        self.pool.failures_in_a_row = self.pool.failures_in_a_row.saturating_add(1);
        if self.plan.retry.is_none() {
            self.control.note_unreached(now, outcome);
        }
        self.end_attempt(net, slot, outcome, Reuse::Close, now);
    }
}
