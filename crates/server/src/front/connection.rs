//! One connection: handshake, requests, limits on time, and its end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;

use super::exchange::exchange;
use super::io::{Activity, Duplex, Watched};
use super::service::Service;
use crate::ledger::{Counters, Ended, Sent};
use crate::site::Site;

/// Streams of one HTTP/2 connection that may be open at once.
const STREAMS_MAX: u32 = 1000;

/// What the connections of one thread have in common.
#[derive(Clone)]
pub(super) struct Desk {
    pub(super) site: Arc<Site>,
    pub(super) counters: Arc<Counters>,
    pub(super) service: Arc<dyn Service>,
    pub(super) tls: Option<TlsAcceptor>,
    /// Turns true when the server stops.
    pub(super) stop: watch::Receiver<bool>,
}

/// A connection, as its requests see it.
pub(super) struct Link {
    pub(super) site: Arc<Site>,
    pub(super) counters: Arc<Counters>,
    pub(super) service: Arc<dyn Service>,
    requests: AtomicU64,
    in_service: AtomicU64,
    activity: Arc<Activity>,
    close: Notify,
    closing: AtomicBool,
}

/// A request that is looked after, so that the connection is not idle.
pub(super) struct Busy<'a>(&'a Link);

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.in_service.fetch_sub(1, Ordering::Relaxed);
        self.0.activity.note();
    }
}

impl Link {
    /// Counts a request; the last one that a connection may have closes it.
    pub(super) fn request_begins(&self) -> Busy<'_> {
        self.in_service.fetch_add(1, Ordering::Relaxed);
        let requests = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if self.site.limits.close_after.is_some_and(|most| requests >= most.get()) {
            self.close();
        }
        Busy(self)
    }

    /// Takes no more requests, and closes once those in service are answered.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.close.notify_one();
    }

    /// Whether no more requests are taken; HTTP/1 says so in the reply.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed) || self.site.is_stopping()
    }

    /// How much longer nothing may move; zero when that is over.
    fn patience(&self) -> Duration {
        let limit = self.site.limits.idle_timeout;
        if self.in_service.load(Ordering::Relaxed) > 0 {
            return limit;
        }
        limit.saturating_sub(self.activity.idle())
    }
}

/// Serves a connection to its end.
pub(super) async fn serve(desk: Desk, socket: impl Duplex + 'static) {
    let Desk { site, counters, service, tls, stop } = desk;
    let _place = Place { site: Arc::clone(&site), counters: Arc::clone(&counters) };
    let activity = Arc::new(Activity::new());
    let watched = Watched::new(socket, Arc::clone(&activity), Arc::clone(&counters));
    let stream: Box<dyn Duplex> = match tls {
        None => Box::new(watched),
        Some(acceptor) => {
            let handshake = tokio::time::timeout(site.limits.head_timeout, acceptor.accept(watched));
            let Ok(Ok(stream)) = handshake.await else {
                counters.handshakes_failed.add(1);
                return;
            };
            Box::new(stream)
        }
    };
    let (requests, in_service) = (AtomicU64::new(0), AtomicU64::new(0));
    let (close, closing) = (Notify::new(), AtomicBool::new(false));
    let link = Link { site, counters, service, requests, in_service, activity, close, closing };
    drive(Arc::new(link), stream, stop).await;
}

async fn drive(link: Arc<Link>, stream: Box<dyn Duplex>, mut stop: watch::Receiver<bool>) {
    let mut builder = Builder::new(TokioExecutor::new());
    let head_timeout = link.site.limits.head_timeout.min(link.site.limits.idle_timeout);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head_timeout).max_headers(wire::MAX_HEADERS);
    builder.http1().half_close(true);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(STREAMS_MAX);
    let requests = service_fn(|request: Request<Incoming>| {
        let link = Arc::clone(&link);
        async move { Ok::<_, Infallible>(exchange(link, request).await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), requests));
    let mut closing = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    note_malformed(&link.counters, error.downcast_ref());
                }
                return;
            }
            _ = stop.wait_for(|stops| *stops), if !closing => closing = true,
            () = link.close.notified(), if !closing => closing = true,
            () = tokio::time::sleep(link.patience()) => {
                if link.patience().is_zero() {
                    return;
                }
                continue;
            }
        }
        connection.as_mut().graceful_shutdown();
    }
}

/// A head that could not be read was answered by hyper, with one of two statuses.
fn note_malformed(counters: &Counters, error: Option<&hyper::Error>) {
    let Some(error) = error.filter(|error| error.is_parse()) else { return };
    let status =
        if error.is_parse_too_large() { StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE } else { StatusCode::BAD_REQUEST };
    counters.requests_malformed.add(1);
    counters.answer(status.as_u16(), Ended::Complete, Sent::default());
}

/// The place of a connection among those that may be open.
struct Place {
    site: Arc<Site>,
    counters: Arc<Counters>,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.counters.connections_closed.add(1);
        self.site.leave();
    }
}
