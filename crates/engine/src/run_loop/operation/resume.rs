//! Multipart uploads that continue after the end of a run. An operation may continue an upload of an earlier run, and a
//! later run may continue an upload of this run.

use super::multipart::MultipartUpload;
use super::parts::HAS_UPLOAD;
use crate::network::Network;
use crate::plan::{Multipart, Then};
use crate::run_loop::RunLoop;
use crate::run_loop::invariant::Invariant;
use measure::Instant;
use measure::sample::AttemptKind;

/// A multipart upload that the server has just created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreatedUpload {
    /// Number of the object.
    pub object: u64,
    /// Index of the server among the origins of the targets.
    pub origin: usize,
    /// The server's ID of the upload.
    pub upload_id: Box<str>,
}

impl<N: Network> RunLoop<'_, N> {
    /// Makes the first request of the slot's operation. If an earlier run began to upload the object, the first request
    /// sends the first missing part or completes the upload.
    pub(super) fn begin_requests(&mut self, net: &mut N, slot: u32, now: Instant) {
        if self.plan.resumed_uploads.is_empty() || !self.take_up(slot) {
            return self.begin_attempt(net, slot, AttemptKind::First, now);
        }
        let multipart = self.slots.op(slot).and_then(|op| op.multipart.as_ref()).assert_some(HAS_UPLOAD);
        if multipart.is_some_and(|multipart| multipart.has_more()) {
            self.begin_parts(net, slot, now);
        } else {
            self.finish_multipart(net, slot, now);
        }
    }

    /// Gives the slot's operation the upload that an earlier run began for its object. Returns `false` if no earlier
    /// run began an upload for this object.
    #[cold]
    fn take_up(&mut self, slot: u32) -> bool {
        let run = self.plan;
        let Some(op) = self.slots.op(slot) else { return false };
        let Then::Parts(plan) = run.mix.requests()[op.request].then else { return false };
        let number = run.targets.object_number(op.subject);
        let Some(resumed) = number.and_then(|number| run.resumed_uploads.get(&number)) else { return false };
        let Some(size) = self.size_of_upload(slot, plan) else { return false };
        let Some(op) = self.slots.op_mut(slot) else { return false };
        op.multipart = Some(Box::new(MultipartUpload::resumed(plan, resumed, size)));
        // Until all parts are sent, the operation itself makes no request.
        op.attempt.over = true;
        true
    }

    /// Returns the size of the object that the slot's operation uploads in parts. `None` means a defect of this
    /// program.
    pub(super) fn size_of_upload(&mut self, slot: u32, plan: Multipart) -> Option<u64> {
        let op = self.slots.op(slot)?;
        let body = self.plan.mix.requests().get(plan.part).and_then(|part| part.body.as_ref());
        let body = body.assert_some("the request that sends a part has a body")?;
        Some(op.body_source(self.plan, body, &mut self.requests.key).whole_size())
    }

    /// Records an upload that the server has just created, if the plan has retries. A run with retries may be resumed
    /// later.
    pub(super) fn note_created(&mut self, slot: u32, upload_id: &str) {
        let Some(op) = self.slots.op(slot).filter(|_| self.plan.retry.is_some()) else { return };
        if let Some(object) = self.plan.targets.object_number(op.subject) {
            self.created.push(CreatedUpload { object, origin: op.origin, upload_id: upload_id.into() });
        }
    }
}
