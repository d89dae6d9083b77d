//! The HTTP/2 session of one connection. The input of a session is requests, and its output is events.

use super::pipe::PipeEnd;
use super::stream::{Key, Receiving, Sending, Stream};
use super::wakers::{StreamWaker, WakeFlag, WakeQueue};
use super::{Failure, HEAD_BYTES_MAX, RESET_STREAMS_MAX, WINDOW_BYTES, stream_window_bytes};
use crate::network::Token;
use crate::run_loop::Invariant;
use bytes::Bytes;
use h2::client::{Builder, Connection, SendRequest};
use http::response::Parts;
use http::{HeaderMap, Request};
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// Maximum number of rounds of polling the connection and its streams. The connection and the streams wake each other
/// only a few times while they process the bytes of one read. Only a defect can reach this limit.
const ROUNDS_MAX: usize = 64;

/// An event of a stream.
#[derive(Debug)]
pub(crate) struct Event {
    /// Token for which the stream was opened.
    pub owner: Token,
    /// Key of the stream in its session.
    pub key: Key,
    /// Kind and data of the event.
    pub kind: EventKind,
}

/// Kind of an event, with the data that arrived.
#[derive(Debug)]
pub(crate) enum EventKind {
    /// An interim (1xx) head has arrived. The number counts the interim heads so far, including this one.
    Interim(u32),
    /// The final head has arrived.
    Head(Box<Parts>),
    /// Content has arrived.
    Body(Bytes),
    /// The trailers, which are fields after the content, have arrived.
    Trailers(Box<HeaderMap>),
    /// Flow-control capacity is available for a piece of the request's body.
    Capacity,
    /// The response is complete. The stream is closed.
    End,
    /// The stream failed and is closed.
    Failed(Failure),
}

/// The HTTP/2 side of a connection.
pub(crate) struct Session {
    pipe: PipeEnd,
    /// Handle for new requests; `None` after [`Session::close`].
    requests: Option<SendRequest<Bytes>>,
    /// Connection of the library; `None` after the connection has ended.
    connection: Option<Connection<PipeEnd, Bytes>>,
    wake_flag: Arc<WakeFlag>,
    waker: Waker,
    wake_queue: Arc<WakeQueue>,
    /// Places of the streams that are being polled.
    woken: Vec<u32>,
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
    /// Returns a session that has at most `streams` open streams at the same time. The first output of the session is
    /// the preface of HTTP/2. `None` means a defect of this program.
    pub(crate) fn new(streams: u32) -> Option<Self> {
        let mut builder = Builder::new();
        builder
            .enable_push(false)
            .initial_window_size(stream_window_bytes(streams))
            .initial_connection_window_size(WINDOW_BYTES)
            .max_header_list_size(HEAD_BYTES_MAX)
            .max_concurrent_reset_streams(RESET_STREAMS_MAX)
            // Until the peer has sent its settings, only one stream may be open.
            .initial_max_send_streams(1);
        let pipe = PipeEnd::default();
        let wake_flag = Arc::new(WakeFlag::default());
        let waker = Waker::from(Arc::clone(&wake_flag));
        // The pipe accepts the preface immediately, so the future is ready.
        let opening = pin!(builder.handshake::<_, Bytes>(pipe.clone()));
        let Poll::Ready(Ok((requests, connection))) = opening.poll(&mut Context::from_waker(&waker)) else {
            return None;
        };
        let mut session = Self {
            pipe,
            requests: Some(requests),
            connection: Some(connection),
            wake_flag,
            waker,
            wake_queue: Arc::default(),
            woken: Vec::new(),
            streams: Vec::new(),
            free: Vec::new(),
            end: None,
        };
        session.poll_connection();
        Some(session)
    }

    /// Adds bytes from the peer. [`Self::drive`] then returns the events in these bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        self.pipe.0.borrow_mut().put(bytes);
    }

    /// Adds the first `bytes` bytes of a buffer and calls [`Self::drive`]. Returns the buffer.
    pub(crate) fn drive_with(&mut self, buffer: Box<[u8]>, bytes: usize, events: &mut Vec<Event>) -> Box<[u8]> {
        self.pipe.0.borrow_mut().lend(buffer, bytes);
        self.drive(events);
        self.pipe.0.borrow_mut().take_back()
    }

    /// Records that the peer has closed its side of the connection.
    pub(crate) fn feed_end(&mut self) {
        self.pipe.0.borrow_mut().end();
    }

    /// Records that the connection is lost. The next [`Self::drive`] ends the streams of the connection.
    pub(crate) fn abort(&mut self) {
        if self.end.is_none() {
            self.ended(Failure::Closed);
        }
    }

    /// Returns whether some of the added bytes are not processed yet, because too much output waits to be sent. While
    /// the result is `true`, the caller should add no more bytes.
    pub(crate) fn input_waits(&self) -> bool {
        self.connection.is_some() && self.pipe.0.borrow().has_input()
    }

    /// Returns the result of `test` for the first bytes from the peer.
    pub(crate) fn begins_with(&self, test: impl Fn(&[u8]) -> bool) -> bool {
        test(self.pipe.0.borrow().begin())
    }

    /// Returns how many streams may be open at the same time. The peer determines this number. Until the peer has sent
    /// its settings, the number is one.
    pub(crate) fn streams_allowed(&self) -> usize {
        self.requests.as_ref().map_or(0, SendRequest::current_max_send_streams)
    }

    /// Returns whether the peer has sent its settings.
    pub(crate) fn has_settings(&self) -> bool {
        self.pipe.0.borrow().has_first_frame()
    }

    /// Returns the number of open streams.
    pub(crate) fn open_streams(&self) -> usize {
        self.streams.len() - self.free.len()
    }

    /// Returns whether the connection accepts further requests. A connection accepts no requests after its end or after
    /// a GOAWAY from the peer.
    pub(crate) fn accepts(&mut self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        match &mut self.requests {
            Some(requests) if self.connection.is_some() => !matches!(requests.poll_ready(&mut cx), Poll::Ready(Err(_))),
            _ => false,
        }
    }

    /// Returns the way in which the connection ended, if it has ended.
    #[cfg(test)]
    pub(crate) fn end(&self) -> Option<Failure> {
        self.end
    }

    /// Opens a stream for a request with or without a body. Returns `None` if the connection does not accept the
    /// request. Nothing was sent in this case.
    pub(crate) fn open(&mut self, owner: Token, request: Request<()>, has_body: bool) -> Option<Key> {
        let requests = self.requests.as_mut().filter(|_| self.connection.is_some())?;
        let (response, stream) = requests.send_request(request, !has_body).ok()?;
        let sending = has_body.then(|| Sending::new(stream));
        let place = self.free.pop().unwrap_or_else(|| {
            let place = self.streams.len() as u32;
            self.streams.push(Stream::new(StreamWaker::new(place, &self.wake_queue)));
            place
        });
        let stream = &mut self.streams[place as usize];
        stream.begin(owner, response, sending);
        Some(Key { place, generation: stream.generation })
    }

    fn stream(&mut self, key: Key) -> Option<&mut Stream> {
        self.streams.get_mut(key.place as usize).filter(|stream| stream.generation == key.generation)
    }

    /// Returns the flow-control capacity for a request's body, in bytes. If a piece is larger than the capacity, a part
    /// of the piece waits in the session.
    pub(crate) fn capacity(&mut self, key: Key) -> usize {
        self.stream(key).map_or(0, Stream::capacity)
    }

    /// Sends a piece of a request's body. The stream must have capacity for the piece.
    ///
    /// # Errors
    /// Fails if the stream accepts no more content.
    pub(crate) fn send(&mut self, key: Key, piece: Bytes, last: bool) -> Result<(), Failure> {
        self.stream(key).map_or(Ok(()), |stream| stream.send(piece, last))
    }

    /// Resets a stream, unless it has ended.
    pub(crate) fn cancel(&mut self, key: Key) {
        if let Some(stream) = self.stream(key) {
            stream.clear();
            self.free.push(key.place);
        }
    }

    /// Resets all streams and sends GOAWAY, because there are no further requests.
    pub(crate) fn close(&mut self) {
        self.requests = None;
        for stream in &mut self.streams {
            stream.clear();
        }
        self.poll_connection();
    }

    /// Calls `put` with the bytes that must be sent next.
    pub(crate) fn with_output<R>(&self, put: impl FnOnce(&[u8]) -> R) -> R {
        put(self.pipe.0.borrow().output())
    }

    /// Returns whether there are bytes to send.
    pub(crate) fn has_output(&self) -> bool {
        !self.pipe.0.borrow().output().is_empty()
    }

    /// Returns whether there was more output than the pipe can store. If so, call [`Self::drive`] again after output
    /// was removed.
    pub(crate) fn take_blocked(&mut self) -> bool {
        self.pipe.0.borrow_mut().take_blocked()
    }

    /// Records that the first `bytes` bytes of the output have been sent.
    pub(crate) fn output_taken(&mut self, bytes: usize) {
        self.pipe.0.borrow_mut().taken(bytes);
    }

    /// Processes the added bytes, as long as there is space for output. Appends the resulting events to `events`.
    pub(crate) fn drive(&mut self, events: &mut Vec<Event>) {
        self.poll_connection();
        for _ in 0..ROUNDS_MAX {
            let polled = self.poll_streams(events);
            if self.wake_flag.take() {
                self.poll_connection();
            } else if !polled {
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
        // All streams must be woken here, because the library does not wake every stream when the connection ends.
        for stream in self.streams.iter().filter(|stream| !matches!(stream.receiving, Receiving::Nothing)) {
            stream.wake();
        }
    }

    /// Polls the streams that were woken. Returns `false` if no stream was woken.
    fn poll_streams(&mut self, events: &mut Vec<Event>) -> bool {
        let mut woken = std::mem::take(&mut self.woken);
        self.wake_queue.take(&mut woken);
        for place in &woken {
            self.poll_stream(*place, events);
        }
        let polled = !woken.is_empty();
        self.woken = woken;
        polled
    }

    fn poll_stream(&mut self, place: u32, events: &mut Vec<Event>) {
        let stream = self.streams.get_mut(place as usize).assert_some("a stream that was woken has a place");
        let Some(stream) = stream else { return };
        let (owner, key) = (stream.owner, Key { place, generation: stream.generation });
        if matches!(stream.receiving, Receiving::Nothing) {
            stream.proceed(&mut |_| {});
            return;
        }
        let first = events.len();
        stream.proceed(&mut |kind| events.push(Event { owner, key, kind }));
        let last = events.get(first..).and_then(<[Event]>::last);
        let mut closed = last.is_some_and(|event| matches!(event.kind, EventKind::End | EventKind::Failed(_)));
        if let (false, Some(end)) = (closed, self.end) {
            events.push(Event { owner, key, kind: EventKind::Failed(end) });
            closed = true;
        }
        if let (Some(Event { kind: EventKind::Failed(failure @ Failure::Closed), .. }), Some(end)) =
            (events.last_mut(), self.end)
        {
            // The reason why the connection ended is more specific than `Closed`.
            *failure = end;
        }
        if closed {
            stream.clear();
            self.free.push(place);
        }
    }
}
