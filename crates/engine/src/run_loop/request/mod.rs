//! Requests. A request has a list of header fields and a body, in a form that does not depend on the version of HTTP.

mod body_fields;
pub(in crate::run_loop) mod compose;
pub(in crate::run_loop) mod fields;
mod sign;
pub(in crate::run_loop) mod template;
pub(in crate::run_loop) mod upload;
