//! Operations: what they ask for, the slots they occupy, and what follows each of their requests.

pub(in crate::run_loop) mod delete_batch;
pub(in crate::run_loop) mod leftovers;
pub(in crate::run_loop) mod log;
pub(in crate::run_loop) mod next_request;
pub(in crate::run_loop) mod op;
pub(in crate::run_loop) mod start;
