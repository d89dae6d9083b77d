//! Frames of a TUN device: determines their sizes, and splits them into segments.
//!
//! The kernel passes many TCP segments (or datagrams) of one connection as one frame, which consists of the headers of
//! the first segment and the payload of all segments. If some segments of a frame are lost or delayed, the other
//! segments are sent as smaller frames ("parts"). Each part gets the same headers as if the sender's kernel had created
//! it (linux/tcp_offload.c, `tcp_gso_segment`).

mod checksum;
mod cut;
mod header;

#[cfg(test)]
mod tests;

use crate::emulate::Frame;
use header::{DeviceHeader, Segmented};
use std::ops::Range;
use sys::tun::HEADER_BYTES;

/// Maximum total size of the headers of a part: the device header, an IP header with options, and a TCP header with
/// options.
const HEADERS_MAX: usize = 160;

/// A frame as read from the device: the device header, followed by an IP packet.
#[derive(Clone, Copy, Debug)]
pub struct Packet<'a> {
    bytes: &'a [u8],
    device: DeviceHeader,
    frame: Frame,
}

impl<'a> Packet<'a> {
    /// Parses the headers of a frame. Returns `None` if the bytes are not an IP packet.
    ///
    /// A frame with inconsistent headers counts as one segment, and is never split.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Option<Self> {
        let device = DeviceHeader::read(bytes)?;
        let ip = bytes.get(HEADER_BYTES..).filter(|ip| matches!(ip.first().map(|byte| byte >> 4), Some(4 | 6)))?;
        let whole = Frame::packet(ip.len() as u64);
        let frame = device.segmented(ip).and_then(|segmented| frame_of(ip, &device, segmented)).unwrap_or(whole);
        Some(Self { bytes, device, frame })
    }

    /// Returns the sizes of the frame.
    #[must_use]
    pub fn frame(&self) -> Frame {
        self.frame
    }

    /// Returns whether the packet is a multicast packet. The kernel sends such packets on a new interface without being
    /// asked. No host on the path needs them, because a path has only one host at each end.
    #[must_use]
    pub fn is_multicast(&self) -> bool {
        let ip = &self.bytes[HEADER_BYTES..];
        match ip[0] >> 4 {
            4 => ip.get(16).is_some_and(|byte| byte >> 4 == 0xe),
            _ => ip.get(24) == Some(&0xff),
        }
    }

    /// Returns these segments as a frame in two pieces: its headers and its payload. For a part of the frame, new
    /// headers are written to `room`.
    #[must_use]
    pub fn part<'b>(&self, segments: Range<u64>, room: &'b mut HeaderRoom) -> (&'b [u8], &'a [u8])
    where
        'a: 'b,
    {
        if segments == (0..self.frame.segments()) {
            return (self.bytes, &[]);
        }
        let headers = HEADER_BYTES + self.frame.header_bytes as usize;
        let payload = self.frame.payload(segments.clone());
        let (start, end) = (headers + payload.start as usize, headers + payload.end as usize);
        let room = &mut room.0[..headers];
        room.copy_from_slice(&self.bytes[..headers]);
        cut::adapt_headers(room, &self.device, &self.frame, segments);
        (room, &self.bytes[start..end])
    }
}

/// Truncates a frame in place after its first `segments` segments, so that it takes less memory. `segments` is at least
/// 1, and smaller than the number of segments in the frame. Returns the new size in bytes. The remaining segments keep
/// their numbers.
#[must_use]
pub fn shorten(bytes: &mut [u8], segments: u64) -> usize {
    let Some(packet) = Packet::parse(bytes).filter(|packet| segments < packet.frame.segments()) else {
        return bytes.len();
    };
    let Packet { device, frame, .. } = packet;
    let headers = HEADER_BYTES + frame.header_bytes as usize;
    cut::adapt_headers(&mut bytes[..headers], &device, &frame, 0..segments);
    headers + frame.payload(0..segments).end as usize
}

/// Buffer for the headers of a part of a frame.
#[derive(Debug)]
pub struct HeaderRoom([u8; HEADERS_MAX]);

impl Default for HeaderRoom {
    fn default() -> Self {
        Self([0; HEADERS_MAX])
    }
}

/// Returns the sizes of a frame with several segments. Returns `None` if its headers are inconsistent.
fn frame_of(ip: &[u8], device: &DeviceHeader, segmented: Segmented) -> Option<Frame> {
    let transport = match segmented {
        Segmented::Stream => usize::from(ip.get(device.transport_start() + 12)? >> 4) * 4,
        Segmented::Datagrams => 8,
    };
    let transport_min = if segmented == Segmented::Stream { 20 } else { 8 };
    let ip_min = if ip[0] >> 4 == 6 { 40 } else { 20 };
    let headers = device.transport_start() + transport;
    let payload = ip.len().checked_sub(headers)?;
    let fits = transport >= transport_min
        && device.transport_start() >= ip_min
        && device.transport_start().is_multiple_of(4)
        && headers + HEADER_BYTES <= HEADERS_MAX;
    fits.then_some(Frame {
        header_bytes: headers as u64,
        payload_bytes: payload as u64,
        segment_bytes: device.segment_bytes(),
    })
}
