//! One connection: requests in, events out.

use super::bells::{Bell, Called, StreamBell};
use super::pipe::PipeEnd;
use super::stream::{Key, Receiving, Sending, Stream};
use super::{CUT_STREAMS_MAX, Failure, HEAD_BYTES_MAX, WINDOW_BYTES, stream_window_bytes};
use crate::network::Token;
use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use http::response::Parts;
use http::{HeaderMap, Request};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// How often connection and streams are asked in turn before others are looked at again. They call each other only a few
/// times for what comes at once.
const TURNS_MAX: usize = 64;

/// Something that a stream has to say.
#[derive(Debug)]
pub(crate) struct Event {
    /// For whom the stream was opened.
    pub owner: Token,
    /// The stream.
    pub key: Key,
    /// What it says.
    pub what: What,
}

/// What a stream says.
#[derive(Debug)]
pub(crate) enum What {
    /// So many interim (1xx) heads have come.
    Interim(u32),
    /// The final head.
    Head(Box<Parts>),
    /// Content has come.
    Body(Bytes),
    /// The fields behind the content.
    Trailers(Box<HeaderMap>),
    /// There is room for a piece of the request's body.
    Room,
    /// The answer is complete. The stream is gone.
    End,
    /// The stream is gone.
    Failed(Failure),
}

/// The HTTP/2 side of a connection.
pub(crate) struct Session {
    pipe: PipeEnd,
    /// None after the farewell.
    requests: Option<SendRequest<Bytes>>,
    /// None once it has ended.
    connection: Option<Connection<PipeEnd, Bytes>>,
    bell: Arc<Bell>,
    waker: Waker,
    called: Arc<Called>,
    /// Those that were called, while they are looked at.
    calls: Vec<u32>,
    streams: Vec<Stream>,
    free: Vec<u32>,
    end: Option<Failure>,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("open", &self.open_streams()).field("end", &self.end).finish_non_exhaustive()
    }
}

impl Session {
    /// A new connection, on which at most so many streams will be open at once: its preface is the first output. `None` is
    /// a defect of this program.
    pub(crate) fn new(streams: u32) -> Option<Self> {
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(stream_window_bytes(streams))
            .initial_connection_window_size(WINDOW_BYTES)
            .max_header_list_size(HEAD_BYTES_MAX)
            .max_concurrent_reset_streams(CUT_STREAMS_MAX)
            // Before the peer has said how many it takes, there is one.
            .initial_max_send_streams(1);
        let pipe = PipeEnd::default();
        let bell = Arc::new(Bell::default());
        let waker = Waker::from(Arc::clone(&bell));
        // The preface goes into the pipe at once: there is nothing to wait for.
        let opening = pin!(builder.handshake::<_, Bytes>(pipe.clone()));
        let Poll::Ready(Ok((requests, connection))) = opening.poll(&mut Context::from_waker(&waker)) else {
            return None;
        };
        let mut session = Self {
            pipe,
            requests: Some(requests),
            connection: Some(connection),
            bell,
            waker,
            called: Arc::default(),
            calls: Vec::new(),
            streams: Vec::new(),
            free: Vec::new(),
            end: None,
        };
        session.poll_connection();
        Some(session)
    }

    /// Takes in bytes of the peer. [`Self::drive`] tells what they held.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.pipe.0.borrow_mut().put(bytes);
    }

    /// Takes in the first `bytes` bytes of a buffer and goes on, as [`Self::drive`]. Answers the buffer.
    pub(crate) fn drive_with(&mut self, buffer: Box<[u8]>, bytes: usize, events: &mut Vec<Event>) -> Box<[u8]> {
        self.pipe.0.borrow_mut().lend(buffer, bytes);
        self.drive(events);
        self.pipe.0.borrow_mut().take_back()
    }

    /// The peer has closed its side.
    pub(crate) fn feed_end(&mut self) {
        self.pipe.0.borrow_mut().end();
    }

    /// The connection is lost: [`Self::drive`] ends its streams.
    pub(crate) fn abort(&mut self) {
        if self.end.is_none() {
            self.ended(Failure::Closed);
        }
    }

    /// Whether bytes that were fed still wait, since too much is to be sent: nothing more is to be fed.
    pub(crate) fn is_stuffed(&self) -> bool {
        self.connection.is_some() && self.pipe.0.borrow().has_input()
    }

    /// The first bytes that came.
    pub(crate) fn begins_with(&self, test: impl Fn(&[u8]) -> bool) -> bool {
        test(self.pipe.0.borrow().begin())
    }

    /// How many streams may be open at once: what the peer says; one before it has said anything.
    pub(crate) fn streams_allowed(&self) -> usize {
        self.requests.as_ref().map_or(0, SendRequest::current_max_send_streams)
    }

    /// Whether the peer has told its settings.
    pub(crate) fn peer_has_told(&self) -> bool {
        self.pipe.0.borrow().has_first_frame()
    }

    /// Streams that are open.
    pub(crate) fn open_streams(&self) -> usize {
        self.streams.len() - self.free.len()
    }

    /// Whether the connection takes further requests: it has not ended, and the peer has not said GOAWAY.
    pub(crate) fn accepts(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        match &mut self.requests {
            Some(requests) if self.connection.is_some() => !matches!(requests.poll_ready(&mut cx), Poll::Ready(Err(_))),
            _ => false,
        }
    }

    /// How the connection ended, when it has.
    #[cfg(test)]
    pub(crate) fn end(&self) -> Option<Failure> {
        self.end
    }

    /// Opens a stream for a request with a body or without. `None` when the connection can not take it; then nothing was
    /// sent.
    pub(crate) fn open(&mut self, owner: Token, request: Request<()>, body: bool) -> Option<Key> {
        let requests = self.requests.as_mut().filter(|_| self.connection.is_some())?;
        let (answer, stream) = requests.send_request(request, !body).ok()?;
        let sending = body.then(|| Sending::new(stream));
        let place = self.free.pop().unwrap_or_else(|| {
            let place = self.streams.len() as u32;
            self.streams.push(Stream::new(StreamBell::new(place, &self.called)));
            place
        });
        let stream = &mut self.streams[place as usize];
        stream.begin(owner, answer, sending);
        Some(Key { place, generation: stream.generation })
    }

    fn stream(&mut self, key: Key) -> Option<&mut Stream> {
        self.streams.get_mut(key.place as usize).filter(|stream| stream.generation == key.generation)
    }

    /// Room for a request's body, in bytes. A piece may be larger, and then waits here in part.
    pub(crate) fn room(&mut self, key: Key) -> usize {
        self.stream(key).map_or(0, Stream::room)
    }

    /// Sends a piece of a request's body, when there is room.
    ///
    /// # Errors
    /// When the stream takes no more.
    pub(crate) fn give(&mut self, key: Key, piece: Bytes, last: bool) -> Result<(), Failure> {
        self.stream(key).map_or(Ok(()), |stream| stream.give(piece, last))
    }

    /// Cuts a stream off, unless it has ended.
    pub(crate) fn cancel(&mut self, key: Key) {
        if let Some(stream) = self.stream(key) {
            stream.clear();
            self.free.push(key.place);
        }
    }

    /// Says that no further requests come.
    pub(crate) fn say_goodbye(&mut self) {
        self.requests = None;
        for stream in &mut self.streams {
            stream.clear();
        }
        self.poll_connection();
    }

    /// What is to be sent.
    pub(crate) fn with_output<R>(&self, put: impl FnOnce(&[u8]) -> R) -> R {
        put(self.pipe.0.borrow().output())
    }

    /// Whether something is to be sent.
    pub(crate) fn has_output(&self) -> bool {
        !self.pipe.0.borrow().output().is_empty()
    }

    /// Whether there was more to send than could wait; [`Self::drive`] brings it once there is room.
    pub(crate) fn take_blocked(&mut self) -> bool {
        self.pipe.0.borrow_mut().take_blocked()
    }

    /// Notes that so many bytes of the output are on their way.
    pub(crate) fn taken(&mut self, bytes: usize) {
        self.pipe.0.borrow_mut().taken(bytes);
    }

    /// Goes on as far as what was fed and what may be sent allow. Adds what the streams say to `events`.
    pub(crate) fn drive(&mut self, events: &mut Vec<Event>) {
        self.poll_connection();
        for _ in 0..TURNS_MAX {
            let called = self.poll_streams(events);
            if self.bell.take() {
                self.poll_connection();
            } else if !called {
                break;
            }
        }
    }

    fn poll_connection(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        let Poll::Ready(result) = Pin::new(connection).poll(&mut Context::from_waker(&self.waker)) else { return };
        self.ended(result.as_ref().map_or_else(Failure::of_connection, |()| Failure::Closed));
    }

    fn ended(&mut self, end: Failure) {
        self.end = Some(end);
        self.connection = None;
        // Not every stream is told when the connection ends.
        for stream in self.streams.iter().filter(|stream| !matches!(stream.receiving, Receiving::Nothing)) {
            stream.ring();
        }
    }

    /// Looks at the streams that called; `false` when there were none.
    fn poll_streams(&mut self, events: &mut Vec<Event>) -> bool {
        let mut calls = std::mem::take(&mut self.calls);
        self.called.take(&mut calls);
        for place in &calls {
            self.poll_stream(*place, events);
        }
        let called = !calls.is_empty();
        self.calls = calls;
        called
    }

    fn poll_stream(&mut self, place: u32, events: &mut Vec<Event>) {
        let Some(stream) = self.streams.get_mut(place as usize) else { return };
        let (owner, key) = (stream.owner, Key { place, generation: stream.generation });
        if matches!(stream.receiving, Receiving::Nothing) {
            stream.go_on(&mut |_| {});
            return;
        }
        let first = events.len();
        stream.go_on(&mut |what| events.push(Event { owner, key, what }));
        let said = events.get(first..).and_then(<[Event]>::last);
        let mut gone = said.is_some_and(|event| matches!(event.what, What::End | What::Failed(_)));
        if let (false, Some(end)) = (gone, self.end) {
            events.push(Event { owner, key, what: What::Failed(end) });
            gone = true;
        }
        if let (Some(Event { what: What::Failed(failure @ Failure::Closed), .. }), Some(end)) =
            (events.last_mut(), self.end)
        {
            // Why the connection ended says more than that it did.
            *failure = end;
        }
        if gone {
            stream.clear();
            self.free.push(place);
        }
    }
}
