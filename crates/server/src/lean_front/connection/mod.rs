//! The state machine of one connection, which alternates between requests and responses. The thread calls the state
//! machine when an event occurs that the connection waits for, for example when the socket is ready. The state machine
//! returns the next event to wait for.
//!
//! * [`input`]: reads bytes from the client until a request is complete;
//! * [`output`]: responds to requests, from the decision about the response to its entry in the ledger.

mod input;
mod output;

use std::mem;
use std::net::SocketAddr;
use std::time::Duration;

use sys::{Interest, Socket};
use wire::RequestReader;

use super::context::ThreadContext;
use super::owner_fetch::OwnerFetch;
use super::sender::ResponseSender;
use crate::faults::InService;
use crate::request::fields::RequestFields;
use crate::response::Response;
use crate::shared::Shared;

/// Maximum number of bytes of further requests that are buffered while a response is being sent. More bytes stay in the
/// kernel.
const PENDING_MAX: usize = 64 * 1024;

/// The event that a connection waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// Bytes from the client.
    Read,
    /// Space in the socket's send buffer.
    Write,
    /// A point in time. Until then, the server reads bytes from the client, unless the buffer is full or the client has
    /// ended its stream.
    Later(Duration),
    /// The socket of [`Connection::upstream`] becomes ready. Until then, the server reads bytes from the client as with
    /// `Later`.
    Upstream(Interest),
    /// The same event as before.
    Same,
    /// Nothing: the caller must close the connection.
    Close,
}

#[derive(Debug)]
enum ConnectionState {
    Reading,
    /// The response is delayed.
    Delayed(AfterDelay),
    /// The head of another server's response is being fetched.
    Fetching(Box<OwnerFetch>),
    Sending(ResponseSender),
    /// The server has closed its side of the connection, but the client has not closed its side yet.
    Lingering,
}

/// The action of a connection after a delay.
#[derive(Debug)]
enum AfterDelay {
    Respond(Response),
    Fetch(SocketAddr),
}

/// A connection of a client.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) socket: Socket,
    reader: RequestReader,
    state: ConnectionState,
    /// Bytes received after the current request.
    pending: Vec<u8>,
    /// `true` if the client has finished sending.
    ended: bool,
    requests: u64,
    in_service: Option<InService>,
    fields: RequestFields,
    /// Number of bytes of `100 Continue` sent for the current request.
    interim: u64,
    /// Time at which the first byte of the current head arrived.
    head_began: Option<Duration>,
    /// Time at which a byte was last received or sent.
    active: Duration,
}

impl Connection {
    pub(super) fn new(socket: Socket, now: Duration) -> Self {
        Self {
            socket,
            reader: RequestReader::new(),
            state: ConnectionState::Reading,
            pending: Vec::new(),
            ended: false,
            requests: 0,
            in_service: None,
            fields: RequestFields::default(),
            interim: 0,
            head_began: None,
            active: now,
        }
    }

    /// Returns whether to read bytes from the client while the connection waits for something else.
    pub(super) fn has_room(&self) -> bool {
        !self.ended && self.pending.len() < PENDING_MAX
    }

    /// Returns whether the connection has no request and no part of a request.
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.state, ConnectionState::Reading) && self.reader.head_bytes() == 0
    }

    /// Returns whether a time limit has passed.
    pub(super) fn is_overdue(&self, shared: &Shared, now: Duration) -> bool {
        let head_late = self.head_began.is_some_and(|began| now.saturating_sub(began) > shared.limits.head_timeout);
        let idle = now.saturating_sub(self.active) > shared.limits.idle_timeout;
        match self.state {
            ConnectionState::Reading => head_late || idle,
            ConnectionState::Sending(_) | ConnectionState::Fetching(_) => idle,
            ConnectionState::Delayed(_) | ConnectionState::Lingering => false,
        }
    }

    /// Returns the connection to another server that [`Next::Upstream`] waits for.
    pub(super) fn upstream(&self) -> Option<&Socket> {
        match &self.state {
            ConnectionState::Fetching(fetch) => Some(fetch.socket()),
            ConnectionState::Sending(sender) => sender.upstream(),
            ConnectionState::Reading | ConnectionState::Delayed(_) | ConnectionState::Lingering => None,
        }
    }

    /// Continues after the socket became readable.
    pub(super) fn readable(&mut self, context: &mut ThreadContext) -> Next {
        match self.state {
            ConnectionState::Reading => self.read(context),
            ConnectionState::Delayed(_) | ConnectionState::Fetching(_) | ConnectionState::Sending(_) => {
                self.buffer_input(context)
            }
            ConnectionState::Lingering => self.drop_input(context),
        }
    }

    /// Continues after the socket became writable, the upstream socket became ready, or the awaited time was reached.
    pub(super) fn proceed(&mut self, context: &mut ThreadContext) -> Next {
        let next = match mem::replace(&mut self.state, ConnectionState::Reading) {
            ConnectionState::Delayed(AfterDelay::Respond(response)) => self.start_response(response, context),
            ConnectionState::Delayed(AfterDelay::Fetch(owner)) => self.fetch(owner, context),
            ConnectionState::Fetching(fetch) => self.continue_fetch(fetch, context),
            ConnectionState::Sending(sender) => self.send(sender, context),
            ConnectionState::Lingering => return Next::Close,
            ConnectionState::Reading => return Next::Read,
        };
        next.unwrap_or_else(|| self.read_pending(context))
    }
}
