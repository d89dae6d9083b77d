//! What the kernel hands over at once, and the wire segments that it stands for.

use std::ops::Range;

/// Bytes that a segment counts in addition to its IP packet: an Ethernet header. This is what `tc` adds, so both back
/// ends give the same rate. Preamble, checksum and the gap between packets (24 more bytes) are not counted.
pub const FRAMING_BYTES: u64 = 14;

/// Sizes of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of the headers (IP and TCP or UDP) that each segment repeats.
    pub header_bytes: u64,
    /// Bytes after the headers.
    pub payload_bytes: u64,
    /// Bytes of payload in each segment but the last, above 0.
    pub segment_bytes: u64,
}

impl Frame {
    /// Returns a frame that is one packet of `bytes`.
    #[must_use]
    pub fn packet(bytes: u64) -> Self {
        Self { header_bytes: bytes, payload_bytes: 0, segment_bytes: 1 }
    }

    /// Returns the number of segments, at least 1.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.payload_bytes.div_ceil(self.segment_bytes).max(1)
    }

    /// Returns the range of the payload that some segments carry.
    #[must_use]
    pub fn payload(&self, segments: Range<u64>) -> Range<u64> {
        let at = |segment: u64| segment.saturating_mul(self.segment_bytes).min(self.payload_bytes);
        at(segments.start)..at(segments.end)
    }

    /// Returns the bytes that some segments count on the wire.
    #[must_use]
    pub fn wire_bytes(&self, segments: Range<u64>) -> u64 {
        let count = segments.end - segments.start;
        let payload = self.payload(segments);
        count * (self.header_bytes + FRAMING_BYTES) + (payload.end - payload.start)
    }
}
