//! Judgement of responses: from status, header fields and body to an outcome.

pub(in crate::run_loop) mod checks;
pub(in crate::run_loop) mod first_length;
pub(in crate::run_loop) mod head;
pub(in crate::run_loop) mod header_values;
pub(in crate::run_loop) mod header_watch;
pub(in crate::run_loop) mod reader;
