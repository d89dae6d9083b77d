//! One stream: a request and its answer.

use super::Failure;
use super::bells::StreamBell;
use super::session::What;
use crate::network::Token;
use bytes::Bytes;
use h2::client::ResponseFuture;
use h2::{Reason, RecvStream, SendStream};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use wire::response::MAX_INTERIM_HEADS;

/// Room that is asked for at once, for a body that is sent.
const PIECE_BYTES: usize = 64 * 1024;

/// Names a stream: its place in the session's table, and how many held the place before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(super) place: u32,
    pub(super) generation: u32,
}

/// What is awaited of the answer.
pub(super) enum Receiving {
    /// The place is free.
    Nothing,
    Head(ResponseFuture),
    Body(RecvStream),
    Trailers(RecvStream),
}

/// A request body on its way.
pub(super) struct Sending {
    stream: SendStream<Bytes>,
    /// Room was told and not used yet.
    told: bool,
}

/// A place for a stream.
pub(super) struct Stream {
    pub generation: u32,
    pub owner: Token,
    pub receiving: Receiving,
    pub sending: Option<Sending>,
    interim: u32,
    bell: Arc<StreamBell>,
    waker: Waker,
}

impl Stream {
    pub fn new(bell: Arc<StreamBell>) -> Self {
        let (waker, owner) = (bell.waker(), Token { index: u32::MAX, generation: 0 });
        Self { generation: 0, owner, receiving: Receiving::Nothing, sending: None, interim: 0, bell, waker }
    }

    pub fn begin(&mut self, owner: Token, answer: ResponseFuture, sending: Option<Sending>) {
        self.owner = owner;
        self.receiving = Receiving::Head(answer);
        self.sending = sending;
        self.interim = 0;
        if let Some(sending) = &mut self.sending {
            sending.ask_for_room();
        }
        self.bell.ring();
    }

    /// Has it looked at.
    pub fn ring(&self) {
        self.bell.ring();
    }

    /// Frees the place. A stream that has not ended is cancelled by that.
    pub fn clear(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if let Some(mut sending) = self.sending.take() {
            sending.stream.send_reset(Reason::CANCEL);
        }
        self.receiving = Receiving::Nothing;
    }

    /// Goes on as far as it can. What it tells last is [`What::End`] or [`What::Failed`].
    pub fn go_on(&mut self, tell: &mut impl FnMut(What)) {
        self.bell.answered();
        let waker = self.waker.clone();
        let mut cx = Context::from_waker(&waker);
        if let Some(sending) = &mut self.sending {
            match sending.has_room(&mut cx) {
                Some(false) => {}
                Some(true) => tell(What::Room),
                // Nobody wants the rest. Why, the answer tells.
                None => self.sending = None,
            }
        }
        while let Poll::Ready(next) = self.receive(&mut cx, tell) {
            match next {
                Ok(receiving) => self.receiving = receiving,
                Err(failure) => return tell(What::Failed(failure)),
            }
            if matches!(self.receiving, Receiving::Nothing) {
                return tell(What::End);
            }
        }
    }

    /// The next state of the answer.
    fn receive(&mut self, cx: &mut Context<'_>, tell: &mut impl FnMut(What)) -> Poll<Result<Receiving, Failure>> {
        let failed = |error: &h2::Error| Poll::Ready(Err(Failure::of(error)));
        match &mut self.receiving {
            Receiving::Nothing => return Poll::Pending,
            Receiving::Head(answer) => {
                while let Poll::Ready(Some(Ok(_))) = answer.poll_informational(cx) {
                    self.interim += 1;
                    if self.interim > MAX_INTERIM_HEADS {
                        return Poll::Ready(Err(Failure::TooManyInterim));
                    }
                    tell(What::Interim(self.interim));
                }
                match Pin::new(answer).poll(cx) {
                    Poll::Pending => return Poll::Pending,
                    Poll::Ready(Err(error)) => return failed(&error),
                    Poll::Ready(Ok(response)) => {
                        let (head, body) = response.into_parts();
                        tell(What::Head(Box::new(head)));
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
                        // It can only fail for a stream that is gone, which is told next.
                        let _ = body.flow_control().release_capacity(piece.len());
                        tell(What::Body(piece));
                    }
                }
            },
            Receiving::Trailers(body) => match body.poll_trailers(cx) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok(fields)) => {
                    if let Some(fields) = fields {
                        tell(What::Trailers(Box::new(fields)));
                    }
                    return Poll::Ready(Ok(Receiving::Nothing));
                }
                Poll::Ready(Err(error)) => return failed(&error),
            },
        }
        // The body is complete; what follows it may be.
        match std::mem::replace(&mut self.receiving, Receiving::Nothing) {
            Receiving::Body(body) => Poll::Ready(Ok(Receiving::Trailers(body))),
            other => Poll::Ready(Ok(other)),
        }
    }

    /// Room for the request's body. When there is none it is told again.
    pub fn room(&mut self) -> usize {
        let Some(sending) = &mut self.sending else { return 0 };
        let room = sending.stream.capacity();
        if room == 0 && std::mem::take(&mut sending.told) {
            self.bell.ring();
        }
        room
    }

    /// Sends a piece of the request's body.
    pub fn give(&mut self, piece: Bytes, last: bool) -> Result<(), Failure> {
        let Some(sending) = &mut self.sending else { return Ok(()) };
        if last || !piece.is_empty() {
            sending.stream.send_data(piece, last).map_err(|error| Failure::of(&error))?;
        }
        if last {
            self.sending = None;
        } else {
            sending.ask_for_room();
            self.bell.ring();
        }
        Ok(())
    }
}

impl Sending {
    pub fn new(stream: SendStream<Bytes>) -> Self {
        Self { stream, told: false }
    }

    /// Whether there is room that was not told yet; `None` when the peer takes no more.
    fn has_room(&mut self, cx: &mut Context<'_>) -> Option<bool> {
        // What the library tells is that room has grown; how much there is has to be asked.
        let grown = self.stream.poll_capacity(cx);
        if matches!(grown, Poll::Ready(None | Some(Err(_)))) {
            return None;
        }
        let news = !self.told && self.stream.capacity() > 0;
        self.told |= news;
        Some(news)
    }

    fn ask_for_room(&mut self) {
        self.told = false;
        self.stream.reserve_capacity(PIECE_BYTES);
    }
}
