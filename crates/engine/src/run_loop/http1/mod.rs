//! HTTP/1: requests as text, and responses that are read from a socket or from a TLS session.

pub(in crate::run_loop) mod encode;
pub(in crate::run_loop) mod receive;
pub(in crate::run_loop) mod receive_tls;
pub(in crate::run_loop) mod send;
