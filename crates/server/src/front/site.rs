//! The site as a service: the same answers as on the lean front, told in hyper's types.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderMap, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{Request, Response, StatusCode};
use wire::{Method, RangeRequest, RequestHead, Version};

use super::service::{Broken, Meets, Reply, ReplyBody, Replying, RequestBody, Service};
use crate::answer::{self, Answer, Content, Decision, Facts, Framing};
use crate::site::Site;
use crate::source::Produced;
use crate::stand_in::Fields;

/// Content that is read at once.
const PIECE_MAX: u64 = 64 * 1024;

/// Serves blackhole objects and files.
pub(super) struct SiteService {
    site: Arc<Site>,
}

impl SiteService {
    pub(super) fn new(site: Arc<Site>) -> Self {
        Self { site }
    }

    async fn serve(&self, parts: &Parts, body: RequestBody, meets: Meets) -> Result<Reply, Broken> {
        let mut fields = Fields::default();
        let wanted = self.site.stand_in.wanted_fields();
        for (name, value) in &parts.headers {
            fields.note(wanted, name.as_str().as_bytes(), value.as_bytes());
        }
        let most = self.site.stand_in.wanted_body();
        let received = body.read(|piece| fields.note_body(most, piece)).await?;
        Ok(self.decide(&request_head(parts), &Facts { received, fields: &fields }, meets))
    }

    fn decide(&self, head: &RequestHead, facts: &Facts<'_>, meets: Meets) -> Reply {
        let mut decision = answer::decide(&self.site, head, facts);
        if meets != Meets::Nothing {
            decision = decision.refused(&self.site, head, meets == Meets::Overload);
        }
        let (mut answer, delay) = match decision {
            Decision::Answer(answer, delay) => (answer, delay),
            // Only members of a cluster fetch, and this front has none.
            Decision::Fetch(_) => (answer::finish(answer::bad_gateway(), head, false), Duration::ZERO),
        };
        answer.plant(&self.site.planted);
        Reply { delay, ..self.tell(answer) }
    }

    fn tell(&self, answer: Answer) -> Reply {
        let (spoil, range, close) = (answer.spoil, answer.range(), answer.close);
        let chunked = matches!(answer.framing, Framing::Chunked | Framing::UntilClose);
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        write_headers(&answer, response.headers_mut());
        let body = AnswerBody { next: answer.first, left: answer.body_bytes(), answer, site: Arc::clone(&self.site) };
        let response = response.map(|()| -> ReplyBody { Box::pin(body) });
        Reply { spoil, range, chunked, close, ..Reply::new(response) }
    }
}

impl Service for SiteService {
    fn reply(&self, request: Request<RequestBody>, meets: Meets) -> Replying<'_> {
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            self.serve(&parts, body, meets).await
        })
    }
}

/// The head of a request, as the site understands it. What HTTP/2 says in other ways is as in HTTP/1.1.
fn request_head(parts: &Parts) -> RequestHead {
    RequestHead {
        method: Method::from_token(parts.method.as_str()),
        target: parts.uri.to_string().into(),
        version: if parts.version < hyper::Version::HTTP_11 { Version::Http10 } else { Version::Http11 },
        // These are hyper's own business.
        framing: wire::Framing::None,
        keep_alive: true,
        host: host_of(parts),
        range: range_of(&parts.headers),
        expect_continue: false,
    }
}

/// The host that a request names, in HTTP/2 by its authority.
fn host_of(parts: &Parts) -> Option<Box<str>> {
    let named = parts.headers.get(header::HOST).and_then(|host| host.to_str().ok());
    named.or_else(|| parts.uri.authority().map(Authority::as_str)).map(Into::into)
}

/// The `Range` of a request, by the rule of [`RequestHead::range`].
pub(crate) fn range_of(headers: &HeaderMap) -> Option<RangeRequest> {
    let mut ranges = headers.get_all(header::RANGE).iter();
    match (ranges.next(), ranges.next()) {
        (Some(range), None) => RangeRequest::parse(range.as_bytes()),
        _ => None,
    }
}

fn write_headers(answer: &Answer, headers: &mut HeaderMap) {
    if let Some(ranges) = answer.accept_ranges.told() {
        headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static(ranges));
    }
    if let (Framing::Length | Framing::Told, Some(length)) = (answer.framing, answer.length) {
        headers.insert(header::CONTENT_LENGTH, length.into());
    }
    if let Some(allow) = answer.allow {
        headers.insert(header::ALLOW, HeaderValue::from_static(allow));
    }
    // What the lean front would send and these types refuse is left out: there is nothing else that could be sent.
    let range = answer.content_range.as_ref().map(|range| (header::CONTENT_RANGE, range.to_string()));
    let location = answer.location.as_ref().map(|location| (header::LOCATION, location.to_string()));
    let media = answer.media_type().map(|media| (header::CONTENT_TYPE, media.to_owned()));
    for (name, value) in range.into_iter().chain(location).chain(media) {
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(name, value);
        }
    }
    // Connections are hyper's to manage.
    for extra in answer.headers.iter().filter(|header| !header.name.is("connection")) {
        let name = HeaderName::from_bytes(extra.name.as_str().as_bytes());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(extra.value.as_str())) {
            headers.append(name, value);
        }
    }
}

/// The body of an answer. Faults are the front's: the content comes as it is.
struct AnswerBody {
    answer: Answer,
    site: Arc<Site>,
    /// The place in the content from which on it has not been read,
    next: u64,
    /// and so many bytes of it; without a number, those that its source has.
    left: Option<u64>,
}

impl AnswerBody {
    /// The next piece; none at the end.
    fn piece(&mut self) -> io::Result<Option<Bytes>> {
        let room = self.left.unwrap_or(PIECE_MAX).min(PIECE_MAX);
        if room == 0 {
            return Ok(None);
        }
        let mut out = Vec::with_capacity(room as usize);
        let produced = match &mut self.answer.content {
            Content::Source(source) => source.produce(&self.site.pattern, room as usize, &mut out)?,
            content => {
                content.append(&self.site.pattern, self.next, room as usize, &mut out)?;
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
            // What a stand-in makes never has to be waited for.
            (Produced::End, Some(_)) | (Produced::Pending, _) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Body for AnswerBody {
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
