//! What a front asks of that which it serves.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body, Bytes};
use hyper::{Request, Response};
use wire::ByteRange;

use crate::faults::Spoil;

pub(crate) use super::body::{Broken, RequestBody};

/// The body of a reply. Its size hint is exact, unless nobody knows its length.
pub(crate) type ReplyBody = Pin<Box<dyn Body<Data = Bytes, Error = io::Error> + Send>>;

/// A future of a service.
pub(crate) type Replying<'a> = Pin<Box<dyn Future<Output = Result<Reply, Broken>> + Send + 'a>>;

/// Answers requests. What stands between it and the client, faults and counts among it, is the front's.
pub(crate) trait Service: Send + Sync + 'static {
    /// The reply to a request. One that meets a planted error is not carried out, and answered as the service answers
    /// when it cannot.
    fn reply(&self, request: Request<RequestBody>, met: Meets) -> Replying<'_>;
}

/// Whether a request is to be carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meets {
    Nothing,
    PlantedError,
    /// It is refused because there are too many.
    Overload,
}

/// An answer that has been decided on and not been sent.
pub(crate) struct Reply {
    pub(crate) response: Response<ReplyBody>,
    /// How long the request asks it to be delayed.
    pub(crate) delay: Duration,
    /// What is wrong with its body.
    pub(crate) spoil: Spoil,
    /// Whether the length of the body is not told (HTTP/1.1: it comes in chunks).
    pub(crate) chunked: bool,
    /// Whether the connection is closed afterwards.
    pub(crate) close: bool,
    /// The range that a 206 holds.
    pub(crate) range: Option<ByteRange>,
    /// The operation that was asked for, where requests are calls of an interface.
    pub(crate) operation: Option<Box<str>>,
}

impl Reply {
    /// A reply without anything special.
    pub(crate) fn new(response: Response<ReplyBody>) -> Self {
        let (delay, spoil) = (Duration::ZERO, Spoil::default());
        Self { response, delay, spoil, chunked: false, close: false, range: None, operation: None }
    }
}
