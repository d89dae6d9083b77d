//! Configuration of a server: addresses, limits, faults.

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
    /// TCP addresses to listen on; port 0 is any free one.
    pub listen: Vec<SocketAddr>,
    /// Unix sockets to listen on. The paths must not exist; the server removes them when it stops.
    pub unix: Vec<PathBuf>,
    /// The number of threads; `None` for one per core that this process may use.
    pub threads: Option<NonZeroUsize>,
    /// The directory whose files are served; `None` for no files.
    pub directory: Option<PathBuf>,
    /// The most open connections. Further ones are closed as soon as they are accepted, and counted as refused.
    pub connections_max: NonZeroUsize,
    /// The longest time from the first byte of a request's head to its end.
    pub head_timeout: Duration,
    /// The longest time in which no byte moves on a connection. A delayed response does not count as idle.
    pub idle_timeout: Duration,
    /// The longest time that responses in flight may take when the server stops.
    pub drain: Duration,
    /// Faults of every request.
    pub faults: Faults,
    /// The system whose documented behavior the server imitates.
    pub stand_in: StandIn,
    /// How many requests the ledger records one by one; `None` for no log.
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
