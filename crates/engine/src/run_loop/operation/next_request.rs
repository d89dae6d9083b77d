//! Requests that follow a successful request within its operation, such as another page of a listing, or the parts of
//! an upload.

use super::delete_batch;
use super::multipart::MultipartUpload;
use super::{BAD_MESSAGE, DEFECT, ERROR_WITHIN_200};
use crate::network::Network;
use crate::plan::{Poll, Then};
use crate::run_loop::RunLoop;
use crate::run_loop::response::body::BodySink;
use measure::AttemptOutcome;
use wire::s3::{Completed, InitiatedUpload, ListResult};

/// Requests that follow an attempt within its operation.
pub(in crate::run_loop) enum Next {
    Nothing,
    /// Another request.
    Request,
    /// Several requests that are in flight at the same time, each for a part of an upload.
    Parts,
    /// A poll of the server after a pause.
    Poll(Poll),
}

impl<N: Network> RunLoop<'_, N> {
    /// Returns the requests that the operation makes next, after the slot's attempt has ended with `outcome`.
    ///
    /// # Errors
    /// Fails with the outcome of the operation if the response does not show which requests must follow.
    pub(in crate::run_loop) fn next_request(
        &mut self,
        slot: u32,
        outcome: AttemptOutcome,
    ) -> Result<Next, AttemptOutcome> {
        let Some(op) = self.slots.op_mut(slot) else { return Ok(Next::Nothing) };
        let then = self.plan.mix.requests()[op.request].then;
        if let (Then::Poll(poll), BodySink::Error(message), None) = (then, &op.body, &op.polling)
            && poll.check.is_accepted_before(message)
        {
            return Ok(Next::Poll(poll));
        }
        let (BodySink::Keep(message) | BodySink::KeepList(message)) = &op.body else { return Ok(Next::Nothing) };
        if outcome != AttemptOutcome::OK {
            return Ok(Next::Nothing);
        }
        if let Some(polling) = &op.polling {
            let (poll, list) = (polling.poll, std::mem::take(&mut op.body));
            return self.after_poll(slot, poll, list.kept());
        }
        match then {
            Then::End if op.multipart.is_some() => match Completed::parse(message) {
                Ok(Completed::Done(_)) => Ok(Next::Nothing),
                Ok(Completed::Failed(_)) => Err(ERROR_WITHIN_200),
                Err(_) => Err(BAD_MESSAGE),
            },
            Then::End if op.batch.is_some() => {
                delete_batch::judge(message, &mut self.notes.message).map(|()| Next::Nothing)
            }
            Then::End => Ok(Next::Nothing),
            Then::Poll(poll) => Ok(Next::Poll(poll)),
            Then::Pages { most } => {
                let page = ListResult::parse(message).map_err(|_| BAD_MESSAGE)?;
                op.pages.read += 1;
                let Some(next) = page.next.filter(|_| op.pages.read < most) else { return Ok(Next::Nothing) };
                op.pages.body_bytes += message.len() as u64;
                op.pages.next = Some(format!("continuation-token={}", wire::percent::parameter(&next)).into());
                Ok(Next::Request)
            }
            Then::Parts(plan) => {
                let upload = InitiatedUpload::parse(message).map_err(|_| BAD_MESSAGE)?.upload_id;
                self.note_created(slot, &upload);
                let size = self.size_of_upload(slot, plan).ok_or(DEFECT)?;
                if let Some(op) = self.slots.op_mut(slot) {
                    op.multipart = Some(Box::new(MultipartUpload::new(plan, upload, size)));
                }
                Ok(Next::Parts)
            }
        }
    }
}
