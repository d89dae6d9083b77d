//! Places for operations in flight.

use super::op::Op;
use measure::Instant;

/// Place for one operation in flight.
#[derive(Debug)]
pub(in crate::run_loop) struct Slot<'p> {
    pub op: Option<Op<'p>>,
    /// Time at which the last operation of the slot ended.
    pub freed: Instant,
    /// Number of measured operations that the slot has started.
    pub taken: u64,
}

/// Slots of one thread.
///
/// Invariant: `in_flight` is the number of slots with an operation. This number does not include the slots of parts of
/// multipart uploads. A part is not an operation, so its slot does not count in the load model.
#[derive(Debug)]
pub(in crate::run_loop) struct Slots<'p> {
    slots: Vec<Slot<'p>>,
    pub in_flight: usize,
    /// Free slots that can be used for parts of multipart uploads.
    free_part_slots: Vec<u32>,
    /// Time of the next check of operations (see `attempt/orphans.rs`).
    pub next_check: Instant,
}

impl<'p> Slots<'p> {
    /// Returns a set of `count` free slots.
    pub fn new(count: usize, start: Instant) -> Self {
        let slots = (0..count).map(|_| Slot { op: None, freed: start, taken: 0 }).collect();
        Self { slots, in_flight: 0, free_part_slots: Vec::new(), next_check: start }
    }

    /// Adds a free slot.
    pub fn add(&mut self, freed: Instant) -> u32 {
        self.slots.push(Slot { op: None, freed, taken: 0 });
        self.slots.len() as u32 - 1
    }

    /// Returns the number of slots.
    pub fn len(&self) -> u32 {
        self.slots.len() as u32
    }

    /// Returns a slot.
    #[inline]
    pub fn get(&self, slot: u32) -> &Slot<'p> {
        &self.slots[slot as usize]
    }

    /// Returns a slot.
    #[inline]
    pub fn get_mut(&mut self, slot: u32) -> &mut Slot<'p> {
        &mut self.slots[slot as usize]
    }

    /// Returns the operation in a slot, which must have one.
    #[inline]
    pub fn op(&self, slot: u32) -> Option<&Op<'p>> {
        let op = self.slots[slot as usize].op.as_ref();
        debug_assert!(op.is_some(), "slot {slot} has no operation");
        op
    }

    /// Returns the operation in a slot, which must have one.
    #[inline]
    pub fn op_mut(&mut self, slot: u32) -> Option<&mut Op<'p>> {
        let op = self.slots[slot as usize].op.as_mut();
        debug_assert!(op.is_some(), "slot {slot} has no operation");
        op
    }

    /// Returns the operation in a slot, if it has one.
    #[inline]
    pub fn find_op(&self, slot: u32) -> Option<&Op<'p>> {
        self.slots[slot as usize].op.as_ref()
    }

    /// Returns the operation in a slot, if it has one.
    #[inline]
    pub fn find_op_mut(&mut self, slot: u32) -> Option<&mut Op<'p>> {
        self.slots[slot as usize].op.as_mut()
    }

    /// Puts a part of a multipart upload into a free slot, and returns the slot.
    pub fn add_part(&mut self, part: Op<'p>, now: Instant) -> u32 {
        let slot = self.free_part_slots.pop().unwrap_or_else(|| self.add(now));
        self.slots[slot as usize].op = Some(part);
        slot
    }

    /// Removes a part from its slot and returns it.
    pub fn take_part(&mut self, slot: u32) -> Option<Op<'p>> {
        let part = self.slots[slot as usize].op.take();
        debug_assert!(part.is_some(), "slot {slot} has no part");
        self.free_part_slots.push(slot);
        part
    }
}
