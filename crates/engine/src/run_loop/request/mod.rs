//! Requests. A request has one list of header fields and one body. The form of both is the same for both versions of
//! HTTP.

mod body_fields;
pub(in crate::run_loop) mod compose;
pub(in crate::run_loop) mod fields;
mod sign;
pub(in crate::run_loop) mod template;
pub(in crate::run_loop) mod upload;
