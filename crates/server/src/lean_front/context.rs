//! What a thread lends to the connection that it serves.

use std::sync::Arc;
use std::time::Duration;

use super::head::HeadWriter;
use super::owner_fetch::OwnerConnections;
use crate::ledger::counters::Counters;
use crate::shared::Shared;

/// What a thread lends to the connection that it serves.
pub(crate) struct ThreadContext {
    pub(crate) shared: Arc<Shared>,
    pub(crate) counters: Arc<Counters>,
    pub(crate) heads: HeadWriter,
    /// The monotonic clock, as read for this event.
    pub(crate) now: Duration,
    pub(crate) buffer: Vec<u8>,
    /// Room for the next answer's head and small body.
    pub(crate) scratch: Vec<u8>,
    /// Connections to other servers of the cluster.
    pub(crate) owner_connections: OwnerConnections,
}
