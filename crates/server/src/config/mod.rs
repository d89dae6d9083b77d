//! Configuration of a server: addresses, limits and faults.

pub(crate) mod faults;
pub(crate) mod sia;
pub(crate) mod stand_in;

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use faults::Faults;
use stand_in::StandIn;

/// The configuration of a [`crate::Server`] or [`crate::HyperServer`]. The default listens on a free port of the
/// loopback address, serves only `/blackhole/…`, and has no faults.
#[derive(Debug, Clone)]
pub struct Config {
    /// TCP addresses to listen on. Port 0 means any free port.
    pub listen: Vec<SocketAddr>,
    /// Unix sockets to listen on. The paths must not exist. The server removes the socket files when it stops.
    pub unix: Vec<PathBuf>,
    /// The number of threads. With `None`, the server starts one thread per core that this process may use.
    pub threads: Option<NonZeroUsize>,
    /// The directory whose files are served; `None` for no files.
    pub directory: Option<PathBuf>,
    /// The maximum number of open connections. The server accepts further connections, closes them immediately, and
    /// counts them as refused.
    pub connections_max: NonZeroUsize,
    /// The maximum time from the first to the last byte of a request head.
    pub head_timeout: Duration,
    /// The maximum time without any byte on a connection. A connection with a delayed response is not idle.
    pub idle_timeout: Duration,
    /// The maximum time that a stopping server waits for responses in flight.
    pub drain: Duration,
    /// Faults that apply to every request.
    pub faults: Faults,
    /// The system whose documented behavior the server imitates.
    pub stand_in: StandIn,
    /// The number of requests that the ledger records individually; `None` for no log.
    pub log_requests: Option<NonZeroUsize>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            listen: vec![(Ipv4Addr::LOCALHOST, 0).into()],
            unix: Vec::new(),
            threads: None,
            directory: None,
            connections_max: NonZeroUsize::new(20_000).unwrap_or(NonZeroUsize::MIN),
            head_timeout: Duration::from_secs(30),
            idle_timeout: Duration::from_secs(60),
            drain: Duration::from_secs(1),
            faults: Faults::default(),
            stand_in: StandIn::default(),
            log_requests: None,
        }
    }
}
