//! Keys that several signers share. The keys can be replaced, because temporary keys expire.

use super::Keys;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Keys that can be replaced while requests are signed.
#[derive(Debug)]
pub struct SharedKeys {
    /// Number of replacements. Signers compare this number before each signature, which is cheaper than taking the
    /// lock.
    version: AtomicU64,
    keys: Mutex<Keys>,
}

impl SharedKeys {
    /// Creates shared keys.
    pub fn new(keys: Keys) -> Self {
        Self { version: AtomicU64::new(0), keys: Mutex::new(keys) }
    }

    /// Replaces the keys. Signers use the new keys from their next request on.
    pub fn replace(&self, keys: Keys) {
        let mut current = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        *current = keys;
        self.version.fetch_add(1, Ordering::Release);
    }

    /// Returns the keys with their version.
    pub(super) fn get(&self) -> (u64, Keys) {
        let keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        (self.version.load(Ordering::Acquire), keys.clone())
    }

    /// Returns the number of replacements.
    #[inline]
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }
}
