//! Several objects that one request deletes: the message that names them, and what its answer amounts to.

use crate::network::Network;
use crate::plan::{Batch, Lot, Subject};
use crate::run_loop::RunLoop;
use crate::run_loop::operation::next_request::{BAD_MESSAGE, ERROR_WITHIN_200};
use crate::run_loop::response::header_values;
use measure::AttemptOutcome;
use wire::checksum::Algorithm;
use wire::s3::{DeleteRequest, DeleteResult};

/// A message that an operation sends, made when it starts.
#[derive(Debug)]
pub(in crate::run_loop) struct Message {
    pub bytes: Box<[u8]>,
    /// The value of `Content-MD5`: S3 takes no such message without a checksum.
    pub md5: Box<str>,
}

impl<N: Network> RunLoop<'_, N> {
    /// The message that deletes the batch of operation `number`; `None` while there is nothing to delete. What it names is no
    /// longer there to be chosen, however the operation ends.
    pub(in crate::run_loop) fn message_of(&mut self, batch: Batch, number: u64) -> Option<Box<Message>> {
        let targets = &self.plan.targets;
        let most = batch.most.get();
        let key = |subject| targets.area().and_then(|area| area.key_in_bucket(subject, &mut self.key));
        let keys: Vec<_> = match batch.of {
            Lot::Spent { .. } => {
                let count = self.made.len().min(most as usize);
                self.made.drain(..count).map(Subject::Fresh).filter_map(key).collect()
            }
            Lot::Targets => {
                let first = number.saturating_mul(most);
                let end = first.saturating_add(most).min(targets.count());
                (first..end).map(Subject::Target).filter_map(key).collect()
            }
        };
        (!keys.is_empty()).then(|| Box::new(Message::deleting(keys)))
    }
}

impl Message {
    fn deleting(keys: Vec<Box<str>>) -> Self {
        let mut text = String::new();
        DeleteRequest { keys, quiet: true }.write(&mut text);
        Self { md5: Algorithm::Md5.of(text.as_bytes()).base64().into(), bytes: text.into_bytes().into() }
    }
}

/// Judges the answer to such a message. `said` gets what an example shows.
///
/// # Errors
/// When an object was not deleted, or the answer does not say whether all were.
pub(in crate::run_loop) fn judge(answer: &[u8], said: &mut String) -> Result<(), AttemptOutcome> {
    let errors = DeleteResult::parse(answer).map_err(|_| BAD_MESSAGE)?.errors;
    let Some(first) = errors.first() else { return Ok(()) };
    *said =
        format!("not deleted: {}, the first for {}", errors.len(), header_values::shown(&first.code, &first.message));
    Err(ERROR_WITHIN_200)
}
