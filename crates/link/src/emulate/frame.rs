//! A frame of the kernel, and the wire segments that it represents.

use std::ops::Range;

/// Bytes that each segment takes on the wire in addition to its IP packet: the Ethernet header. `tc` adds the same
/// number, so both back ends have the same rate. The preamble, the checksum and the gap between packets (24 more bytes)
/// are not counted.
pub const FRAMING_BYTES: u64 = 14;

/// Sizes of a frame, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Bytes of the IP header and the TCP or UDP header, which every segment repeats.
    pub header_bytes: u64,
    /// Bytes after the headers.
    pub payload_bytes: u64,
    /// Payload bytes of each segment except the last one; above 0.
    pub segment_bytes: u64,
}

impl Frame {
    /// Returns a frame that consists of a single packet of `bytes` bytes.
    #[must_use]
    pub fn packet(bytes: u64) -> Self {
        Self { header_bytes: bytes, payload_bytes: 0, segment_bytes: 1 }
    }

    /// Returns the number of segments, at least 1.
    #[must_use]
    pub fn segments(&self) -> u64 {
        self.payload_bytes.div_ceil(self.segment_bytes).max(1)
    }

    /// Returns the part of the payload that belongs to these segments, as a byte range.
    #[must_use]
    pub fn payload(&self, segments: Range<u64>) -> Range<u64> {
        let at = |segment: u64| segment.saturating_mul(self.segment_bytes).min(self.payload_bytes);
        at(segments.start)..at(segments.end)
    }

    /// Returns the number of bytes that these segments take on the wire.
    #[must_use]
    pub fn wire_bytes(&self, segments: Range<u64>) -> u64 {
        let count = segments.end - segments.start;
        let payload = self.payload(segments);
        count * (self.header_bytes + FRAMING_BYTES) + (payload.end - payload.start)
    }
}
