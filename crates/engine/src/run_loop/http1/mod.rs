//! HTTP/1: requests as text, bodies, and responses from a socket.

pub(in crate::run_loop) mod encode;
pub(in crate::run_loop) mod receive;
pub(in crate::run_loop) mod send;
pub(in crate::run_loop) mod upload;
