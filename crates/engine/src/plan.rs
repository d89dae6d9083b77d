//! What a run is to do: resolved, and valid by construction.
//!
//! A plan holds no text that is still to be parsed and no setting that only counts when another one is on. Whoever
//! makes one (the command line today, scenarios as well) has dealt with every mistake a user can make.

use crate::schedule::{Profile, Spacing};
use crate::tls::TlsPlan;
use measure::{OpKind, Timeline};
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use wire::header::Header;
use wire::message::Version;
use wire::range::ByteRange;
use wire::url::{Origin, Url};

/// What is asked for: URLs, kept compactly, since a list can hold millions.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    origins: Vec<Origin>,
    items: Vec<Item>,
}

/// One URL of a list.
#[derive(Clone, Debug)]
pub struct Item {
    /// Index into [`Targets::origins`].
    pub origin: u32,
    /// Path and query.
    pub target: Box<str>,
    /// Size of the object, when known.
    pub size: Option<u64>,
}

/// Different origins that a list of URLs may have.
pub const ORIGINS_MAX: usize = 4096;

impl Targets {
    /// Adds a URL; `false` when there are too many different origins.
    #[must_use]
    pub fn push(&mut self, url: &Url) -> bool {
        // Lists are mostly sorted by origin: the last one is the likeliest.
        let known = self.origins.iter().rposition(|origin| origin == url.origin());
        if known.is_none() && self.origins.len() >= ORIGINS_MAX {
            return false;
        }
        let origin = known.unwrap_or_else(|| {
            self.origins.push(url.origin().clone());
            self.origins.len() - 1
        });
        self.items.push(Item { origin: origin as u32, target: url.target().into(), size: None });
        true
    }

    /// The URLs.
    #[must_use]
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// The URLs, for filling in sizes.
    pub fn items_mut(&mut self) -> &mut [Item] {
        &mut self.items
    }

    pub(crate) fn replace_items(&mut self, items: Vec<Item>) {
        self.items = items;
    }

    /// The different origins.
    #[must_use]
    pub fn origins(&self) -> &[Origin] {
        &self.origins
    }
}

/// Which URL the n-th operation asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// In turn.
    RoundRobin,
    /// At random, uniformly.
    Random,
}

/// Which slice of the object an operation asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RangeChoice {
    /// The same slice each time.
    Fixed(ByteRange),
    /// A slice of that length, uniformly among all that lie in the object; the whole object when it is not longer.
    Random {
        /// Length of the slice in bytes.
        length: NonZeroU64,
    },
}

/// What every request of the run has in common.
#[derive(Clone, Debug)]
pub struct RequestPlan {
    /// The method, as sent.
    pub method: Box<str>,
    /// What the operations are called in the figures.
    pub kind: OpKind,
    /// HTTP version of the request line.
    pub version: Version,
    /// Whether connections are to be used again.
    pub keep_alive: bool,
    /// Header fields besides Host and Connection.
    pub headers: Vec<Header>,
    /// The body.
    pub body: Option<Arc<[u8]>>,
    /// The slice asked for.
    pub range: Option<RangeChoice>,
}

impl RequestPlan {
    /// Whether sending it twice is the same as sending it once (RFC 9110 §9.2.2).
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        matches!(self.method.as_ref(), "GET" | "HEAD" | "PUT" | "DELETE" | "OPTIONS" | "TRACE")
    }
}

/// How load is offered.
#[derive(Clone, Debug)]
pub enum LoadModel {
    /// Each of N slots starts an operation when its last one ended.
    Closed {
        /// Slots in use over time.
        slots: Profile,
        /// Pause of a slot between two operations.
        think: Duration,
    },
    /// Arrivals follow a schedule.
    Open {
        /// Operations per second over time.
        rate: Profile,
        /// How arrivals are spaced.
        spacing: Spacing,
        /// Operations in flight at most.
        in_flight_max: NonZeroU64,
    },
}

impl LoadModel {
    /// The most operations that can be in flight.
    #[must_use]
    pub fn in_flight_max(&self) -> u64 {
        match self {
            Self::Closed { slots, .. } => (slots.peak().ceil() as u64).max(1),
            Self::Open { in_flight_max, .. } => in_flight_max.get(),
        }
    }

    /// The model as the figures are judged by it.
    #[must_use]
    pub fn model(&self) -> measure::Model {
        match self {
            Self::Closed { .. } => measure::Model::Closed { concurrency: self.in_flight_max() },
            Self::Open { in_flight_max, .. } => measure::Model::Open { in_flight_max: in_flight_max.get() },
        }
    }
}

/// When enough is measured; the first that is reached ends the window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StopAfter {
    /// After so long.
    pub time: Option<Duration>,
    /// After so many operations.
    pub ops: Option<NonZeroU64>,
    /// After so many operations of each slot (closed model).
    pub ops_per_slot: Option<NonZeroU64>,
    /// After so many body bytes.
    pub bytes: Option<NonZeroU64>,
}

/// How long each phase of an attempt may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Opening a connection.
    pub connect: Duration,
    /// From sending the request to the end of the head: absolute, not anew for every byte.
    pub head: Duration,
    /// Between two arrivals of body bytes.
    pub idle: Duration,
    /// The whole attempt, when bounded.
    pub total: Option<Duration>,
}

impl Default for Timeouts {
    /// The values of docs/measurement.md.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            head: Duration::from_secs(30),
            idle: Duration::from_secs(30),
            total: None,
        }
    }
}

/// What an answer is checked for.
#[derive(Clone, Debug, Default)]
pub struct Checks {
    /// Status codes that are a success; empty: any 2xx (206 for ranges).
    pub statuses: Vec<u16>,
    /// Size of the body in bytes.
    pub size: Option<u64>,
    /// Header fields that must be there with that value.
    pub headers: Vec<Header>,
    /// Whether an encoded body was asked for.
    pub encoding_asked: bool,
}

/// How connections reach an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// To the origin's own addresses.
    Direct,
    /// Through a proxy for plain HTTP.
    Proxy {
        /// The proxy.
        origin: Origin,
        /// Value of `Proxy-Authorization`.
        authorization: Option<Box<str>>,
    },
    /// To a unix socket, whatever the URL's host.
    Unix(PathBuf),
}

/// An origin whose connections go elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectTo {
    /// Host of the URL; `None` for any.
    pub host: Option<String>,
    /// Port of the URL; `None` for any.
    pub port: Option<u16>,
    /// The host to connect to instead.
    pub to_host: String,
    /// The port to connect to instead; `None` keeps it.
    pub to_port: Option<u16>,
}

/// Connections.
#[derive(Clone, Debug)]
pub struct ConnectionPlan {
    /// How they reach an origin.
    pub route: Route,
    /// Origins whose connections go elsewhere; the first that fits counts.
    pub connect_to: Vec<ConnectTo>,
    /// Addresses known before the run.
    pub known: HashMap<(String, u16), Arc<[SocketAddr]>>,
    /// Local addresses that they are opened from, in turn.
    pub from: Arc<[IpAddr]>,
    /// Requests after which a connection is closed.
    pub requests_max: Option<NonZeroU64>,
    /// Connections that a thread may have open, free ones included.
    pub open_max: usize,
    /// How TLS is spoken, where a URL or a redirect asks for it.
    pub tls: Arc<TlsPlan>,
    /// `SO_RCVLOWAT` for large bodies: fewer wake-ups, but acknowledgements go out later.
    pub receive_low_water: Option<usize>,
}

/// Redirects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Follow {
    /// A 3xx is a failure.
    Never,
    /// Up to so many hops for an operation, past the traps that are allowed.
    UpTo(u8, Traps),
}

impl Follow {
    /// Up to so many hops, and into no trap.
    #[must_use]
    pub fn up_to(hops: u8) -> Self {
        Self::UpTo(hops, Traps::default())
    }
}

/// Redirects by which a server leads a client to where it would not go by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traps {
    /// From https to http: what was encrypted no longer is.
    pub downgrade: Trap,
    /// From a public address to one that is not: the client is made to reach into its own network.
    pub private: Trap,
}

/// What is done about a trap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Trap {
    /// The redirect is not followed: `redirect_denied`.
    #[default]
    Refused,
    /// The user has said that it may be followed.
    Allowed,
}

/// A run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What is asked for.
    pub targets: Arc<Targets>,
    /// Which URL comes when.
    pub choice: Choice,
    /// The requests.
    pub request: RequestPlan,
    /// The load.
    pub load: LoadModel,
    /// When enough is measured.
    pub stop: StopAfter,
    /// Load before the window.
    pub warmup: Duration,
    /// How long operations in flight may go on after the window.
    pub drain: Duration,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Checks of the answers.
    pub checks: Checks,
    /// Redirects.
    pub follow: Follow,
    /// Connections.
    pub connections: ConnectionPlan,
    /// Threads.
    pub threads: u32,
    /// Seed of all random choices.
    pub seed: u64,
    /// Response header that figures are broken down by.
    pub group_by: Option<Box<str>>,
    /// Whether every operation is reported on its own.
    pub log_ops: bool,
}

impl Plan {
    /// The stages of the run, counted from `start`.
    #[must_use]
    pub fn timeline(&self, start: measure::Instant) -> Timeline {
        Timeline::new(start, self.warmup, self.stop.time)
    }

    /// Threads that have something to do: no more than operations can be in flight.
    #[must_use]
    pub fn threads_used(&self) -> u32 {
        u32::try_from(self.load.in_flight_max()).unwrap_or(u32::MAX).min(self.threads.max(1))
    }
}
