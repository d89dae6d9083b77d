use super::chance::Chance;
use super::jitter::Jitter;
use super::*;
use crate::spec::{Direction, LinkSpec};
use measure::statistics::binomial::at_least;
use measure::time::Instant;
use measure::values::random::Random;
use proptest::prelude::*;
use std::time::Duration;

/// A frame of 44 segments of 1448 bytes, with headers of 52 bytes.
const BIG: Frame = Frame { header_bytes: 52, payload_bytes: 44 * 1448, segment_bytes: 1448 };

fn wire(text: &str) -> Wire {
    let link = LinkSpec { down: text.parse().unwrap(), ..LinkSpec::default() };
    Wire::new(&link, Direction::Down, 1)
}

fn at(micros: u64) -> Instant {
    Instant::from_nanos(micros * 1000)
}

fn offer(wire: &mut Wire, now: Instant, frame: &Frame) -> Vec<Piece> {
    let mut pieces = Vec::new();
    wire.offer(now, frame, &mut pieces);
    pieces
}

#[test]
fn a_packet_arrives_after_its_serialization_and_the_delay() {
    let mut wire = wire("10Mbit/s,40ms");
    // At 10 Mbit/s, 1486 bytes and the 14 bytes of the Ethernet header take 1.2 ms.
    let packet = Frame::packet(1486);
    assert_eq!(offer(&mut wire, at(5), &packet), [Piece { segments: 0..1, due: at(41_205) }]);
    assert_eq!(offer(&mut wire, at(5), &packet), [Piece { segments: 0..1, due: at(42_405) }]);
    assert_eq!(wire.backlog_bytes(at(5)), 3000);
    assert_eq!(wire.backlog_bytes(at(1205)), 1500);
    assert_eq!(wire.backlog_bytes(at(9000)), 0);
    assert_eq!(offer(&mut wire, at(9000), &packet), [Piece { segments: 0..1, due: at(50_200) }]);
}

/// The header is added to each segment of a frame, so the payload rate is the same as with single packets.
#[test]
fn frames_and_packets_have_the_same_rate() {
    let (mut frames, mut packets) = (wire("1Gbit/s,0ms,queue=1GB"), wire("1Gbit/s,0ms,queue=1GB"));
    let (mut last_frame, mut last_packet) = (Instant::ZERO, Instant::ZERO);
    for _ in 0..1000 {
        last_frame = offer(&mut frames, Instant::ZERO, &BIG).last().unwrap().due;
        for _ in 0..44 {
            last_packet = offer(&mut packets, Instant::ZERO, &Frame::packet(1500)).last().unwrap().due;
        }
    }
    assert_eq!(last_frame, last_packet);
    // 44,000 segments of 1514 bytes at 1 Gbit/s.
    assert_eq!(last_frame.as_nanos(), 44_000 * 1514 * 8);
}

#[test]
fn the_rate_is_exact_although_segments_take_fractions_of_nanoseconds() {
    let mut wire = wire("7Gbit/s,0ms,queue=1GB");
    for _ in 0..70_000 {
        offer(&mut wire, Instant::ZERO, &Frame::packet(1));
    }
    let last = offer(&mut wire, Instant::ZERO, &Frame::packet(1)).pop().unwrap().due;
    assert_eq!(last.as_nanos(), 70_001 * 15 * 8 / 7);
}

#[test]
fn a_frame_is_delivered_in_pieces_that_take_at_most_250_microseconds() {
    let pieces = offer(&mut wire("100Mbit/s,10ms"), Instant::ZERO, &BIG);
    assert_eq!(pieces.len(), 22, "{pieces:?}");
    for (index, piece) in (1..).zip(&pieces) {
        assert_eq!(piece.segments, 2 * (index - 1)..2 * index);
        assert_eq!(piece.due.as_nanos(), 10_000_000 + 2 * index * 1514 * 80);
    }
    let pieces = offer(&mut wire("10ms"), Instant::ZERO, &BIG);
    assert_eq!(pieces, [Piece { segments: 0..44, due: at(10_000) }]);
}

#[test]
fn the_queue_accepts_segments_up_to_its_limit() {
    let mut wire = wire("10Mbit/s,0ms,queue=15140B");
    let accepted: u64 = offer(&mut wire, Instant::ZERO, &BIG).iter().map(|piece| piece.segments.end).max().unwrap();
    assert_eq!(accepted, 10);
    assert_eq!(offer(&mut wire, Instant::ZERO, &Frame::packet(1500)), []);
    // One segment has left after 1.2112 ms.
    assert_eq!(offer(&mut wire, at(1212), &BIG).len(), 1);
    assert_eq!((wire.tally().offered, wire.tally().queue_drops, wire.tally().passed), (89, 78, 11));
}

#[test]
fn an_idle_bottleneck_accepts_a_segment_larger_than_the_queue() {
    let mut wire = wire("10Mbit/s,0ms,queue=1514B");
    assert_eq!(offer(&mut wire, Instant::ZERO, &Frame::packet(9000)).len(), 1);
    assert_eq!(offer(&mut wire, at(10), &Frame::packet(9000)).len(), 0);
}

#[test]
fn segments_are_lost_with_their_probability() {
    for (text, share, seed) in [("0.1%", 0.001, 1), ("1%", 0.01, 2), ("50%", 0.5, 3)] {
        let link =
            LinkSpec { down: format!("1Gbit/s,1ms,queue=1GB,loss={text}").parse().unwrap(), ..LinkSpec::default() };
        let mut wire = Wire::new(&link, Direction::Down, seed);
        let mut arrived = 0;
        for _ in 0..500 {
            arrived +=
                offer(&mut wire, Instant::ZERO, &BIG).iter().map(|p| p.segments.end - p.segments.start).sum::<u64>();
        }
        let (all, lost) = (500 * 44, wire.tally().lost);
        assert_eq!(arrived + lost, all);
        // Both tails have a probability of 1 in 10,000.
        assert!(at_least(lost, all, share) > 1e-4, "seed {seed}, {text}: {lost} of {all}");
        assert!(1.0 - at_least(lost + 1, all, share) > 1e-4, "seed {seed}, {text}: {lost} of {all}");
    }
}

/// The number of losses per frame must vary as with independent losses. This shows that losses do not hit whole frames.
#[test]
fn losses_are_independent() {
    let link = LinkSpec { down: "1Gbit/s,1ms,queue=1GB,loss=10%".parse().unwrap(), ..LinkSpec::default() };
    let mut wire = Wire::new(&link, Direction::Down, 4);
    let (mut sum, mut squares, frames) = (0.0, 0.0, 2000.0);
    for _ in 0..2000 {
        let before = wire.tally().lost;
        offer(&mut wire, Instant::ZERO, &BIG);
        let lost = (wire.tally().lost - before) as f64;
        sum += lost;
        squares += lost * lost;
    }
    let variance = squares / frames - (sum / frames).powi(2);
    // 44 × 0.1 × 0.9 = 3.96, with a standard error of about 3 %.
    assert!((3.5..4.5).contains(&variance), "seed 4: {variance}");
}

#[test]
fn all_or_nothing_is_lost_at_the_ends_of_the_range() {
    assert_eq!(offer(&mut wire("1ms,loss=100%"), Instant::ZERO, &BIG), []);
    let mut none = Chance::new(0.0, 1);
    assert!((0..1000).all(|_| !none.next_hits()));
    let mut all = Chance::new(1.0, 1);
    assert!((0..1000).all(|_| all.next_hits()));
}

#[test]
fn reordered_segments_skip_the_delay() {
    let mut wire = wire("1Gbit/s,20ms,queue=1GB,reorder=5%");
    let mut early = 0;
    for round in 0..200 {
        let now = at(round * 1000);
        for piece in offer(&mut wire, now, &BIG) {
            if piece.due < now + Duration::from_millis(20) {
                assert_eq!(piece.segments.end - piece.segments.start, 1);
                early += 1;
            }
        }
    }
    assert_eq!(early, wire.tally().reordered);
    assert!((350..530).contains(&early), "seed 1: {early} of 8800");
}

#[test]
fn jitter_stays_in_its_bounds_uses_them_and_keeps_the_order() {
    let mut wire = wire("40ms,jitter=10ms");
    let (mut last, mut least, mut most) = (Instant::ZERO, u64::MAX, 0);
    for step in 0..200_000 {
        let now = at(step * 50);
        let due = offer(&mut wire, now, &Frame::packet(100)).pop().unwrap().due;
        assert!(due >= last, "segment {step} overtakes");
        let delay = due.nanos_since(now);
        (last, least, most) = (due, least.min(delay), most.max(delay));
    }
    assert!((30_000_000..32_000_000).contains(&least) && (48_000_000..50_000_001).contains(&most), "{least} {most}");
    assert_eq!(Jitter::new(Duration::ZERO, 1).at(at(5)), 0);
}

#[test]
fn the_same_seed_gives_the_same_losses() {
    let run = |seed| {
        let link = LinkSpec { down: "1ms,loss=5%,reorder=2%,jitter=1ms".parse().unwrap(), ..LinkSpec::default() };
        let mut wire = Wire::new(&link, Direction::Down, seed);
        (0..20).map(|round| offer(&mut wire, at(round * 700), &BIG)).collect::<Vec<_>>()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
}

/// Removes all pieces that are due, and returns them as (first byte of the frame, segments).
fn due(line: &mut DelayLine, now: Instant) -> Vec<(u8, Piece)> {
    let mut delivered = Vec::new();
    while line.deliver_due(now, |bytes, piece| delivered.push((bytes[0], piece))) {}
    delivered
}

fn store(line: &mut DelayLine, mark: u8, bytes: usize, pieces: &[(u64, Instant)]) {
    let space = line.space().expect("the ring has space");
    space[..bytes].fill(mark);
    let mut pieces = pieces.iter().map(|(n, due)| Piece { segments: *n..n + 1, due: *due }).collect();
    line.store(bytes, &mut pieces);
}

#[test]
fn pieces_are_delivered_in_the_order_of_their_instants() {
    let mut line = DelayLine::new(0);
    store(&mut line, 1, 100, &[(0, at(30)), (1, at(10))]);
    store(&mut line, 2, 100, &[(0, at(20))]);
    store(&mut line, 3, 100, &[]);
    assert_eq!((line.len(), line.next_due()), (2, Some(at(10))));
    assert_eq!(due(&mut line, at(9)), []);
    let order: Vec<(u8, u64)> =
        due(&mut line, at(30)).iter().map(|(mark, piece)| (*mark, piece.segments.start)).collect();
    assert_eq!(order, [(1, 1), (2, 0), (1, 0)]);
    assert!(line.is_empty() && line.next_due().is_none());
}

proptest! {
    /// Compares the ring with a list of frames: no frame is changed, lost or delivered early, and the ring rejects a
    /// frame only if it is nearly full.
    #[test]
    fn the_ring_keeps_every_frame(seed in any::<u64>()) {
        let mut random = Random::new(seed);
        let mut line = DelayLine::new(5 * FRAME_MAX);
        let mut expected: Vec<(u64, u64, usize, u8)> = Vec::new();
        let mut now = 0;
        for number in 0..400_u64 {
            now += random.below(40) as u64;
            let bytes = 1 + random.below(FRAME_MAX);
            let in_ring: usize = expected.iter().map(|(_, _, bytes, _)| bytes).sum();
            match line.space() {
                Some(space) => {
                    space[..bytes].fill(number as u8);
                    let at_nanos = now + random.below(300) as u64;
                    line.store(bytes, &mut vec![Piece { segments: 0..1, due: Instant::from_nanos(at_nanos) }]);
                    expected.push((at_nanos, number, bytes, number as u8));
                }
                // The space behind an undelivered frame cannot be reused yet, so only an empty ring is sure to have
                // space.
                None => prop_assert!(in_ring > 0),
            }
            expected.sort_unstable();
            while line.deliver_due(Instant::from_nanos(now), |bytes, piece| {
                let (due, _, length, mark) = expected.remove(0);
                assert_eq!((due, length), (piece.due.as_nanos(), bytes.len()));
                assert!(bytes.iter().all(|byte| *byte == mark));
            }) {}
            prop_assert!(expected.first().is_none_or(|(due, ..)| *due > now));
        }
    }
}
