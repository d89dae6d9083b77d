//! The service for blackhole objects, files and stand-ins. Its responses are the same as those of the lean front, but
//! have hyper's types.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, StatusCode};
use wire::RequestHead;

use super::request_body::{Broken, RequestBody};
use super::request_head::request_head;
use super::service::{Admission, ResponseFuture, Service, ServiceBody, ServiceResponse};
use crate::content::Content;
use crate::content::source::Produced;
use crate::decision::{Decision, decide};
use crate::request::RequestFacts;
use crate::request::fields::RequestFields;
use crate::response::{Framing, Response, bad_gateway, set_framing};
use crate::shared::Shared;

/// Maximum number of content bytes read at once.
const PIECE_MAX: u64 = 64 * 1024;

/// The service of [`crate::HyperServer::start`].
pub(super) struct ContentService {
    shared: Arc<Shared>,
}

impl ContentService {
    pub(super) fn new(shared: Arc<Shared>) -> Self {
        Self { shared }
    }

    async fn serve(&self, parts: &Parts, body: RequestBody, admission: Admission) -> Result<ServiceResponse, Broken> {
        let mut fields = RequestFields::default();
        let keep_all = self.shared.stand_in.needs_all_fields();
        for (name, value) in &parts.headers {
            fields.note(keep_all, name.as_str().as_bytes(), value.as_bytes());
        }
        let most = self.shared.stand_in.request_body_max();
        let received = body.read(|piece| fields.note_body(most, piece)).await?;
        Ok(self.decide(&request_head(parts), &RequestFacts { received, fields: &fields }, admission))
    }

    fn decide(&self, head: &RequestHead, facts: &RequestFacts<'_>, admission: Admission) -> ServiceResponse {
        let mut decision = decide(&self.shared, head, facts);
        if admission != Admission::Admitted {
            decision = decision.refuse(&self.shared, head, admission == Admission::Overloaded);
        }
        let (mut response, delay) = match decision {
            Decision::Respond(response, delay) => (response, delay),
            Decision::Fetch(_) => {
                debug_assert!(false, "a hyper server is never part of a cluster, so it cannot fetch from an owner");
                (set_framing(bad_gateway(), head, false), Duration::ZERO)
            }
        };
        response.inject_body_faults(&self.shared.faults);
        ServiceResponse { delay, ..self.to_service_response(response) }
    }

    fn to_service_response(&self, response: Response) -> ServiceResponse {
        let (body_faults, range, close) = (response.body_faults, response.range(), response.close);
        let chunked = matches!(response.framing, Framing::Chunked | Framing::UntilClose);
        let mut message = hyper::Response::new(());
        *message.status_mut() = StatusCode::from_u16(response.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        write_headers(&response, message.headers_mut());
        let (next, left) = (response.first, response.body_length());
        let body = ContentBody { next, left, response, shared: Arc::clone(&self.shared) };
        let message = message.map(|()| -> ServiceBody { Box::pin(body) });
        ServiceResponse { body_faults, range, chunked, close, ..ServiceResponse::new(message) }
    }
}

impl Service for ContentService {
    fn respond(&self, request: Request<RequestBody>, admission: Admission) -> ResponseFuture<'_> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            self.serve(&parts, body, admission).await
        })
    }
}

fn write_headers(response: &Response, headers: &mut HeaderMap) {
    if let Some(ranges) = response.accept_ranges.header_value() {
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static(ranges));
    }
    if let (Framing::Length | Framing::LengthOnly, Some(length)) = (response.framing, response.length) {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    if let Some(allow) = response.allow {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    // The lean front sends these values unchanged. hyper's types reject some of them, so headers with such values are
    // omitted.
    let range = response.content_range.as_ref().map(|range| (header::CONTENT_RANGE, range.to_string()));
    let location = response.location.as_ref().map(|location| (header::LOCATION, location.to_string()));
    let media = response.media_type().map(|media| (header::CONTENT_TYPE, media.to_owned()));
    for (name, value) in range.into_iter().chain(location).chain(media) {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    // `Connection` is left out, because hyper manages the connections and sets this header.
    for extra in response.headers.iter().filter(|header| !header.name.is("connection")) {
        let name = HeaderName::from_bytes(extra.name.as_str().as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(extra.value.as_str())) {
            headers.append(name, value);
        }
    }
}

/// The body of a response, before the front applies body faults to it.
struct ContentBody {
    response: Response,
    shared: Arc<Shared>,
    /// Offset in the content of the next byte to read.
    next: u64,
    /// Bytes left to read; `None` if the length is unknown until the content ends.
    left: Option<u64>,
}

impl ContentBody {
    /// Returns the next piece; `None` at the end.
    fn piece(&mut self) -> io::Result<Option<Bytes>> {
        let room = self.left.unwrap_or(PIECE_MAX).min(PIECE_MAX);
        if room == 0 {
            return Ok(None);
        }
        let mut out = Vec::with_capacity(room as usize);
        let produced = match &mut self.response.content {
            Content::Source(source) => source.produce(&self.shared.pattern, room as usize, &mut out)?,
            content => {
                content.append(&self.shared.pattern, self.next, room as usize, &mut out)?;
                Produced::Piece
            }
        };
        match (produced, &mut self.left) {
            (Produced::Piece, left) => {
                self.next += out.len() as u64;
                if let Some(left) = left {
                    *left = left.saturating_sub(out.len() as u64);
                }
                Ok(Some(out.into()))
            }
            (Produced::End, left @ None) => {
                *left = Some(0);
                Ok(None)
            }
            // The content ended before its declared length. (`Pending` cannot occur, because content on this front
            // never waits.)
            (Produced::End, Some(_)) | (Produced::Pending, _) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Body for ContentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Poll::Ready(self.piece().map(|piece| piece.map(Frame::data)).transpose())
    }

    fn is_end_stream(&self) -> bool {
        self.left == Some(0)
    }

    fn size_hint(&self) -> SizeHint {
        self.left.map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}
