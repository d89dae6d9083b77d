//! Multipart uploads that a run began and that were neither completed nor aborted. Their parts take space at the server until
//! somebody aborts them, so a run hands them over at its end.

use crate::network::Network;
use crate::plan::{Subject, Then};
use crate::run_loop::RunLoop;
use measure::{AttemptClass, AttemptOutcome};

/// Uploads that a thread remembers. Those beyond are counted only.
const KEPT_MAX: usize = 100_000;

/// An upload that is open at the server, as far as is known here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenUpload {
    /// Index of its server among the origins of the targets.
    pub origin: usize,
    /// The object to be.
    pub subject: Subject,
    /// By which the server knows the upload.
    pub upload_id: Box<str>,
}

/// The uploads that a run leaves open.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenUploads {
    /// Those that can be aborted.
    pub known: Vec<OpenUpload>,
    /// Those that may be open: the response with their ID did not arrive or was not understood, or there were too many to keep.
    pub unknown: u64,
}

/// What a run leaves at the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Multipart uploads.
    pub uploads: OpenUploads,
    /// Every [`Subject::Fresh`] that the run made has a number below this, or is of the warm-up.
    pub fresh_below: u64,
    /// Those of the warm-up have numbers below this, counted from [`crate::run_loop::WARMUP_NUMBERS`].
    pub fresh_of_warmup: u64,
}

impl Left {
    /// Adds that of another thread, or of another run.
    pub fn merge(&mut self, other: Self) {
        self.uploads.known.extend(other.uploads.known);
        self.uploads.unknown += other.uploads.unknown;
        self.fresh_below = self.fresh_below.max(other.fresh_below);
        self.fresh_of_warmup = self.fresh_of_warmup.max(other.fresh_of_warmup);
    }
}

impl<N: Network> RunLoop<'_, N> {
    /// What this thread leaves at the server.
    #[must_use]
    pub fn left(&self) -> Left {
        let (fresh_below, fresh_of_warmup) = (self.fresh_below, self.fresh_of_warmup);
        Left { uploads: self.open_uploads.clone(), fresh_below, fresh_of_warmup }
    }

    /// Notes what an operation leaves open that did not succeed.
    #[cold]
    pub(in crate::run_loop) fn note_open_upload(&mut self, slot: u32, outcome: AttemptOutcome) {
        let Some(op) = &self.slots[slot as usize].op else { return };
        match &op.parts {
            Some(parts) if parts.aborted => {}
            Some(_) if self.open_uploads.known.len() >= KEPT_MAX => self.open_uploads.unknown += 1,
            Some(parts) => {
                let (origin, subject, upload_id) = (op.origin, op.subject, parts.upload.clone());
                self.open_uploads.known.push(OpenUpload { origin, subject, upload_id });
            }
            None => {
                let begins = matches!(self.plan.mix.requests()[op.request].then, Then::Parts(_));
                let may_be_open = begins && op.sent.is_some() && has_no_clear_answer(outcome.class);
                self.open_uploads.unknown += u64::from(may_be_open);
            }
        }
    }
}

/// Whether the server may have done what it was asked without this client knowing.
fn has_no_clear_answer(class: AttemptClass) -> bool {
    use AttemptClass::{
        ClosedEarly, Incomplete, InflightAtEnd, Interrupted, Protocol, Reset, TimeoutHead, TimeoutIdle, TimeoutTotal,
    };
    matches!(
        class,
        ClosedEarly
            | Incomplete
            | InflightAtEnd
            | Interrupted
            | Protocol
            | Reset
            | TimeoutHead
            | TimeoutIdle
            | TimeoutTotal
    )
}
