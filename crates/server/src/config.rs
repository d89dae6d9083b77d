//! What a server is to do: addresses, limits, and the faults that are planted in it.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

use crate::stand_in::StandIn;

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

/// Faults that every request meets. Those of a query (see the crate's documentation) come on top.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Time before an answer begins.
    pub delay: Delay,
    /// A time in which the whole server stands still.
    pub stall: Option<Stall>,
    /// Body bytes per second that each answer gets.
    pub rate: Option<NonZeroU64>,
    /// Requests after which a connection is closed; the last answer says so.
    pub close_after: Option<NonZeroU64>,
    /// A limit beyond which the server becomes slow.
    pub capacity: Option<Capacity>,
    /// Each so-many-th request of the whole server is answered with 500 (S3: 503 `SlowDown`), and not carried out.
    pub error_every: Option<NonZeroU64>,
    /// Bodies that break off.
    pub truncate: Option<Truncate>,
    /// Bodies with one wrong byte.
    pub flip: Option<Flip>,
    /// S3 only: each so-many-th object that is stored is acknowledged, and then lost.
    pub lose_every: Option<NonZeroU64>,
}

/// Each `every`-th body with content (of the whole server, not those of failures) breaks off after `after` bytes: the
/// connection is closed, or the HTTP/2 stream reset. A body that is no longer than that stays whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncate {
    /// 1 cuts all of them.
    pub every: NonZeroU64,
    /// Body bytes that are sent.
    pub after: u64,
}

/// Each `every`-th body with content (of the whole server, not those of failures) has one wrong byte, all its bits turned
/// over. Lengths, heads and checksums stay those of the right content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flip {
    /// 1 spoils all of them.
    pub every: NonZeroU64,
    /// Which byte of the body; the last one of a shorter body.
    pub at: u64,
}

/// Time before an answer begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delay {
    /// None.
    #[default]
    None,
    /// Always the same.
    Constant(Duration),
    /// Mostly `fast`, but `slow` for each `every`-th request of the whole server.
    Bimodal {
        /// The usual delay.
        fast: Duration,
        /// The other one.
        slow: Duration,
        /// 1 makes all of them slow.
        every: NonZeroU64,
    },
}

/// A time in which no thread reads, accepts, sends or fires a timer, as if the process had been stopped by SIGSTOP. The
/// kernel goes on acknowledging.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// What `at` counts from.
    pub from: StallFrom,
    /// When it begins.
    pub at: Duration,
    /// How long it lasts.
    pub length: Duration,
}

/// The origin of a stall's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallFrom {
    /// The start of the server.
    Start,
    /// The first request that any thread has read.
    FirstRequest,
}

/// A planted cliff: as long as no more than `concurrency` requests are in service at once, nothing happens; a request
/// that finds `n` more than that (itself included) begins `n × slowdown` later, and may be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// Requests in service that cost nothing.
    pub concurrency: u64,
    /// What each one above adds.
    pub slowdown: Duration,
    /// Which requests count.
    pub counted: Counted,
    /// Which of those above are refused after their delay, with the overload answer of the [`StandIn`].
    pub refused: Refused,
}

impl Capacity {
    /// A capacity for requests of all kinds, of which none is refused.
    #[must_use]
    pub fn slowing(concurrency: u64, slowdown: Duration) -> Self {
        Self { concurrency, slowdown, counted: Counted::All, refused: Refused::None }
    }
}

/// Which requests a [`Capacity`] counts and slows down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// Each one.
    All,
    /// Those with a `Range`.
    Ranges,
}

/// Which of the requests above a [`Capacity`] are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refused {
    /// None.
    None,
    /// A share that grows with the load: of requests that find `n` above a capacity of `c`, about `n / (n + 2c)`.
    Share,
    /// All of them.
    All,
}
