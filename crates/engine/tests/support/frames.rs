//! A simulated HTTP/2 server with handwritten frames.

use engine::sim::{Accept, Reply, SimServer};
use measure::Instant;
use std::collections::HashSet;
use std::time::Duration;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
const HEADERS: u8 = 1;

pub const REFUSED_STREAM: u32 = 7;
pub const INTERNAL_ERROR: u32 = 2;

/// A request on a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamRequest {
    pub now: Instant,
    /// Number of connections that were opened before the connection of the request.
    pub connection: usize,
    /// Identifier of the stream: 1, 3, 5, …
    pub stream: u32,
    /// Number of earlier requests, on all connections.
    pub before: usize,
}

/// A server that responds to each request with the frames that a function returns.
pub struct Frames<F> {
    script: F,
    /// Limit of concurrent streams that the server announces.
    streams: Option<u32>,
    requests: usize,
    greeted: HashSet<usize>,
}

impl<F: FnMut(StreamRequest) -> Vec<(Instant, Reply)>> Frames<F> {
    pub fn new(script: F) -> Self {
        Self { script, streams: None, requests: 0, greeted: HashSet::new() }
    }

    pub fn taking(mut self, streams: u32) -> Self {
        self.streams = Some(streams);
        self
    }
}

impl<F: FnMut(StreamRequest) -> Vec<(Instant, Reply)>> SimServer for Frames<F> {
    fn connect(&mut self, _: Instant) -> Accept {
        Accept::After(Duration::from_micros(50))
    }

    fn request(&mut self, _: Instant, _: &str) -> Vec<(Instant, Reply)> {
        Vec::new()
    }

    fn received(&mut self, now: Instant, connection: usize, bytes: &mut Vec<u8>) -> Vec<(Instant, Reply)> {
        let mut replies = Vec::new();
        if !self.greeted.contains(&connection) {
            if bytes.len() < PREFACE.len() {
                return replies;
            }
            assert!(bytes.starts_with(PREFACE));
            bytes.drain(..PREFACE.len());
            self.greeted.insert(connection);
            replies.push((now + Duration::from_micros(10), Reply::Bytes(greeting(self.streams))));
        }
        while bytes.len() >= 9 {
            let length = u32::from_be_bytes([0, bytes[0], bytes[1], bytes[2]]) as usize;
            if bytes.len() < 9 + length {
                break;
            }
            let kind = bytes[3];
            let stream = u32::from_be_bytes([bytes[5], bytes[6], bytes[7], bytes[8]]);
            bytes.drain(..9 + length);
            if kind == HEADERS {
                let before = self.requests;
                self.requests += 1;
                replies.extend((self.script)(StreamRequest { now, connection, stream, before }));
            }
        }
        replies
    }
}

pub fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_be_bytes()[1..].to_vec();
    bytes.extend_from_slice(&[kind, flags]);
    bytes.extend_from_slice(&stream.to_be_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Returns the server's settings, and the acknowledgement of the client's settings.
pub fn greeting(streams: Option<u32>) -> Vec<u8> {
    [settings(streams), frame(4, 1, 0, &[])].concat()
}

fn settings(streams: Option<u32>) -> Vec<u8> {
    let payload = streams.map_or_else(Vec::new, |streams| [&[0, 3][..], &streams.to_be_bytes()].concat());
    frame(4, 0, 0, &payload)
}

/// Returns an uncompressed head with this status.
pub fn head(stream: u32, status: u16, end: bool) -> Vec<u8> {
    let digits = status.to_string();
    let field = [&[0x08, digits.len() as u8], digits.as_bytes()].concat();
    frame(HEADERS, 0x4 | u8::from(end), stream, &field)
}

/// Returns the head of a redirect.
pub fn redirect(stream: u32, status: u16, location: &str) -> Vec<u8> {
    let digits = status.to_string();
    let field =
        [&[0x08, digits.len() as u8], digits.as_bytes(), &[0x0f, 0x1f, location.len() as u8], location.as_bytes()];
    frame(HEADERS, 0x4, stream, &field.concat())
}

/// Returns a frame that enlarges the client's send window on a stream. Stream 0 means the whole connection.
pub fn window_update(stream: u32, bytes: u32) -> Vec<u8> {
    frame(8, 0, stream, &bytes.to_be_bytes())
}

pub fn data(stream: u32, bytes: usize, end: bool) -> Vec<u8> {
    frame(0, u8::from(end), stream, &vec![b'x'; bytes])
}

pub fn reset(stream: u32, code: u32) -> Vec<u8> {
    frame(3, 0, stream, &code.to_be_bytes())
}

pub fn goaway(last: u32, code: u32) -> Vec<u8> {
    frame(7, 0, 0, &[last.to_be_bytes(), code.to_be_bytes()].concat())
}

/// Returns a complete response, sent after some time.
pub fn page(request: StreamRequest, after: Duration, bytes: usize) -> Vec<(Instant, Reply)> {
    let answer = [head(request.stream, 200, false), data(request.stream, bytes, true)].concat();
    vec![(request.now + after, Reply::Bytes(answer))]
}
