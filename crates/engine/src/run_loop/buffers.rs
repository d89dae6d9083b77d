//! Buffers that all connections of a thread share.

use crate::http2_session::Event;

/// Size of the receive buffer. Compared with 64 KiB, this size halves the CPU time for large bodies that are checked.
/// Client and server make fewer system calls and wake up less often. The buffer still fits into the second-level cache
/// of most cores. Pages of the buffer that are never filled use no memory.
const RECEIVE_BYTES: usize = 1 << 20;

/// Buffers of one thread.
///
/// Invariant: the buffers keep no bytes from one connection to the next. While received bytes are parsed, `receive` is
/// moved out, and an empty buffer replaces it.
#[derive(Debug)]
pub(super) struct Buffers {
    /// Bytes of one `recv`.
    pub receive: Box<[u8]>,
    /// Part of a request that is being sent.
    pub send: Vec<u8>,
    /// Events of streams, while they are handled.
    pub events: Vec<Event>,
}

impl Buffers {
    /// Returns empty buffers.
    pub fn new() -> Self {
        let receive = vec![0; RECEIVE_BYTES].into_boxed_slice();
        Self { receive, send: Vec::with_capacity(1024), events: Vec::new() }
    }
}
