//! The HTTP/2 session of one connection, without I/O: bytes in, events out. It has no socket and no clock.
//!
//! The h2 library implements frames, header compression, flow control and the states of streams. It is written for asynchronous
//! runtimes, and runs here without one: `Session` gives it a pipe in memory (`pipe`) and wakers that only set a flag
//! (`wakers`), and polls it whenever bytes were put in or taken out. `failure` classifies errors.
//!
//! Everything that a peer could make grow is limited: streams by what is opened here, output by the pipe, heads by the size of
//! their fields, and received content because it is released as soon as it is counted.

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

/// Default number of concurrent streams on a connection: as many as most servers allow.
pub const STREAMS_DEFAULT: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);
/// The largest number of concurrent streams on a connection.
pub const STREAMS_MAX: u32 = 10_000;
/// The largest frame that this side accepts: the protocol's default.
pub(crate) const FRAME_BYTES_MAX: u64 = 9 + (1 << 14);
/// Flow-control window of a connection: enough for 10 Gbit/s over 25 ms.
///
/// Content is counted at once and not kept, so a larger window would cost nothing here. It costs the server, which may queue
/// all that it is allowed to send. nginx queues frames of 8 KiB where it serves files without TLS, and closes a connection as
/// a flood when its streams have had 10,000 of them.
const WINDOW_BYTES: u32 = 32 << 20;
/// The smallest flow-control window of a stream.
const STREAM_WINDOW_BYTES_MIN: u32 = 64 << 10;

/// Returns the flow-control window of each of `streams` streams: together as much as the connection has.
fn stream_window_bytes(streams: u32) -> u32 {
    (WINDOW_BYTES / streams.max(1)).max(STREAM_WINDOW_BYTES_MIN)
}
/// The most bytes of a head, as HTTP/2 counts them: 32 bytes more for each field.
const HEAD_BYTES_MAX: u32 = 64 * 1024;
/// Streams that were reset and whose late frames are still expected.
const RESET_STREAMS_MAX: usize = 1024;
/// Requests that one connection can carry: stream identifiers are odd and below 2^31.
pub(crate) const REQUESTS_MAX: u64 = 1 << 30;
