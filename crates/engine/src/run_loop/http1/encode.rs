//! Requests as bytes: what every request of one kind to an origin has in common is written once, and put together with
//! path, range, body and signature for each one.

use crate::plan::{Auth, BodyPlan, Carried, Framing, Plan, RequestPlan, Route, S3Payload};
use crate::run_loop::http1::upload::{Frame, PIECE_BYTES, Upload};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::num::NonZeroU64;
use wire::header::Header;
use wire::message::Version;
use wire::range::ByteRange;
use wire::sigv4::{self, ChunkEncoder, Payload, Signer, Streaming, Timestamp};
use wire::url::Origin;

/// Chunks of S3 are as long as pieces of a body.
const CHUNK: NonZeroU64 = NonZeroU64::new(PIECE_BYTES as u64).expect("a piece has bytes");

/// Everything of one kind of request to one origin that never changes.
#[derive(Debug)]
pub(in crate::run_loop) struct Template {
    /// Method, blank, and what stands before the path (a proxy wants the whole URL).
    before_target: Vec<u8>,
    /// From the blank after the path to the last header field, without credentials.
    after_target: Vec<u8>,
    /// Header fields with credentials: only for origins that the user named.
    credentials: Vec<u8>,
    /// What a signature covers; `None` for origins that get none.
    signed: Option<Box<Signed>>,
    /// Whether the slot's session is shown.
    shows_session: bool,
}

/// What a signature covers of what never changes.
#[derive(Debug)]
struct Signed {
    method: Box<str>,
    /// `Host` and the fields of S3.
    headers: Vec<(Box<str>, Box<[u8]>)>,
}

/// What of a request is its own.
pub(in crate::run_loop) struct Parts<'a> {
    /// Path and query.
    pub target: &'a str,
    pub range: Option<ByteRange>,
    /// The header line of the slot's session, where there are sessions.
    pub session: &'a [u8],
    pub body: Option<Body<'a>>,
}

/// The body of a request, as far as its head tells of it.
pub(in crate::run_loop) struct Body<'a> {
    pub plan: &'a BodyPlan,
    pub bytes: u64,
    /// Whether the server is asked to agree before it is sent.
    pub asks: bool,
    /// The value of `Content-MD5`, where it is said.
    pub md5: Option<&'a str>,
    /// SHA-256 of the body, where a signature covers it whole.
    pub digest: &'a mut dyn FnMut() -> io::Result<[u8; 32]>,
}

/// Who signs, and when.
pub(in crate::run_loop) struct Signing<'a> {
    pub signer: &'a mut Signer,
    pub carried: Carried,
    pub payload: S3Payload,
    pub now: Timestamp,
}

impl Template {
    pub(in crate::run_loop) fn new(plan: &Plan, request: &RequestPlan, origin: &Origin, trusted: bool) -> Self {
        let mut before_target = format!("{} ", request.method).into_bytes();
        let mut credentials = Vec::new();
        if let Route::Proxy { authorization, .. } = &plan.connections.route {
            before_target.extend_from_slice(format!("http://{}", origin.host_header()).as_bytes());
            if let Some(value) = authorization {
                credentials.extend_from_slice(format!("Proxy-Authorization: {value}\r\n").as_bytes());
            }
        }
        let version = match plan.http.version {
            Version::Http10 => "1.0",
            Version::Http11 | Version::Http2 => "1.1",
        };
        let mut after_target = format!(" HTTP/{version}\r\n").into_bytes();
        // A host name that the user set is meant for the hosts that the user named.
        let sent = |header: &&Header| trusted || !header.name.is("host");
        if !request.headers.iter().filter(sent).any(|header| header.name.is("host")) {
            after_target.extend_from_slice(format!("Host: {}\r\n", origin.host_header()).as_bytes());
        }
        match (plan.http.version, plan.http.keep_alive) {
            (Version::Http10, true) => after_target.extend_from_slice(b"Connection: Keep-Alive\r\n"),
            (Version::Http11 | Version::Http2, false) => after_target.extend_from_slice(b"Connection: close\r\n"),
            (Version::Http10, false) | (Version::Http11 | Version::Http2, true) => {}
        }
        for header in request.headers.iter().filter(sent) {
            let line = format!("{}: {}\r\n", header.name.as_str(), header.value.as_str());
            if header.is_secret() {
                if trusted {
                    credentials.extend_from_slice(line.as_bytes());
                }
            } else {
                after_target.extend_from_slice(line.as_bytes());
            }
        }
        let signs = trusted && matches!(plan.auth, Auth::S3 { .. });
        let signed = signs.then(|| Box::new(Signed::new(request, origin)));
        let shows_session = trusted && matches!(plan.auth, Auth::Session(_));
        Self { before_target, after_target, credentials, signed, shows_session }
    }

    /// Writes the head of a request into `out`, replacing what was there. Answers how its body is framed.
    #[inline]
    pub(in crate::run_loop) fn write(
        &self,
        parts: Parts<'_>,
        signing: Option<Signing<'_>>,
        out: &mut Vec<u8>,
    ) -> io::Result<Frame> {
        out.clear();
        out.extend_from_slice(&self.before_target);
        match (&self.signed, signing) {
            (Some(signed), Some(signing)) => self.write_signed(signed, parts, signing, out),
            _ => {
                out.extend_from_slice(parts.target.as_bytes());
                self.write_fixed(parts.range, out);
                if self.shows_session {
                    out.extend_from_slice(parts.session);
                }
                let frame = parts.body.map_or(Frame::Length, |body| {
                    write_framing(body.plan.framing, body.bytes, out);
                    write_asks(body.asks, out);
                    write_md5(body.md5, out);
                    Upload::frame(body.plan.framing)
                });
                out.extend_from_slice(b"\r\n");
                Ok(frame)
            }
        }
    }

    #[inline]
    fn write_fixed(&self, range: Option<ByteRange>, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.after_target);
        out.extend_from_slice(&self.credentials);
        if let Some(range) = range {
            out.extend_from_slice(b"Range: ");
            range.write_to(out);
            out.extend_from_slice(b"\r\n");
        }
    }

    fn write_signed(
        &self,
        signed: &Signed,
        mut parts: Parts<'_>,
        signing: Signing<'_>,
        out: &mut Vec<u8>,
    ) -> io::Result<Frame> {
        let Signing { signer, carried, payload, now } = signing;
        let (path, query) = parts.target.split_once('?').unwrap_or((parts.target, ""));
        let streaming = match (payload, &parts.body, carried) {
            (S3Payload::Chunks(streaming), Some(body), Carried::Header) if body.plan.source.is_object() => {
                Some(streaming)
            }
            _ => None,
        };
        let length = parts.body.as_ref().map_or(0, |body| body.bytes).to_string();
        let mut headers: Vec<(&str, &[u8])> = Vec::with_capacity(signed.headers.len() + 2);
        headers.extend(signed.headers.iter().map(|(name, value)| (name.as_ref(), value.as_ref())));
        if let Some(streaming) = streaming {
            headers.push(("x-amz-decoded-content-length", length.as_bytes()));
            headers.extend(streaming.trailer().map(|trailer| ("x-amz-trailer", trailer.name().as_bytes())));
        }
        let fixed = headers.len();
        headers.extend(parts.body.as_ref().and_then(|body| body.md5).map(|md5| ("content-md5", md5.as_bytes())));
        let request = sigv4::Request { method: &signed.method, path, query, headers: &headers };
        out.extend_from_slice(path.as_bytes());
        if let Carried::Query(seconds) = carried {
            out.push(b'?');
            signer.presign(now, seconds, &request, out).map_err(io::Error::other)?;
        } else if !query.is_empty() {
            out.push(b'?');
            out.extend_from_slice(query.as_bytes());
        }
        self.write_fixed(parts.range, out);
        let mut frame = Frame::Length;
        if let Some(body) = &parts.body {
            write_asks(body.asks, out);
            write_md5(body.md5, out);
            match streaming {
                None => {
                    write_framing(body.plan.framing, body.bytes, out);
                    frame = Upload::frame(body.plan.framing);
                }
                Some(streaming) => write_streaming(streaming, body.bytes, &headers[signed.headers.len()..fixed], out),
            }
        }
        if carried == Carried::Header {
            let covered = match (payload, streaming, &mut parts.body) {
                (_, Some(streaming), _) => Payload::Chunks(streaming),
                (_, None, None) => Payload::EMPTY,
                (S3Payload::Signed, None, Some(body)) => Payload::Sha256((body.digest)()?),
                // Messages are small, and signed as those who sign chunks expect.
                (S3Payload::Chunks(_), None, Some(body)) => Payload::Sha256((body.digest)()?),
                (S3Payload::Unsigned, None, Some(_)) => Payload::Unsigned,
            };
            let signature = signer.sign(now, &request, &covered, out).map_err(io::Error::other)?;
            if let Some(streaming) = streaming {
                frame = Frame::Aws(Some(Box::new(signer.chunks(now, signature, streaming))));
            }
        }
        out.extend_from_slice(b"\r\n");
        Ok(frame)
    }
}

impl Signed {
    fn new(request: &RequestPlan, origin: &Origin) -> Self {
        let own = request.headers.iter().filter(|header| {
            header.name.is("host")
                || header.name.as_str().get(..6).is_some_and(|name| name.eq_ignore_ascii_case("x-amz-"))
        });
        let mut headers: Vec<(Box<str>, Box<[u8]>)> =
            own.map(|header| (header.name.as_str().into(), header.value.as_str().as_bytes().into())).collect();
        if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
            headers.push(("host".into(), origin.host_header().to_string().into_bytes().into()));
        }
        Self { method: request.method.clone(), headers }
    }
}

#[inline]
fn write_framing(framing: Framing, bytes: u64, out: &mut Vec<u8>) {
    match framing {
        // Writing to memory does not fail.
        Framing::Length => drop(write!(out, "Content-Length: {bytes}\r\n")),
        Framing::Chunked => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
    }
}

fn write_asks(asks: bool, out: &mut Vec<u8>) {
    if asks {
        out.extend_from_slice(b"Expect: 100-continue\r\n");
    }
}

fn write_md5(md5: Option<&str>, out: &mut Vec<u8>) {
    if let Some(md5) = md5 {
        for part in ["Content-MD5: ", md5, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

fn write_streaming(streaming: Streaming, bytes: u64, own: &[(&str, &[u8])], out: &mut Vec<u8>) {
    let framed = ChunkEncoder::framed_bytes(streaming, bytes, CHUNK);
    drop(write!(out, "Content-Encoding: aws-chunked\r\nContent-Length: {framed}\r\n"));
    for (name, value) in own {
        for part in [name.as_bytes(), b": ", value, b"\r\n"] {
            out.extend_from_slice(part);
        }
    }
}

/// SHA-256 of a body, from its pieces.
pub(in crate::run_loop) fn digest(mut next: impl FnMut(&mut Vec<u8>) -> io::Result<bool>) -> io::Result<[u8; 32]> {
    let (mut hash, mut piece) = (Sha256::new(), Vec::new());
    while next(&mut piece)? {
        hash.update(&piece);
        piece.clear();
    }
    Ok(hash.finalize().into())
}
