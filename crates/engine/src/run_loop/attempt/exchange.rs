//! One request and its response. An exchange has the same form for both versions of HTTP.

use crate::network::{Address, Token};
use crate::run_loop::request::upload::Upload;
use crate::run_loop::response::reader::Reader;
use measure::Instant;

/// The connection or stream on which an attempt runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run_loop) enum ExchangeId {
    /// A connection with one request at a time. The connection uses HTTP/1, or its version is not known yet.
    Connection(Token),
    /// A stream of a multiplexed connection (HTTP/2).
    Stream(Token),
}

/// Invariant that debug builds check for a running attempt that has an exchange.
pub(in crate::run_loop) const EXCHANGE_EXISTS: &str = "the exchange of a running attempt exists";

/// State of a connection or stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::run_loop) enum State {
    /// The connection is being opened.
    Opening,
    /// The connection is established and runs the TLS handshake.
    Handshaking,
    /// The connection is multiplexed, so exchanges run on its streams.
    Multiplexed,
    /// A request or its response is in progress.
    Active,
    /// The connection or stream is free for the next attempt.
    Idle,
}

/// A request and its response on a connection or stream, from the choice of the connection to the end of the response.
#[derive(Debug)]
pub(in crate::run_loop) struct Exchange {
    pub state: State,
    /// Slot of the attempt that uses this exchange. An idle exchange ignores this value.
    pub slot: u32,
    pub origin: usize,
    /// Address to which the connection was opened.
    pub address: Address,
    pub reader: Reader,
    /// Body of the request; `None` if the request has no body.
    pub upload: Option<Box<Upload>>,
    /// Bytes of the request that the kernel has not accepted yet, from its head and from one piece of its body. On a
    /// stream, this buffer is always empty, because the session of the connection keeps such bytes.
    pub unsent: Vec<u8>,
    /// Time at which the current phase times out.
    pub deadline: Instant,
    /// Position of the request among the requests on its connection, counted from 1. A position above 1 means that the
    /// connection was used before.
    pub requests: u64,
    /// Intended start of the last operation whose response left the connection open. `None` once the client knows
    /// whether the server kept the connection open.
    pub kept_for: Option<Instant>,
    /// `true` if the connection must not be used for further requests, because the peer closed its side, or because the
    /// connection is broken or being retired.
    pub closing: bool,
    /// `true` if the body that is being read is checked or kept, and `false` if it is discarded.
    pub body_is_read: bool,
    /// `true` if the last body was large. The next head is then read separately from its body, so that little of the
    /// body is copied.
    pub large_bodies: bool,
}

impl Exchange {
    /// Returns the exchange of a connection that is being opened for the attempt of `slot`.
    pub fn opening(reader: Reader, origin: usize, address: Address, slot: u32) -> Self {
        Self {
            state: State::Opening,
            slot,
            origin,
            address,
            reader,
            upload: None,
            unsent: Vec::new(),
            deadline: Instant::NEVER,
            requests: 0,
            kept_for: None,
            closing: false,
            body_is_read: false,
            large_bodies: false,
        }
    }

    /// Returns whether the body of the request has been sent. A request without a body counts as sent.
    pub fn body_is_sent(&self) -> bool {
        self.upload.as_ref().is_none_or(|upload| upload.is_sent())
    }
}
