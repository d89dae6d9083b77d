//! Operations. This module chooses the first request of an operation and its object, and the requests that follow. The
//! module also keeps the slots of operations.

pub(in crate::run_loop) mod begin;
pub(in crate::run_loop) mod delete_batch;
pub(in crate::run_loop) mod end;
pub(in crate::run_loop) mod log;
pub(in crate::run_loop) mod multipart;
pub(in crate::run_loop) mod next_request;
pub(in crate::run_loop) mod op;
pub(in crate::run_loop) mod parts;
pub(in crate::run_loop) mod poll;
pub(in crate::run_loop) mod resume;
pub(in crate::run_loop) mod slots;
pub(in crate::run_loop) mod written_objects;

use measure::{AttemptClass, AttemptOutcome, Cause, Phase};

const BAD_MESSAGE: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Protocol, Cause::BadMessage, Phase::Body);
const DEFECT: AttemptOutcome = AttemptOutcome::failed(AttemptClass::Internal, Cause::Defect, Phase::Body);
const ERROR_WITHIN_200: AttemptOutcome =
    AttemptOutcome::failed(AttemptClass::S3Error, Cause::ErrorWithin200, Phase::Body);
