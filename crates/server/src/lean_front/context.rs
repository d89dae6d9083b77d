//! The resources of a thread that the connection in service may use.

use std::sync::Arc;
use std::time::Duration;

use super::head::HeadWriter;
use super::owner_fetch::OwnerConnections;
use crate::ledger::counters::Counters;
use crate::shared::Shared;

/// The resources of a thread that the connection in service may use.
pub(super) struct ThreadContext {
    pub(super) shared: Arc<Shared>,
    pub(super) counters: Arc<Counters>,
    pub(super) heads: HeadWriter,
    /// The time of the monotonic clock, read once for the current event.
    pub(super) now: Duration,
    pub(super) buffer: Vec<u8>,
    /// Buffer for the next response's head and small body.
    pub(super) scratch: Vec<u8>,
    /// Connections to other servers of the cluster.
    pub(super) owner_connections: OwnerConnections,
}
