//! One request and its reply: which faults it meets, and how it is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hyper::body::{Body, Incoming};
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode};
use wire::{ByteRange, Method};

use super::body::{RequestBody, Sending};
use super::connection::Link;
use super::service::{Meets, Reply, ReplyBody};
use crate::faults::{InService, Spoil};
use crate::head::SERVER;
use crate::ledger::{Counters, Ended, RequestRecord, Sent, bounded_target};
use crate::pace::Pace;
use crate::site::Site;

/// The books of one request. They are closed when the last byte of its reply is handed over; dropped before that, the
/// reply was aborted, or the request cut when there was none.
pub(crate) struct Account {
    site: Arc<Site>,
    counters: Arc<Counters>,
    /// What the log keeps, if there is one.
    logged: Option<(Method, Box<str>)>,
    received: Arc<AtomicU64>,
    sent: u64,
    replied: Option<Replied>,
    closed: bool,
    /// Kept until the reply has ended.
    service: Option<InService>,
}

struct Replied {
    status: u16,
    range: Option<ByteRange>,
    operation: Option<Box<str>>,
    spoil: Spoil,
    /// Of the whole body, if it is known.
    length: Option<u64>,
}

impl Account {
    fn open(link: &Link, head: &Parts) -> Self {
        let method = Method::from_token(head.method.as_str());
        link.counters.request(&method);
        let logged = link.site.log_left.as_ref().map(|_| {
            let method = match method {
                Method::Other(token) => Method::Other(bounded_target(&token)),
                known => known,
            };
            (method, bounded_target(&head.uri.to_string()))
        });
        Self {
            site: Arc::clone(&link.site),
            counters: Arc::clone(&link.counters),
            logged,
            received: Arc::default(),
            sent: 0,
            replied: None,
            closed: false,
            service: None,
        }
    }

    /// Body bytes of the reply that have been handed over.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    pub(crate) fn hand_over(&mut self, bytes: u64) {
        self.sent += bytes;
    }

    /// The last byte has been handed over.
    pub(crate) fn complete(&mut self) {
        self.close(Ended::Complete);
    }

    fn close(&mut self, ended: Ended) {
        if std::mem::replace(&mut self.closed, true) {
            return;
        }
        self.service = None;
        let Some(Replied { status, range, operation, spoil, length }) = self.replied.take() else {
            self.counters.requests_cut.add(1);
            return;
        };
        self.counters.answer(status, ended, Sent { head: 0, body: self.sent });
        self.site.planted.note_sent(spoil, length, self.sent);
        if let Some(operation) = operation {
            self.counters.operation(operation, status, ended, self.received.load(Ordering::Relaxed), self.sent);
        }
        if let (Some(left), Some((method, target))) = (&self.site.log_left, self.logged.take()) {
            self.counters.record(left, || RequestRecord {
                method,
                target,
                status,
                body_bytes_sent: self.sent,
                range,
                complete: ended == Ended::Complete,
            });
        }
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        self.close(Ended::Aborted);
    }
}

/// Answers one request.
pub(super) async fn exchange(link: Arc<Link>, request: Request<Incoming>) -> Response<ReplyBody> {
    let planted = &link.site.planted;
    link.site.stand_still();
    planted.request_read(sys::clock::monotonic());
    let _busy = link.request_begins();
    let (head, incoming) = request.into_parts();
    let version = head.version;
    let mut account = Account::open(&link, &head);
    let met = planted.meet(head.headers.contains_key(header::RANGE));
    account.service = Some(met.service);
    let body = RequestBody::new(incoming, Arc::clone(&link.counters), Arc::clone(&account.received));
    let meets = match (met.refused, met.error) {
        (true, _) => Meets::Overload,
        (false, true) => Meets::PlantedError,
        (false, false) => Meets::Nothing,
    };
    let replied = link.service.reply(Request::from_parts(head, body), meets).await;
    let Ok(Reply { mut response, delay, spoil, chunked, close, range, operation }) = replied else {
        return broken_off();
    };
    let (status, length) = (response.status().as_u16(), response.body().size_hint().exact());
    account.replied = Some(Replied { status, range, operation, spoil, length });
    let delay = met.delay.saturating_add(delay);
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    if close {
        link.close();
    }
    if link.is_closing() && version < hyper::Version::HTTP_2 {
        response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    }
    response.headers_mut().entry(header::SERVER).or_insert(HeaderValue::from_static(SERVER));
    let pace = link.site.limits.rate.map(|rate| Pace::new(rate, sys::clock::monotonic()));
    response.map(|inner| -> ReplyBody { Box::pin(Sending::new(inner, account, spoil, chunked, pace)) })
}

/// For a client that is gone.
fn broken_off() -> Response<ReplyBody> {
    let mut response: Response<ReplyBody> = Response::new(Box::pin(Nothing));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    response
}

/// A body without a byte.
pub(crate) struct Nothing;

impl Body for Nothing {
    type Data = hyper::body::Bytes;
    type Error = std::io::Error;

    fn poll_frame(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<hyper::body::Frame<Self::Data>, Self::Error>>> {
        std::task::Poll::Ready(None)
    }

    fn is_end_stream(&self) -> bool {
        true
    }

    fn size_hint(&self) -> hyper::body::SizeHint {
        hyper::body::SizeHint::with_exact(0)
    }
}
