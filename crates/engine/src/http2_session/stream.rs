//! One stream, which consists of a request and its response.

use super::Failure;
use super::session::EventKind;
use super::wakers::StreamWaker;
use crate::network::Token;
use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use wire::response::MAX_INTERIM_HEADS;

/// Flow-control capacity, in bytes, that one call reserves for a request's body.
const RESERVED_BYTES: usize = 64 * 1024;

/// Identity of a stream. A key consists of the stream's place in the session's table, and the number of earlier streams
/// that used this place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(super) place: u32,
    pub(super) generation: u32,
}

/// Part of the response that is expected next.
pub(super) enum Receiving {
    /// The place is free.
    Nothing,
    Head(ResponseFuture),
    Body(RecvStream),
    Trailers(RecvStream),
}

/// Body of a request that is being sent.
pub(super) struct Sending {
    stream: SendStream<Bytes>,
    /// `true` if the current capacity was reported and has not been used yet.
    reported: bool,
}

/// Place for a stream in the session's table.
pub(super) struct Stream {
    pub generation: u32,
    pub owner: Token,
    pub receiving: Receiving,
    pub sending: Option<Sending>,
    interim: u32,
    stream_waker: Arc<StreamWaker>,
    waker: Waker,
}

impl Stream {
    /// Returns a free place.
    pub fn new(stream_waker: Arc<StreamWaker>) -> Self {
        let (waker, owner) = (stream_waker.waker(), Token { index: u32::MAX, generation: 0 });
        Self { generation: 0, owner, receiving: Receiving::Nothing, sending: None, interim: 0, stream_waker, waker }
    }

    /// Puts a stream into the place.
    pub fn begin(&mut self, owner: Token, response: ResponseFuture, sending: Option<Sending>) {
        self.owner = owner;
        self.receiving = Receiving::Head(response);
        self.sending = sending;
        self.interim = 0;
        if let Some(sending) = &mut self.sending {
            sending.reserve();
        }
        self.stream_waker.wake_stream();
    }

    /// Makes the session poll the stream.
    pub fn wake(&self) {
        self.stream_waker.wake_stream();
    }

    /// Frees the place. Resets the stream in this place if the stream has not ended.
    pub fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if let Some(mut sending) = self.sending.take() {
            sending.stream.send_reset(Reason::CANCEL);
        }
        self.receiving = Receiving::Nothing;
    }

    /// Processes everything that is available now. The last event of a stream is [`EventKind::End`] or
    /// [`EventKind::Failed`].
    pub fn proceed(&mut self, emit: &mut impl FnMut(EventKind)) {
        self.stream_waker.reset();
        let waker = self.waker.clone();
        let mut cx = Context::from_waker(&waker);
        if let Some(sending) = &mut self.sending {
            match sending.has_new_capacity(&mut cx) {
                Some(false) => {}
                Some(true) => emit(EventKind::Capacity),
                // The peer accepts no more of the body. The response shows the reason.
                None => self.sending = None,
            }
        }
        while let Poll::Ready(next) = self.receive(&mut cx, emit) {
            match next {
                Ok(receiving) => self.receiving = receiving,
                Err(failure) => return emit(EventKind::Failed(failure)),
            }
            if matches!(self.receiving, Receiving::Nothing) {
                return emit(EventKind::End);
            }
        }
    }

    /// Returns the next state of the response.
    fn receive(&mut self, cx: &mut Context<'_>, emit: &mut impl FnMut(EventKind)) -> Poll<Result<Receiving, Failure>> {
        let failed = |error: &h2::Error| Poll::Ready(Err(Failure::of(error)));
        match &mut self.receiving {
            Receiving::Nothing => return Poll::Pending,
            Receiving::Head(response) => {
                while let Poll::Ready(Some(Ok(_))) = response.poll_informational(cx) {
                    self.interim += 1;
                    if self.interim > MAX_INTERIM_HEADS {
                        return Poll::Ready(Err(Failure::TooManyInterim));
                    }
                    emit(EventKind::Interim(self.interim));
                }
                match Pin::new(response).poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return failed(&error),
                    Poll::Ready(Ok(received)) => {
                        let (head, body) = received.into_parts();
                        emit(EventKind::Head(Box::new(head)));
                        return Poll::Ready(Ok(Receiving::Body(body)));
                    }
                }
            }
            Receiving::Body(body) => loop {
                match body.poll_data(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(None) => break,
                    Poll::Ready(Some(Err(error))) => return failed(&error),
                    Poll::Ready(Some(Ok(piece))) => {
                        // This call fails only if the stream is closed. The next poll then reports the end of the
                        // stream.
                        let _ = body.flow_control().release_capacity(piece.len());
                        emit(EventKind::Body(piece));
                    }
                }
            },
            Receiving::Trailers(body) => match body.poll_trailers(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(fields)) => {
                    if let Some(fields) = fields {
                        emit(EventKind::Trailers(Box::new(fields)));
                    }
                    return Poll::Ready(Ok(Receiving::Nothing));
                }
                Poll::Ready(Err(error)) => return failed(&error),
            },
        }
        // The body is complete. Trailers may follow.
        match std::mem::replace(&mut self.receiving, Receiving::Nothing) {
            Receiving::Body(body) => Poll::Ready(Ok(Receiving::Trailers(body))),
            other => Poll::Ready(Ok(other)),
        }
    }

    /// Returns the capacity for the request's body. If the capacity is 0, an event follows when it grows.
    pub fn capacity(&mut self) -> usize {
        let Some(sending) = &mut self.sending else { return 0 };
        let capacity = sending.stream.capacity();
        if capacity == 0 && std::mem::take(&mut sending.reported) {
            self.stream_waker.wake_stream();
        }
        capacity
    }

    /// Sends a piece of the request's body.
    pub fn send(&mut self, piece: Bytes, last: bool) -> Result<(), Failure> {
        let Some(sending) = &mut self.sending else { return Ok(()) };
        if last || !piece.is_empty() {
            sending.stream.send_data(piece, last).map_err(|error| Failure::of(&error))?;
        }
        if last {
            self.sending = None;
        } else {
            sending.reserve();
            self.stream_waker.wake_stream();
        }
        Ok(())
    }
}

impl Sending {
    /// Returns a body without reserved capacity.
    pub fn new(stream: SendStream<Bytes>) -> Self {
        Self { stream, reported: false }
    }

    /// Returns whether there is capacity that was not reported yet. Returns `None` if the peer accepts no more of the
    /// body.
    fn has_new_capacity(&mut self, cx: &mut Context<'_>) -> Option<bool> {
        // This poll only reports that the capacity has grown. The amount must be read separately.
        let grown = self.stream.poll_capacity(cx);
        if matches!(grown, Poll::Ready(None | Some(Err(_)))) {
            return None;
        }
        let is_new = !self.reported && self.stream.capacity() > 0;
        self.reported |= is_new;
        Some(is_new)
    }

    fn reserve(&mut self) {
        self.reported = false;
        self.stream.reserve_capacity(RESERVED_BYTES);
    }
}
