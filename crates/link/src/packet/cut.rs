//! Headers for a part of a frame.

use super::checksum;
use super::header::{DeviceHeader, Segmented};
use crate::emulate::Frame;
use std::ops::Range;
use sys::tun::HEADER_BYTES;

/// TCP flags that only the last segment of a frame has: FIN and PSH.
const LAST_ONLY: u8 = 0x01 | 0x08;
/// TCP flag that only the first segment of a frame has: CWR.
const FIRST_ONLY: u8 = 0x80;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Converts the headers of a whole frame (device, IP, TCP or UDP) to the headers of a part with these segments.
pub(super) fn adapt_headers(room: &mut [u8], device: &DeviceHeader, frame: &Frame, segments: Range<u64>) {
    let payload = frame.payload(segments.clone());
    let count = segments.end - segments.start;
    device.write_part(&mut room[..HEADER_BYTES], count, frame.header_bytes);
    let packet = &mut room[HEADER_BYTES..];
    let kind = device.segmented(packet);
    let start = device.transport_start();
    let (ip, transport) = packet.split_at_mut(start);
    let transport_bytes = transport.len() as u64 + payload.end - payload.start;
    set_ip_length(ip, transport_bytes, segments.start);
    match kind {
        Some(Segmented::Datagrams) => {
            transport[4..6].copy_from_slice(&word(transport_bytes).to_be_bytes());
            let sum = pseudo_header(ip, UDP, transport_bytes);
            transport[6..8].copy_from_slice(&sum.to_be_bytes());
        }
        _ => {
            let sequence = u32::from_be_bytes([transport[4], transport[5], transport[6], transport[7]]);
            let sequence = sequence.wrapping_add(payload.start as u32);
            transport[4..8].copy_from_slice(&sequence.to_be_bytes());
            if segments.end < frame.segments() {
                transport[13] &= !LAST_ONLY;
            }
            if segments.start > 0 {
                transport[13] &= !FIRST_ONLY;
            }
            let sum = pseudo_header(ip, TCP, transport_bytes);
            transport[16..18].copy_from_slice(&sum.to_be_bytes());
        }
    }
}

/// Sets length, identification and checksum of an IP header. The IP identification increases by one from segment to
/// segment.
fn set_ip_length(ip: &mut [u8], transport_bytes: u64, first_segment: u64) {
    if ip[0] >> 4 == 6 {
        // Extension headers count as payload.
        let length = transport_bytes + ip.len() as u64 - 40;
        ip[4..6].copy_from_slice(&word(length).to_be_bytes());
        return;
    }
    let length = transport_bytes + ip.len() as u64;
    ip[2..4].copy_from_slice(&word(length).to_be_bytes());
    let id = u16::from_be_bytes([ip[4], ip[5]]).wrapping_add(first_segment as u16);
    ip[4..6].copy_from_slice(&id.to_be_bytes());
    ip[10..12].fill(0);
    let sum = !checksum::sum(&[ip]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
}

fn pseudo_header(ip: &[u8], protocol: u8, transport_bytes: u64) -> u16 {
    let addresses = if ip[0] >> 4 == 6 { &ip[8..40] } else { &ip[12..20] };
    checksum::pseudo_header(addresses, protocol, transport_bytes as u32)
}

/// Converts a length. A part is smaller than its frame, which is at most 65,535 bytes.
fn word(length: u64) -> u16 {
    u16::try_from(length).unwrap_or(u16::MAX)
}
