//! Settings of connections.

use crate::tls::TlsPlan;
use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::sync::Arc;
use wire::url::Origin;

/// The route of connections to an origin.
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

/// A rule that redirects the connections of an origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectTo {
    /// Host of the URL; `None` for any.
    pub host: Option<String>,
    /// Port of the URL; `None` for any.
    pub port: Option<u16>,
    /// The host to connect to.
    pub to_host: String,
    /// The port to connect to; `None` keeps the URL's.
    pub to_port: Option<u16>,
}

/// The choice of the origin for an object that several origins serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spread {
    /// The one in its URL; for a dataset, the first.
    #[default]
    Own,
    /// Each in turn.
    RoundRobin,
    /// One at random, uniformly.
    Random,
    /// The one with the fewest operations of the same thread in flight.
    LeastLoaded,
}

/// HTTP/2: offered by ALPN with TLS, where a server may choose HTTP/1.1 instead, and used with prior knowledge otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Http2Plan {
    /// The most concurrent streams on a connection, as far as the server allows.
    pub streams: NonZeroU32,
}

/// Settings of connections.
#[derive(Clone, Debug)]
pub struct ConnectionPlan {
    /// The choice of the origin for an object that several origins serve.
    pub spread: Spread,
    /// The route to an origin.
    pub route: Route,
    /// Rules that redirect connections. The first that matches applies.
    pub connect_to: Vec<ConnectTo>,
    /// Addresses known before the run.
    pub known: HashMap<(String, u16), Arc<[SocketAddr]>>,
    /// Local addresses from which connections are opened, in turn.
    pub from: Arc<[IpAddr]>,
    /// Requests after which a connection is closed.
    pub requests_max: Option<NonZeroU64>,
    /// The most open connections of a thread, including free ones.
    pub open_max: usize,
    /// HTTP/2, when it is used.
    pub http2: Option<Http2Plan>,
    /// TLS settings, for URLs and redirects with https.
    pub tls: Arc<TlsPlan>,
    /// `SO_RCVLOWAT` for large bodies: fewer wake-ups, but acknowledgements go out later.
    pub receive_low_water: Option<usize>,
}

impl Default for ConnectionPlan {
    /// Connections of HTTP/1 to the origins themselves, as many as are needed, kept as long as the server keeps them.
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
