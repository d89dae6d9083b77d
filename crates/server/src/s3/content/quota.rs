//! The quota of a store: the maximum number of bytes in it.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The quota of a store.
#[derive(Debug)]
pub(in crate::s3) struct Quota {
    used: AtomicU64,
    max: Option<u64>,
}

/// The error for a reservation that would exceed the quota.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::s3) struct QuotaExceeded;

/// Reserved bytes of a quota. Dropping the reservation returns these bytes to the quota.
#[derive(Debug)]
pub(super) struct Reservation {
    quota: Arc<Quota>,
    bytes: u64,
}

impl Quota {
    pub(in crate::s3) fn new(max: Option<u64>) -> Arc<Self> {
        Arc::new(Self { used: AtomicU64::new(0), max })
    }

    /// Returns the number of bytes in use.
    pub(in crate::s3) fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    fn take(&self, bytes: u64) -> Result<(), QuotaExceeded> {
        let take = |used: u64| used.checked_add(bytes).filter(|sum| self.max.is_none_or(|max| *sum <= max));
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take).map(|_| ()).map_err(|_| QuotaExceeded)
    }
}

impl Reservation {
    /// Creates a reservation of 0 bytes.
    pub(super) fn empty(quota: &Arc<Quota>) -> Self {
        Self { quota: Arc::clone(quota), bytes: 0 }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reserves more bytes.
    pub(super) fn grow(&mut self, bytes: u64) -> Result<(), QuotaExceeded> {
        self.quota.take(bytes)?;
        self.bytes += bytes;
        Ok(())
    }

    /// Moves `bytes` of this reservation to a new reservation. `bytes` must not exceed this reservation.
    pub(super) fn split(&mut self, bytes: u64) -> Self {
        debug_assert!(bytes <= self.bytes, "cannot split off {bytes} of {} reserved bytes", self.bytes);
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { quota: Arc::clone(&self.quota), bytes }
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.quota.used.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The reason why content could not be written.
#[derive(Debug)]
pub(in crate::s3) enum WriteError {
    Full,
    Failed(io::Error),
}

impl From<QuotaExceeded> for WriteError {
    fn from(_: QuotaExceeded) -> Self {
        Self::Full
    }
}

impl From<io::Error> for WriteError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full,
            _ => Self::Failed(error),
        }
    }
}
