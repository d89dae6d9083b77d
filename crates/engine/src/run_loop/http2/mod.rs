//! HTTP/2: multiplexed connections, their streams, and the frames on their sockets.

pub(in crate::run_loop) mod encode;
pub(in crate::run_loop) mod multiplexed;
pub(in crate::run_loop) mod receive_frames;
pub(in crate::run_loop) mod send;
pub(in crate::run_loop) mod stream_events;
pub(in crate::run_loop) mod streams;
