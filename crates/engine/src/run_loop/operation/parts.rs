//! The requests that follow the initiation of a multipart upload. These requests send the parts, and complete or abort
//! the upload.

use super::DEFECT;
use super::multipart::PartResult;
use crate::network::Network;
use crate::plan::Then;
use crate::run_loop::RunLoop;
use crate::run_loop::attempt::Reuse;
use crate::run_loop::invariant::Invariant;
use measure::{AttemptClass, AttemptOutcome, Instant};
use wire::s3::ErrorCode;

/// Invariant that debug builds check for operations whose parts are sent.
pub(in crate::run_loop) const HAS_UPLOAD: &str = "the operation of a part has an upload";

impl<N: Network> RunLoop<'_, N> {
    /// Returns whether the slot's operation is a multipart upload, or a part of one.
    pub(in crate::run_loop) fn is_multipart(&self, slot: u32) -> bool {
        self.slots.op(slot).is_some_and(|op| {
            let initiates = matches!(self.plan.mix.requests()[op.request].then, Then::Parts(_));
            op.part.is_some() || op.multipart.is_some() || initiates
        })
    }

    /// Sends the first parts of the slot's object.
    pub(in crate::run_loop) fn begin_parts(&mut self, net: &mut N, slot: u32, now: Instant) {
        let multipart = self.slots.op(slot).and_then(|op| op.multipart.as_ref()).assert_some(HAS_UPLOAD);
        let parallel = multipart.map_or(0, |multipart| multipart.plan.parallel.get());
        for _ in 0..parallel {
            self.begin_part(net, slot, now);
        }
    }

    /// Sends the next part of the slot's object, if there is one. Does nothing if the operation has already ended
    /// because of an earlier part.
    fn begin_part(&mut self, net: &mut N, slot: u32, now: Instant) {
        let Some(op) = self.slots.find_op_mut(slot) else { return };
        let number = op.number;
        let Some(multipart) = op.multipart.as_mut().assert_some(HAS_UPLOAD) else { return };
        let request = multipart.plan.part;
        let Some((part, query)) = multipart.next_part((slot, number)) else { return };
        let kind = multipart.take_kind();
        let part = op.of_part(part, request, query, now);
        let place = self.slots.add_part(part, now);
        self.begin_attempt(net, place, kind, now);
    }

    /// Ends a part. Then sends another part if one is left. When no part is left or in flight, completes or aborts the
    /// upload.
    pub(in crate::run_loop) fn end_part(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        reuse: Reuse,
        now: Instant,
    ) {
        let window = self.record_attempt(net, slot, outcome, reuse, now);
        let Some(child) = self.slots.take_part(slot) else { return };
        if outcome != AttemptOutcome::OK {
            self.recorder.wasted(window);
        }
        let Some(part) = child.part.assert_some("the slot of a part contains a part") else { return };
        let (parent, number) = part.of;
        // The end of the run may have ended the operation.
        let Some(op) = self.slots.find_op_mut(parent).filter(|op| op.number == number) else { return };
        op.received_before += child.received_before + child.attempt.received_bytes;
        op.uploaded_bytes += child.uploaded_bytes;
        op.attempts += child.attempts;
        // A resumed upload has no initiation, so its operation begins with the first part that is sent.
        op.sent = op.sent.into_iter().chain(child.sent).min();
        op.sent_all = op.sent_all.max(child.sent_all);
        let Some(multipart) = op.multipart.as_mut().assert_some(HAS_UPLOAD) else { return };
        let sent = PartResult { etag: child.attempt.etag, sent_body: child.attempt.sent_body, window };
        multipart.end_part(part.index, sent, outcome);
        if multipart.has_more() {
            self.begin_part(net, parent, now);
        } else if multipart.running == 0 {
            self.finish_multipart(net, parent, now);
        }
    }

    /// Returns whether the server has just refused to complete the slot's upload. An unclear response does not count as
    /// a refusal, because the server may have completed the upload. A completed upload cannot be aborted.
    pub(in crate::run_loop) fn completion_is_refused(&mut self, slot: u32, outcome: AttemptOutcome) -> bool {
        use AttemptClass::{Http4xx, Http5xx, S3Error, Throttled};
        let refused = matches!(outcome.class, Http4xx | Http5xx | S3Error | Throttled);
        let multipart = self.slots.op_mut(slot).and_then(|op| op.multipart.as_mut());
        let Some(multipart) = multipart.filter(|_| refused) else { return false };
        multipart.failed = Some(outcome);
        true
    }

    /// Completes the slot's upload, or aborts it when a part has failed.
    pub(in crate::run_loop) fn finish_multipart(&mut self, net: &mut N, slot: u32, now: Instant) {
        let Some(op) = self.slots.op_mut(slot) else { return };
        let Some(multipart) = op.multipart.as_mut().assert_some(HAS_UPLOAD) else { return };
        op.pages.next = Some(multipart.query());
        if multipart.failed.is_none() {
            match multipart.completion_message() {
                Some(message) => multipart.completion = message,
                None => multipart.failed = Some(DEFECT),
            }
        }
        op.request = if multipart.failed.is_some() { multipart.plan.abort } else { multipart.plan.complete };
        let kind = multipart.take_kind();
        self.begin_attempt(net, slot, kind, now);
    }

    /// Ends an upload after the attempt that aborted it. Returns `false` for all other attempts. The outcome of the
    /// abort does not matter, because the upload has already failed. If the server does not know the upload, no abort
    /// is needed.
    pub(in crate::run_loop) fn end_aborted_multipart(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        reuse: Reuse,
        now: Instant,
    ) -> bool {
        let Some(op) = self.slots.op_mut(slot) else { return false };
        let Some(failed) = op.multipart.as_ref().and_then(|multipart| multipart.failed) else { return false };
        let gone = outcome == AttemptOutcome::OK || op.error_code() == Some(ErrorCode::NoSuchUpload);
        if let Some(multipart) = op.multipart.as_mut().assert_some(HAS_UPLOAD) {
            multipart.aborted = gone;
        }
        if !gone && self.retry_later(net, slot, outcome, reuse, now) {
            return true;
        }
        self.record_attempt(net, slot, outcome, reuse, now);
        self.end_op(net, slot, failed, Reuse::Close, now);
        true
    }
}
