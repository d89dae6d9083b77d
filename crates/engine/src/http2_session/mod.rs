//! The HTTP/2 session of one connection, without I/O. The input of a session is bytes, and its output is events. A
//! session has no socket and no clock.
//!
//! The h2 library implements frames, header compression, flow control and the states of streams. This library is
//! written for asynchronous runtimes, but is used here without a runtime. Instead of a socket, `Session` passes the
//! library a pipe in memory (`pipe`), and wakers that only set a flag (`wakers`). `Session` polls the library whenever
//! bytes were added to or removed from the pipe. `failure` classifies errors.
//!
//! A peer can make this client use only a limited amount of memory. Only the client opens streams, so their number is
//! limited. The pipe limits the output. The size of a head is limited. Received content is dropped as soon as it is
//! counted.

use std::num::NonZeroU32;

mod failure;
mod pipe;
mod session;
mod stream;
#[cfg(test)]
mod tests;
mod wakers;

pub(crate) use failure::Failure;
pub(crate) use session::{Event, EventKind, Session};
pub(crate) use stream::Key;

/// Default number of concurrent streams on a connection. Most servers allow this number.
pub const STREAMS_DEFAULT: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);
/// Largest number of concurrent streams on a connection.
pub const STREAMS_MAX: u32 = 10_000;
/// Maximum size of a frame that this side accepts, which is the protocol's default.
pub(crate) const FRAME_BYTES_MAX: u64 = 9 + (1 << 14);
/// Flow-control window of a connection, in bytes. The window is large enough for 10 Gbit/s over 25 ms.
///
/// Content is counted as soon as it arrives, and is not kept, so a larger window would cost the client nothing. But a
/// larger window could cost memory on the server, because a server may queue as much as the window allows. For files
/// without TLS, nginx queues frames of 8 KiB. After 10,000 of these frames on the streams of one connection, nginx
/// suspects a flood and closes the connection.
const WINDOW_BYTES: u32 = 32 << 20;
/// Minimum flow-control window of a stream.
const STREAM_WINDOW_BYTES_MIN: u32 = 64 << 10;

/// Returns the flow-control window of each stream on a connection with `streams` streams. Each stream gets an equal
/// share of the connection's window.
fn stream_window_bytes(streams: u32) -> u32 {
    (WINDOW_BYTES / streams.max(1)).max(STREAM_WINDOW_BYTES_MIN)
}
/// Maximum size of a head in bytes, as counted by HTTP/2. HTTP/2 adds 32 bytes for each field to the length of the name
/// and the value.
const HEAD_BYTES_MAX: u32 = 64 * 1024;
/// Maximum number of reset streams that are remembered. Late frames of these streams are ignored.
const RESET_STREAMS_MAX: usize = 1024;
/// Maximum number of requests on one connection. Each request needs a new stream identifier, which is odd and below
/// 2^31.
pub(crate) const REQUESTS_MAX: u64 = 1 << 30;
