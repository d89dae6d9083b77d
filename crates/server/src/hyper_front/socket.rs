//! The socket of a connection. The socket counts received bytes and records the time of the last activity.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::ledger::counters::Counters;

/// A stream of bytes in both directions.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// The time of a connection's last activity, in nanoseconds of the monotonic clock.
#[derive(Debug)]
pub(super) struct Activity(AtomicU64);

impl Activity {
    pub(super) fn new() -> Self {
        let activity = Self(AtomicU64::new(0));
        activity.note();
        activity
    }

    /// Sets the time of the last activity to now.
    pub(super) fn note(&self) {
        let nanos = sys::clock::monotonic().as_nanos();
        self.0.store(u64::try_from(nanos).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns the time since the last activity.
    pub(super) fn idle(&self) -> Duration {
        sys::clock::monotonic().saturating_sub(Duration::from_nanos(self.0.load(Ordering::Relaxed)))
    }
}

/// A socket that counts received bytes and records activity.
pub(super) struct CountedSocket<S> {
    socket: S,
    activity: Arc<Activity>,
    counters: Arc<Counters>,
}

impl<S> CountedSocket<S> {
    pub(super) fn new(socket: S, activity: Arc<Activity>, counters: Arc<Counters>) -> Self {
        Self { socket, activity, counters }
    }

    fn note_written(&self, written: io::Result<usize>) -> Poll<io::Result<usize>> {
        self.activity.note();
        Poll::Ready(written)
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CountedSocket<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.socket).poll_read(cx, buffer))?;
        self.counters.received_bytes.add((buffer.filled().len() - before) as u64);
        self.activity.note();
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CountedSocket<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write(cx, bytes));
        self.note_written(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.socket).poll_write_vectored(cx, pieces));
        self.note_written(written)
    }
}
