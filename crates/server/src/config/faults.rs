//! Faults that a server injects.

use std::num::NonZeroU64;
use std::time::Duration;

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
    pub counted: CountedRequests,
    /// Which of those above are refused after their delay, with the overload answer of the [`StandIn`](crate::StandIn).
    pub refused: RefusedRequests,
}

impl Capacity {
    /// A capacity for requests of all kinds, of which none is refused.
    #[must_use]
    pub fn slowing(concurrency: u64, slowdown: Duration) -> Self {
        Self { concurrency, slowdown, counted: CountedRequests::All, refused: RefusedRequests::None }
    }
}

/// Which requests a [`Capacity`] counts and slows down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedRequests {
    /// Each one.
    All,
    /// Those with a `Range`.
    Ranges,
}

/// Which of the requests above a [`Capacity`] are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedRequests {
    /// None.
    None,
    /// A share that grows with the load: of requests that find `n` above a capacity of `c`, about `n / (n + 2c)`.
    Share,
    /// All of them.
    All,
}
