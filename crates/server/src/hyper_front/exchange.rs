//! One request and its response: injected faults, accounting, and common headers.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::{self, HeaderValue};
use hyper::{Request, Response, StatusCode};

use super::account::{Account, Replied};
use super::context::ConnectionContext;
use super::request_body::RequestBody;
use super::response_body::ResponseBody;
use super::service::{Admission, ServiceBody, ServiceResponse};
use crate::pace::Pace;
use crate::response::SERVER;

/// Responds to one request.
pub(super) async fn exchange(context: Arc<ConnectionContext>, request: Request<Incoming>) -> Response<ServiceBody> {
    let injector = &context.shared.faults;
    context.shared.sleep_through_stall();
    injector.note_request_read(sys::clock::monotonic());
    let _in_service = context.begin_request();
    let (head, incoming) = request.into_parts();
    let version = head.version;
    let mut account = Account::open(&context.shared, &context.counters, &head);
    let request_faults = injector.next_request(head.headers.contains_key(header::RANGE));
    account.hold(request_faults.in_service);
    let body = RequestBody::new(incoming, Arc::clone(&context.counters), account.received());
    let admission = match (request_faults.refused, request_faults.error) {
        (true, _) => Admission::Overloaded,
        (false, true) => Admission::InjectedError,
        (false, false) => Admission::Admitted,
    };
    let responded = context.service.respond(Request::from_parts(head, body), admission).await;
    let Ok(ServiceResponse { mut response, delay, body_faults, chunked, close, range, operation }) = responded else {
        return response_to_nobody();
    };
    let (status, length) = (response.status().as_u16(), response.body().size_hint().exact());
    account.replied(Replied { status, range, operation, body_faults, length });
    let delay = request_faults.delay.saturating_add(delay);
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    if close {
        context.close();
    }
    if context.is_closing() && version < hyper::Version::HTTP_2 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response.headers_mut().entry(header::SERVER).or_insert(HeaderValue::from_static(SERVER));
    let pace = context.shared.limits.rate.map(|rate| Pace::new(rate, sys::clock::monotonic()));
    response.map(|inner| -> ServiceBody { Box::pin(ResponseBody::new(inner, account, body_faults, chunked, pace)) })
}

/// Returns a response to a request that broke off. Nobody receives it, but hyper requires one.
fn response_to_nobody() -> Response<ServiceBody> {
    let mut response: Response<ServiceBody> = Response::new(Box::pin(EmptyBody));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

/// A body without any bytes.
struct EmptyBody;

impl Body for EmptyBody {
    type Data = Bytes;
    type Error = std::io::Error;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(0)
    }
}
