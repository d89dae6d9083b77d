//! State that the connections of a thread share, and state that the requests of a connection share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio_rustls::TlsAcceptor;

use super::service::Service;
use super::socket::Activity;
use crate::ledger::counters::Counters;
use crate::shared::Shared;

/// State that the connections of one thread share.
#[derive(Clone)]
pub(super) struct ThreadContext {
    pub(super) shared: Arc<Shared>,
    pub(super) counters: Arc<Counters>,
    pub(super) service: Arc<dyn Service>,
    pub(super) tls: Option<TlsAcceptor>,
    /// Becomes true when the server stops.
    pub(super) stop: watch::Receiver<bool>,
}

/// State that the requests of one connection share.
pub(super) struct ConnectionContext {
    pub(super) shared: Arc<Shared>,
    pub(super) counters: Arc<Counters>,
    pub(super) service: Arc<dyn Service>,
    requests: AtomicU64,
    in_service: AtomicU64,
    activity: Arc<Activity>,
    /// Wakes the connection's task when the connection must close.
    pub(super) close_requested: Notify,
    closing: AtomicBool,
}

/// A request in service. While it exists, the connection is not idle.
pub(super) struct RequestGuard<'a>(&'a ConnectionContext);

impl Drop for RequestGuard<'_> {
    fn drop(&mut self) {
        self.0.in_service.fetch_sub(1, Ordering::Relaxed);
        self.0.activity.note();
    }
}

impl ConnectionContext {
    pub(super) fn new(
        shared: Arc<Shared>,
        counters: Arc<Counters>,
        service: Arc<dyn Service>,
        activity: Arc<Activity>,
    ) -> Self {
        let (requests, in_service) = (AtomicU64::new(0), AtomicU64::new(0));
        let (close_requested, closing) = (Notify::new(), AtomicBool::new(false));
        Self { shared, counters, service, requests, in_service, activity, close_requested, closing }
    }

    /// Counts a request. If it is the last request that the connection allows, the connection closes after the
    /// response.
    pub(super) fn begin_request(&self) -> RequestGuard<'_> {
        self.in_service.fetch_add(1, Ordering::Relaxed);
        let requests = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        if self.shared.limits.close_after.is_some_and(|most| requests >= most.get()) {
            self.close();
        }
        RequestGuard(self)
    }

    /// Stops accepting requests. The connection closes after the responses to the requests in service.
    pub(super) fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.close_requested.notify_one();
    }

    /// Returns whether the connection accepts no more requests. If so, HTTP/1 responses have `Connection: close`.
    pub(super) fn is_closing(&self) -> bool {
        self.closing.load(Ordering::Relaxed) || self.shared.is_stopping()
    }

    /// Returns how much longer the connection may be idle; zero if its idle timeout has passed.
    pub(super) fn idle_time_left(&self) -> Duration {
        let limit = self.shared.limits.idle_timeout;
        if self.in_service.load(Ordering::Relaxed) > 0 {
            return limit;
        }
        limit.saturating_sub(self.activity.idle())
    }
}
