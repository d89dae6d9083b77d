//! Information about the response that is being read, and about the failure that is about to be recorded.

use super::body::BodyFault;
use super::header_values::HeaderValues;
use super::header_watch::HeaderWatch;
use crate::plan::Plan;
use crate::run_loop::attempt::failure_outcomes;
use crate::run_loop::operation::op::Op;
use content::Mismatch;
use measure::{AttemptClass, AttemptOutcome, Cause, Phase};

/// Maximum number of received bytes that are kept for the example of a failure.
const DETAIL_BYTES_MAX: usize = 64;

const CONTENT_DIFFERS: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Integrity, Cause::ContentDiffers, Phase::Body);
const SIZE_DIFFERS: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Integrity, Cause::SizeDiffers, Phase::Body);
const MESSAGE_TOO_LARGE: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::Protocol, Cause::MessageTooLarge, Phase::Body);

/// Information about the current response. One instance is enough for a thread. A head is judged as soon as it is
/// complete, and a failure is recorded as soon as it is known.
#[derive(Debug)]
pub(in crate::run_loop) struct ResponseNotes {
    /// Header values that affect outcomes.
    pub values: HeaderValues,
    /// The value of the header by which results are broken down.
    pub group_value: Vec<u8>,
    /// First difference between the last wrong body and the expected content.
    pub mismatch: Option<Mismatch>,
    /// Explanation of a failure. Reports show it with the example of the failure.
    pub message: String,
    /// Received bytes that caused the failure. The example of the failure shows these bytes if there is no explanation.
    detail: Vec<u8>,
}

impl ResponseNotes {
    /// Returns an empty instance.
    pub fn new(plan: &Plan) -> Self {
        Self {
            values: HeaderValues::new(plan),
            group_value: Vec::new(),
            mismatch: None,
            message: String::new(),
            detail: Vec::new(),
        }
    }

    /// Removes the header values of the previous response.
    #[inline]
    pub fn clear_head(&mut self) {
        self.group_value.clear();
        self.values.clear();
    }

    /// Removes the information about a failure after it was recorded.
    #[inline]
    pub fn clear_failure(&mut self) {
        self.message.clear();
        self.detail.clear();
    }

    /// Keeps the beginning of the bytes that show a failure.
    pub fn set_detail(&mut self, bytes: &[u8]) {
        self.detail.clear();
        self.detail.extend_from_slice(&bytes[..bytes.len().min(DETAIL_BYTES_MAX)]);
    }

    /// Returns a watch that keeps the header fields of the response to `op`. `software` is the variable in which the
    /// value of `Server` must be stored, if it is still needed.
    #[inline]
    pub fn watch<'a>(
        &'a mut self,
        plan: &'a Plan,
        op: &'a mut Op<'_>,
        software: Option<&'a mut Option<String>>,
    ) -> HeaderWatch<'a> {
        let etag = op.part.map(|_| &mut op.attempt.etag);
        let request = (op.request, op.subject);
        HeaderWatch::new(plan, request, &mut self.group_value, &mut self.values, software, etag)
    }

    /// Returns the outcome for a body that is wrong.
    pub fn of_body_fault(&mut self, fault: BodyFault) -> AttemptOutcome {
        match fault {
            BodyFault::Gateway(fault) => {
                self.message = fault.to_string();
                failure_outcomes::of_gateway(&fault)
            }
            BodyFault::Differs(mismatch) => {
                self.mismatch = Some(mismatch);
                CONTENT_DIFFERS
            }
            BodyFault::TooLarge => MESSAGE_TOO_LARGE,
            BodyFault::TooLong => SIZE_DIFFERS,
            BodyFault::LocalFile(outcome) => outcome,
        }
    }

    /// Returns the mismatch that led to `outcome`, if there was one.
    pub fn mismatch_of(&self, outcome: AttemptOutcome) -> Option<Mismatch> {
        self.mismatch.filter(|_| outcome.cause == Cause::ContentDiffers)
    }

    /// Returns the text that an example of a failure shows in addition to its cause.
    pub fn explain(&self, outcome: AttemptOutcome) -> String {
        let shows_bytes = matches!(
            outcome.class,
            AttemptClass::Protocol
                | AttemptClass::Reset
                | AttemptClass::TlsHandshake
                | AttemptClass::TlsCert
                | AttemptClass::RedirectDenied
        );
        if !self.message.is_empty() {
            self.message.clone()
        } else if let Some(mismatch) = self.mismatch_of(outcome) {
            mismatch.to_string()
        } else if shows_bytes {
            String::from_utf8_lossy(&self.detail).into_owned()
        } else {
            String::new()
        }
    }
}
