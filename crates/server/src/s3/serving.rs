//! S3 as a service of the second front: signatures checked by `s3s`, planted faults met, each call known by its name.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{self, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Request, StatusCode};
use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{S3Result, s3_error};
use wire::ContentRange;

use super::S3Config;
use super::operations::Operations;
use super::store::Store;
use crate::config::Config;
use crate::front::{Broken, Front, Meets, Reply, ReplyBody, Replying, RequestBody, Service, Tls};
use crate::site::Site;

/// The call whose bodies hold content.
const GET_OBJECT: &str = "GetObject";
/// What a request is called that was refused before it was known which call it is.
const UNKNOWN: &str = "(refused)";

impl Front {
    /// Serves S3, over TLS if that is asked for.
    ///
    /// # Errors
    /// Those of [`Front::start`], and that the store cannot be opened.
    pub fn start_s3(config: &Config, tls: Option<&Tls>, s3: &S3Config) -> io::Result<Self> {
        Self::start_with(config, tls, |site| Ok(Arc::new(Serving::new(site, s3)?)))
    }
}

/// S3 on a front.
struct Serving {
    s3: S3Service,
    site: Arc<Site>,
}

impl Serving {
    fn new(site: &Arc<Site>, config: &S3Config) -> io::Result<Self> {
        let operations = Operations { store: Store::open(config)?, planted: Arc::clone(&site.planted) };
        let mut builder = S3ServiceBuilder::new(operations);
        builder.set_auth(Keys {
            access_key: config.access_key.clone(),
            secret_key: SecretKey::from(config.secret_key.clone()),
        });
        builder.set_access(Gate);
        Ok(Self { s3: builder.build(), site: Arc::clone(site) })
    }

    async fn serve(&self, request: Request<RequestBody>, meets: Meets) -> Result<Reply, Broken> {
        let (mut parts, body) = request.into_parts();
        let waits = waits_for_leave(&parts);
        let call = Arc::new(Call { meets, name: OnceLock::new() });
        parts.extensions.insert(Arc::clone(&call));
        let body = Shared(Arc::new(Mutex::new(Receiving { body, broken: false })));
        let called = self.s3.call(Request::from_parts(parts, s3s::Body::http_body_unsync(body.clone()))).await;
        if !waits {
            // Otherwise an answer that comes before the body would be lost to a reset.
            body.discard().await;
        }
        if body.get().broken {
            return Err(Broken);
        }
        let response = called.map_err(|_| Broken)?.map(|body| -> ReplyBody { Box::pin(Told(Box::pin(body))) });
        let mut reply = Reply::new(response);
        let name = call.name.get().map_or(UNKNOWN, |name| &**name);
        if name == GET_OBJECT && reply.response.status().is_success() && reply.response.body().size_hint().lower() > 0 {
            reply.spoil = self.site.planted.spoil();
        }
        if reply.response.status() == StatusCode::PARTIAL_CONTENT {
            let range = reply.response.headers().get(header::CONTENT_RANGE).map(HeaderValue::as_bytes);
            reply.range = range.and_then(ContentRange::parse).and_then(|range| range.range);
        }
        reply.operation = Some(name.into());
        Ok(reply)
    }
}

impl Service for Serving {
    fn reply(&self, request: Request<RequestBody>, meets: Meets) -> Replying<'_> {
        Box::pin(self.serve(request, meets))
    }
}

/// Whether the client holds its body back until it is told to go on: then it is not asked for after a refusal.
fn waits_for_leave(head: &Parts) -> bool {
    head.headers.get(header::EXPECT).is_some_and(|expect| expect.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// What is known of a call on its way through `s3s`.
struct Call {
    meets: Meets,
    name: OnceLock<Box<str>>,
}

/// Lets in who has signed, and fails what is to fail.
struct Gate;

#[async_trait::async_trait]
impl S3Access for Gate {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let name = context.s3_op().name().into();
        let meets = context.extensions_mut().get::<Arc<Call>>().map(|call| {
            // Each call comes here once.
            let _ = call.name.set(name);
            call.meets
        });
        if context.credentials().is_none() {
            return Err(s3_error!(AccessDenied, "the request is not signed"));
        }
        match meets {
            Some(Meets::PlantedError) => Err(s3_error!(SlowDown, "planted error")),
            Some(Meets::Overload) => Err(s3_error!(SlowDown, "too many requests at once")),
            Some(Meets::Nothing) | None => Ok(()),
        }
    }
}

/// The one pair of keys.
struct Keys {
    access_key: String,
    secret_key: SecretKey,
}

#[async_trait::async_trait]
impl S3Auth for Keys {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        if access_key == self.access_key {
            return Ok(self.secret_key.clone());
        }
        Err(s3_error!(InvalidAccessKeyId, "this server has another access key"))
    }
}

/// The body of a request, of which `s3s` may leave a rest.
#[derive(Clone)]
struct Shared(Arc<Mutex<Receiving>>);

struct Receiving {
    body: RequestBody,
    broken: bool,
}

impl Shared {
    fn get(&self) -> MutexGuard<'_, Receiving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what was left.
    async fn discard(&self) {
        let mut rest = self.clone();
        while let Some(Ok(_)) = std::future::poll_fn(|cx| Pin::new(&mut rest).poll_frame(cx)).await {}
    }
}

impl Body for Shared {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let mut receiving = self.get();
        if receiving.body.is_end_stream() {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut receiving.body).poll_frame(cx));
        receiving.broken |= matches!(frame, Some(Err(_)));
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.get().body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.get().body.size_hint()
    }
}

/// A body of `s3s` as a reply.
struct Told(Pin<Box<s3s::Body>>);

impl Body for Told {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        self.0.as_mut().poll_frame(cx).map_err(io::Error::other)
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}
