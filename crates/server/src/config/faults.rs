//! Faults that a server injects.

use std::num::NonZeroU64;
use std::time::Duration;

/// Faults that apply to every request. A request can select more faults in its query (see the crate's documentation).
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Time before a response begins.
    pub delay: Delay,
    /// A period in which the whole server stalls.
    pub stall: Option<Stall>,
    /// The rate at which each response body is sent, in bytes per second.
    pub rate: Option<NonZeroU64>,
    /// The number of requests after which a connection is closed. The response to the last request has `Connection:
    /// close`.
    pub close_after: Option<NonZeroU64>,
    /// The number of requests in service above which the server slows down.
    pub capacity: Option<Capacity>,
    /// If this is n, the server refuses every n-th request with status 500 (on S3: 503 `SlowDown`), and does not
    /// perform it.
    pub error_every: Option<NonZeroU64>,
    /// Frequency and offset at which response bodies break off.
    pub truncate: Option<Truncate>,
    /// Frequency of response bodies with one wrong byte, and the offset of this byte.
    pub flip: Option<Flip>,
    /// If this is n, the server acknowledges every n-th object but does not store it. S3 only.
    pub lose_every: Option<NonZeroU64>,
}

/// Every n-th body breaks off after `after` bytes: the connection closes, or the HTTP/2 stream is reset. Bodies of all
/// connections are counted, except empty ones and those of error responses. A body of at most `after` bytes is sent
/// completely.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncate {
    /// The number n; with 1, every body breaks off.
    pub every: NonZeroU64,
    /// Number of body bytes to send before the body breaks off.
    pub after: u64,
}

/// Every n-th body has one wrong byte, with all its bits inverted. Bodies of all connections are counted, except empty
/// ones and those of error responses. The response still has the length, the header fields and the checksums of the
/// correct content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flip {
    /// The number n; with 1, every body has a wrong byte.
    pub every: NonZeroU64,
    /// Offset of the wrong byte. If the body is too short to have a byte at this offset, its last byte is wrong.
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
    /// The delay `slow` for every n-th request to the server, counted over all connections, and the delay `fast` for
    /// all other requests.
    Bimodal {
        /// The usual delay.
        fast: Duration,
        /// The delay of every n-th request.
        slow: Duration,
        /// The number n; with 1, every request is slow.
        every: NonZeroU64,
    },
}

/// A period in which no thread reads, accepts or sends, and no timer fires, as if SIGSTOP had stopped the process.
/// Meanwhile, the kernel still acknowledges the data that it receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// The event from which the time `at` is counted.
    pub from: StallFrom,
    /// Time from the event `from` to the beginning of the stall.
    pub at: Duration,
    /// The length of the stall.
    pub length: Duration,
}

/// The event to which the beginning of a stall is relative.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StallFrom {
    /// The start of the server.
    Start,
    /// The first request that a thread of the server reads.
    FirstRequest,
}

/// A capacity limit. Up to `concurrency` requests at the same time are served at full speed. Further requests are
/// slowed down: if a request raises the number in service to `concurrency + n`, it is delayed by `n × slowdown`, and
/// may be refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    /// The highest number of requests in service without a slowdown.
    pub concurrency: u64,
    /// The delay for each request in service above `concurrency`.
    pub slowdown: Duration,
    /// The requests that are counted and slowed down.
    pub counted: CountedRequests,
    /// The requests that are refused after their delay. These requests get the overload response of the
    /// [`StandIn`](crate::StandIn).
    pub refused: RefusedRequests,
}

impl Capacity {
    /// Creates a capacity that slows down requests of all kinds and refuses none.
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

/// The requests to refuse while a [`Capacity`] is exceeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusedRequests {
    /// No request.
    None,
    /// A share of the requests above the capacity, which grows with the load. For a capacity of `c`, and `c + n`
    /// requests in service, the share is about `n / (n + 2c)`.
    Share,
    /// Every request above the capacity.
    All,
}
