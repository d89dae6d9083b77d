//! The end of an operation. The operation is recorded, and its slot becomes free.

use super::log::HopEntry;
use super::op::{FinalResponse, Op};
use crate::network::Network;
use crate::plan::Pick;
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::Reuse;
use crate::run_loop::attempt::exchange::EXCHANGE_EXISTS;
use crate::run_loop::invariant::Invariant;
use crate::run_loop::pacing::Pacer;
use crate::run_loop::response::body::BodySink;
use measure::sample::HopSample;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, OpOutcome, OpSample, Phase};
use std::time::Duration;
use wire::response::{Location, RangeField};

/// First pause of a slot after a connection could not be opened. The pause is doubled with each failure in a row, up to
/// 160 ms. Without this pause, a dead target would be flooded with attempts, and the results would contain millions of
/// failures.
const BACK_OFF: Duration = Duration::from_millis(5);
/// Maximum number of times that the pause is doubled.
const BACK_OFF_DOUBLINGS: u32 = 5;

impl<N: Network> RunLoop<'_, N> {
    /// Ends the slot's operation with its last attempt.
    pub(in crate::run_loop) fn end_op(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        reuse: Reuse,
        now: Instant,
    ) {
        if self.slots.op(slot).is_some_and(|op| op.part.is_some()) {
            return self.end_part(net, slot, outcome, reuse, now);
        }
        let (body_bytes, response) = self.final_response(slot);
        let logged = self.slots.op_mut(slot).filter(|_| self.plan.log_ops);
        let body = logged.map(|op| std::mem::take(&mut op.body));
        self.record_attempt(net, slot, outcome, reuse, now);
        // The operation is not moved out of its slot. An operation is a large value, so moving it would cost more than
        // the rest of this function.
        let Some(op) = self.slots.op(slot) else { return };
        self.pool.origins[op.origin].in_flight -= 1;
        let request = &self.plan.mix.requests()[op.request];
        let result = of_attempt(outcome);
        if request.pick == Pick::Fresh && result == OpOutcome::Ok {
            self.written.add(op.subject);
        }
        let moved = if let Some(multipart) = &op.multipart {
            multipart.sent_body
        } else if let Some(polling) = &op.polling {
            polling.sent_body
        } else if request.is_upload() {
            op.attempt.sent_body
        } else {
            op.pages.body_bytes + body_bytes
        };
        let mut sample = op.sample(now, result, moved);
        if let Some(multipart) = &op.multipart {
            sample.window.sent += multipart.window.sent;
        }
        if let Some(polling) = &op.polling {
            sample.window.sent += polling.window.sent;
        }
        // Add the length of the current step, because a stall in this step is detected only when the step ends.
        let step_nanos = now.nanos_since(self.load.step_began);
        let added = self.control.stalls().touch(op.intended, op.stalls_before);
        sample.affected_by = added.map(|added| added.saturating_add(step_nanos));
        self.recorder.ended(&sample);
        if let Some(chain) = &op.chain {
            self.recorder.chain(&sample, u64::from(op.attempts), &chain.hops);
        }
        if result != OpOutcome::Ok {
            self.written.note_open_upload(op, request, outcome);
        }
        if self.plan.log_ops || outcome.class == AttemptClass::Integrity {
            self.log_op(slot, &sample, outcome, response, body);
        }
        self.slots.in_flight -= 1;
        self.slots.get_mut(slot).op = None;
        let unreached = matches!(outcome.phase, Phase::Resolve | Phase::Connect | Phase::Tls);
        self.free_slot(slot, unreached && result != OpOutcome::Ok, now);
    }

    /// Adds the slot's operation to the log.
    #[cold]
    fn log_op(
        &mut self,
        slot: u32,
        sample: &OpSample,
        outcome: AttemptOutcome,
        response: FinalResponse,
        body: Option<BodySink<'_>>,
    ) {
        let Some(op) = self.slots.op(slot) else { return };
        let mut entry = op.entry(slot, sample, outcome, response);
        entry.differs_at = self.notes.mismatch_of(outcome).map(|found| found.offset);
        entry.chain = self.hop_entries(op);
        if let Some(BodySink::Keep(message) | BodySink::KeepList(message) | BodySink::Error(message)) = body {
            entry.message = Some(message.into_boxed_slice());
        }
        self.log.push(entry);
    }

    /// Returns the body bytes of the slot's attempt, and its response.
    fn final_response(&self, slot: u32) -> (u64, FinalResponse) {
        let id = self.slots.op(slot).and_then(|op| op.attempt.exchange);
        // An attempt that got no connection has no exchange.
        let Some(id) = id else { return (0, FinalResponse::NONE) };
        let exchange = self.pool.exchange(id).assert_some(EXCHANGE_EXISTS);
        let Some(exchange) = exchange else { return (0, FinalResponse::NONE) };
        let body_bytes = exchange.reader.body_bytes();
        let Some(head) = exchange.reader.head() else { return (body_bytes, FinalResponse::NONE) };
        let object_bytes = match head.content_range {
            RangeField::Valid(range) => range.complete,
            RangeField::Absent | RangeField::Invalid => head.declared_length,
        };
        let location = if self.plan.log_ops { head.location.clone() } else { Location::Absent };
        (body_bytes, FinalResponse { status: Some(head.status), location, object_bytes })
    }

    /// Returns the log entries for the requests of a redirected operation, with the names of their hosts.
    fn hop_entries(&self, op: &Op<'_>) -> Vec<HopEntry> {
        let hops = op.chain.iter().flat_map(|chain| &chain.hops);
        let entry = |hop: &HopSample| HopEntry {
            host: self.recorder.host_name(hop.host).clone(),
            sent: hop.sent,
            end: hop.end,
            status: hop.status,
            bytes: hop.body_bytes + hop.overhead_bytes,
        };
        hops.map(entry).collect()
    }

    /// Frees a slot for its next operation. `unreached` means that no connection could be opened.
    #[inline]
    fn free_slot(&mut self, slot: u32, unreached: bool, now: Instant) {
        self.slots.get_mut(slot).freed = now;
        match &mut self.pacer {
            Pacer::Open(open) => open.free_slots.push(slot),
            Pacer::Closed(closed) => {
                let doublings = self.pool.failures_in_a_row.saturating_sub(1).min(BACK_OFF_DOUBLINGS);
                let back_off = if unreached { BACK_OFF * (1 << doublings) } else { Duration::ZERO };
                let pause = closed.think.max(back_off);
                if pause.is_zero() {
                    closed.waiting.push_back((slot, now));
                } else {
                    closed.pause(slot, now + pause);
                    if pause > closed.think {
                        self.recorder.backed_off(now + closed.think, now + pause);
                    }
                }
            }
        }
    }
}

/// Returns the outcome of an operation whose last attempt ended with `outcome`.
fn of_attempt(outcome: AttemptOutcome) -> OpOutcome {
    match outcome.class {
        AttemptClass::Ok => OpOutcome::Ok,
        AttemptClass::InflightAtEnd if outcome.cause == Cause::BytesReached => OpOutcome::CutOff,
        AttemptClass::InflightAtEnd | AttemptClass::Interrupted => OpOutcome::Unfinished,
        _ => OpOutcome::Failed(outcome),
    }
}
