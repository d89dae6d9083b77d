//! S3 as a service of the hyper front. `s3s` checks signatures. This module adds injected faults, and names each call
//! for the ledger.

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

use super::backend::Backend;
use super::config::S3Config;
use super::store::{Store, StoreError};
use crate::config::Config;
use crate::faults::body::BodyFaults;
use crate::hyper_front::request_body::{Broken, RequestBody};
use crate::hyper_front::server::HyperServer;
use crate::hyper_front::service::{Admission, ResponseFuture, Service, ServiceBody, ServiceResponse};
use crate::hyper_front::tls::Tls;
use crate::shared::Shared;

/// The only call that returns the content of an object.
const GET_OBJECT: &str = "GetObject";
/// The ledger's name for a request that was refused before its call was known.
const UNKNOWN: &str = "(refused)";

impl HyperServer {
    /// Serves S3, over TLS if `tls` is given.
    ///
    /// # Errors
    /// Fails in the same cases as [`HyperServer::start`], or if the store cannot be opened.
    pub fn start_s3(config: &Config, tls: Option<&Tls>, s3: &S3Config) -> io::Result<Self> {
        Self::start_with(config, tls, |shared| Ok(Arc::new(S3Handler::new(shared, s3)?)))
    }
}

/// The S3 service.
struct S3Handler {
    s3: S3Service,
    shared: Arc<Shared>,
}

impl S3Handler {
    fn new(shared: &Arc<Shared>, config: &S3Config) -> io::Result<Self> {
        let backend = Backend { store: Store::open(config)?, faults: Arc::clone(&shared.faults) };
        if let Some(bucket) = &config.bucket {
            match backend.store.create_bucket(bucket) {
                Ok(()) | Err(StoreError::BucketExists) => {}
                Err(error) => return Err(io::Error::other(format!("cannot create bucket {bucket}: {error:?}"))),
            }
        }
        let mut builder = S3ServiceBuilder::new(backend);
        builder.set_auth(Credentials {
            access_key: config.access_key.clone(),
            secret_key: SecretKey::from(config.secret_key.clone()),
        });
        builder.set_access(AccessCheck);
        Ok(Self { s3: builder.build(), shared: Arc::clone(shared) })
    }

    async fn serve(&self, request: Request<RequestBody>, admission: Admission) -> Result<ServiceResponse, Broken> {
        let (mut parts, body) = request.into_parts();
        let waits = waits_for_continue(&parts);
        let call = Arc::new(Call { admission, name: OnceLock::new() });
        parts.extensions.insert(Arc::clone(&call));
        let body = SharedBody(Arc::new(Mutex::new(Receiving { body, broken: false })));
        let called = self.s3.call(Request::from_parts(parts, s3s::Body::http_body_unsync(body.clone()))).await;
        if !waits {
            // Read the rest of the body. If it stayed unread, the kernel would send a reset, which could destroy the
            // response.
            body.discard().await;
        }
        if body.get().broken {
            return Err(Broken);
        }
        let response = called.map_err(|_| Broken)?.map(|body| -> ServiceBody { Box::pin(S3Body(Box::pin(body))) });
        let name = call.name.get().map_or(UNKNOWN, |name| &**name);
        let has_content =
            name == GET_OBJECT && response.status().is_success() && response.body().size_hint().lower() > 0;
        let body_faults = if has_content { self.shared.faults.next_body() } else { BodyFaults::default() };
        let content_range = response.headers().get(header::CONTENT_RANGE).map(HeaderValue::as_bytes);
        let content_range = content_range.filter(|_| response.status() == StatusCode::PARTIAL_CONTENT);
        let range = content_range.and_then(ContentRange::parse).and_then(|range| range.range);
        let operation = Some(name.into());
        Ok(ServiceResponse { body_faults, range, operation, ..ServiceResponse::new(response) })
    }
}

impl Service for S3Handler {
    fn respond(&self, request: Request<RequestBody>, admission: Admission) -> ResponseFuture<'_> {
        Box::pin(self.serve(request, admission))
    }
}

/// Returns whether the client waits for `100 Continue` before it sends its body. If the request is refused, such a
/// client sends no body, so the server has nothing to read.
fn waits_for_continue(head: &Parts) -> bool {
    head.headers.get(header::EXPECT).is_some_and(|expect| expect.as_bytes().eq_ignore_ascii_case(b"100-continue"))
}

/// A call that `s3s` is handling.
struct Call {
    admission: Admission,
    name: OnceLock<Box<str>>,
}

/// The access check of `s3s`. Refuses unsigned requests, and requests that the front does not admit.
struct AccessCheck;

#[async_trait::async_trait]
impl S3Access for AccessCheck {
    async fn check(&self, context: &mut S3AccessContext<'_>) -> S3Result<()> {
        let name = context.s3_op().name().into();
        let admission = context.extensions_mut().get::<Arc<Call>>().map(|call| {
            // Each call is checked only once, so the name is not set yet.
            let _ = call.name.set(name);
            call.admission
        });
        if context.credentials().is_none() {
            return Err(s3_error!(AccessDenied, "the request is not signed"));
        }
        match admission {
            Some(Admission::InjectedError) => Err(s3_error!(SlowDown, "injected error")),
            Some(Admission::Overloaded) => Err(s3_error!(SlowDown, "too many requests at once")),
            Some(Admission::Admitted) | None => Ok(()),
        }
    }
}

/// The only accepted pair of keys.
struct Credentials {
    access_key: String,
    secret_key: SecretKey,
}

#[async_trait::async_trait]
impl S3Auth for Credentials {
    async fn get_secret_key(&self, access_key: &str) -> S3Result<SecretKey> {
        if access_key == self.access_key {
            return Ok(self.secret_key.clone());
        }
        Err(s3_error!(InvalidAccessKeyId, "this server accepts only a different access key"))
    }
}

/// The body of a request, shared because `s3s` does not always read all of it.
#[derive(Clone)]
struct SharedBody(Arc<Mutex<Receiving>>);

struct Receiving {
    body: RequestBody,
    broken: bool,
}

impl SharedBody {
    fn get(&self) -> MutexGuard<'_, Receiving> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the rest of the body.
    async fn discard(&self) {
        let mut rest = self.clone();
        while let Some(Ok(_)) = std::future::poll_fn(|cx| Pin::new(&mut rest).poll_frame(cx)).await {}
    }
}

impl Body for SharedBody {
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

/// An `s3s` body, converted to the body of a service.
struct S3Body(Pin<Box<s3s::Body>>);

impl Body for S3Body {
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
