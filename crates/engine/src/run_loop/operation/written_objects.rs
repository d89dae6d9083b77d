//! Objects that a run has written at the server, and multipart uploads that the run leaves open. Until an open upload
//! is aborted, its parts use space at the server. A run therefore reports its open uploads at the end.

use super::op::Op;
use crate::plan::{RequestPlan, Subject, Then};
use crate::run_loop::attempt::retry::may_be_done;
use crate::run_loop::pacing::WARMUP_NUMBERS;
use measure::AttemptOutcome;
use std::collections::VecDeque;

/// Maximum number of uploads that a thread remembers. Further uploads are only counted.
const UPLOADS_MAX: usize = 100_000;
/// Maximum number of written objects that a thread remembers, so that operations can delete them.
const DELETABLE_MAX: usize = 1 << 20;

/// An upload that is probably open at the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenUpload {
    /// Index of the server among the origins of the targets.
    pub origin: usize,
    /// Object that was to be written.
    pub subject: Subject,
    /// The server's ID of the upload.
    pub upload_id: Box<str>,
}

/// Uploads that a run leaves open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenUploads {
    /// Uploads that can be aborted, because their ID is known.
    pub known: Vec<OpenUpload>,
    /// Number of further uploads that may be open. These uploads have no known ID: the response did not arrive or could
    /// not be parsed, or there were too many uploads to remember.
    pub unknown: u64,
}

/// Objects and uploads that remain at the server after a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Multipart uploads.
    pub uploads: OpenUploads,
    /// A number that is greater than the numbers of all [`Subject::Fresh`] objects that the run wrote outside the
    /// warm-up.
    pub fresh_below: u64,
    /// A number that is greater than the numbers of all [`Subject::Fresh`] objects that the run wrote in the warm-up.
    /// These numbers are counted from [`crate::run_loop::WARMUP_NUMBERS`].
    pub fresh_of_warmup: u64,
}

impl Left {
    /// Adds the objects and uploads of another thread or another run.
    pub fn merge(&mut self, other: Self) {
        let Self { uploads: OpenUploads { known, unknown }, fresh_below, fresh_of_warmup } = other;
        self.uploads.known.extend(known);
        self.uploads.unknown += unknown;
        self.fresh_below = self.fresh_below.max(fresh_below);
        self.fresh_of_warmup = self.fresh_of_warmup.max(fresh_of_warmup);
    }
}

/// Objects that one thread has written in addition to the objects of the dataset.
#[derive(Debug, Default)]
pub(in crate::run_loop) struct WrittenObjects {
    /// Existing objects that an operation may delete, oldest first.
    pub deletable: VecDeque<u64>,
    left: Left,
}

impl WrittenObjects {
    /// Returns the objects and uploads of this thread that remain at the server.
    pub fn left(&self) -> Left {
        self.left.clone()
    }

    /// Records that an object is about to be written.
    pub fn begin(&mut self, subject: Subject) {
        let Subject::Fresh(number) = subject else { return };
        match number.checked_sub(WARMUP_NUMBERS) {
            None => self.left.fresh_below = self.left.fresh_below.max(number + 1),
            Some(turn) => self.left.fresh_of_warmup = self.left.fresh_of_warmup.max(turn.saturating_add(1)),
        }
    }

    /// Records that an object was written, so that a later operation of this thread may delete it.
    pub fn add(&mut self, subject: Subject) {
        if let Subject::Fresh(number) = subject
            && self.deletable.len() < DELETABLE_MAX
        {
            self.deletable.push_back(number);
        }
    }

    /// Records that the response with the ID of an upload may be lost.
    #[cold]
    pub fn note_lost_upload(&mut self) {
        self.left.uploads.unknown += 1;
    }

    /// Records the upload that a failed operation leaves open, if there is one.
    #[cold]
    pub fn note_open_upload(&mut self, op: &Op<'_>, request: &RequestPlan, outcome: AttemptOutcome) {
        let uploads = &mut self.left.uploads;
        match &op.multipart {
            Some(multipart) if multipart.aborted => {}
            Some(_) if uploads.known.len() >= UPLOADS_MAX => uploads.unknown += 1,
            Some(multipart) => {
                let upload_id = multipart.upload.clone();
                uploads.known.push(OpenUpload { origin: op.origin, subject: op.subject, upload_id });
            }
            None => {
                let initiates = matches!(request.then, Then::Parts(_));
                uploads.unknown += u64::from(initiates && op.sent.is_some() && may_be_done(outcome.class));
            }
        }
    }
}
