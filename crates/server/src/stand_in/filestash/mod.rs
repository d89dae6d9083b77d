//! Filestash over its blackhole backend, which stores nothing: what is measured is the framework itself. On request also over
//! an SFTP server, whose share is the difference.
//!
//! Filestash runs on Go's `net/http`: an answer that is longer than its buffer of 2 KiB and has no length set goes out in
//! chunks, or, to an HTTP/1.0 client, ends with the connection. That decides whether ab's `-k` keeps connections.

mod cat;
mod packets;
mod session;
mod sftp;

use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use percent_encoding::percent_decode_str;
use wire::{Header, Method, RequestHead};

use super::fields::parameter;
use crate::answer::{Answer, Content, Facts, Media};
use crate::target::Target;
use packets::Entry;
use session::{Backend, Session};
use sftp::{Failed, Login, Pool};

/// Bytes that Go buffers before it sends a head without a length.
const GO_BUFFER: u64 = 2048;
/// The size of the login page of 2021, which was measured most.
const LOGIN_BYTES: usize = 9352;
const LOGIN: &str =
    "<!doctype html><html><head><title>Filestash (stand-in)</title></head><body><form></form></body></html>";
/// The files that the backend lists everywhere. The two largest tell sizes that their names do not.
const LISTED: [(&str, u64); 6] = [
    ("1M.bin", 1 << 20),
    ("10M.bin", 10 << 20),
    ("100M.bin", 100 << 20),
    ("1G.bin", 1 << 30),
    ("10G.bin", 1 << 40),
    ("100G.bin", 1 << 50),
];

/// How a [`Filestash`] is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filestash {
    /// Logins per second, of all clients together.
    pub logins_per_second: NonZeroU64,
    /// Logins that may come at once.
    pub login_burst: u64,
    /// Whether clients may log in to SFTP servers: it lets them name hosts, to which `ssh` is run.
    pub sftp: bool,
}

impl Default for Filestash {
    /// Filestash's own limits: 10 each second, 1000 at once.
    fn default() -> Self {
        Self { logins_per_second: NonZeroU64::new(10).unwrap_or(NonZeroU64::MIN), login_burst: 1000, sftp: false }
    }
}

/// A Filestash at work.
#[derive(Debug)]
pub(crate) struct FilestashPlayer {
    config: Filestash,
    /// When the bucket of logins is full again, in nanoseconds of the monotonic clock.
    logins_until: Arc<AtomicU64>,
    sftp: Pool,
}

impl FilestashPlayer {
    pub(crate) fn new(config: Filestash) -> Self {
        Self { config, logins_until: Arc::default(), sftp: Pool::default() }
    }

    pub(crate) fn answer(&self, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Answer {
        let Some(call) = target.path.strip_prefix("/api/") else { return page(head, target) };
        let reads = matches!(head.method, Method::Get | Method::Head);
        let free = call == "files/cat" && reads;
        if !free && facts.fields.requested_with.as_deref() != Some(b"XmlHttpRequest") {
            return failure(403, "Not Allowed");
        }
        if call == "session" {
            return self.session(head, target, facts);
        }
        match Session::of_request(target, facts, self.config.sftp) {
            Some(session) => self.files(&session.backend, call, reads, (head, target, facts)),
            None => failure(401, "Not Authorised"),
        }
    }

    fn session(&self, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Answer {
        match head.method {
            Method::Get => match Session::of_request(target, facts, self.config.sftp) {
                Some(session) => result(&session.told(false)),
                None => result(r#"{"is_authenticated":false,"backendID":""}"#),
            },
            Method::Delete => {
                let mut answer = ok();
                header(&mut answer, &session::expired(0));
                answer
            }
            Method::Post if !self.may_log_in() => failure(429, "Too Many Requests"),
            Method::Post => {
                match Session::opened(&facts.fields.body, self.config.sftp).and_then(|session| self.let_in(session)) {
                    Ok(session) => {
                        let mut answer = result(&session.told(true));
                        for cookie in session.cookies() {
                            header(&mut answer, &cookie);
                        }
                        answer
                    }
                    Err((status, sentence)) => failure(status, sentence),
                }
            }
            _ => failure(405, "Not Allowed"),
        }
    }

    /// Logs in to the backend, as far as there is one.
    fn let_in(&self, session: Session) -> Result<Session, (u16, &'static str)> {
        match &session.backend {
            Backend::Sftp(login) if self.sftp.client(login).is_err() => Err((401, "Not Authorised")),
            Backend::Sftp(_) | Backend::Blackhole => Ok(session),
        }
    }

    fn files(
        &self,
        backend: &Backend,
        call: &str,
        reads: bool,
        (head, target, facts): (&RequestHead, Target<'_>, &Facts<'_>),
    ) -> Answer {
        match backend {
            Backend::Sftp(login) if reads && matches!(call, "files/ls" | "files/cat") => {
                let Some(path) = parameter(target, "path").map(|path| percent_decode_str(path).decode_utf8_lossy())
                else {
                    return failure(400, "missing path parameter");
                };
                let answer = match call {
                    "files/ls" => self.list(&path, login, facts),
                    _ => cat::remote(&path, login, &self.sftp, facts),
                };
                answer.unwrap_or_else(|failed| {
                    let (status, words) = failed.told();
                    failure(status, words)
                })
            }
            Backend::Sftp(_) if !reads => failure(501, "Not Implemented"),
            Backend::Sftp(_) | Backend::Blackhole => files(call, reads, head, target, facts),
        }
    }

    fn list(&self, path: &str, login: &Login, facts: &Facts<'_>) -> Result<Answer, Failed> {
        let client = self.sftp.client(login)?;
        let entries = sftp::lock(&client).list(path)?;
        Ok(ls(path, &entries, facts))
    }

    /// Takes a place for a login, if there is one (a generic cell rate algorithm: the bucket is a single instant).
    fn may_log_in(&self) -> bool {
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

/// What is not an API call: the login page, whatever the path.
fn page(head: &RequestHead, target: Target<'_>) -> Answer {
    if !matches!(head.method, Method::Get | Method::Head) {
        return failure(405, "Not Allowed");
    }
    if target.path == "/healthz" {
        return as_go(Answer {
            media: Media::Named("application/json".into()),
            ..Answer::text(200, &br#"{"status":"pass"}"#[..])
        });
    }
    let page = format!("{LOGIN:<LOGIN_BYTES$}").into_bytes();
    let mut answer = Answer { media: Media::Named("text/html".into()), ..Answer::text(200, page) };
    for line in ["Cache-Control: no-cache", "Referrer-Policy: same-origin", "X-Content-Type-Options: nosniff"] {
        header(&mut answer, line);
    }
    as_go(answer)
}

fn files(call: &str, reads: bool, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Answer {
    let posts = head.method == Method::Post;
    let path = parameter(target, "path").map(|path| percent_decode_str(path).decode_utf8_lossy());
    let Some(path) = path.or_else(|| (call == "files/mv").then_some("".into())) else {
        return failure(400, "missing path parameter");
    };
    match call {
        "files/ls" if reads => {
            let entry =
                |(name, size): (&str, u64)| Entry { name: name.to_owned(), is_directory: false, size, changed: 0 };
            ls(&path, &LISTED.map(entry), facts)
        }
        "files/cat" if reads => cat::serve(&path, facts),
        "files/save" | "files/cat" if posts || (call == "files/save" && head.method == Method::Patch) => {
            // Each upload costs its client a connection.
            Answer { close: true, linger: true, ..ok() }
        }
        "files/mkdir" | "files/touch" if posts => ok(),
        "files/mv" | "files/rm" if posts => failure(501, "Not Implemented"),
        "files/ls" | "files/cat" | "files/save" | "files/mkdir" | "files/touch" | "files/mv" | "files/rm" => {
            failure(405, "Not Allowed")
        }
        _ => failure(404, "Not Found"),
    }
}

fn ls(path: &str, entries: &[Entry], facts: &Facts<'_>) -> Answer {
    let etag = etag(path, entries.len());
    if facts.fields.if_none_match.as_deref() == Some(etag.as_bytes()) {
        let mut answer = Answer::of(304, Content::Empty, Some(0));
        header(&mut answer, &format!("Etag: {etag}"));
        return answer;
    }
    let entry = |entry: &Entry| {
        let name = serde_json::Value::from(entry.name.as_str());
        let kind = if entry.is_directory { "directory" } else { "file" };
        format!(r#"{{"name":{name},"type":"{kind}","size":{},"time":{}}}"#, entry.size, entry.changed * 1000)
    };
    let entries: Vec<String> = entries.iter().map(entry).collect();
    let mut answer = json(200, &format!(r#"{{"status":"ok","results":[{}],"permissions":{{}}}}"#, entries.join(",")));
    header(&mut answer, &format!("Etag: {etag}"));
    answer
}

/// A tag without quotes, as Filestash sends it: it is not a valid one.
fn etag(path: &str, entries: usize) -> String {
    use base64::Engine;
    // FNV-1, 32 bits, over path and number of entries.
    let hash = format!("{path}{entries}")
        .bytes()
        .fold(0x811c_9dc5_u32, |hash, byte| hash.wrapping_mul(0x0100_0193) ^ u32::from(byte));
    base64::engine::general_purpose::STANDARD.encode(hash.to_be_bytes())
}

fn ok() -> Answer {
    json(200, r#"{"status":"ok"}"#)
}

fn result(text: &str) -> Answer {
    json(200, &format!(r#"{{"status":"ok","result":{text}}}"#))
}

fn failure(status: u16, message: &str) -> Answer {
    json(status, &format!(r#"{{"status":"error","message":"{message}"}}"#))
}

/// As Go's encoder writes it, with a line end.
fn json(status: u16, text: &str) -> Answer {
    let mut answer = Answer { media: Media::Named("application/json".into()), ..Answer::sentence(status, text) };
    for line in ["Cache-Control: no-cache", "X-Content-Type-Options: nosniff"] {
        header(&mut answer, line);
    }
    as_go(answer)
}

fn as_go(answer: Answer) -> Answer {
    let length = answer.length.filter(|length| *length <= GO_BUFFER);
    match (length, answer.content) {
        (None, Content::Text(text)) => {
            let (content, _) = super::make::Segments::content(vec![super::make::Segment::Text(text.into_owned())]);
            Answer { content, length: None, ..answer }
        }
        (length, content) => Answer { content, length, ..answer },
    }
}

fn header(answer: &mut Answer, line: &str) {
    // Made of constants and of tokens in base64; what is not a header is not sent.
    answer.headers.extend(Header::parse(line));
}

/// How long a cookie lives: Filestash's default of a week.
const COOKIE_LIFE: Duration = Duration::from_secs(7 * 24 * 3600);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logins_come_in_a_burst_and_then_at_their_rate() {
        let rate = NonZeroU64::new(1).unwrap();
        let player =
            FilestashPlayer::new(Filestash { logins_per_second: rate, login_burst: 5, ..Filestash::default() });
        let taken = (0..20).filter(|_| player.may_log_in()).count();
        assert_eq!(taken, 5);
    }
}
