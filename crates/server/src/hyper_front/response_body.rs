//! The body of a response on its way to hyper. This module limits the rate of the body, applies the body's faults, and
//! counts the bytes passed to hyper.

use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::time::Sleep;

use super::account::Account;
use super::service::ServiceBody;
use crate::faults::body::BodyFaults;
use crate::pace::Pace;

/// Maximum number of bytes passed to hyper at once. Bytes count as sent when they are passed to hyper. If the
/// connection breaks, the count is therefore too high by at most a few pieces.
const PIECE_MAX: usize = 64 * 1024;

/// The body of a response while it is sent.
pub(super) struct ResponseBody {
    inner: ServiceBody,
    account: Account,
    body_faults: BodyFaults,
    /// Length of the whole body without faults; `None` if it is unknown until the end.
    length: Option<u64>,
    /// Bytes after which the body breaks off.
    breaks_at: Option<u64>,
    /// `true` if hyper must not learn the length, so that it sends chunks in HTTP/1.1.
    chunked: bool,
    /// Content that was read from the inner body but not passed on yet.
    rest: Bytes,
    pace: Option<Pace>,
    sleep: Option<Pin<Box<Sleep>>>,
    /// `true` if hyper has had a chance to send the bytes that it got so far. Until then, the body must not break off,
    /// because hyper would drop these bytes.
    flushed: bool,
}

impl ResponseBody {
    pub(super) fn new(
        inner: ServiceBody,
        account: Account,
        body_faults: BodyFaults,
        chunked: bool,
        pace: Option<Pace>,
    ) -> Self {
        let length = inner.size_hint().exact();
        let breaks_at = body_faults.breaks_at(length);
        let (rest, sleep) = (Bytes::new(), None);
        let mut body =
            Self { inner, account, body_faults, length, breaks_at, chunked, rest, pace, sleep, flushed: false };
        body.note_end();
        body
    }

    /// Completes the accounting if the last byte was passed on. Call this right after the last byte, because hyper may
    /// not poll a finished body again.
    fn note_end(&mut self) {
        if self.length == Some(self.account.sent()) {
            self.account.complete();
        }
    }

    /// Returns the number of bytes left before the body breaks off or ends.
    fn left_before_end(&self) -> u64 {
        self.breaks_at.or(self.length).unwrap_or(u64::MAX).saturating_sub(self.account.sent())
    }

    fn breaks_off_now(&self) -> bool {
        self.breaks_at.is_some() && self.left_before_end() == 0
    }

    /// Waits until an instant of the monotonic clock.
    fn poll_until(&mut self, instant: Duration, cx: &mut Context<'_>) -> Poll<()> {
        let wait = instant.saturating_sub(sys::clock::monotonic());
        let sleep = self.sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep(wait)));
        ready!(sleep.as_mut().poll(cx));
        self.sleep = None;
        Poll::Ready(())
    }

    /// Returns how many bytes of `rest` may be sent now. Waits while the rate limit allows none.
    fn poll_allowance(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        let available = (self.rest.len().min(PIECE_MAX) as u64).min(self.left_before_end());
        let Some(pace) = self.pace else { return Poll::Ready(available as usize) };
        loop {
            match pace.allows(self.account.sent(), self.left_before_end(), sys::clock::monotonic()) {
                Ok(allowed) => return Poll::Ready(allowed.min(available) as usize),
                Err(instant) => ready!(self.poll_until(instant, cx)),
            }
        }
    }

    /// Passes on the next `bytes` bytes of `rest`.
    fn take_piece(&mut self, bytes: usize) -> Bytes {
        let mut piece = self.rest.split_to(bytes);
        if self.body_faults.flip.is_some() {
            let mut copy = piece.to_vec();
            self.body_faults.apply(self.account.sent(), self.length, &mut copy);
            piece = Bytes::from(copy);
        }
        self.account.hand_over(bytes as u64);
        self.note_end();
        piece
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        let this = &mut *self;
        loop {
            if this.breaks_off_now() {
                if mem::replace(&mut this.flushed, true) {
                    return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
                }
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            if !this.rest.is_empty() {
                let bytes = ready!(this.poll_allowance(cx));
                return Poll::Ready(Some(Ok(Frame::data(this.take_piece(bytes)))));
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
