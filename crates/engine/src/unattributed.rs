//! Received bytes that are not yet known to be content or overhead, because their record or frame is not complete.

/// Counter of received bytes. Bytes are held back until it is known whether they are content or overhead, and are then
/// counted.
///
/// Invariant: after each call of [`Self::attribute`], at most `unknown_max` bytes are held back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unattributed {
    bytes: u64,
    /// Maximum number of unknown bytes, which is the size of the largest record or frame.
    unknown_max: u64,
}

impl Unattributed {
    /// Returns an empty counter.
    pub(crate) fn new(unknown_max: u64) -> Self {
        Self { bytes: 0, unknown_max }
    }

    /// Adds received bytes.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Records that `body` more of the received bytes are content. Returns how many received bytes can be counted now.
    /// The result is at least `body`.
    #[inline]
    pub(crate) fn attribute(&mut self, body: u64) -> u64 {
        let counted = self.bytes.saturating_sub(self.unknown_max).max(body);
        self.bytes = self.bytes.saturating_sub(counted);
        counted
    }

    /// Returns the number of bytes that were held back, and resets this number to zero.
    #[inline]
    pub(crate) fn take_all(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_back_up_to_a_record() {
        let mut received = Unattributed::new(100);
        received.add(150);
        assert_eq!(received.attribute(20), 50, "the other 100 bytes may still be content");
        assert_eq!(received.attribute(90), 90);
        received.add(5);
        assert_eq!((received.take_all(), received.take_all()), (15, 0));
        assert_eq!(received.attribute(3), 3, "content must always be counted");
    }
}
