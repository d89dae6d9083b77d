//! One connection: handshake, requests, time limits, and its end.

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::sync::watch;

use super::context::{ConnectionContext, ThreadContext};
use super::exchange::exchange;
use super::socket::{Activity, CountedSocket, Duplex};
use crate::ledger::counters::{Completion, Counters, SentBytes};
use crate::shared::Shared;

/// Maximum number of open streams on one HTTP/2 connection.
const STREAMS_MAX: u32 = 1000;

/// Serves a connection until it ends.
pub(super) async fn serve(thread: ThreadContext, socket: impl Duplex + 'static) {
    let ThreadContext { shared, counters, service, tls, stop } = thread;
    let _slot = ConnectionSlot { shared: Arc::clone(&shared), counters: Arc::clone(&counters) };
    let activity = Arc::new(Activity::new());
    let counted = CountedSocket::new(socket, Arc::clone(&activity), Arc::clone(&counters));
    let stream: Box<dyn Duplex> = match tls {
        None => Box::new(counted),
        Some(acceptor) => {
            let handshake = tokio::time::timeout(shared.limits.head_timeout, acceptor.accept(counted));
            let Ok(Ok(stream)) = handshake.await else {
                counters.handshakes_failed.add(1);
                return;
            };
            Box::new(stream)
        }
    };
    drive(Arc::new(ConnectionContext::new(shared, counters, service, activity)), stream, stop).await;
}

async fn drive(context: Arc<ConnectionContext>, stream: Box<dyn Duplex>, mut stop: watch::Receiver<bool>) {
    let mut builder = Builder::new(TokioExecutor::new());
    let limits = context.shared.limits;
    let head_timeout = limits.head_timeout.min(limits.idle_timeout);
    builder.http1().timer(TokioTimer::new()).header_read_timeout(head_timeout).max_headers(wire::MAX_HEADERS);
    builder.http1().half_close(true);
    builder.http2().timer(TokioTimer::new()).max_concurrent_streams(STREAMS_MAX);
    let requests = service_fn(|request: Request<Incoming>| {
        let context = Arc::clone(&context);
        async move { Ok::<_, Infallible>(exchange(context, request).await) }
    });
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), requests));
    let mut closing = false;
    loop {
        tokio::select! {
            ended = connection.as_mut() => {
                if let Err(error) = ended {
                    count_malformed(&context.counters, error.downcast_ref());
                }
                return;
            }
            _ = stop.wait_for(|stops| *stops), if !closing => closing = true,
            () = context.close_requested.notified(), if !closing => closing = true,
            () = tokio::time::sleep(context.idle_time_left()) => {
                if context.idle_time_left().is_zero() {
                    return;
                }
                continue;
            }
        }
        connection.as_mut().graceful_shutdown();
    }
}

/// Counts a request whose head could not be parsed. hyper has already sent a response with status 400 or 431.
fn count_malformed(counters: &Counters, error: Option<&hyper::Error>) {
    let Some(error) = error.filter(|error| error.is_parse()) else { return };
    let status =
        if error.is_parse_too_large() { StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE } else { StatusCode::BAD_REQUEST };
    counters.requests_malformed.add(1);
    counters.count_response(status.as_u16(), Completion::Complete, SentBytes::default());
}

/// One of the [`crate::Config::connections_max`] connections that may be open. Dropping this value permits another
/// connection.
struct ConnectionSlot {
    shared: Arc<Shared>,
    counters: Arc<Counters>,
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.counters.connections_closed.add(1);
        self.shared.leave();
    }
}
