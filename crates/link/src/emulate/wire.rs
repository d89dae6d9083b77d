//! The bottleneck of one direction: its queue, rate, loss and delay.

use super::chance::Chance;
use super::frame::Frame;
use super::jitter::Jitter;
use crate::spec::{Direction, LinkSpec, bytes_in};
use measure::time::Instant;
use measure::units::DataRate;
use measure::values::random::mix;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::time::Duration;

/// Maximum serialization time of a piece, unless the piece has only one segment. A frame that takes longer is split
/// into several pieces, because the segments arrive one after the other on a real link.
const PIECE_MAX: Duration = Duration::from_micros(250);

/// Consecutive segments of a frame that arrive together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// The segments, counted from 0 in their frame. Never empty.
    pub segments: Range<u64>,
    /// Instant at which the last of these segments arrives.
    pub due: Instant,
}

/// Counts of segments since the start. Bytes are wire bytes ([`Frame::wire_bytes`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Segments that reached the queue.
    pub offered: u64,
    /// Bytes of these segments.
    pub offered_bytes: u64,
    /// Segments that passed the bottleneck and were not lost.
    pub passed: u64,
    /// Bytes of these segments.
    pub passed_bytes: u64,
    /// Segments for which the queue had no space.
    pub queue_drops: u64,
    /// Segments that were lost after the bottleneck.
    pub lost: u64,
    /// Segments that skipped the delay.
    pub reordered: u64,
}

/// One direction of a path.
///
/// The queue needs no events or timers. The backlog of the queue is computed from the instant at which the bottleneck
/// becomes idle. The cost of a frame therefore does not depend on the number of its segments, or on the number of
/// waiting frames.
#[derive(Clone, Debug)]
pub struct Wire {
    rate: Option<DataRate>,
    queue_bytes: u64,
    delay: Duration,
    jitter: Jitter,
    loss: Chance,
    reorder: Chance,
    /// Instant at which all accepted segments have left the bottleneck.
    idle_at: Instant,
    /// Fraction of a nanosecond that remains from earlier serialization times, in units of 1 / rate nanoseconds.
    /// Without this remainder, each frame would leave the bottleneck up to 1 ns too early.
    remainder: u64,
    tally: Tally,
}

impl Wire {
    /// Creates a direction of a path. The seed determines the jitter, and which segments are lost or reordered.
    #[must_use]
    pub fn new(link: &LinkSpec, direction: Direction, seed: u64) -> Self {
        let spec = link.direction(direction);
        let seed = mix(mix(seed) ^ direction as u64);
        Self {
            rate: spec.rate,
            queue_bytes: link.queue_bytes(direction).unwrap_or(u64::MAX),
            delay: spec.delay,
            jitter: Jitter::new(spec.jitter, mix(seed ^ 1)),
            loss: Chance::new(spec.loss, mix(seed ^ 2)),
            reorder: Chance::new(spec.reorder, mix(seed ^ 3)),
            idle_at: Instant::ZERO,
            remainder: 0,
            tally: Tally::default(),
        }
    }

    /// Returns the counts so far.
    #[must_use]
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    /// Returns the bytes that wait for the bottleneck, including the segment that is being sent.
    #[must_use]
    pub fn backlog_bytes(&self, now: Instant) -> u64 {
        self.rate.map_or(0, |rate| bytes_in(rate, self.idle_at.since(now)))
    }

    /// Handles a frame that arrives at `now`. Appends the pieces that will reach the other end to `pieces`. `now` must
    /// not decrease from call to call.
    pub fn offer(&mut self, now: Instant, frame: &Frame, pieces: &mut Vec<Piece>) {
        let segments = frame.segments();
        let accepted = self.accepted(now, frame);
        self.tally.offered += segments;
        self.tally.offered_bytes += frame.wire_bytes(0..segments);
        self.tally.queue_drops += segments - accepted;
        self.idle_at = self.idle_at.max(now);
        let longest = self.longest_piece(frame);
        let mut next = 0;
        while next < accepted {
            let undisturbed = self.loss.misses_left().min(self.reorder.misses_left());
            let count = (accepted - next).min(longest).min(undisturbed);
            if count == 0 {
                self.pass_one(frame, next, pieces);
                next += 1;
                continue;
            }
            self.loss.miss(count);
            self.reorder.miss(count);
            self.serialize(frame.wire_bytes(next..next + count));
            let due = self.arrival();
            self.deliver(frame, Piece { segments: next..next + count, due }, pieces);
            next += count;
        }
    }

    /// Returns how many segments of a frame fit into the queue, counted from the first segment. An idle bottleneck
    /// accepts at least one segment.
    fn accepted(&self, now: Instant, frame: &Frame) -> u64 {
        let segments = frame.segments();
        let space = self.queue_bytes.saturating_sub(self.backlog_bytes(now));
        if self.rate.is_none() || frame.wire_bytes(0..segments) <= space {
            return segments;
        }
        let fitting = (space / frame.wire_bytes(0..1)).min(segments - 1);
        if self.idle_at <= now { fitting.max(1) } else { fitting }
    }

    /// Returns the maximum number of segments in one piece, at least 1.
    fn longest_piece(&self, frame: &Frame) -> u64 {
        let Some(rate) = self.rate else { return u64::MAX };
        (bytes_in(rate, PIECE_MAX) / frame.wire_bytes(0..1)).max(1)
    }

    /// Passes one segment through the bottleneck. The segment may then be lost or reordered.
    fn pass_one(&mut self, frame: &Frame, segment: u64, pieces: &mut Vec<Piece>) {
        let segments = segment..segment + 1;
        self.serialize(frame.wire_bytes(segments.clone()));
        let (lost, reordered) = (self.loss.next_hits(), self.reorder.next_hits());
        if lost {
            self.tally.lost += 1;
        } else if reordered {
            self.tally.reordered += 1;
            self.deliver(frame, Piece { segments, due: self.idle_at }, pieces);
        } else {
            let due = self.arrival();
            self.deliver(frame, Piece { segments, due }, pieces);
        }
    }

    /// Advances the instant at which the bottleneck becomes idle.
    fn serialize(&mut self, bytes: u64) {
        let Some(rate) = self.rate.map(DataRate::as_bits).filter(|rate| *rate > 0) else { return };
        let work = u128::from(bytes) * 8_000_000_000 + u128::from(self.remainder);
        self.remainder = (work % u128::from(rate)) as u64;
        self.idle_at = self.idle_at + Duration::from_nanos((work / u128::from(rate)) as u64);
    }

    /// Returns the instant at which a segment arrives if it leaves the bottleneck at [`Self::idle_at`].
    fn arrival(&self) -> Instant {
        let deviation = self.jitter.at(self.idle_at);
        let shift = Duration::from_nanos(deviation.unsigned_abs());
        let usual = self.idle_at + self.delay;
        if deviation < 0 { usual - shift } else { usual + shift }
    }

    fn deliver(&mut self, frame: &Frame, piece: Piece, pieces: &mut Vec<Piece>) {
        self.tally.passed += piece.segments.end - piece.segments.start;
        self.tally.passed_bytes += frame.wire_bytes(piece.segments.clone());
        pieces.push(piece);
    }
}
