//! Received bytes that are not yet known to be content or overhead, because they came as parts of records or frames.

/// Counts received bytes as content or overhead once that is known. Bytes that may still turn out to be content are kept back,
/// up to the size of a record or frame.
///
/// Invariant: after each [`Self::attribute`], no more than `unknown_max` bytes are kept back.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unattributed {
    bytes: u64,
    /// The most bytes whose content can be unknown.
    unknown_max: u64,
}

impl Unattributed {
    /// Returns a counter without bytes.
    pub(crate) fn new(unknown_max: u64) -> Self {
        Self { bytes: 0, unknown_max }
    }

    /// Adds received bytes.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Returns how many received bytes to count now that `body` bytes of content are known; never less than these.
    #[inline]
    pub(crate) fn attribute(&mut self, body: u64) -> u64 {
        let counted = self.bytes.saturating_sub(self.unknown_max).max(body);
        self.bytes = self.bytes.saturating_sub(counted);
        counted
    }

    /// Takes all bytes that were kept back.
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
        assert_eq!(received.attribute(20), 50, "the rest may be content");
        assert_eq!(received.attribute(90), 90);
        received.add(5);
        assert_eq!((received.take_all(), received.take_all()), (15, 0));
        assert_eq!(received.attribute(3), 3, "content is always counted");
    }
}
