//! The HTTP/2 side of a connection.

use crate::http2::{Key, Session};
use crate::network::Token;
use crate::unattributed::Unattributed;
use http::Request;
use measure::{AttemptClass, Cause, Instant};

/// The state of a multiplexed connection.
///
/// Invariants: `streams` names every stream of the connection in the pool, and `active` of them carry an exchange. While
/// it is retiring, no stream is idle. It is closed when the last one ends.
#[derive(Debug)]
pub(in crate::run_loop) struct Multiplexed {
    pub session: Session,
    /// Received bytes that are not counted yet.
    pub unattributed: Unattributed,
    pub streams: Vec<Token>,
    pub active: usize,
    /// Takes no more requests.
    pub retiring: bool,
    /// Requests sent.
    pub requests: u64,
    /// Complete responses.
    pub responses: u64,
    /// Streams whose requests the kernel does not have yet.
    pub unsent: Vec<Token>,
    /// Time at which bytes came last.
    pub last_received: Instant,
    /// The reason for which the connection was lost, where frames do not show it.
    pub lost: Option<Lost>,
    /// Waits in `Pool::to_send` for its turn.
    pub queued: bool,
}

/// The reason for which a multiplexed connection was lost.
#[derive(Clone, Debug)]
pub(in crate::run_loop) struct Lost {
    pub class: AttemptClass,
    /// `None` when the cause depends on what each stream waits for.
    pub cause: Option<Cause>,
    pub detail: String,
}

impl Lost {
    /// Returns the reason for which a read or write failed.
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

    /// Opens a stream for the exchange of `stream`. Returns its key, and the number of responses that were complete before,
    /// plus one: 1 for the first request of a connection. `None` when the connection takes no more; then nothing was sent.
    pub fn open(&mut self, stream: Token, request: Request<()>, has_body: bool) -> Option<(Key, u64)> {
        let key = self.session.open(stream, request, has_body)?;
        self.active += 1;
        self.requests += 1;
        self.unsent.push(stream);
        Some((key, self.responses + 1))
    }
}
