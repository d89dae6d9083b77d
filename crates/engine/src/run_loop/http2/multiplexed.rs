//! The HTTP/2 side of a connection.

use crate::http2_session::{Key, Session};
use crate::network::Token;
use crate::unattributed::Unattributed;
use http::Request;
use measure::{AttemptClass, Cause, Instant};

/// State of a multiplexed connection.
///
/// Invariants: `streams` contains the tokens of all streams of the connection in the pool. `active` is the number of
/// the connection's streams that have an exchange. While the connection is retiring, no stream is idle. The end of the
/// last stream then closes the connection.
#[derive(Debug)]
pub(in crate::run_loop) struct Multiplexed {
    pub session: Session,
    /// Received bytes that are not counted yet.
    pub unattributed: Unattributed,
    pub streams: Vec<Token>,
    pub active: usize,
    /// `true` if no more requests are sent on the connection.
    pub retiring: bool,
    /// Number of requests sent.
    pub requests: u64,
    /// Number of complete responses.
    pub responses: u64,
    /// Streams whose requests the kernel has not accepted yet.
    pub unsent: Vec<Token>,
    /// Time at which the last bytes were received.
    pub last_received: Instant,
    /// Reason why the connection was lost, if no frame gave a reason.
    pub lost: Option<Lost>,
    /// `true` if the connection is in `Pool::to_send`, which means that it waits for its turn to send.
    pub queued: bool,
}

/// The reason why a multiplexed connection was lost.
#[derive(Clone, Debug)]
pub(in crate::run_loop) struct Lost {
    pub class: AttemptClass,
    /// Cause of the loss. `None` if each stream has its own cause, which depends on the state of the stream.
    pub cause: Option<Cause>,
    pub detail: String,
}

impl Lost {
    /// Returns the reason for a failed read or write.
    pub fn broken(error: &std::io::Error) -> Self {
        Self { class: AttemptClass::Reset, cause: None, detail: error.to_string() }
    }
}

impl Multiplexed {
    /// Returns a connection without streams.
    pub fn new(session: Session, unattributed: Unattributed, now: Instant) -> Self {
        Self {
            session,
            unattributed,
            streams: Vec::new(),
            active: 0,
            retiring: false,
            requests: 0,
            responses: 0,
            unsent: Vec::new(),
            last_received: now,
            lost: None,
            queued: false,
        }
    }

    /// Opens a stream for the exchange of `stream`. Returns the stream's key and its position, which is the number of
    /// complete responses on the connection plus 1. For the first request of a connection, the position is 1. Returns
    /// `None` if the connection accepts no more requests. Nothing was sent in this case.
    pub fn open(&mut self, stream: Token, request: Request<()>, has_body: bool) -> Option<(Key, u64)> {
        let key = self.session.open(stream, request, has_body)?;
        self.active += 1;
        self.requests += 1;
        self.unsent.push(stream);
        Some((key, self.responses + 1))
    }
}
