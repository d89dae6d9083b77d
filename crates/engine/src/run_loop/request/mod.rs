//! Requests: one list of header fields and one body for each, whichever version of HTTP sends them.

mod body_fields;
pub(in crate::run_loop) mod compose;
pub(in crate::run_loop) mod fields;
mod sign;
pub(in crate::run_loop) mod template;
pub(in crate::run_loop) mod upload;
