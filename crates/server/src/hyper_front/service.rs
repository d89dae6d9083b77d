//! The interface between the hyper front and the service that creates the responses.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::time::Duration;

use hyper::body::{Body, Bytes};
use hyper::{Request, Response};
use wire::ByteRange;

use super::request_body::{Broken, RequestBody};
use crate::faults::body::BodyFaults;

/// The body of a service's response. If the length of the body is known, the size hint is exact.
pub(crate) type ServiceBody = Pin<Box<dyn Body<Data = Bytes, Error = io::Error> + Send>>;

/// The future of a service's response.
pub(crate) type ResponseFuture<'a> = Pin<Box<dyn Future<Output = Result<ServiceResponse, Broken>> + Send + 'a>>;

/// A service that responds to requests. The front handles everything between the service and the client, including
/// faults and accounting.
pub(crate) trait Service: Send + Sync + 'static {
    /// Returns the response to a request. If the request is not admitted, the service must not carry it out, and
    /// returns an error response in its own format.
    fn respond(&self, request: Request<RequestBody>, admission: Admission) -> ResponseFuture<'_>;
}

/// Decision on whether a request is carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Admitted,
    /// Refused by an injected error.
    InjectedError,
    /// Refused because too many requests are in service.
    Overloaded,
}

/// A response that a service decided on, before it is sent.
pub(crate) struct ServiceResponse {
    pub(crate) response: Response<ServiceBody>,
    /// The delay that the query requests.
    pub(crate) delay: Duration,
    pub(crate) body_faults: BodyFaults,
    /// `true` if hyper must not learn the length of the body, so that it sends chunks in HTTP/1.1.
    pub(crate) chunked: bool,
    /// `true` if the connection is closed after this response.
    pub(crate) close: bool,
    /// The range in the body of a 206.
    pub(crate) range: Option<ByteRange>,
    /// The name of the operation, if requests are API calls.
    pub(crate) operation: Option<Box<str>>,
}

impl ServiceResponse {
    /// Wraps a response without delay and faults.
    pub(crate) fn new(response: Response<ServiceBody>) -> Self {
        let (delay, body_faults) = (Duration::ZERO, BodyFaults::default());
        Self { response, delay, body_faults, chunked: false, close: false, range: None, operation: None }
    }
}
