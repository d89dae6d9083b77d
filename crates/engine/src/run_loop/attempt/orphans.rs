//! Operations that have no connection because of a defect of this program.
//!
//! In debug builds, a broken invariant causes a panic. In release builds, some code only returns early, so an operation
//! could remain in flight forever. To prevent this, the run loop searches once a second for operations without their
//! own connection or stream. The loop ends these operations with the class `internal`, so that they are counted. An
//! operation that still has its connection needs no such check, because it ends no later than its timeout.

use super::Reuse;
use super::exchange::State;
use crate::network::Network;
use crate::run_loop::RunLoop;
use crate::run_loop::operation::op::Op;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use std::time::Duration;

/// Interval between checks of the operations.
pub(in crate::run_loop) const CHECK_EVERY: Duration = Duration::from_secs(1);

const DEFECT: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Internal, Cause::Defect, Phase::Connect);

impl<N: Network> RunLoop<'_, N> {
    /// Ends the operations that have lost their connection or stream. Must be called between steps, while no slot is
    /// being processed.
    #[cold]
    pub(in crate::run_loop) fn end_orphans(&mut self, net: &mut N, now: Instant) {
        self.slots.next_check = now + CHECK_EVERY;
        let mut waiting = None;
        for slot in 0..self.slots.len() {
            let Some(op) = self.slots.find_op(slot) else { continue };
            if self.has_exchange(op, slot) || is_in_parts(op) || op.pause.is_some() {
                continue;
            }
            let waiting = waiting.get_or_insert_with(|| self.waiting_slots());
            if op.attempt.exchange.is_none() && waiting.binary_search(&slot).is_ok() {
                continue;
            }
            debug_assert!(false, "operation {} in slot {slot} neither has a connection nor waits for one", op.number);
            if let Some(op) = self.slots.op_mut(slot) {
                // The exchange may be used by another attempt by now, so it must not be ended here.
                op.attempt.exchange = None;
            }
            self.end_op(net, slot, DEFECT, Reuse::Close, now);
        }
    }

    /// Returns whether the attempt of an operation has its own connection or stream.
    fn has_exchange(&self, op: &Op<'_>, slot: u32) -> bool {
        let exchange = op.attempt.exchange.and_then(|id| self.pool.exchange(id));
        exchange.is_some_and(|exchange| {
            exchange.slot == slot && matches!(exchange.state, State::Opening | State::Handshaking | State::Active)
        })
    }

    /// Returns the slots that wait for a connection, a name or a listener, in ascending order.
    fn waiting_slots(&self) -> Vec<u32> {
        let waits = &self.pool.waits;
        let for_connection = self.pool.origins.iter().flat_map(|origin| &origin.waiting);
        let mut slots: Vec<u32> = for_connection.chain(&waits.for_name).chain(&waits.for_backlog).copied().collect();
        slots.sort_unstable();
        slots
    }
}

/// Returns whether an operation has no request in flight itself, because its parts are in flight.
fn is_in_parts(op: &Op<'_>) -> bool {
    op.attempt.over && op.multipart.as_ref().is_some_and(|multipart| multipart.running > 0)
}
