//! The header that precedes each packet (`struct virtio_net_hdr` in linux/virtio_net.h), in native byte order.

use sys::tun::HEADER_BYTES;

/// Flag for a packet whose checksum is not computed yet. The receiver computes the checksum, or accepts the packet
/// without it.
const NEEDS_CHECKSUM: u8 = 1;
/// Types of frames with several segments. The two TCP types can be combined with the bit for ECN.
const NONE: u8 = 0;
const STREAM_V4: u8 = 1;
const STREAM_V6: u8 = 4;
const DATAGRAMS: u8 = 5;
const ECN: u8 = 0x80;

/// Kind of a frame with several segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segmented {
    /// TCP segments.
    Stream,
    /// UDP datagrams.
    Datagrams,
}

/// Fields of the header.
#[derive(Clone, Copy, Debug)]
pub struct DeviceHeader {
    flags: u8,
    kind: u8,
    header_length: u16,
    segment_size: u16,
    checksum_start: u16,
    checksum_offset: u16,
}

impl DeviceHeader {
    /// Reads the header at the start of a frame.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.first_chunk::<HEADER_BYTES>()?;
        let word = |at: usize| u16::from_ne_bytes([header[at], header[at + 1]]);
        Some(Self {
            flags: header[0],
            kind: header[1],
            header_length: word(2),
            segment_size: word(4),
            checksum_start: word(6),
            checksum_offset: word(8),
        })
    }

    /// Writes the device header of a part with `segments` segments, whose packet headers take `headers` bytes.
    pub fn write_part(&self, room: &mut [u8], segments: u64, headers: u64) {
        let several = segments > 1;
        let (kind, size) = if several { (self.kind, self.segment_size) } else { (NONE, 0) };
        let length = if several { u16::try_from(headers).unwrap_or(self.header_length) } else { 0 };
        room[0] = self.flags;
        room[1] = kind;
        for (at, word) in [(2, length), (4, size), (6, self.checksum_start), (8, self.checksum_offset)] {
            room[at..at + 2].copy_from_slice(&word.to_ne_bytes());
        }
    }

    /// Returns the kind of a frame with several segments; `None` for a single packet or an unknown kind.
    pub fn segmented(&self, ip: &[u8]) -> Option<Segmented> {
        if self.flags & NEEDS_CHECKSUM == 0 || self.segment_size == 0 {
            return None;
        }
        let version = ip.first()? >> 4;
        match (self.kind & !ECN, version) {
            (STREAM_V4, 4) | (STREAM_V6, 6) => Some(Segmented::Stream),
            (DATAGRAMS, _) => Some(Segmented::Datagrams),
            _ => None,
        }
    }

    /// Returns the offset of the TCP or UDP header in the packet.
    pub fn transport_start(&self) -> usize {
        self.checksum_start.into()
    }

    /// Returns the payload bytes of each segment except the last one.
    pub fn segment_bytes(&self) -> u64 {
        self.segment_size.into()
    }
}
