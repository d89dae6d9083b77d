//! The end of operations that are in flight when the run ends.

use super::Reuse;
use super::exchange::State;
use crate::control::StopReason;
use crate::network::Network;
use crate::plan::RequestPlan;
use crate::run_loop::RunLoop;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Phase};
use wire::message::Reading;

impl<N: Network> RunLoop<'_, N> {
    /// Ends all attempts and operations in flight, because the drain has ended.
    pub(in crate::run_loop) fn abandon_all(&mut self, net: &mut N, now: Instant) {
        let by_user = self.control.is_abandoned() && self.control.reason() != Some(StopReason::ThreadLost);
        let (class, cause) = if by_user {
            (AttemptClass::Interrupted, Cause::UserInterrupt)
        } else {
            (AttemptClass::InflightAtEnd, Cause::RunEnded)
        };
        self.abandon(net, class, cause, |_| true, now);
    }

    /// Ends the reads in flight when the requested number of bytes has arrived, because further reads would exceed this
    /// number. Writes may complete, because a partly written object is useless.
    pub(in crate::run_loop) fn abandon_reads(&mut self, net: &mut N, now: Instant) {
        self.abandon(net, AttemptClass::InflightAtEnd, Cause::BytesReached, RequestPlan::is_safe, now);
        for origin in &mut self.pool.origins {
            origin.waiting.retain(|slot| self.slots.find_op(*slot).is_some());
        }
        self.pool.waits.for_connection = self.pool.origins.iter().map(|origin| origin.waiting.len()).sum();
    }

    /// Ends the operations in flight if `which` returns `true` for their request.
    fn abandon(
        &mut self,
        net: &mut N,
        class: AttemptClass,
        cause: Cause,
        which: impl Fn(&RequestPlan) -> bool,
        now: Instant,
    ) {
        self.count_parts(&which);
        // End an operation before its parts. If the last part ended first, the upload would make another request.
        let slots = 0..self.slots.len();
        for (parts, slot) in slots.clone().map(|slot| (false, slot)).chain(slots.map(|slot| (true, slot))) {
            let Some(op) = self.slots.find_op(slot) else { continue };
            if op.part.is_some() != parts || !which(&self.plan.mix.requests()[op.request]) {
                continue;
            }
            let exchange = op.attempt.exchange.and_then(|id| self.pool.exchange(id));
            let phase = match exchange.map(|exchange| (exchange.state, exchange.reader.phase())) {
                None if self.pool.waits.for_name.contains(&slot) => Phase::Resolve,
                None | Some((State::Opening, _)) => Phase::Connect,
                Some((State::Handshaking, _)) => Phase::Tls,
                Some((_, Reading::Head)) => Phase::Head,
                Some(_) => Phase::Body,
            };
            self.end_op(net, slot, AttemptOutcome::failed(class, cause, phase), Reuse::Close, now);
        }
    }

    /// Adds the attempts of parts in flight to the counts of the operations that upload these parts. At the end of a
    /// run, an operation ends before its parts.
    fn count_parts(&mut self, which: &impl Fn(&RequestPlan) -> bool) {
        for slot in 0..self.slots.len() {
            let Some(child) = self.slots.find_op(slot) else { continue };
            let request = &self.plan.mix.requests()[child.request];
            let Some(part) = child.part.filter(|_| which(request)) else { continue };
            let sent = child.sent_so_far(request.sends_object());
            let (parent, number) = part.of;
            if let Some(op) = self.slots.find_op_mut(parent).filter(|op| op.number == number) {
                op.attempts = op.attempts.saturating_add(u32::try_from(sent.attempts).unwrap_or(u32::MAX));
                op.uploaded_bytes += sent.bytes;
            }
        }
    }
}
