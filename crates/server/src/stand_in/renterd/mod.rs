//! renterd, the renter of Sia since 2023. Clients store objects in buckets with `PUT`. A control API manages contracts,
//! wallet and settings.
//!
//! Objects stay in memory. The stand-in counts slabs, contracts and money as if each object had been split into slabs
//! with shards of 4 MiB. Incomplete slabs of several objects are packed into one slab.

mod bus;
mod documents;
mod objects;
mod renter;
mod reply;
mod session;
mod time;
mod uploads;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use hyper::Request;
use hyper::header;
use hyper::http::request::Parts;
use percent_encoding::percent_decode_str;

use super::form::Form;
use crate::config::Config;
use crate::config::sia::Renterd;
use crate::hyper_front::request_body::{Broken, RequestBody};
use crate::hyper_front::server::HyperServer;
use crate::hyper_front::service::{Admission, ResponseFuture, Service, ServiceResponse};
use crate::hyper_front::tls::Tls;
use crate::request::target::Target;
use crate::s3::shelf::Shelf;
use crate::shared::Shared;
use renter::Renter;
use reply::{line, not_found};
use session::Sessions;

/// Maximum size of a document in a request, in bytes.
const DOCUMENT_MAX: usize = 10_000_000;

impl HyperServer {
    /// Serves the API of renterd, over TLS if `tls` is given.
    ///
    /// # Errors
    /// Fails in the same cases as [`HyperServer::start`].
    pub fn start_renterd(config: &Config, tls: Option<&Tls>, renterd: &Renterd) -> io::Result<Self> {
        Self::start_with(config, tls, |shared| Ok(Arc::new(RenterdStandIn::new(shared, renterd)?)))
    }
}

/// The state of a renterd stand-in.
struct RenterdStandIn {
    shelf: Shelf,
    renter: Mutex<Renter>,
    sessions: Sessions,
    shared: Arc<Shared>,
    /// Wall time of the start.
    started: SystemTime,
}

/// A request without its body.
struct Call<'a> {
    parts: &'a Parts,
    target: Target<'a>,
    /// The decoded path below the module, for example `/object/foo`.
    path: &'a str,
}

impl Call<'_> {
    fn form(&self) -> Form<'_> {
        Form::of_request(self.target, b"")
    }

    fn method(&self) -> &str {
        self.parts.method.as_str()
    }

    /// Returns the part of the path below `prefix`, including its leading slash, because object keys begin with a
    /// slash.
    fn below(&self, prefix: &str) -> Option<&str> {
        self.path.strip_prefix(prefix).filter(|rest| rest.starts_with('/'))
    }
}

impl RenterdStandIn {
    fn new(shared: &Arc<Shared>, config: &Renterd) -> io::Result<Self> {
        let shelf = Shelf::new(config.store_max.0, Arc::clone(&shared.faults))?;
        if let Some(bucket) = &config.bucket {
            shelf.create_bucket(bucket).map_err(|error| io::Error::other(format!("{error:?}")))?;
        }
        let renter = Mutex::new(Renter::new(config.clone(), sys::clock::monotonic()));
        let sessions = Sessions::new(config.password.clone());
        Ok(Self { shelf, renter, sessions, shared: Arc::clone(shared), started: SystemTime::now() })
    }

    fn renter(&self) -> MutexGuard<'_, Renter> {
        // A poisoned lock is still usable, because no code panics in the middle of a change.
        self.renter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(&self, request: Request<RequestBody>, admission: Admission) -> Result<ServiceResponse, Broken> {
        let (parts, body) = request.into_parts();
        let uri = parts.uri.to_string();
        let target = Target::parse(&uri).unwrap_or(Target { path: "/", query: None });
        let path = percent_decode_str(target.path).decode_utf8_lossy();
        let refusal = match admission {
            Admission::Admitted => self.refusal(&parts, target, &path),
            Admission::InjectedError => Some(line(500, "injected error")),
            Admission::Overloaded => Some(line(503, "too many requests at once")),
        };
        if let Some(response) = refusal {
            return discard(&parts, body, response).await;
        }
        let Some((module, below)) = module_of(&path) else { return discard(&parts, body, not_found()).await };
        let call = Call { parts: &parts, target, path: below };
        match module {
            "worker" => self.worker(&call, body).await,
            "bus" => self.bus(&call, body).await,
            _ => self.autopilot(&call, body).await,
        }
    }

    /// Returns the response to a request that no module handles: a request for a token, or a request without valid
    /// credentials.
    fn refusal(&self, parts: &Parts, target: Target<'_>, path: &str) -> Option<ServiceResponse> {
        let now = sys::clock::monotonic();
        if path == "/api/auth" {
            return Some(self.sessions.open(parts, target, now));
        }
        module_of(path)?;
        self.sessions.refusal(parts, target, now)
    }

    async fn worker(&self, call: &Call<'_>, body: RequestBody) -> Result<ServiceResponse, Broken> {
        if let Some(key) = call.below("/object") {
            return self.object(call, key, body).await;
        }
        if let Some(key) = call.below("/multipart") {
            return self.put_part(call, key, body).await;
        }
        let response = match (call.method(), call.path) {
            ("GET", "/memory") => reply::json("worker GET memory", &documents::Memory::default()),
            ("GET", "/stats/uploads") => reply::json("worker GET stats/uploads", &self.renter().upload_stats()),
            ("GET", "/stats/downloads") => reply::json("worker GET stats/downloads", &self.renter().download_stats()),
            ("GET", "/state") => reply::json("worker GET state", &documents::state("worker", self.started)),
            (_, "/memory" | "/stats/uploads" | "/stats/downloads" | "/state") => reply::not_allowed("GET"),
            _ => not_found(),
        };
        discard(call.parts, body, response).await
    }

    async fn autopilot(&self, call: &Call<'_>, body: RequestBody) -> Result<ServiceResponse, Broken> {
        let response = match (call.method(), call.path) {
            ("GET", "/state") => reply::json("autopilot GET state", &documents::state("autopilot", self.started)),
            ("POST", "/trigger") => reply::json("autopilot POST trigger", &serde_json::json!({ "triggered": true })),
            _ => not_found(),
        };
        discard(call.parts, body, response).await
    }
}

impl Service for RenterdStandIn {
    fn respond(&self, request: Request<RequestBody>, admission: Admission) -> ResponseFuture<'_> {
        Box::pin(self.serve(request, admission))
    }
}

/// Splits a path like `/api/bus/wallet` into its module and the rest.
fn module_of(path: &str) -> Option<(&str, &str)> {
    let rest = path.strip_prefix("/api/")?;
    let module = ["bus", "worker", "autopilot"].into_iter().find(|module| rest.starts_with(module))?;
    Some((module, &rest[module.len()..]))
}

/// Reads the rest of a body, so that a reset cannot destroy the response. If the client waits for `100 Continue`, there
/// is nothing to read.
async fn discard(parts: &Parts, body: RequestBody, response: ServiceResponse) -> Result<ServiceResponse, Broken> {
    let waits = parts.headers.get(header::EXPECT).is_some_and(|expect| expect.as_bytes().starts_with(b"100"));
    if !waits {
        body.read(|_| ()).await?;
    }
    Ok(response)
}

/// Reads a document.
///
/// # Errors
/// Returns the response to a document that is too large or not valid.
async fn document<T: serde::de::DeserializeOwned>(
    body: RequestBody,
) -> Result<Result<T, Box<ServiceResponse>>, Broken> {
    let mut bytes = Vec::new();
    let length = body
        .read(|piece| {
            let room = DOCUMENT_MAX.saturating_sub(bytes.len());
            bytes.extend_from_slice(&piece[..piece.len().min(room)]);
        })
        .await?;
    if length > DOCUMENT_MAX as u64 {
        return Ok(Err(Box::new(line(413, "request body too large"))));
    }
    let read = serde_json::from_slice(&bytes);
    Ok(read.map_err(|error| Box::new(line(400, &format!("couldn't decode request type: {error}")))))
}

/// Returns the time since a daemon started.
fn since(started: Duration) -> Duration {
    sys::clock::monotonic().saturating_sub(started)
}
