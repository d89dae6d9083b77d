//! Bytes that were received and whose meaning is not known yet, since they came as parts of records or frames.

/// Counts bytes as what they carry once that is known. What may still turn out to be content is kept back, up to as much
/// as can be in the dark at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owed {
    bytes: u64,
    /// The most bytes whose content can be unknown.
    dark_max: u64,
}

impl Owed {
    pub(crate) fn new(dark_max: u64) -> Self {
        Self { bytes: 0, dark_max }
    }

    /// Notes that so many bytes came.
    #[inline]
    pub(crate) fn add(&mut self, bytes: u64) {
        self.bytes += bytes;
    }

    /// Of the bytes received, those that can be counted now that `body` bytes of content are known; never less than these.
    #[inline]
    pub(crate) fn settle(&mut self, body: u64) -> u64 {
        let counted = self.bytes.saturating_sub(self.dark_max).max(body);
        self.bytes = self.bytes.saturating_sub(counted);
        counted
    }

    /// All bytes that were kept back.
    #[inline]
    pub(crate) fn settle_all(&mut self) -> u64 {
        std::mem::take(&mut self.bytes)
    }
}
