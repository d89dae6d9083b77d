//! How connections are opened, and how far they reach.

use crate::tls::TlsPlan;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;
use wire::url::Origin;

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

/// Which origin serves an object that several of them have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// The one that its URL names; for a dataset, the first.
    #[default]
    Own,
    /// Each in turn.
    RoundRobin,
    /// One at random, uniformly.
    Random,
    /// The one with the fewest operations in flight, of the thread that asks.
    LeastLoaded,
}

/// HTTP/2: asked for by ALPN inside TLS, where a server may choose HTTP/1.1 instead, and known beforehand elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Plan {
    /// Streams on a connection at once, as far as the server allows.
    pub streams: NonZeroU32,
}

/// Connections.
#[derive(Clone, Debug)]
pub struct ConnectionPlan {
    /// Which origin serves an object that several of them have.
    pub spread: Spread,
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
    /// HTTP/2, when it is wanted.
    pub http2: Option<Http2Plan>,
    /// How TLS is spoken, where a URL or a redirect asks for it.
    pub tls: Arc<TlsPlan>,
    /// `SO_RCVLOWAT` for large bodies: fewer wake-ups, but acknowledgements go out later.
    pub receive_low_water: Option<usize>,
}
