//! Storage for the frames that have not been delivered yet, as a ring buffer of bytes.

use super::wire::Piece;
use measure::time::Instant;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::ops::Range;

/// Maximum size of a frame: an IP packet of 65,535 bytes with space for a header of the device.
pub const FRAME_MAX: usize = 65_536 + 64;

/// Maximum number of stored frames. Without this limit, many small frames would need more memory for their bookkeeping
/// than for their bytes.
const FRAMES_MAX: usize = 1 << 22;

/// Minimum size of a ring that uses huge pages. In a smaller ring, huge pages would waste memory.
const HUGE_FROM_BYTES: usize = 64 << 20;

/// A frame in the ring.
#[derive(Debug)]
struct Stored {
    bytes: Range<usize>,
    /// Number of pieces that have not been delivered yet.
    pieces: usize,
}

/// A piece that waits until it is due. The derived order compares `due` first, so the heap returns the earliest piece
/// first. Pieces that are due at the same instant keep the order in which they were stored.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Waiting {
    due: Instant,
    order: u64,
    frame: u64,
    first: u64,
    end: u64,
}

/// Stored frames, whose pieces are delivered in the order in which they are due.
///
/// A frame is read from one device directly into the ring, and written from the ring to the other device, so its bytes
/// are never copied. The space of a frame is freed when this frame and all frames stored before it have been delivered.
#[derive(Debug)]
pub struct DelayLine {
    ring: Box<[u8]>,
    frames: VecDeque<Stored>,
    /// Number of the frame at the front of `frames`, counted from the start.
    front: u64,
    waiting: BinaryHeap<Reverse<Waiting>>,
    /// Number of pieces stored since the start.
    stored: u64,
    /// Start of the space that [`Self::space`] returned last.
    next: usize,
}

impl DelayLine {
    /// Creates a delay line with space for `bytes` of frames, at least two of the largest frames. The kernel provides the
    /// memory when it is first used.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let mut ring = vec![0; bytes.max(2 * FRAME_MAX)].into_boxed_slice();
        // A large ring is used from end to end, so with small pages each access to a new page would miss the TLB.
        if ring.len() >= HUGE_FROM_BYTES {
            sys::memory::prefer_huge_pages(&mut ring);
        }
        Self { ring, frames: VecDeque::new(), front: 0, waiting: BinaryHeap::new(), stored: 0, next: 0 }
    }

    /// Returns space for the next frame, of at least [`FRAME_MAX`] bytes. `None` if the ring is full.
    pub fn space(&mut self) -> Option<&mut [u8]> {
        let start = self.free_start()?;
        self.next = start;
        Some(&mut self.ring[start..start + FRAME_MAX])
    }

    /// Returns the offset at which the next frame may start.
    fn free_start(&self) -> Option<usize> {
        if self.frames.len() >= FRAMES_MAX {
            return None;
        }
        let (Some(oldest), Some(newest)) = (self.frames.front(), self.frames.back()) else { return Some(0) };
        let (oldest, after, wrapped) = (oldest.bytes.start, newest.bytes.end, newest.bytes.start < oldest.bytes.start);
        let fits = |start: usize, end: usize| end.saturating_sub(start) >= FRAME_MAX;
        // The used bytes are either one range of the ring, or they wrap around its end. If they wrap around, the free
        // bytes are in the middle.
        match wrapped {
            true => fits(after, oldest).then_some(after),
            false if fits(after, self.ring.len()) => Some(after),
            false => fits(0, oldest).then_some(0),
        }
    }

    /// Stores the frame that was written to the start of [`Self::space`], with its pieces. A frame without pieces is
    /// not stored, so its space stays free.
    ///
    /// # Panics
    /// Panics if the frame is larger than the space.
    pub fn store(&mut self, bytes: usize, pieces: &mut Vec<Piece>) {
        assert!(bytes <= FRAME_MAX, "a frame is larger than its space");
        if pieces.is_empty() {
            return;
        }
        let frame = self.front + self.frames.len() as u64;
        self.frames.push_back(Stored { bytes: self.next..self.next + bytes, pieces: pieces.len() });
        for piece in pieces.drain(..) {
            let Range { start: first, end } = piece.segments;
            self.waiting.push(Reverse(Waiting { due: piece.due, order: self.stored, frame, first, end }));
            self.stored += 1;
        }
    }

    /// Returns the instant of the next piece.
    #[must_use]
    pub fn next_due(&self) -> Option<Instant> {
        self.waiting.peek().map(|Reverse(piece)| piece.due)
    }

    /// If the next piece is due at `now` or earlier, passes the piece and its frame to `deliver`. Returns whether a
    /// piece was due.
    pub fn deliver_due(&mut self, now: Instant, deliver: impl FnOnce(&[u8], Piece)) -> bool {
        if self.next_due().is_none_or(|due| due > now) {
            return false;
        }
        let Some(Reverse(piece)) = self.waiting.pop() else { return false };
        let place = (piece.frame - self.front) as usize;
        let stored = &mut self.frames[place];
        stored.pieces -= 1;
        deliver(&self.ring[stored.bytes.clone()], Piece { segments: piece.first..piece.end, due: piece.due });
        while self.frames.front().is_some_and(|frame| frame.pieces == 0) {
            self.frames.pop_front();
            self.front += 1;
        }
        true
    }

    /// Returns the number of stored frames.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Returns whether no frame is on its way.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}
