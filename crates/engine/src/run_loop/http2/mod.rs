//! HTTP/2: multiplexed connections, their streams, and frames.

pub(in crate::run_loop) mod connection;
pub(in crate::run_loop) mod encode;
pub(in crate::run_loop) mod frames;
