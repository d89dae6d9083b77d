//! Converts response heads to bytes. Some lines, such as the date, are the same in all heads. These lines are formatted
//! only once a second.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use wire::Version;

use super::date::write_date;
use crate::response::{Framing, Http10Style, Response, SERVER};

/// The interim response after which a client sends its body.
pub(super) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// A writer of heads for one thread.
#[derive(Debug)]
pub(super) struct HeadWriter {
    /// The lines from `Server` to `Date`.
    common: Vec<u8>,
    /// Instant of the monotonic clock at which the date changes.
    stale_at: Duration,
    http10_style: Http10Style,
}

impl HeadWriter {
    pub(super) fn new(http10_style: Http10Style) -> Self {
        Self { common: Vec::new(), stale_at: Duration::ZERO, http10_style }
    }

    /// Appends the head of `response` to `out`.
    pub(super) fn write(&mut self, response: &Response, version: Version, now: Duration, out: &mut Vec<u8>) {
        if now >= self.stale_at {
            self.refresh(SystemTime::now(), now);
        }
        // Writing to memory does not fail.
        let old = version == Version::Http10 && self.http10_style == Http10Style::LikeGo;
        let spoken = if old { "1.0" } else { "1.1" };
        let _ = write!(out, "HTTP/{spoken} {} {}\r\n", response.status, reason(response.status));
        out.extend_from_slice(&self.common);
        write_kind(response, out);
        match (response.framing, response.length) {
            (Framing::Length | Framing::LengthOnly, Some(length)) => {
                let _ = write!(out, "Content-Length: {length}\r\n");
            }
            (Framing::Chunked, _) => out.extend_from_slice(b"Transfer-Encoding: chunked\r\n"),
            (Framing::Length | Framing::LengthOnly | Framing::NoBody | Framing::UntilClose, _) => {}
        }
        if let Some(range) = &response.content_range {
            let _ = write!(out, "Content-Range: {range}\r\n");
        }
        write_rare(response, out);
        match (response.close, version) {
            (true, _) if old => {}
            (true, _) => out.extend_from_slice(b"Connection: close\r\n"),
            (false, Version::Http10) => out.extend_from_slice(b"Connection: keep-alive\r\n"),
            (false, Version::Http11 | Version::Http2) => {}
        }
        out.extend_from_slice(b"\r\n");
    }

    fn refresh(&mut self, wall: SystemTime, now: Duration) {
        self.common.clear();
        self.common.extend_from_slice(b"Server: ");
        self.common.extend_from_slice(SERVER.as_bytes());
        self.common.extend_from_slice(b"\r\nDate: ");
        write_date(wall, &mut self.common);
        self.common.extend_from_slice(b"\r\n");
        let past = wall.duration_since(UNIX_EPOCH).map_or(0, |since| since.subsec_nanos());
        self.stale_at = now + (Duration::from_secs(1) - Duration::from_nanos(past.into()));
    }
}

fn write_kind(response: &Response, out: &mut Vec<u8>) {
    if let Some(ranges) = response.accept_ranges.header_value() {
        for part in ["Accept-Ranges: ", ranges, "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
    let Some(media) = response.media_type() else { return };
    for part in ["Content-Type: ", media, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

fn write_rare(response: &Response, out: &mut Vec<u8>) {
    if let Some(allow) = response.allow {
        let _ = write!(out, "Allow: {allow}\r\n");
    }
    if let Some(location) = &response.location {
        let _ = write!(out, "Location: {location}\r\n");
    }
    for header in &response.headers {
        header.write_to(out);
    }
}

/// Returns the usual reason phrase of a status. Clients ignore it.
fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        414 => "URI Too Long",
        416 => "Range Not Satisfiable",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        412 => "Precondition Failed",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        505 => "HTTP Version Not Supported",
        _ => "Status",
    }
}
