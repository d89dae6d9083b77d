//! Fetching an answer from another server of the cluster, to pass it on: in proxy mode every such byte crosses a network
//! twice, which is what that mode is there to show.
//!
//! The owner's head is read and written anew by this server; its body is passed on as it comes. Connections to owners
//! are kept by each thread and used again.

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

/// Connections to owners that a thread keeps.
const IDLE_MAX: usize = 256;
/// Bytes taken from an owner at once.
const RECEIVE_BYTES: usize = 64 * 1024;

/// The connections to owners that a thread keeps.
#[derive(Debug, Default)]
pub(crate) struct OwnerConnections {
    idle: Vec<(SocketAddr, Socket)>,
}

impl OwnerConnections {
    fn take(&mut self, owner: SocketAddr) -> Option<Socket> {
        let at = self.idle.iter().rposition(|(address, _)| *address == owner)?;
        Some(self.idle.swap_remove(at).1)
    }

    /// Keeps a connection whose answer is over.
    pub(crate) fn keep(&mut self, owner: SocketAddr, socket: Socket) {
        if self.idle.len() < IDLE_MAX {
            self.idle.push((owner, socket));
        }
    }
}

/// A request on its way to an owner, until the head of the answer has come.
#[derive(Debug)]
pub(crate) struct OwnerFetch {
    owner: SocketAddr,
    socket: Socket,
    /// Whether the connection was kept from an earlier request: the owner may have closed it meanwhile.
    reused: bool,
    request: Vec<u8>,
    sent: usize,
    reader: ResponseReader,
    /// Received, and read up to `at`.
    received: Vec<u8>,
    at: usize,
    media: Option<Box<str>>,
}

/// How far a fetch came.
#[derive(Debug)]
pub(crate) enum FetchProgress {
    /// The owner's socket must become ready.
    Waits(Interest),
    /// The head is there; the body follows.
    Response(Box<Response>),
    /// The owner cannot be reached, or its answer not be understood.
    Failed,
}

impl OwnerFetch {
    /// Asks `owner` for what `head` asks for. With `ranged`, its range too.
    pub(crate) fn begin(
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

    /// The connection to the owner.
    pub(crate) fn socket(&self) -> &Socket {
        &self.socket
    }

    /// Goes on: sends the request, then reads up to the end of the answer's head.
    pub(crate) fn drive(&mut self) -> FetchProgress {
        loop {
            let result = if self.sent < self.request.len() { self.send() } else { self.receive() };
            match result {
                Ok(Some(fetched)) => return fetched,
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
            return Ok(Some(FetchProgress::Response(Box::new(self.respond()))));
        }
        Ok(None)
    }

    /// The owner's answer as one of ours; its body is still to come.
    fn respond(&mut self) -> Response {
        let Some(head) = self.reader.head() else { return bad_gateway() };
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

    /// What the body is read from, once [`Self::drive`] has answered.
    pub(crate) fn into_body(self) -> Box<dyn Source> {
        let Self { owner, socket, reader, received, at, .. } = self;
        Box::new(Body { owner, socket, reader, received, at })
    }
}

/// The request as it goes to the owner.
fn request(owner: SocketAddr, head: &RequestHead, ranged: bool) -> Vec<u8> {
    let target = Target::parse(&head.target).unwrap_or(Target { path: "/", query: None });
    let query = target.query.map(|query| format!("?{query}")).unwrap_or_default();
    let mut out = format!("{} {}{query} HTTP/1.1\r\nHost: {owner}\r\n", head.method.as_str(), target.path).into_bytes();
    // The owner answers several ranges, as any server may, with the whole object: that needs none of them.
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

/// Fills `buffer` anew; false when nothing is there at present.
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

/// The rest of an owner's answer.
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
