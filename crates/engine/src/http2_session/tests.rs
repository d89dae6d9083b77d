//! Tests of sessions in memory, against the server of the same library and against frames written by hand.

use super::pipe::OUTPUT_MAX;
use super::*;
use crate::network::Token;
use bytes::Bytes;
use http::{HeaderMap, Request, Response};
use proptest::prelude::*;
use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

const OWNER: Token = Token { index: 7, generation: 3 };
const SETTINGS: u8 = 4;

fn get(path: &str) -> Request<()> {
    Request::get(format!("http://host{path}")).body(()).expect("a request")
}

fn session() -> Session {
    Session::new(1).expect("a session")
}

fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

fn settings() -> Vec<u8> {
    frame(SETTINGS, 0, 0, &[])
}

/// Returns a head that consists only of `:status: 200`.
fn head(stream: u32, flags: u8) -> Vec<u8> {
    frame(1, 0x4 | flags, stream, &[0x88])
}

fn data(stream: u32, flags: u8, bytes: &[u8]) -> Vec<u8> {
    frame(0, flags, stream, bytes)
}

fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

fn drive(session: &mut Session) -> Vec<Event> {
    let mut events = Vec::new();
    session.drive(&mut events);
    events
}

fn fed(session: &mut Session, bytes: &[u8]) -> Vec<Event> {
    session.feed(bytes);
    drive(session)
}

fn failures(events: &[Event]) -> Vec<Failure> {
    events
        .iter()
        .filter_map(|event| match event.kind {
            EventKind::Failed(failure) => Some(failure),
            _ => None,
        })
        .collect()
}

/// Returns a session that has received the peer's settings, and `count` open streams with the identifiers 1, 3, 5, …
fn with_streams(count: usize) -> (Session, Vec<Key>) {
    let mut session = session();
    assert!(fed(&mut session, &settings()).is_empty());
    let keys = (0..count).map(|_| session.open(OWNER, get("/"), false).expect("room for a stream")).collect();
    assert!(drive(&mut session).is_empty());
    (session, keys)
}

/// Server of the h2 library. The server responds to every request with the request's body, or with `bytes` bytes.
struct Server {
    pipe: pipe::PipeEnd,
    connection: Option<h2::server::Connection<pipe::PipeEnd, Bytes>>,
    exchanges: Vec<Exchange>,
    /// Bytes of a request's body that are still to be sent.
    upload: usize,
}

struct Exchange {
    incoming: h2::RecvStream,
    outgoing: h2::SendStream<Bytes>,
    received: usize,
    left: usize,
}

impl Server {
    fn new() -> Self {
        Self { pipe: pipe::PipeEnd::default(), connection: None, exchanges: Vec::new(), upload: 1_000_000 }
    }

    /// Exchanges bytes between client and server until none are left, and collects the events of the client's streams.
    fn talk(&mut self, session: &mut Session, bytes: usize, builder: &h2::server::Builder) -> Vec<Event> {
        let mut events = drive(session);
        loop {
            let up = session.with_output(<[u8]>::to_vec);
            session.output_taken(up.len());
            self.pipe.0.borrow_mut().put(&up);
            self.serve(bytes, builder);
            let down = self.pipe.0.borrow().output().to_vec();
            self.pipe.0.borrow_mut().taken(down.len());
            if up.is_empty() && down.is_empty() {
                return events;
            }
            session.feed(&down);
            session.drive(&mut events);
            for room in std::mem::take(&mut events) {
                if !matches!(room.kind, EventKind::Capacity) {
                    events.push(room);
                    continue;
                }
                let piece = session.capacity(room.key).min(10_000).min(self.upload);
                self.upload -= piece;
                session.send(room.key, vec![1; piece].into(), self.upload == 0).expect("room");
            }
            session.drive(&mut events);
        }
    }

    fn serve(&mut self, bytes: usize, builder: &h2::server::Builder) {
        let mut cx = Context::from_waker(Waker::noop());
        if self.connection.is_none() {
            // The handshake is ready when the preface has arrived.
            let Poll::Ready(Ok(connection)) = pin!(builder.handshake(self.pipe.clone())).poll(&mut cx) else { return };
            self.connection = Some(connection);
        }
        let Some(connection) = &mut self.connection else { return };
        for _ in 0..100 {
            while let Poll::Ready(Some(Ok((request, mut respond)))) = connection.poll_accept(&mut cx) {
                let outgoing = respond.send_response(Response::new(()), false).expect("a response");
                self.exchanges.push(Exchange { incoming: request.into_body(), outgoing, received: 0, left: bytes });
            }
            self.exchanges.retain_mut(|exchange| !exchange.go_on(&mut cx));
        }
    }
}

impl Exchange {
    /// Continues the exchange. Returns whether the exchange is complete.
    fn go_on(&mut self, cx: &mut Context<'_>) -> bool {
        while let Poll::Ready(Some(Ok(piece))) = self.incoming.poll_data(cx) {
            self.received += piece.len();
            self.incoming.flow_control().release_capacity(piece.len()).expect("known");
        }
        if !self.incoming.is_end_stream() {
            return false;
        }
        self.left += std::mem::take(&mut self.received);
        self.outgoing.reserve_capacity(self.left.min(100_000));
        let piece = self.outgoing.capacity().min(self.left);
        self.left -= piece;
        if piece > 0 {
            self.outgoing.send_data(vec![0; piece].into(), false).expect("room");
        }
        if self.left == 0 {
            let mut trailers = HeaderMap::new();
            trailers.insert("x-sum", http::HeaderValue::from_static("1"));
            self.outgoing.send_trailers(trailers).expect("trailers");
        }
        self.left == 0
    }
}

fn body_bytes(events: &[Event]) -> usize {
    let bytes = |event: &Event| if let EventKind::Body(bytes) = &event.kind { bytes.len() } else { 0 };
    events.iter().map(bytes).sum()
}

fn ends(events: &[Event]) -> usize {
    events.iter().filter(|event| matches!(event.kind, EventKind::End)).count()
}

#[test]
fn a_response_is_reported_as_head_body_and_end() {
    let (mut session, mut server) = (session(), Server::new());
    let key = session.open(OWNER, get("/a"), false).expect("the first stream");
    let events = server.talk(&mut session, 300_000, &h2::server::Builder::new());
    assert!(events.iter().all(|event| event.owner == OWNER && event.key == key), "{events:?}");
    assert!(matches!(&events[0].kind, EventKind::Head(head) if head.status == 200), "{events:?}");
    assert_eq!((body_bytes(&events), ends(&events)), (300_000, 1));
    let [.., behind, last] = events.as_slice() else { panic!("{events:?}") };
    assert!(matches!(&behind.kind, EventKind::Trailers(fields) if fields["x-sum"] == "1"), "{behind:?}");
    assert!(matches!(last.kind, EventKind::End));
    assert_eq!(session.open_streams(), 0);
    assert!(session.accepts());
}

#[test]
fn one_stream_is_open_until_the_peer_sends_its_settings() {
    let (mut session, mut server) = (session(), Server::new());
    assert_eq!(session.streams_allowed(), 1);
    session.open(OWNER, get("/"), false).expect("the first stream");
    let mut builder = h2::server::Builder::new();
    builder.max_concurrent_streams(3);
    server.talk(&mut session, 10, &builder);
    assert_eq!(session.streams_allowed(), 3);
    for _ in 0..3 {
        session.open(OWNER, get("/"), false).expect("as many as allowed");
    }
    let events = server.talk(&mut session, 10, &builder);
    assert_eq!((ends(&events), body_bytes(&events)), (3, 30));
}

#[test]
fn a_request_body_goes_out_as_the_peer_has_room() {
    let (mut session, mut server) = (session(), Server::new());
    let request = Request::put("http://host/b").body(()).expect("a request");
    session.open(OWNER, request, true).expect("the first stream");
    let mut builder = h2::server::Builder::new();
    builder.initial_window_size(70_000);
    let events = server.talk(&mut session, 0, &builder);
    // The server sent back the bytes of the request.
    assert_eq!((body_bytes(&events), ends(&events)), (1_000_000, 1));
}

#[test]
fn large_bodies_do_not_wait_for_windows() {
    let (mut session, keys) = with_streams(1);
    let mut bytes = head(1, 0);
    let piece = data(1, 0, &[0; 16_384]);
    let (mut total, pieces) = (0, 64 * 1024);
    for number in 0..pieces {
        bytes.extend_from_slice(&piece);
        let events = fed(&mut session, &bytes);
        assert!(failures(&events).is_empty(), "{number}: {events:?}");
        total += body_bytes(&events);
        let out = session.with_output(<[u8]>::len);
        session.output_taken(out);
        bytes.clear();
    }
    // The initial windows allow far fewer bytes, so the session must have enlarged the windows again.
    assert_eq!(total, pieces * 16_384);
    assert_eq!(ends(&fed(&mut session, &data(1, 1, b"end"))), 1);
    session.cancel(keys[0]);
}

/// Returns how many bytes of content a new session allows the peer to send on a stream, and on the connection.
fn windows(streams: u32) -> (u64, u64) {
    let output = Session::new(streams).expect("a session").with_output(<[u8]>::to_vec);
    let mut frames = &output[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len()..];
    let four = |bytes: &[u8]| u64::from(u32::from_be_bytes(bytes.try_into().expect("four bytes")));
    let (mut stream, mut connection) = (65_535, 65_535);
    while !frames.is_empty() {
        let (head, rest) = frames.split_at(9);
        let (payload, rest) = rest.split_at(four(&[0, head[0], head[1], head[2]]) as usize);
        match head[3] {
            SETTINGS => {
                let window = payload.chunks(6).find(|setting| setting[..2] == [0, 4]).expect("a window");
                stream = four(&window[2..]);
            }
            8 => connection += four(payload),
            kind => panic!("a frame of kind {kind}"),
        }
        frames = rest;
    }
    (stream, connection)
}

/// nginx allows a connection 10,000 frames of 8 KiB. To check this limit, nginx adds up the maximum number of queued
/// frames of each stream.
#[test]
fn no_server_has_to_queue_more_than_it_can() {
    for streams in [0, 1, 2, 7, 64, 100, 128, 511] {
        let (stream, connection) = windows(streams);
        assert!(connection >= stream && stream >= 65_535, "{streams} streams: {stream} of {connection}");
        let frames = u64::from(streams) * stream.div_ceil(8 << 10);
        assert!(frames <= 5000, "{streams} streams: {frames} frames");
    }
    assert!(windows(1).0 >= 16 << 20, "one stream must be able to fill a long path");
    assert!(windows(10_000).1 <= 64 << 20);
}

#[test]
fn bytes_read_in_place_are_the_same_as_copied_ones() {
    let bytes = [head(1, 0), data(1, 0, &[7; 9000]), data(1, 1, b"end"), head(3, 1)].concat();
    for cut in [1, 8, 9, 10, 500, bytes.len() - 1, bytes.len()] {
        let (mut session, _) = with_streams(2);
        let mut events = Vec::new();
        for piece in bytes.chunks(cut) {
            let mut buffer = vec![0; 10_000].into_boxed_slice();
            buffer[..piece.len()].copy_from_slice(piece);
            assert_eq!(session.drive_with(buffer, piece.len(), &mut events).len(), 10_000);
        }
        assert_eq!((body_bytes(&events), ends(&events)), (9003, 2), "pieces of {cut}");
        assert!(session.has_settings() && !session.input_waits());
    }
}

#[test]
fn refused_streams_are_distinguished_from_reset_ones() {
    let (mut session, _) = with_streams(2);
    let refused = fed(&mut session, &frame(3, 0, 1, &7_u32.to_be_bytes()));
    assert_eq!(failures(&refused), [Failure::Refused]);
    let reset = fed(&mut session, &frame(3, 0, 3, &2_u32.to_be_bytes()));
    assert_eq!(failures(&reset), [Failure::Reset(2)]);
    assert!(session.accepts() && session.end().is_none());
}

#[test]
fn a_goaway_refuses_what_is_above_it_and_lets_the_rest_end() {
    let (mut session, keys) = with_streams(3);
    let events = fed(&mut session, &goaway(3, 0));
    assert_eq!(failures(&events), [Failure::AboveGoaway]);
    assert_eq!(events[0].key, keys[2]);
    assert!(!session.accepts());
    assert!(session.open(OWNER, get("/"), false).is_none());
    let rest = fed(&mut session, &[head(1, 1), head(3, 0), data(3, 1, b"abc")].concat());
    assert_eq!((ends(&rest), body_bytes(&rest)), (2, 3));
}

#[test]
fn the_code_of_a_goaway_is_what_its_streams_end_with() {
    let (mut session, _) = with_streams(1);
    assert!(fed(&mut session, &goaway(1, 2)).is_empty(), "a response may still arrive");
    session.feed_end();
    assert_eq!(failures(&drive(&mut session)), [Failure::GoneAway(2)]);
    assert_eq!(session.end(), Some(Failure::GoneAway(2)));
}

#[test]
fn a_connection_that_ends_ends_its_streams() {
    for begun in [false, true] {
        let (mut session, _) = with_streams(2);
        if begun {
            assert!(failures(&fed(&mut session, &[head(1, 0), data(1, 0, b"abc")].concat())).is_empty());
        }
        session.feed_end();
        let events = drive(&mut session);
        assert_eq!(failures(&events), [Failure::Closed; 2], "{events:?}");
        assert_eq!(session.open_streams(), 0);
    }
}

#[test]
fn invalid_http2_ends_the_connection() {
    let mut session = session();
    session.open(OWNER, get("/"), false).expect("the first stream");
    let events = fed(&mut session, b"HTTP/1.1 400 Bad Request\r\n\r\n");
    assert!(matches!(failures(&events)[..], [Failure::BadConnection(_)]), "{events:?}");
    assert!(session.begins_with(|begin| begin.starts_with(b"HTTP/")));
    assert!(!session.accepts());
}

#[test]
fn a_broken_stream_leaves_the_others_alone() {
    let (mut session, _) = with_streams(2);
    // A head without a status is an error of its stream only.
    let events = fed(&mut session, &[frame(1, 0x4, 1, &[0x10, 1, b'a', 1, b'b']), head(3, 1)].concat());
    assert!(matches!(failures(&events)[..], [Failure::BadStream(_)]), "{events:?}");
    assert_eq!(ends(&events), 1);
    assert!(session.accepts());
}

#[test]
fn interim_heads_are_counted_and_limited() {
    // `:status: 103` as a literal.
    let interim = |stream| frame(1, 0x4, stream, &[0x08, 3, b'1', b'0', b'3']);
    let (mut session, _) = with_streams(2);
    let events = fed(&mut session, &[interim(1), interim(1), head(1, 1)].concat());
    assert!(matches!(
        events[..3],
        [Event { kind: EventKind::Interim(1), .. }, Event { kind: EventKind::Interim(2), .. }, _]
    ));
    assert!(matches!(events[2].kind, EventKind::Head(_)), "{events:?}");
    let flood: Vec<u8> = (0..100).flat_map(|_| interim(3)).collect();
    assert_eq!(failures(&fed(&mut session, &flood)), [Failure::TooManyInterim]);
}

#[test]
fn a_canceled_stream_is_reset_and_has_no_more_events() {
    let (mut session, keys) = with_streams(1);
    let out = session.with_output(<[u8]>::len);
    session.output_taken(out);
    session.cancel(keys[0]);
    assert!(drive(&mut session).is_empty());
    let reset = frame(3, 0, 1, &8_u32.to_be_bytes());
    assert!(session.with_output(|out| out.windows(reset.len()).any(|at| at == reset)));
    assert!(fed(&mut session, &[head(1, 0), data(1, 1, b"late")].concat()).is_empty());
    assert!(session.accepts() && session.open_streams() == 0);
}

#[test]
fn a_flood_that_needs_replies_is_not_read() {
    let (mut session, _) = with_streams(1);
    let flood: Vec<u8> = (0..1000).flat_map(|_| frame(6, 0, 0, &[0; 8])).collect();
    let mut events = Vec::new();
    let fed = (0..1000).take_while(|_| {
        session.drive_with(flood.clone().into(), flood.len(), &mut events);
        assert!(events.is_empty());
        !session.input_waits()
    });
    assert!(fed.count() < 100);
    assert!(session.with_output(<[u8]>::len) < OUTPUT_MAX + 64 * 1024);
    assert!(session.take_blocked() && !session.take_blocked());
    // The session continues as soon as the output is sent.
    let out = session.with_output(<[u8]>::len);
    session.output_taken(out);
    drive(&mut session);
    assert!(session.has_output());
}

proptest! {
    /// For any input bytes, nothing panics or hangs, and every stream ends.
    #[test]
    fn any_bytes_end_every_stream(
        frames in prop::collection::vec((0_u8..12, any::<u8>(), 0_u32..8, prop::collection::vec(any::<u8>(), 0..40)), 0..30),
        cut in any::<usize>(),
        polite in any::<bool>(),
    ) {
        let mut bytes = if polite { settings() } else { Vec::new() };
        for (kind, flags, stream, payload) in frames {
            bytes.extend(frame(kind, flags, stream, &payload));
        }
        bytes.truncate(bytes.len() - cut % (bytes.len() + 1));
        let mut session = session();
        let mut opened = 0;
        let mut events = Vec::new();
        for piece in bytes.chunks(17) {
            if session.open_streams() < session.streams_allowed().min(3) {
                opened += usize::from(session.open(OWNER, get("/"), false).is_some());
            }
            session.feed(piece);
            session.drive(&mut events);
        }
        session.feed_end();
        session.drive(&mut events);
        let over = events.iter().filter(|event| matches!(event.kind, EventKind::End | EventKind::Failed(_))).count();
        prop_assert_eq!(over, opened);
        prop_assert!(session.end().is_some());
    }
}
