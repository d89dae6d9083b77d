//! One direction of a relay, shared by all connections.

use super::connection::Key;
use crate::emulate::{Frame, Piece, Wire};
use crate::spec::{Direction, LinkSpec, bytes_in};
use measure::time::Instant;
use measure::units::ByteSize;
use std::collections::VecDeque;
use std::time::Duration;

/// Size of the headers of a TCP segment: IPv4, and TCP with timestamps.
const HEADER_BYTES: u64 = 52;
/// Payload bytes of a TCP segment on Ethernet.
const SEGMENT_BYTES: u64 = 1448;
/// Serialization time of the bytes that one call reads. This time is short, so that connections take turns often.
const CHUNK_TIME: Duration = Duration::from_micros(250);
/// Limits for the number of bytes that one call reads.
const CHUNK_MIN_BYTES: u64 = SEGMENT_BYTES;
const CHUNK_MAX_BYTES: u64 = 64 << 10;
/// Serialization time of the bytes that may wait for the bottleneck, if the rate is limited. When more bytes wait, the
/// relay stops reading from the senders, so a larger queue would only waste memory.
const QUEUE_TIME: Duration = Duration::from_millis(2);
/// Maximum number of stored bytes if the rate is unlimited.
const STORED_MAX_BYTES: u64 = 256 << 20;

/// Rate and delay of a direction, and the connections that have bytes to read.
#[derive(Debug)]
pub(super) struct Lane {
    wire: Wire,
    limit_bytes: u64,
    /// Maximum number of bytes that one call reads.
    pub chunk_bytes: usize,
    /// Number of bytes that were read but not passed on yet.
    pub stored_bytes: u64,
    /// `true` if the rate is limited.
    is_limited: bool,
    /// Connections with bytes to read, which take turns.
    pub turns: VecDeque<Key>,
    pieces: Vec<Piece>,
}

impl Lane {
    pub fn new(spec: &LinkSpec, direction: Direction, seed: u64) -> Self {
        let own = spec.direction(direction);
        // The wire must not drop anything, because the relay limits the senders instead.
        let mut lossless = *spec;
        match direction {
            Direction::Down => lossless.down.queue = Some(ByteSize(u64::MAX)),
            Direction::Up => lossless.up.queue = Some(ByteSize(u64::MAX)),
        }
        let chunk = own.rate.map_or(CHUNK_MAX_BYTES, |rate| bytes_in(rate, CHUNK_TIME));
        let chunk = chunk.clamp(CHUNK_MIN_BYTES, CHUNK_MAX_BYTES);
        let limit = own.rate.map_or(STORED_MAX_BYTES, |rate| bytes_in(rate, QUEUE_TIME).max(2 * chunk));
        Self {
            wire: Wire::new(&lossless, direction, seed),
            limit_bytes: limit,
            chunk_bytes: chunk as usize,
            stored_bytes: 0,
            is_limited: own.rate.is_some(),
            turns: VecDeque::new(),
            pieces: Vec::new(),
        }
    }

    /// Returns whether bytes may be read now.
    pub fn has_space(&self, now: Instant) -> bool {
        let waiting = if self.is_limited { self.wire.backlog_bytes(now) } else { self.stored_bytes };
        waiting < self.limit_bytes
    }

    /// Passes `bytes` bytes through the emulated bottleneck. Returns the instant at which the last byte arrives.
    pub fn carry(&mut self, now: Instant, bytes: usize) -> Instant {
        let frame = Frame { header_bytes: HEADER_BYTES, payload_bytes: bytes as u64, segment_bytes: SEGMENT_BYTES };
        self.wire.offer(now, &frame, &mut self.pieces);
        self.stored_bytes += bytes as u64;
        self.pieces.drain(..).next_back().map_or(now, |piece| piece.due)
    }
}
