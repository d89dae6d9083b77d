//! Filestash with its blackhole backend. The backend stores nothing, so a measurement shows the cost of Filestash
//! itself. Optionally, clients can also log in to an SFTP server. The difference between the two backends is then the
//! cost of SFTP.
//!
//! Filestash runs on Go's `net/http`, which has a buffer of 2 KiB. A longer response without a declared length is sent
//! in chunks. For an HTTP/1.0 client, the close of the connection marks the end of such a response. The size of the
//! response therefore determines whether `ab -k` can keep its connections.

mod cat;
mod json;
mod listing;
mod packets;
mod page;
mod session;
mod sftp;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use percent_encoding::percent_decode_str;
use wire::{Method, RequestHead};

use crate::config::stand_in::Filestash;
use crate::request::RequestFacts;
use crate::request::fields::parameter;
use crate::request::target::Target;
use crate::response::Response;
use json::{failure, ok, result};
use listing::{Metadata, listing};
use packets::Entry;
use session::{Backend, Session};
use sftp::{Login, SftpError, SftpPool};

/// The files that the blackhole backend lists in every directory. The sizes of the two largest differ from the sizes in
/// their names.
const LISTED: [(&str, u64); 6] = [
    ("1M.bin", 1 << 20),
    ("10M.bin", 10 << 20),
    ("100M.bin", 100 << 20),
    ("1G.bin", 1 << 30),
    ("10G.bin", 1 << 40),
    ("100G.bin", 1 << 50),
];

/// The file calls that are implemented.
const CALLS: [&str; 7] = ["files/ls", "files/cat", "files/save", "files/mkdir", "files/touch", "files/mv", "files/rm"];

/// The state of a Filestash stand-in.
#[derive(Debug)]
pub(crate) struct FilestashStandIn {
    config: Filestash,
    /// Time at which the token bucket of logins will be full again, in nanoseconds of the monotonic clock.
    logins_until: Arc<AtomicU64>,
    sftp: SftpPool,
}

impl FilestashStandIn {
    pub(crate) fn new(config: Filestash) -> Self {
        Self { config, logins_until: Arc::default(), sftp: SftpPool::default() }
    }

    pub(crate) fn respond(&self, head: &RequestHead, target: Target<'_>, facts: &RequestFacts<'_>) -> Response {
        let Some(call) = target.path.strip_prefix("/api/") else { return page::respond(head, target) };
        if call != "session" && !CALLS.contains(&call) {
            return failure(404, "Not Found");
        }
        let reads = matches!(head.method, Method::Get | Method::Head);
        let free = call == "files/cat" && reads;
        // A client without cookies can leave this header out, because the setting `features.api.enable` is on by
        // default.
        let by_page = facts.fields.requested_with.as_deref() == Some(b"XmlHttpRequest");
        if !free && !by_page && facts.fields.cookie.is_some() {
            return failure(403, "Not Allowed");
        }
        if call == "session" {
            return self.session(head, target, facts);
        }
        match Session::of_request(target, facts, self.config.sftp) {
            Some(session) => self.files(&session.backend, call, reads, (head, target, facts)),
            None => {
                let mut response = failure(401, "Not authorised");
                if facts.fields.cookie.as_deref().is_some_and(session::in_cookies) {
                    response.add_header(&session::expired_cookie(0));
                }
                response
            }
        }
    }

    fn session(&self, head: &RequestHead, target: Target<'_>, facts: &RequestFacts<'_>) -> Response {
        match head.method {
            Method::Get => match Session::of_request(target, facts, self.config.sftp) {
                Some(session) => result(&session.fields(false)),
                None => result(&[("is_authenticated", "false".to_owned()), ("backendID", "\"\"".to_owned())]),
            },
            Method::Delete => {
                let mut response = ok();
                response.add_header(&session::expired_cookie(0));
                response
            }
            Method::Post if !self.take_login() => failure(429, "Too Many Requests"),
            Method::Post => {
                let opened = Session::open(&facts.fields.body, self.config.sftp);
                match opened.and_then(|session| self.log_in(session)) {
                    Ok(session) => {
                        let mut response = result(&session.fields(true));
                        for cookie in session.cookies() {
                            response.add_header(&cookie);
                        }
                        response
                    }
                    Err((status, message)) => failure(status, message),
                }
            }
            _ => failure(405, "Not Allowed"),
        }
    }

    /// Logs in to the session's backend, if it has one.
    fn log_in(&self, session: Session) -> Result<Session, (u16, &'static str)> {
        match &session.backend {
            Backend::Sftp(login) if self.sftp.client(login).is_err() => Err((401, "Not authorised")),
            Backend::Sftp(_) | Backend::ImitatedSftp | Backend::Blackhole => Ok(session),
        }
    }

    fn files(
        &self,
        backend: &Backend,
        call: &str,
        reads: bool,
        (head, target, facts): (&RequestHead, Target<'_>, &RequestFacts<'_>),
    ) -> Response {
        if head.method == Method::Options && matches!(call, "files/cat" | "files/save") {
            let mut response = ok();
            response.allow = Some("GET, PUT, POST");
            return response;
        }
        match backend {
            Backend::Sftp(login) if reads && matches!(call, "files/ls" | "files/cat") => {
                let Some(path) = parameter(target, "path").map(|path| percent_decode_str(path).decode_utf8_lossy())
                else {
                    return failure(400, "missing path parameter");
                };
                let response = match call {
                    "files/ls" => self.list_remote(&path, login, facts),
                    _ => cat::remote_file(&path, login, &self.sftp, facts),
                };
                response.unwrap_or_else(|error| {
                    let (status, message) = error.status_and_message();
                    failure(status, message)
                })
            }
            Backend::Sftp(_) if !reads => failure(501, "Not Implemented"),
            Backend::ImitatedSftp => blackhole_files(call, reads, Metadata::Sftp, head, target, facts),
            Backend::Sftp(_) | Backend::Blackhole => blackhole_files(call, reads, Metadata::None, head, target, facts),
        }
    }

    fn list_remote(&self, path: &str, login: &Login, facts: &RequestFacts<'_>) -> Result<Response, SftpError> {
        let client = self.sftp.client(login)?;
        let entries = sftp::lock(&client).list(path)?;
        Ok(listing(path, &entries, Metadata::Sftp, facts))
    }

    /// Removes a token from the token bucket of logins. Returns whether there was a token. (The generic cell rate
    /// algorithm represents the bucket by a single time.)
    fn take_login(&self) -> bool {
        let now = u64::try_from(sys::clock::monotonic().as_nanos()).unwrap_or(u64::MAX);
        let each = 1_000_000_000 / self.config.logins_per_second.get();
        let room = each.saturating_mul(self.config.login_burst);
        let taken = self.logins_until.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |until| {
            let next = until.max(now).saturating_add(each);
            (next <= now.saturating_add(room)).then_some(next)
        });
        taken.is_ok()
    }
}

/// Returns the response to a file call on the blackhole backend, with this metadata in listings.
fn blackhole_files(
    call: &str,
    reads: bool,
    metadata: Metadata,
    head: &RequestHead,
    target: Target<'_>,
    facts: &RequestFacts<'_>,
) -> Response {
    let posts = head.method == Method::Post;
    let path = parameter(target, "path").map(|path| percent_decode_str(path).decode_utf8_lossy());
    let Some(path) = path.or_else(|| (call == "files/mv").then_some("".into())) else {
        return failure(400, "missing path parameter");
    };
    match call {
        "files/ls" if reads => {
            let entry =
                |(name, size): (&str, u64)| Entry { name: name.to_owned(), is_directory: false, size, changed: 0 };
            listing(&path, &LISTED.map(entry), metadata, facts)
        }
        "files/cat" if reads => cat::blackhole_file(&path, facts),
        "files/save" | "files/cat" if posts || (call == "files/save" && head.method == Method::Patch) => {
            // Because of this header, clients close the connection after each upload. The server does not close its
            // end, because Go recognizes `close` only in lower case.
            let mut response = ok();
            response.add_header("Connection: Close");
            response
        }
        "files/mkdir" | "files/touch" if posts => ok(),
        "files/mv" | "files/rm" if posts => failure(501, "Not Implemented"),
        "files/ls" | "files/cat" | "files/save" | "files/mkdir" | "files/touch" | "files/mv" | "files/rm" => {
            failure(405, "Not Allowed")
        }
        _ => failure(404, "Not Found"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::num::NonZeroU64;

    #[test]
    fn logins_are_limited_to_a_burst_and_then_a_rate() {
        let rate = NonZeroU64::new(1).unwrap();
        let stand_in =
            FilestashStandIn::new(Filestash { logins_per_second: rate, login_burst: 5, ..Filestash::default() });
        let taken = (0..20).filter(|_| stand_in.take_login()).count();
        assert_eq!(taken, 5);
    }
}
