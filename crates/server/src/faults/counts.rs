//! Counts of the faults that occurred.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of the faults that occurred and that clients may have noticed. The counts include both configured faults and
/// faults that a query requested.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FaultCounts {
    /// Requests that got an injected error.
    pub errors: u64,
    /// Requests that were refused because too many were in service.
    pub refused: u64,
    /// Requests that got the slow delay of [`Delay::Bimodal`](crate::Delay::Bimodal).
    pub slow: u64,
    /// Bodies that broke off.
    pub broken_off: u64,
    /// Bodies whose wrong byte was passed to the kernel or to hyper.
    pub wrong_bytes: u64,
    /// Objects that were acknowledged but not stored.
    pub lost: u64,
}

impl FaultCounts {
    pub(crate) fn add(&mut self, other: &Self) {
        let Self { errors, refused, slow, broken_off, wrong_bytes, lost } = other;
        self.errors += errors;
        self.refused += refused;
        self.slow += slow;
        self.broken_off += broken_off;
        self.wrong_bytes += wrong_bytes;
        self.lost += lost;
    }
}

/// The [`FaultCounts`] of a server, shared by all threads.
#[derive(Debug, Default)]
pub(super) struct Counts {
    pub(super) errors: AtomicU64,
    pub(super) refused: AtomicU64,
    pub(super) slow: AtomicU64,
    pub(super) broken_off: AtomicU64,
    pub(super) wrong_bytes: AtomicU64,
    pub(super) lost: AtomicU64,
}

impl Counts {
    /// Returns the current counts.
    pub(super) fn read(&self) -> FaultCounts {
        let Self { errors, refused, slow, broken_off, wrong_bytes, lost } = self;
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        FaultCounts {
            errors: read(errors),
            refused: read(refused),
            slow: read(slow),
            broken_off: read(broken_off),
            wrong_bytes: read(wrong_bytes),
            lost: read(lost),
        }
    }
}

pub(super) fn count_if(happened: bool, count: &AtomicU64) {
    if happened {
        count.fetch_add(1, Ordering::Relaxed);
    }
}
