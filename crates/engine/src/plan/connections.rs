//! Settings of connections.

use crate::tls::TlsPlan;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;
use wire::url::Origin;

/// Route of connections to an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// Connections lead to the origin's own addresses.
    Direct,
    /// Connections lead through a proxy for plain HTTP.
    Proxy {
        /// The proxy.
        origin: Origin,
        /// Value of `Proxy-Authorization`.
        authorization: Option<Box<str>>,
    },
    /// The connections for all hosts lead to one Unix socket.
    Unix(PathBuf),
}

/// A rule by which the connections for an origin go to another host or port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectTo {
    /// Host of the URL; `None` for any host.
    pub host: Option<String>,
    /// Port of the URL; `None` for any port.
    pub port: Option<u16>,
    /// The host to connect to.
    pub to_host: String,
    /// The port to connect to; `None` keeps the port of the URL.
    pub to_port: Option<u16>,
}

/// Choice of an origin for an object that several origins serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// The origin in the object's URL; for a dataset, the first origin.
    #[default]
    Own,
    /// Each origin in turn.
    RoundRobin,
    /// An origin chosen uniformly at random.
    Random,
    /// The origin with the fewest operations of the same thread in flight.
    LeastLoaded,
}

/// Use of HTTP/2. With TLS, the client offers HTTP/2 by ALPN, and the server may choose HTTP/1.1 instead. Without TLS,
/// the client assumes that the server supports HTTP/2 (prior knowledge).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Plan {
    /// Maximum number of concurrent streams on a connection. The server may allow fewer.
    pub streams: NonZeroU32,
}

/// Settings of connections.
#[derive(Clone, Debug)]
pub struct ConnectionPlan {
    /// Choice of an origin for an object that several origins serve.
    pub spread: Spread,
    /// Route to an origin.
    pub route: Route,
    /// Rules that change the host or port of connections. The first matching rule applies.
    pub connect_to: Vec<ConnectTo>,
    /// Addresses known before the run.
    pub known: HashMap<(String, u16), Arc<[SocketAddr]>>,
    /// Local addresses from which connections are opened, in turn. If the list is empty, the kernel chooses.
    pub from: Arc<[IpAddr]>,
    /// Number of requests after which a connection is closed.
    pub requests_max: Option<NonZeroU64>,
    /// Maximum number of open connections of a thread, including idle connections.
    pub open_max: usize,
    /// Settings of HTTP/2; `None` if HTTP/2 is not used.
    pub http2: Option<Http2Plan>,
    /// TLS settings, for URLs and redirects with https.
    pub tls: Arc<TlsPlan>,
    /// Value of `SO_RCVLOWAT` in bytes for large bodies. A high value saves wake-ups, but delays acknowledgements.
    pub receive_low_water: Option<usize>,
}

impl Default for ConnectionPlan {
    /// Returns settings for direct HTTP/1 connections to the origins. The client opens as many connections as needed,
    /// and keeps them until the server closes them.
    fn default() -> Self {
        Self {
            spread: Spread::default(),
            route: Route::Direct,
            connect_to: Vec::new(),
            known: HashMap::new(),
            from: Arc::from([]),
            requests_max: None,
            open_max: usize::MAX,
            http2: None,
            tls: Arc::default(),
            receive_low_water: None,
        }
    }
}
