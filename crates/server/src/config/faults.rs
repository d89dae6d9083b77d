//! Faults that a server injects.

use std::num::NonZeroU64;
use std::time::Duration;

/// Faults that apply to every request. Those of a query (see the crate's documentation) come on top.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Time before a response begins.
    pub delay: Delay,
    /// A period in which the whole server stalls.
    pub stall: Option<Stall>,
    /// Body bytes per second of each response.
    pub rate: Option<NonZeroU64>,
    /// Requests after which a connection is closed; the last response carries `Connection: close`.
    pub close_after: Option<NonZeroU64>,
    /// A limit beyond which the server slows down.
    pub capacity: Option<Capacity>,
    /// Every n-th request of the whole server gets 500 (S3: 503 `SlowDown`) and is not carried out.
    pub error_every: Option<NonZeroU64>,
    /// Bodies that break off.
    pub truncate: Option<Truncate>,
    /// Bodies with one wrong byte.
    pub flip: Option<Flip>,
    /// S3 only: every n-th stored object is acknowledged and then lost.
    pub lose_every: Option<NonZeroU64>,
}

/// Every n-th body with content breaks off after `after` bytes: the connection closes, or the HTTP/2 stream is reset.
/// The count covers the whole server, without bodies of failures. A body that is no longer than `after` stays whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncate {
    /// The n of every n-th body; 1 cuts all of them.
    pub every: NonZeroU64,
    /// Body bytes that are sent before it breaks off.
    pub after: u64,
}

/// Every n-th body with content has one wrong byte, with all its bits inverted. The count covers the whole server,
/// without bodies of failures. Lengths, heads and checksums stay those of the right content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flip {
    /// The n of every n-th body; 1 corrupts all of them.
    pub every: NonZeroU64,
    /// Offset of the wrong byte; in a shorter body, the last byte is wrong.
    pub at: u64,
}

/// Time before a response begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Delay {
    /// No delay.
    #[default]
    None,
    /// The same delay for every request.
    Constant(Duration),
    /// `fast` for most requests, `slow` for every n-th request of the whole server.
    Bimodal {
        /// The usual delay.
        fast: Duration,
        /// The delay of every n-th request.
        slow: Duration,
        /// The n of every n-th request; 1 makes all of them slow.
        every: NonZeroU64,
    },
}

/// A period in which no thread reads, accepts, sends or fires a timer, as if SIGSTOP had stopped the process. The
/// kernel still acknowledges what it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// The origin of `at`.
    pub from: StallFrom,
    /// When the stall begins.
    pub at: Duration,
    /// How long the stall lasts.
    pub length: Duration,
}

/// The origin of a stall's begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallFrom {
    /// The start of the server.
    Start,
    /// The first request that any thread reads.
    FirstRequest,
}

/// A capacity limit. Up to `concurrency` requests in service nothing happens. A request that finds `n` more than that
/// (itself included) begins `n × slowdown` later, and may be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The number of requests in service that causes no slowdown.
    pub concurrency: u64,
    /// The delay per request above `concurrency`.
    pub slowdown: Duration,
    /// The requests that count.
    pub counted: CountedRequests,
    /// The requests that are refused after their delay, with the overload response of the [`StandIn`](crate::StandIn).
    pub refused: RefusedRequests,
}

impl Capacity {
    /// Makes a capacity that slows down requests of all kinds and refuses none.
    #[must_use]
    pub fn slowing(concurrency: u64, slowdown: Duration) -> Self {
        Self { concurrency, slowdown, counted: CountedRequests::All, refused: RefusedRequests::None }
    }
}

/// The requests that a [`Capacity`] counts and slows down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedRequests {
    /// All requests.
    All,
    /// Requests with a `Range`.
    Ranges,
}

/// The requests above a [`Capacity`] that are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedRequests {
    /// No request.
    None,
    /// A share that grows with the load: about `n / (n + 2c)` of the requests that find `n` above a capacity of `c`.
    Share,
    /// All requests above the capacity.
    All,
}
