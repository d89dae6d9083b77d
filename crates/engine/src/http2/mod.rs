//! HTTP/2 of one connection, driven by hand: bytes in, events out. It sees no socket and no clock.
//!
//! Frames, header compression, flow control and the states of streams are the h2 library's business, which is written for
//! asynchronous runtimes. Here it runs without one: `Session` gives it a pipe in memory (`pipe`) and wakers that only
//! make a note (`bells`), and polls it whenever bytes were put in or taken out. What an error amounts to stands in
//! `failure`.
//!
//! Everything that a peer could grow is limited: streams by what is opened here, what waits to be sent by the pipe,
//! heads by the size of their fields, and received content by being released as soon as it was counted.

use std::num::NonZeroU32;

mod bells;
mod failure;
mod pipe;
mod session;
mod stream;
#[cfg(test)]
mod tests;

pub(crate) use failure::Failure;
pub(crate) use session::{Event, Session, What};
pub(crate) use stream::Key;

/// Streams on a connection at once when nothing else is asked for, as many as most servers allow.
pub const STREAMS_DEFAULT: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);
/// The most streams on a connection that can be asked for.
pub const STREAMS_MAX: u32 = 10_000;
/// The largest frame that this side takes: the protocol's default.
pub(crate) const FRAME_BYTES_MAX: u64 = 9 + (1 << 14);
/// Content that the peer may send on a connection before it hears that some was read: enough for 10 Gbit/s over 25 ms.
///
/// What comes is counted at once and not kept, so that more would cost nothing here. It does there: a server may queue all
/// that it is allowed to send. nginx queues frames of 8 KiB where it serves files without TLS, and closes a connection
/// whose streams have had 10,000 of them, for a flood.
const WINDOW_BYTES: u32 = 32 << 20;
/// A stream may always have so much on its way.
const STREAM_WINDOW_BYTES_MIN: u32 = 64 << 10;

/// Content that the peer may send on a stream before it hears that some was read, where so many can be open: together what
/// the connection may carry.
fn stream_window_bytes(streams: u32) -> u32 {
    (WINDOW_BYTES / streams.max(1)).max(STREAM_WINDOW_BYTES_MIN)
}
/// The most bytes of a head, as HTTP/2 counts them: each field with 32 bytes more.
const HEAD_BYTES_MAX: u32 = 64 * 1024;
/// Streams that were cut off and whose late frames are still expected.
const CUT_STREAMS_MAX: usize = 1024;
/// Requests that one connection can carry: numbers of streams are odd and below 2^31.
pub(crate) const REQUESTS_MAX: u64 = 1 << 30;
