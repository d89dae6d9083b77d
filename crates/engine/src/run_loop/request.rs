//! Requests as bytes: what every request to an origin has in common is written once, and put together with path and
//! range for each one.

use crate::plan::{Plan, Route};
use wire::header::Header;
use wire::message::Version;
use wire::range::ByteRange;
use wire::url::Origin;

/// Everything of a request to one origin that never changes.
#[derive(Debug)]
pub(super) struct Template {
    /// Method, blank, and what stands before the path (a proxy wants the whole URL).
    before_target: Vec<u8>,
    /// From the blank after the path to the last header field, without credentials.
    after_target: Vec<u8>,
    /// Header fields with credentials: only for origins that the user named.
    credentials: Vec<u8>,
}

impl Template {
    pub(super) fn new(plan: &Plan, origin: &Origin, trusted: bool) -> Self {
        let request = &plan.request;
        let mut before_target = format!("{} ", request.method).into_bytes();
        let mut credentials = Vec::new();
        if let Route::Proxy { authorization, .. } = &plan.connections.route {
            before_target.extend_from_slice(format!("http://{}", origin.host_header()).as_bytes());
            if let Some(value) = authorization {
                credentials.extend_from_slice(format!("Proxy-Authorization: {value}\r\n").as_bytes());
            }
        }
        let version = match request.version {
            Version::Http10 => "1.0",
            Version::Http11 => "1.1",
        };
        let mut after_target = format!(" HTTP/{version}\r\n").into_bytes();
        // A host name that the user set is meant for the hosts that the user named.
        let sent = |header: &&Header| trusted || !header.name.is("host");
        if !request.headers.iter().filter(sent).any(|header| header.name.is("host")) {
            after_target.extend_from_slice(format!("Host: {}\r\n", origin.host_header()).as_bytes());
        }
        match (request.version, request.keep_alive) {
            (Version::Http10, true) => after_target.extend_from_slice(b"Connection: Keep-Alive\r\n"),
            (Version::Http11, false) => after_target.extend_from_slice(b"Connection: close\r\n"),
            (Version::Http10, false) | (Version::Http11, true) => {}
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
        if let Some(body) = &request.body {
            after_target.extend_from_slice(format!("Content-Length: {}\r\n", body.len()).as_bytes());
        }
        Self { before_target, after_target, credentials }
    }

    /// Writes the request for `target` into `out`, replacing what was there.
    #[inline]
    pub(super) fn write(&self, target: &str, range: Option<ByteRange>, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.before_target);
        out.extend_from_slice(target.as_bytes());
        out.extend_from_slice(&self.after_target);
        out.extend_from_slice(&self.credentials);
        if let Some(range) = range {
            out.extend_from_slice(b"Range: ");
            range.write_to(out);
            out.extend_from_slice(b"\r\n");
        }
        out.extend_from_slice(b"\r\n");
    }
}
