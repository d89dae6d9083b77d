//! Responses in the format of renterd's HTTP library, jape: JSON indented by two spaces, and failures as a line of
//! text.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

use crate::hyper_front::service::{ServiceBody, ServiceResponse};

/// A complete body in memory.
struct Whole(Option<Bytes>);

impl Body for Whole {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// Creates a response with this body.
pub(super) fn whole(status: u16, body: impl Into<Bytes>) -> Response<ServiceBody> {
    let body = Some(body.into()).filter(|bytes: &Bytes| !bytes.is_empty());
    let mut response: Response<ServiceBody> = Response::new(Box::pin(Whole(body)));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response
}

/// Creates a successful response without a body. `operation` is the name of the call in the ledger.
pub(super) fn empty(operation: &'static str) -> ServiceResponse {
    ServiceResponse { operation: Some(operation.into()), ..ServiceResponse::new(whole(200, Bytes::new())) }
}

/// Creates the response with a document. `operation` is the name of the call in the ledger.
pub(super) fn json(operation: &'static str, document: &impl Serialize) -> ServiceResponse {
    // All keys of the documents are strings, so serialization cannot fail.
    let text = serde_json::to_vec_pretty(document).unwrap_or_default();
    let mut response = whole(200, text);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    ServiceResponse { operation: Some(operation.into()), ..ServiceResponse::new(response) }
}

/// Creates the response with an empty list, which jape writes with a line end.
pub(super) fn empty_list(operation: &'static str) -> ServiceResponse {
    let mut response = whole(200, "[]\n");
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    ServiceResponse { operation: Some(operation.into()), ..ServiceResponse::new(response) }
}

/// Creates the response to a request that failed, in the format of Go's `http.Error`.
pub(super) fn line(status: u16, message: &str) -> ServiceResponse {
    let mut response = whole(status, format!("{message}\n"));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    ServiceResponse { operation: Some("(failed)".into()), ..ServiceResponse::new(response) }
}

/// Creates the response for an unknown path.
pub(super) fn not_found() -> ServiceResponse {
    line(404, "404 page not found")
}

/// Creates the response for a path that does not support the method.
pub(super) fn not_allowed(allowed: &'static str) -> ServiceResponse {
    let mut response = line(405, "Method Not Allowed");
    response.response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allowed));
    response
}
