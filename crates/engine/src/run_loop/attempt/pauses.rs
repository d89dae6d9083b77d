//! Pauses of an operation between two requests. While an operation pauses, it keeps its slot and counts as in flight.

use super::Reuse;
use super::failures::Pause;
use crate::network::Network;
use crate::run_loop::RunLoop;
use crate::run_loop::invariant::Invariant;
use crate::run_loop::operation::parts::HAS_UPLOAD;
use measure::sample::AttemptKind;
use measure::{AttemptOutcome, Instant};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Pauses of one thread's operations.
#[derive(Debug)]
pub(in crate::run_loop) struct Pauses {
    /// Times at which pauses end, each with the slot and the number of the operation that pauses. An operation can end
    /// during its pause. An entry is therefore used only if the operation in the slot still has this number and this
    /// pause.
    ends: BinaryHeap<Reverse<(Instant, u32, u64)>>,
    /// Earliest end of a pause.
    pub next: Instant,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { ends: BinaryHeap::new(), next: Instant::NEVER }
    }
}

impl Pauses {
    fn add(&mut self, until: Instant, slot: u32, number: u64) {
        self.ends.push(Reverse((until, slot, number)));
        self.next = self.next.min(until);
    }

    /// Removes and returns a pause that has ended, with its slot and the number of the operation.
    fn take_ended(&mut self, now: Instant) -> Option<(Instant, u32, u64)> {
        let ended = self.ends.peek().copied().filter(|Reverse((until, ..))| *until <= now);
        if ended.is_some() {
            self.ends.pop();
        }
        self.next = self.ends.peek().map_or(Instant::NEVER, |Reverse((until, ..))| *until);
        ended.map(|Reverse(entry)| entry)
    }
}

impl<N: Network> RunLoop<'_, N> {
    /// Makes the slot's operation pause until `until` and then make an attempt of this kind. The previous attempt must
    /// already be recorded.
    pub(in crate::run_loop) fn pause(&mut self, slot: u32, until: Instant, kind: AttemptKind) {
        let Some(op) = self.slots.op_mut(slot) else { return };
        debug_assert!(op.attempt.over, "the attempt of slot {slot} is not recorded yet");
        op.pause = Some(Pause { until, kind });
        self.pauses.add(until, slot, op.number);
    }

    /// Continues the operations whose pause has ended.
    #[cold]
    pub(in crate::run_loop) fn end_pauses(&mut self, net: &mut N, now: Instant) {
        while let Some((until, slot, number)) = self.pauses.take_ended(now) {
            // The end of the run may have ended the operation.
            let Some(op) = self.slots.find_op_mut(slot).filter(|op| op.number == number) else { continue };
            let Some(pause) = op.pause.take_if(|pause| pause.until == until) else { continue };
            match self.failure_of_upload(slot) {
                Some(failed) => self.end_part(net, slot, failed, Reuse::Close, now),
                None => self.begin_attempt(net, slot, pause.kind, now),
            }
        }
    }

    /// Returns the failure of the upload to which the slot's part belongs, if the upload has failed. If so, no further
    /// request is made for the part.
    fn failure_of_upload(&self, slot: u32) -> Option<AttemptOutcome> {
        let part = self.slots.op(slot)?.part?;
        let (parent, number) = part.of;
        // The end of the run may have ended the operation.
        let op = self.slots.find_op(parent).filter(|op| op.number == number)?;
        op.multipart.as_ref().assert_some(HAS_UPLOAD)?.failed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_end_in_order() {
        let at = Instant::from_nanos;
        let mut pauses = Pauses::default();
        assert_eq!((pauses.next, pauses.take_ended(at(100))), (Instant::NEVER, None));
        for (until, slot) in [(30, 1), (10, 2), (20, 3)] {
            pauses.add(at(until), slot, 7);
        }
        assert_eq!((pauses.next, pauses.take_ended(at(9))), (at(10), None));
        assert_eq!(pauses.take_ended(at(20)), Some((at(10), 2, 7)));
        assert_eq!(pauses.take_ended(at(20)), Some((at(20), 3, 7)));
        assert_eq!((pauses.take_ended(at(20)), pauses.next), (None, at(30)));
    }
}
