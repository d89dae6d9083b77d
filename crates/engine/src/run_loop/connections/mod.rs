//! The connections of one thread: a table with stable places, and for each origin the ones that are free.

pub(in crate::run_loop) mod path_samples;
pub(in crate::run_loop) mod tls;
pub(in crate::run_loop) mod transport;

use crate::network::{Address, NameError, Network, Resolution, Token};
use crate::plan::{Plan, Route};
use crate::run_loop::connections::transport::Transport;
use crate::run_loop::http1::encode::Template;
use crate::run_loop::http1::upload::Upload;
use crate::run_loop::http2::connection::{Carrier, Multiplex};
use crate::run_loop::response::reader::Reader;
use measure::Instant;
use measure::sample::LabelId;
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wire::url::Origin;

/// What a connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run_loop) enum State {
    /// Being opened.
    Opening,
    /// Established, and agreeing on TLS.
    Handshaking,
    /// Carries streams, each an entry of its own.
    Carrying,
    /// Carries a request or its answer.
    Active,
    /// Free.
    Idle,
}

/// One connection.
#[derive(Debug)]
pub(in crate::run_loop) struct Connection<S> {
    pub transport: Transport<S>,
    pub state: State,
    pub origin: usize,
    pub address: Address,
    /// The slot whose attempt it carries; meaningless while idle.
    pub slot: u32,
    pub reader: Reader,
    /// Bytes of the request that the kernel did not take yet: of its head, and of one piece of its body.
    pub unsent: Vec<u8>,
    /// The request's body, while it has one to send.
    pub upload: Option<Box<Upload>>,
    /// The peer has closed its side, or the connection is broken: what is still to be read is the last.
    pub closing: bool,
    pub requests: u64,
    /// Intended start of the operation whose response it was left open after, until it is known whether it has stayed so.
    pub kept_for: Option<Instant>,
    pub opened: Instant,
    /// When it was established, without TLS.
    pub connected: Instant,
    /// When the running phase times out.
    pub deadline: Instant,
    /// The body being read is looked at, and not dropped in the kernel.
    pub looked_at: bool,
    /// The last body was large: the next head is read apart from its body.
    pub large_bodies: bool,
    pub low_water: usize,
    /// Waits to be read on.
    pub queued: bool,
    /// The origin expects that it will take several attempts at once.
    pub making: bool,
    /// The session with which it carries streams.
    pub carrier: Option<Box<Carrier>>,
}

impl<S> Connection<S> {
    /// One that is being opened for the attempt of `slot`.
    pub fn new(transport: Transport<S>, origin: usize, address: Address, slot: u32, opened: Instant) -> Self {
        Self {
            transport,
            state: State::Opening,
            origin,
            address,
            slot,
            reader: Reader::http1(),
            unsent: Vec::new(),
            upload: None,
            closing: false,
            requests: 0,
            kept_for: None,
            opened,
            connected: opened,
            deadline: Instant::NEVER,
            looked_at: false,
            large_bodies: false,
            low_water: 1,
            queued: false,
            making: false,
            carrier: None,
        }
    }
}

/// A table of connections. A place is used again, with a higher generation.
#[derive(Debug)]
pub(in crate::run_loop) struct Connections<S> {
    places: Vec<(u32, Option<Connection<S>>)>,
    free: Vec<u32>,
    /// Entries that are no streams.
    sockets: usize,
}

impl<S> Default for Connections<S> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new(), sockets: 0 }
    }
}

impl<S> Connections<S> {
    /// The token for the next connection that is inserted.
    pub fn reserve(&mut self) -> Token {
        let index = self.free.last().copied().unwrap_or_else(|| {
            self.places.push((0, None));
            self.free.push(self.places.len() as u32 - 1);
            self.places.len() as u32 - 1
        });
        Token { index, generation: self.places[index as usize].0 }
    }

    /// Puts a connection into the place that was reserved last.
    pub fn insert(&mut self, token: Token, connection: Connection<S>) {
        let reserved = self.free.pop();
        debug_assert_eq!(reserved, Some(token.index));
        self.sockets += usize::from(connection.transport.carrier().is_none());
        self.places[token.index as usize].1 = Some(connection);
    }

    #[inline]
    pub fn get(&self, token: Token) -> Option<&Connection<S>> {
        self.places.get(token.index as usize).filter(|(generation, _)| *generation == token.generation)?.1.as_ref()
    }

    #[inline]
    pub fn get_mut(&mut self, token: Token) -> Option<&mut Connection<S>> {
        self.places.get_mut(token.index as usize).filter(|(generation, _)| *generation == token.generation)?.1.as_mut()
    }

    /// Takes a connection out; dropping it closes its socket.
    pub fn remove(&mut self, token: Token) -> Option<Connection<S>> {
        let (generation, place) = self.places.get_mut(token.index as usize)?;
        if *generation != token.generation {
            return None;
        }
        let connection = place.take()?;
        self.sockets -= usize::from(connection.transport.carrier().is_none());
        *generation = generation.wrapping_add(1);
        self.free.push(token.index);
        Some(connection)
    }

    pub fn iter(&self) -> impl Iterator<Item = (Token, &Connection<S>)> {
        self.places.iter().enumerate().filter_map(|(index, (generation, place))| {
            Some((Token { index: index as u32, generation: *generation }, place.as_ref()?))
        })
    }

    /// How many sockets are open.
    pub fn sockets(&self) -> usize {
        self.sockets
    }

    /// How many entries there are, streams included.
    fn len(&self) -> usize {
        self.places.len() - self.free.len()
    }
}

/// Where connections for an origin go.
#[derive(Clone, Debug)]
enum Endpoint {
    Name { host: String, port: u16 },
    Unix(PathBuf),
}

/// An origin, as one thread sees it.
#[derive(Debug)]
pub(in crate::run_loop) struct OriginState {
    pub origin: Origin,
    /// One for each request of the mix.
    pub templates: Vec<Template>,
    /// When HTTP/2 is asked for.
    pub http2: Option<Multiplex>,
    /// Operations in flight that were addressed to it.
    pub in_flight: u32,
    pub label: LabelId,
    endpoint: Endpoint,
    addresses: Option<Arc<[SocketAddr]>>,
    looked_up: Instant,
    next_address: usize,
    idle: Vec<Token>,
    /// Slots that wait for a connection, oldest first.
    pub waiting: VecDeque<u32>,
}

/// Leave to open connections in the open model, as a bucket that fills with time.
///
/// Arrivals come whether or not there are connections for them. If each opened its own at once, a target that answers a
/// little late would be flooded with handshakes, which cost it more than requests do, answer later still, and be flooded
/// the more. So each thread opens no more than one in a millisecond once its bucket is empty; what comes meanwhile takes
/// the next connection that is free, and its wait is part of its response time.
#[derive(Debug)]
pub(in crate::run_loop) struct Openings {
    left: u64,
    filled: Instant,
    /// Somebody asked in vain since it was forgotten last.
    wanted: bool,
}

/// The bucket's size, and how often one is added.
const OPENINGS_MAX: u64 = 64;
const OPENING_EVERY: Duration = Duration::from_millis(1);

impl Openings {
    pub fn new(start: Instant) -> Self {
        Self { left: OPENINGS_MAX, filled: start, wanted: false }
    }

    /// Takes leave to open one.
    pub fn take(&mut self, now: Instant) -> bool {
        let every = OPENING_EVERY.as_nanos() as u64;
        let added = now.nanos_since(self.filled) / every;
        if added > 0 {
            self.left = self.left.saturating_add(added).min(OPENINGS_MAX);
            self.filled = self.filled + Duration::from_nanos(added * every);
        }
        let may = self.left > 0;
        self.left -= u64::from(may);
        self.wanted |= !may;
        may
    }

    /// Nobody wants one any more, until somebody asks.
    pub fn forget(&mut self) {
        self.wanted = false;
    }

    /// When there is leave again for somebody who asked in vain.
    pub fn next(&self) -> Instant {
        if self.wanted { self.filled + OPENING_EVERY } else { Instant::NEVER }
    }
}

/// Addresses are asked for again after so long; the resolver keeps the answers.
const LOOK_UP_AGAIN: Duration = Duration::from_secs(1);

/// What a look-up for a new connection came to.
pub(in crate::run_loop) enum Found {
    Address(Address),
    Pending,
    Failed(NameError),
}

impl OriginState {
    /// `trusted` origins are those that the user named: they get credentials.
    pub fn new(plan: &Plan, origin: Origin, trusted: bool, label: LabelId) -> Self {
        let endpoint = endpoint(plan, &origin);
        let known = match &endpoint {
            Endpoint::Name { host, port } => plan.connections.known.get(&(host.clone(), *port)).cloned(),
            Endpoint::Unix(_) => None,
        };
        Self {
            templates: plan
                .mix
                .requests()
                .iter()
                .map(|request| Template::new(plan, request, &origin, trusted))
                .collect(),
            http2: Multiplex::new(plan),
            in_flight: 0,
            origin,
            label,
            endpoint,
            addresses: known,
            looked_up: Instant::ZERO,
            next_address: 0,
            idle: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Takes the next place in the rotation of the host's addresses, so that all of them are used.
    pub fn rotate(&mut self) -> usize {
        self.next_address = self.next_address.wrapping_add(1);
        self.next_address
    }

    /// The address at that place of the rotation.
    pub fn address<N: Network>(&mut self, net: &mut N, place: usize, now: Instant) -> Found {
        let (host, port) = match &self.endpoint {
            Endpoint::Unix(path) => return Found::Address(Address::Unix(path.clone())),
            Endpoint::Name { host, port } => (host, *port),
        };
        if self.addresses.is_none() || now.since(self.looked_up) > LOOK_UP_AGAIN {
            match net.resolve(host, port) {
                Resolution::Found(addresses) => self.addresses = Some(addresses),
                Resolution::Pending if self.addresses.is_none() => return Found::Pending,
                Resolution::Failed(error) if self.addresses.is_none() => return Found::Failed(error),
                // What was known before the run, or from an earlier answer, still serves.
                Resolution::Pending | Resolution::Failed(_) => {}
            }
            self.looked_up = now;
        }
        match self.addresses.as_ref().filter(|addresses| !addresses.is_empty()) {
            Some(addresses) => Found::Address(Address::Tcp(addresses[place % addresses.len()])),
            None => Found::Failed(NameError::NotFound),
        }
    }

    /// How many addresses there are to try.
    pub fn address_count(&self) -> usize {
        self.addresses.as_ref().map_or(1, |addresses| addresses.len())
    }

    /// A free connection, the one used last first.
    #[inline]
    pub fn take_idle<S>(&mut self, connections: &Connections<S>) -> Option<Token> {
        while let Some(token) = self.idle.pop() {
            if connections.get(token).is_some() {
                return Some(token);
            }
        }
        None
    }

    /// Whether a connection on its way will take one attempt more than those that wait.
    pub fn seat_is_coming(&self) -> bool {
        self.http2.as_ref().is_some_and(|http2| http2.coming() > self.waiting.len())
    }

    /// Takes out the free connection that has been free for longest.
    pub fn take_stalest(&mut self) -> Option<Token> {
        (!self.idle.is_empty()).then(|| self.idle.remove(0))
    }

    /// Connections noted as free; some may be closed by now.
    pub fn idle_count(&self) -> usize {
        self.idle.len()
    }

    /// Notes a connection as free.
    #[inline]
    pub fn put_idle<S>(&mut self, token: Token, connections: &Connections<S>) {
        self.idle.push(token);
        // Connections that the server closed while they were idle leave their tokens behind.
        if self.idle.len() > 2 * connections.len() + 64 {
            self.idle.retain(|token| connections.get(*token).is_some());
        }
    }
}

fn endpoint(plan: &Plan, origin: &Origin) -> Endpoint {
    let origin = match &plan.connections.route {
        Route::Unix(path) => return Endpoint::Unix(path.clone()),
        Route::Proxy { origin, .. } => origin,
        Route::Direct => origin,
    };
    let redirected = plan.connections.connect_to.iter().find(|rule| {
        rule.host.as_ref().is_none_or(|host| host.eq_ignore_ascii_case(&origin.host))
            && rule.port.is_none_or(|port| port == origin.port)
    });
    match redirected {
        Some(rule) => Endpoint::Name { host: rule.to_host.clone(), port: rule.to_port.unwrap_or(origin.port) },
        None => Endpoint::Name { host: origin.host.to_string(), port: origin.port },
    }
}

/// The name and port that connections to `origin` go to; `None` for a unix socket.
#[must_use]
pub fn connects_to(plan: &Plan, origin: &Origin) -> Option<(String, u16)> {
    match endpoint(plan, origin) {
        Endpoint::Name { host, port } => Some((host, port)),
        Endpoint::Unix(_) => None,
    }
}
