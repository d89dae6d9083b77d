//! A small client that only sends and reads bytes. It does not check the responses; the tests do.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::time::Duration;

use server::{Config, Ledger, Server};

/// A response, as received.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    /// The head, including the empty line at its end.
    pub head: String,
    pub body: Vec<u8>,
}

impl Response {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(": ")?;
            found.eq_ignore_ascii_case(name).then_some(value)
        })
    }
}

/// A connection.
pub struct Client {
    pub stream: TcpStream,
    /// Received bytes that are not part of a returned response.
    rest: Vec<u8>,
    /// The number of bytes received.
    pub received: u64,
}

impl Client {
    pub fn connect(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, rest: Vec::new(), received: 0 }
    }

    pub fn send(&mut self, text: &str) {
        self.stream.write_all(text.as_bytes()).unwrap();
    }

    /// Sends a GET of `target` with additional header lines, and reads the response.
    pub fn get(&mut self, target: &str, lines: &str) -> Response {
        self.send(&format!("GET {target} HTTP/1.1\r\nHost: x\r\n{lines}\r\n"));
        self.response()
    }

    /// Reads more bytes. Returns their number; 0 at the end of the stream.
    fn more(&mut self) -> usize {
        let mut buffer = [0; 64 * 1024];
        let bytes = self.stream.read(&mut buffer).unwrap();
        self.rest.extend_from_slice(&buffer[..bytes]);
        self.received += bytes as u64;
        bytes
    }

    /// Reads a head including its empty line; `None` if the stream ends before the first byte.
    fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = self.rest.windows(4).position(|window| window == b"\r\n\r\n") {
                let head: Vec<u8> = self.rest.drain(..end + 4).collect();
                return Some(String::from_utf8(head).unwrap());
            }
            if self.more() == 0 {
                assert!(self.rest.is_empty(), "the head must be complete: {:?}", self.rest);
                return None;
            }
        }
    }

    fn take(&mut self, bytes: usize) -> Vec<u8> {
        while self.rest.len() < bytes {
            assert_ne!(self.more(), 0, "the body must be complete");
        }
        self.rest.drain(..bytes).collect()
    }

    pub fn response(&mut self) -> Response {
        self.response_to(false)
    }

    /// Reads a response. The response to a HEAD has no body, even if its head has a length.
    pub fn response_to(&mut self, is_head: bool) -> Response {
        let head = self.head().expect("a response must arrive");
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut response = Response { status, head, body: Vec::new() };
        if is_head || matches!(status, 100 | 204 | 304) {
            return response;
        }
        if let Some(length) = response.header("content-length") {
            response.body = self.take(length.parse().unwrap());
        } else if response.header("transfer-encoding").is_some() {
            response.body = self.chunks();
        } else {
            while self.more() > 0 {}
            response.body = std::mem::take(&mut self.rest);
        }
        response
    }

    fn chunks(&mut self) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let mut line = Vec::new();
            while !line.ends_with(b"\r\n") {
                line.extend(self.take(1));
            }
            let size = usize::from_str_radix(std::str::from_utf8(&line).unwrap().trim_end(), 16).unwrap();
            body.extend(self.take(size));
            assert_eq!(self.take(2), b"\r\n");
            if size == 0 {
                return body;
            }
        }
    }

    /// Waits for the end of the stream. Returns false if other bytes arrive first.
    pub fn is_closed(&mut self) -> bool {
        self.rest.is_empty() && self.more() == 0
    }
}

pub fn config() -> Config {
    Config { threads: NonZeroUsize::new(2), log_requests: NonZeroUsize::new(10_000), ..Config::default() }
}

pub fn start(config: &Config) -> (Server, SocketAddr) {
    let server = Server::start(config).unwrap();
    let address = server.addresses()[0];
    (server, address)
}

/// Checks the equation that every ledger must satisfy.
pub fn balanced(ledger: &Ledger) {
    let ended = ledger.complete.count + ledger.aborted.count + ledger.requests_cut;
    assert_eq!(ledger.requests() + ledger.requests_malformed, ended + ledger.in_service(), "{ledger:?}");
    let by_status: u64 = ledger.statuses.values().map(|count| count.complete + count.aborted).sum();
    assert_eq!(by_status, ledger.complete.count + ledger.aborted.count);
}
