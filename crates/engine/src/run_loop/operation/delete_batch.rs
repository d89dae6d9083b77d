//! Requests that delete several objects.

use super::{BAD_MESSAGE, ERROR_WITHIN_200};
use crate::network::Network;
use crate::plan::{Batch, BatchObjects, Subject};
use crate::run_loop::RunLoop;
use crate::run_loop::response::refusal;
use measure::AttemptOutcome;
use wire::checksum::Algorithm;
use wire::s3::{DeleteRequest, DeleteResult};

/// Message of a request that deletes several objects. The message is composed when its operation starts.
#[derive(Debug)]
pub(in crate::run_loop) struct DeleteBatch {
    pub bytes: Box<[u8]>,
    /// Value of `Content-MD5`, because S3 requires a checksum for such a message.
    pub md5: Box<str>,
}

impl<N: Network> RunLoop<'_, N> {
    /// Returns the message that deletes the batch of operation `number`; `None` while there is nothing to delete. The
    /// objects of the batch are not chosen again, even if the operation fails.
    pub(super) fn delete_batch(&mut self, batch: Batch, number: u64) -> Option<Box<DeleteBatch>> {
        let targets = &self.plan.targets;
        let most = batch.size_max.get();
        let key = |subject| targets.area().and_then(|area| area.key_in_bucket(subject, &mut self.requests.key));
        let keys: Vec<_> = match batch.objects {
            BatchObjects::Written { .. } => {
                let count = self.written.deletable.len().min(most as usize);
                self.written.deletable.drain(..count).map(Subject::Fresh).filter_map(key).collect()
            }
            BatchObjects::Targets => {
                let first = number.saturating_mul(most);
                let end = first.saturating_add(most).min(targets.count());
                (first..end).map(Subject::Target).filter_map(key).collect()
            }
        };
        (!keys.is_empty()).then(|| Box::new(DeleteBatch::new(keys)))
    }
}

impl DeleteBatch {
    fn new(keys: Vec<Box<str>>) -> Self {
        let mut text = String::new();
        DeleteRequest { keys, quiet: true }.write(&mut text);
        Self { md5: Algorithm::Md5.of(text.as_bytes()).base64().into(), bytes: text.into_bytes().into() }
    }
}

/// Judges the response to a request that deletes several objects. Writes the explanation of a failure to `message`.
///
/// # Errors
/// Fails if an object was not deleted, or if the response does not show whether all objects were deleted.
pub(super) fn judge(response: &[u8], message: &mut String) -> Result<(), AttemptOutcome> {
    let errors = DeleteResult::parse(response).map_err(|_| BAD_MESSAGE)?.errors;
    let Some(first) = errors.first() else { return Ok(()) };
    *message = format!("not deleted: {}, the first for {}", errors.len(), refusal::shown(&first.code, &first.message));
    Err(ERROR_WITHIN_200)
}
