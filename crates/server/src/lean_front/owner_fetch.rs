//! Responses fetched from another server of the cluster (proxy mode). Every byte of such a response crosses the network
//! twice. Proxy mode exists so that users can measure this cost.
//!
//! This server parses the owner's head and writes its own head. The server passes the body on as it arrives. Each
//! thread keeps connections to owners and reuses them.

use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;

use sys::{Interest, Socket};
use wire::response::RangeField;
use wire::{Event, Framing, Method, RangeRequest, RangeSpec, RequestHead, RequestKind, ResponseReader};

use crate::content::Content;
use crate::content::pattern::Pattern;
use crate::content::source::{Produced, Source};
use crate::request::target::Target;
use crate::response::{Media, Response, bad_gateway};

/// Maximum number of idle connections to owners per thread.
const IDLE_MAX: usize = 256;
/// Maximum number of bytes received from an owner at once.
const RECEIVE_BYTES: usize = 64 * 1024;

/// A thread's idle connections to owners.
#[derive(Debug, Default)]
pub(super) struct OwnerConnections {
    idle: Vec<(SocketAddr, Socket)>,
}

impl OwnerConnections {
    fn take(&mut self, owner: SocketAddr) -> Option<Socket> {
        let at = self.idle.iter().rposition(|(address, _)| *address == owner)?;
        Some(self.idle.swap_remove(at).1)
    }

    /// Keeps a connection for reuse, after the response on it has ended.
    pub(super) fn keep(&mut self, owner: SocketAddr, socket: Socket) {
        if self.idle.len() < IDLE_MAX {
            self.idle.push((owner, socket));
        }
    }
}

/// A request to an owner, until the head of its response has arrived.
#[derive(Debug)]
pub(super) struct OwnerFetch {
    owner: SocketAddr,
    socket: Socket,
    /// `true` if the connection was reused. The owner may have closed it in the meantime. If it fails, the request is
    /// therefore sent again on a new connection.
    reused: bool,
    request: Vec<u8>,
    sent: usize,
    reader: ResponseReader,
    /// Received bytes, parsed up to `at`.
    received: Vec<u8>,
    at: usize,
    media: Option<Box<str>>,
}

/// The progress of a fetch.
#[derive(Debug)]
pub(super) enum FetchProgress {
    /// The fetch waits until the owner's socket is ready.
    Waits(Interest),
    /// The response with the owner's head, but without its body.
    Head(Box<Response>),
    /// The owner could not be reached, or its response could not be parsed.
    Failed,
}

impl OwnerFetch {
    /// Begins to fetch the response to the request with this head. If `ranged`, the request to the owner has a range.
    ///
    /// # Errors
    /// Fails if a connection cannot be opened.
    pub(super) fn begin(
        owner: SocketAddr,
        head: &RequestHead,
        ranged: bool,
        connections: &mut OwnerConnections,
    ) -> io::Result<Self> {
        let (socket, reused) = match connections.take(owner) {
            Some(socket) => (socket, true),
            None => (Socket::connect_tcp(owner, None)?.0, false),
        };
        let mut reader = ResponseReader::new();
        reader.start(if head.method == Method::Head { RequestKind::Head } else { RequestKind::Other });
        let request = request(owner, head, ranged);
        Ok(Self { owner, socket, reused, request, sent: 0, reader, received: Vec::new(), at: 0, media: None })
    }

    /// Returns the connection to the owner.
    pub(super) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Continues the fetch: sends the request, then reads until the end of the response head.
    pub(super) fn drive(&mut self) -> FetchProgress {
        loop {
            let result = if self.sent < self.request.len() { self.send() } else { self.receive() };
            match result {
                Ok(Some(progress)) => return progress,
                Ok(None) => {}
                Err(_) if self.reused && self.received.is_empty() => {
                    let Ok((socket, _)) = Socket::connect_tcp(self.owner, None) else { return FetchProgress::Failed };
                    (self.socket, self.reused, self.sent) = (socket, false, 0);
                }
                Err(_) => return FetchProgress::Failed,
            }
        }
    }

    fn send(&mut self) -> io::Result<Option<FetchProgress>> {
        match self.socket.send(&self.request[self.sent..]) {
            Ok(taken) => self.sent += taken,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Ok(Some(FetchProgress::Waits(Interest::Write)));
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        Ok(None)
    }

    fn receive(&mut self) -> io::Result<Option<FetchProgress>> {
        if !receive(&self.socket, &mut self.received)? {
            return Ok(Some(FetchProgress::Waits(Interest::Read)));
        }
        let media = &mut self.media;
        let read = self.reader.read(&self.received, &mut |name, value| {
            if name.eq_ignore_ascii_case(b"content-type") {
                *media = str::from_utf8(value).ok().map(Into::into);
            }
        });
        let progress = read.map_err(|_| ErrorKind::InvalidData)?;
        self.at = progress.consumed;
        if progress.event == Event::Head {
            return Ok(Some(FetchProgress::Head(Box::new(self.response()))));
        }
        Ok(None)
    }

    /// Converts the owner's head into a response of this server, without a body yet.
    fn response(&mut self) -> Response {
        let Some(head) = self.reader.head() else {
            debug_assert!(false, "the reader reported a head but has none");
            return bad_gateway();
        };
        let (status, framing, declared) = (head.status, head.framing, head.declared_length);
        let content_range = match head.content_range {
            RangeField::Valid(range) => Some(range),
            RangeField::Absent | RangeField::Invalid => None,
        };
        let media = self.media.take().map_or(Media::Omitted, Media::Named);
        let length = match framing {
            Framing::Length(length) => Some(length),
            Framing::None => Some(declared.unwrap_or(0)),
            Framing::Chunked | Framing::UntilClose => None,
        };
        Response { content_range, media, ..Response::new(status, Content::Empty, length) }
    }

    /// Returns the source of the body. Call this after [`Self::drive`] has returned the head.
    pub(super) fn into_body(self) -> Box<dyn Source> {
        let Self { owner, socket, reader, received, at, .. } = self;
        Box::new(Body { owner, socket, reader, received, at })
    }
}

/// Returns the bytes of the request to the owner.
fn request(owner: SocketAddr, head: &RequestHead, ranged: bool) -> Vec<u8> {
    let target = Target::parse(&head.target).unwrap_or(Target { path: "/", query: None });
    let query = target.query.map(|query| format!("?{query}")).unwrap_or_default();
    let mut out = format!("{} {}{query} HTTP/1.1\r\nHost: {owner}\r\n", head.method.as_str(), target.path).into_bytes();
    // A request for several ranges is sent to the owner without `Range`. The response is then the whole object, which
    // is allowed for such requests.
    if let Some([spec]) = head.range.as_ref().filter(|_| ranged).map(RangeRequest::specs) {
        out.extend_from_slice(b"Range: ");
        // Writing to memory does not fail.
        let _ = match spec {
            RangeSpec::Between(range) => {
                range.write_to(&mut out);
                Ok(())
            }
            RangeSpec::From(first) => write!(out, "bytes={first}-"),
            RangeSpec::Suffix(length) => write!(out, "bytes=-{length}"),
        };
        out.extend_from_slice(b"\r\n");
    }
    out.extend_from_slice(b"\r\n");
    out
}

/// Refills `buffer` from the socket. Returns false if nothing has arrived yet.
fn receive(socket: &Socket, buffer: &mut Vec<u8>) -> io::Result<bool> {
    buffer.resize(RECEIVE_BYTES, 0);
    let got = socket.recv(buffer);
    buffer.truncate(*got.as_ref().unwrap_or(&0));
    match got {
        Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The body of an owner's response.
#[derive(Debug)]
struct Body {
    owner: SocketAddr,
    socket: Socket,
    reader: ResponseReader,
    received: Vec<u8>,
    at: usize,
}

impl Source for Body {
    fn produce(&mut self, _: &Pattern, _: usize, out: &mut Vec<u8>) -> io::Result<Produced> {
        let from = out.len();
        loop {
            if self.at == self.received.len() && !self.reader.is_complete() {
                if out.len() > from {
                    return Ok(Produced::Piece);
                }
                self.at = 0;
                if !receive(&self.socket, &mut self.received)? {
                    return Ok(Produced::Pending);
                }
            }
            let input = &self.received[self.at..];
            let progress = self.reader.read(input, &mut |_, _| {}).map_err(|_| ErrorKind::InvalidData)?;
            self.at += progress.consumed;
            match progress.event {
                Event::Body(range) => out.extend_from_slice(&input[range]),
                Event::End if out.len() > from => return Ok(Produced::Piece),
                Event::End => return Ok(Produced::End),
                Event::Head | Event::NeedMore => {}
            }
        }
    }

    fn waits_for(&self) -> Option<&Socket> {
        Some(&self.socket)
    }

    fn into_connection(self: Box<Self>) -> Option<(SocketAddr, Socket)> {
        let whole = self.reader.reusable() && self.at == self.received.len();
        whole.then_some((self.owner, self.socket))
    }
}
