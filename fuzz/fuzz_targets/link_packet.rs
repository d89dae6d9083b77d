//! Frames of a TUN device: no input causes a panic, and the two parts of a split frame together contain its payload.
//!
//! The first two bytes select where the frame is split.
#![no_main]

use libfuzzer_sys::fuzz_target;
use link::packet::{HeaderRoom, Packet, shorten};

fuzz_target!(|bytes: &[u8]| {
    let Some(([first, second], bytes)) = bytes.split_first_chunk::<2>() else { return };
    let Some(packet) = Packet::parse(bytes) else { return };
    let _ = packet.is_multicast();
    let segments = packet.frame().segments();
    let cut = 1 + (u64::from(*first) << 8 | u64::from(*second)) % segments;
    let mut parts = 0;
    for range in [0..cut, cut..segments] {
        if !range.is_empty() {
            let mut room = HeaderRoom::default();
            let (head, payload) = packet.part(range, &mut room);
            let headers = if payload.is_empty() { packet.frame().header_bytes as usize + 10 } else { head.len() };
            parts += head.len() + payload.len() - headers;
        }
    }
    assert_eq!(parts as u64, packet.frame().payload_bytes);
    let _ = shorten(&mut bytes.to_vec(), cut);
});
