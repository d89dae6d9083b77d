use super::*;
use proptest::prelude::*;

/// Device header of a frame with several segments: checksum not computed, kind, sizes, position of the checksum.
fn device(kind: u8, headers: u16, segment: u16, start: u16, offset: u16) -> Vec<u8> {
    let words = [headers, segment, start, offset].into_iter().flat_map(u16::to_ne_bytes);
    [1, kind].into_iter().chain(words).collect()
}

/// An IPv4 frame with a TCP header of 32 bytes, flags CWR, PSH, ACK and FIN, and segments of 1000 bytes.
fn stream_v4(payload: usize) -> Vec<u8> {
    let mut bytes = device(1, 52, 1000, 20, 16);
    let length = (52 + payload) as u16;
    bytes.extend([
        0x45,
        0,
        (length >> 8) as u8,
        length as u8,
        0xff,
        0xff,
        0x40,
        0,
        64,
        6,
        0,
        0,
        198,
        18,
        0,
        1,
        198,
        18,
        0,
        2,
    ]);
    bytes.extend([0, 80, 0x30, 0x39, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 7, 0x80, 0x99, 1, 0, 0, 0, 0, 0]);
    bytes.extend([1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2]);
    bytes.extend((0..payload).map(|index| (index / 1000) as u8));
    bytes
}

fn part(bytes: &[u8], segments: Range<u64>) -> Vec<u8> {
    let mut room = HeaderRoom::default();
    let (headers, payload) = Packet::parse(bytes).unwrap().part(segments, &mut room);
    [headers, payload].concat()
}

#[test]
fn sizes_are_those_of_the_segments() {
    let bytes = stream_v4(3500);
    let packet = Packet::parse(&bytes).unwrap();
    assert_eq!(packet.frame(), Frame { header_bytes: 52, payload_bytes: 3500, segment_bytes: 1000 });
    assert_eq!(packet.frame().segments(), 4);
    assert!(!packet.is_multicast());
    assert_eq!(part(&bytes, 0..4), bytes);
}

#[test]
fn a_part_of_a_stream_has_headers_of_its_own() {
    let bytes = stream_v4(3500);
    let middle = part(&bytes, 1..3);
    let (head, packet) = middle.split_at(HEADER_BYTES);
    assert_eq!(head, device(1, 52, 1000, 20, 16));
    assert_eq!(packet.len(), 2052);
    assert_eq!(packet[2..4], 2052_u16.to_be_bytes());
    // The identification continues from 0xffff, and the sequence number from 0xffff_ffff.
    assert_eq!(packet[4..6], [0, 0]);
    assert_eq!(packet[24..28], 999_u32.to_be_bytes());
    assert_eq!(checksum::sum(&[&packet[..20]]), 0xffff, "checksum of the IP header");
    assert_eq!(packet[33], 0x10, "flags of a part in the middle");
    assert!(packet[52..1052].iter().all(|byte| *byte == 1) && packet[1052..].iter().all(|byte| *byte == 2));
    assert_eq!(packet[36..38], checksum::pseudo_header(&packet[12..20], 6, 2032).to_be_bytes());
}

#[test]
fn a_single_segment_is_a_plain_packet() {
    let bytes = stream_v4(3500);
    let (first, last) = (part(&bytes, 0..1), part(&bytes, 3..4));
    for (segment, payload, flags) in [(&first, 1000, 0x90), (&last, 500, 0x19)] {
        assert_eq!(segment[..HEADER_BYTES], device(0, 0, 0, 20, 16));
        assert_eq!(segment.len(), HEADER_BYTES + 52 + payload);
        assert_eq!(segment[HEADER_BYTES + 33], flags);
    }
}

#[test]
fn a_part_of_an_ipv6_stream_has_its_length() {
    let mut bytes = device(4, 72, 1000, 40, 16);
    bytes.extend([0x60, 0, 0, 0, 0, 0, 6, 64]);
    bytes.extend((0..32).map(|index| index * 3));
    bytes.extend(&stream_v4(2500)[HEADER_BYTES + 20..]);
    let middle = part(&bytes, 1..2);
    let packet = &middle[HEADER_BYTES..];
    assert_eq!(packet[4..6], 1032_u16.to_be_bytes());
    assert_eq!(packet[44..48], 999_u32.to_be_bytes());
    assert_eq!(packet[56..58], checksum::pseudo_header(&packet[8..40], 6, 1032).to_be_bytes());
}

#[test]
fn a_part_of_datagrams_has_their_length() {
    let mut bytes = device(5, 28, 100, 20, 6);
    bytes.extend([0x45, 0, 1, 22, 0, 1, 0, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2]);
    bytes.extend([0, 9, 0, 9, 1, 2, 0, 0]);
    bytes.extend([5; 250]);
    let packet = part(&bytes, 2..3);
    assert_eq!(packet.len(), HEADER_BYTES + 28 + 50);
    assert_eq!(packet[HEADER_BYTES + 24..HEADER_BYTES + 26], 58_u16.to_be_bytes());
    assert_eq!(packet[HEADER_BYTES + 4..HEADER_BYTES + 6], 3_u16.to_be_bytes());
}

/// Brute force: for every way to split a frame into three parts, the parts together have the payload of the frame.
#[test]
fn parts_together_are_the_whole_payload() {
    let bytes = stream_v4(5300);
    let payload = &bytes[HEADER_BYTES + 52..];
    for first in 1..5 {
        for second in first + 1..6 {
            let parts = [0..first, first..second, second..6].map(|range| part(&bytes, range));
            let joined: Vec<u8> = parts.iter().flat_map(|part| &part[HEADER_BYTES + 52..]).copied().collect();
            assert_eq!(joined, payload);
        }
    }
}

/// A part of a truncated frame is the same as that part of the whole frame.
#[test]
fn a_shortened_frame_has_the_same_first_segments() {
    let whole = stream_v4(5300);
    for segments in 1..6 {
        let mut short = whole.clone();
        let bytes = shorten(&mut short, segments);
        short.truncate(bytes);
        assert_eq!(short, part(&whole, 0..segments));
        assert_eq!(Packet::parse(&short).unwrap().frame().segments(), segments);
        for first in 0..segments {
            assert_eq!(part(&short, first..first + 1), part(&whole, first..first + 1), "{first} of {segments}");
        }
    }
    let mut same = whole.clone();
    assert_eq!(shorten(&mut same, 6), whole.len());
    assert_eq!(same, whole);
}

#[test]
fn packets_for_groups_are_recognized() {
    let mut v4 = vec![0; HEADER_BYTES];
    v4.extend([0x45, 0, 0, 20, 0, 0, 0, 0, 1, 2, 0, 0, 198, 18, 0, 1, 224, 0, 0, 22]);
    assert!(Packet::parse(&v4).unwrap().is_multicast());
    let mut v6 = vec![0; HEADER_BYTES + 40];
    (v6[HEADER_BYTES], v6[HEADER_BYTES + 24]) = (0x60, 0xff);
    assert!(Packet::parse(&v6).unwrap().is_multicast());
}

#[test]
fn headers_that_do_not_fit_together_make_one_segment() {
    let good = stream_v4(3500);
    for (place, value) in [(0, 0), (1, 9), (6, 255), (7, 255), (6, 3), (HEADER_BYTES + 32, 0), (HEADER_BYTES, 0x65)] {
        let mut bytes = good.clone();
        bytes[place] = value;
        let frame = Packet::parse(&bytes).unwrap().frame();
        assert_eq!(frame.segments(), 1, "byte {place} set to {value}: {frame:?}");
    }
    assert!(Packet::parse(&good[..HEADER_BYTES]).is_none() && Packet::parse(&[]).is_none());
}

proptest! {
    #[test]
    fn no_bytes_panic(
        head in proptest::collection::vec(any::<u8>(), 0..200),
        kind in 0_u8..6,
        start in 0_u16..80,
        pick in any::<(u64, u64)>(),
    ) {
        let mut bytes = device(kind, 52, 100, start, 16);
        bytes.extend(head);
        let Some(packet) = Packet::parse(&bytes) else { return Ok(()) };
        let _ = packet.is_multicast();
        let segments = packet.frame().segments();
        let first = pick.0 % segments;
        let end = first + 1 + pick.1 % (segments - first);
        let mut room = HeaderRoom::default();
        let _ = packet.part(first..end, &mut room);
    }
}
