//! What a server is to do: addresses, limits, and the faults that are planted in it.

pub(crate) mod faults;
pub(crate) mod stand_in;

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use faults::Faults;
use stand_in::StandIn;

/// Everything about a [`crate::Server`]. The default listens on a free port of the loopback address, serves only
/// `/blackhole/…`, and has no faults.
#[derive(Debug, Clone)]
pub struct Config {
    /// TCP addresses to listen on; port 0 is any free one.
    pub listen: Vec<SocketAddr>,
    /// Unix sockets to listen on. The paths must not exist; they are removed at the end.
    pub unix: Vec<PathBuf>,
    /// Threads; without a number, one for each core this process may use.
    pub threads: Option<NonZeroUsize>,
    /// The directory whose files are served; without one, there are none.
    pub directory: Option<PathBuf>,
    /// Connections open at once; those beyond are closed as soon as they are accepted, and counted as refused.
    pub connections_max: NonZeroUsize,
    /// How long a request's head may take from its first byte.
    pub head_timeout: Duration,
    /// How long a connection may stand without a byte moving (a delayed answer does not count as such).
    pub idle_timeout: Duration,
    /// How long answers in flight may go on when the server stops.
    pub drain: Duration,
    /// Faults on every request.
    pub faults: Faults,
    /// Whose documented behaviour is played.
    pub stand_in: StandIn,
    /// How many requests are kept one by one in the ledger; without a number, none.
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
