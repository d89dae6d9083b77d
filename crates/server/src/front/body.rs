//! Bodies on their way: those of requests are counted as they are read, those of replies are paced, spoiled and counted
//! as the protocol takes them.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use tokio::time::Sleep;

use super::exchange::Account;
use super::service::ReplyBody;
use crate::faults::Spoil;
use crate::ledger::Counters;
use crate::pace::Pace;

/// The most bytes that are handed over at once, so that a body that breaks off is counted closely.
const PIECE_MAX: usize = 64 * 1024;

/// A request broke off: nobody waits for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken;

/// The body of a request, counted as it is read.
pub(crate) struct RequestBody {
    incoming: Incoming,
    counters: Arc<Counters>,
    received: Arc<AtomicU64>,
}

impl RequestBody {
    pub(super) fn new(incoming: Incoming, counters: Arc<Counters>, received: Arc<AtomicU64>) -> Self {
        Self { incoming, counters, received }
    }

    /// Reads to the end, shows each piece to `look`, and answers how many bytes there were.
    pub(crate) async fn read(mut self, mut look: impl FnMut(&[u8])) -> Result<u64, Broken> {
        let mut bytes = 0;
        while let Some(frame) = std::future::poll_fn(|cx| Pin::new(&mut self).poll_frame(cx)).await {
            if let Some(piece) = frame.map_err(|_| Broken)?.data_ref() {
                look(piece);
                bytes += piece.len() as u64;
            }
        }
        Ok(bytes)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let frame = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
        if let Some(Ok(frame)) = &frame {
            let bytes = frame.data_ref().map_or(0, Bytes::len) as u64;
            self.counters.request_body_bytes.add(bytes);
            self.received.fetch_add(bytes, Ordering::Relaxed);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

/// The body of a reply on its way.
pub(crate) struct Sending {
    inner: ReplyBody,
    account: Account,
    spoil: Spoil,
    /// Length of the whole body, if it were not spoiled; without a number, nobody knows it before the end.
    length: Option<u64>,
    /// Bytes after which it breaks off.
    breaks_at: Option<u64>,
    /// Whether the length is not told.
    chunked: bool,
    /// Content that the inner body gave and that has not been handed over.
    rest: Bytes,
    pace: Option<Pace>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// Whether what was handed over has had its chance to leave before the body breaks off.
    flushed: bool,
}

impl Sending {
    pub(crate) fn new(inner: ReplyBody, account: Account, spoil: Spoil, chunked: bool, pace: Option<Pace>) -> Self {
        let length = inner.size_hint().exact();
        let breaks_at = spoil.breaks_at(length);
        let (rest, sleep) = (Bytes::new(), None);
        let mut sending = Self { inner, account, spoil, length, breaks_at, chunked, rest, pace, sleep, flushed: false };
        sending.note_end();
        sending
    }

    /// The books are closed as soon as the last byte is handed over: the protocol may not ask again.
    fn note_end(&mut self) {
        if self.length == Some(self.account.sent()) {
            self.account.complete();
        }
    }

    /// How many bytes may go before the body breaks off.
    fn left_before_cut(&self) -> u64 {
        self.breaks_at.or(self.length).unwrap_or(u64::MAX).saturating_sub(self.account.sent())
    }

    fn breaks_off(&self) -> bool {
        self.breaks_at.is_some() && self.left_before_cut() == 0
    }

    /// Waits for an instant of the monotonic clock.
    fn poll_until(&mut self, instant: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let wait = instant.saturating_sub(sys::clock::monotonic());
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
        ready!(sleep.as_mut().poll(cx));
        self.sleep = None;
        Poll::Ready(())
    }

    /// How much of what is there may go now.
    fn poll_allowance(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        let there = self.rest.len().min(PIECE_MAX) as u64;
        let there = there.min(self.left_before_cut());
        let Some(pace) = self.pace else { return Poll::Ready(there as usize) };
        loop {
            match pace.allows(self.account.sent(), self.left_before_cut(), sys::clock::monotonic()) {
                Ok(allowed) => return Poll::Ready(allowed.min(there) as usize),
                Err(instant) => ready!(self.poll_until(instant, cx)),
            }
        }
    }

    /// Hands over the next piece of what is there.
    fn piece(&mut self, bytes: usize) -> Bytes {
        let mut piece = self.rest.split_to(bytes);
        if self.spoil.flip.is_some() {
            let mut copy = piece.to_vec();
            self.spoil.apply(self.account.sent(), self.length, &mut copy);
            piece = Bytes::from(copy);
        }
        self.account.hand_over(bytes as u64);
        self.note_end();
        piece
    }
}

impl Body for Sending {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        loop {
            if this.breaks_off() {
                if std::mem::replace(&mut this.flushed, true) {
                    return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
                }
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !this.rest.is_empty() {
                let bytes = ready!(this.poll_allowance(cx));
                return Poll::Ready(Some(Ok(Frame::data(this.piece(bytes)))));
            }
            match ready!(this.inner.as_mut().poll_frame(cx)) {
                None => {
                    this.account.complete();
                    return Poll::Ready(None);
                }
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => this.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match self.length {
            Some(length) if !self.chunked => SizeHint::with_exact(length.saturating_sub(self.account.sent())),
            _ => SizeHint::default(),
        }
    }
}
