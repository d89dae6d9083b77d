//! Samples that the run loop passes to the recorder for each operation, attempt and redirect.

mod attempt;
mod operation;
pub mod outcome;
mod read;
mod redirect;

pub use attempt::{AttemptKind, AttemptSample, Example};
pub use operation::{Access, BodyBytes, LabelId, OpKind, OpSample};
pub use read::ReadSample;
pub use redirect::HopSample;
