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

/// The calls that are played.
const CALLS: [&str; 7] = ["files/ls", "files/cat", "files/save", "files/mkdir", "files/touch", "files/mv", "files/rm"];
/// Bytes of an entry in a listing of an SFTP server, with the comma and line end behind it.
const SFTP_ENTRY_BYTES: usize = 480;

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
        if call != "session" && !CALLS.contains(&call) {
            return failure(404, "Not Found");
        }
        let reads = matches!(head.method, Method::Get | Method::Head);
        let free = call == "files/cat" && reads;
        // Programs need not send the header, as long as they send no cookies (`features.api.enable`, on by default).
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
                let mut answer = failure(401, "Not authorised");
                if facts.fields.cookie.as_deref().is_some_and(session::in_cookies) {
                    header(&mut answer, &session::expired(0));
                }
                answer
            }
        }
    }

    fn session(&self, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Answer {
        match head.method {
            Method::Get => match Session::of_request(target, facts, self.config.sftp) {
                Some(session) => result(&session.told(false)),
                None => result(&[("is_authenticated", "false".to_owned()), ("backendID", "\"\"".to_owned())]),
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
            Backend::Sftp(login) if self.sftp.client(login).is_err() => Err((401, "Not authorised")),
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
        if head.method == Method::Options && matches!(call, "files/cat" | "files/save") {
            let mut answer = ok();
            answer.allow = Some("GET, PUT, POST");
            return answer;
        }
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
        Ok(ls(path, &entries, Metadata::OfFiles, facts))
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

/// What is not an API call: the one page of the application, at its paths.
fn page(head: &RequestHead, target: Target<'_>) -> Answer {
    // HEAD is not among the methods of the page.
    if head.method != Method::Get {
        return failure(405, "Not Allowed");
    }
    let below = ["/s/", "/view/", "/files/", "/tags"].iter().any(|prefix| target.path.starts_with(prefix));
    if !below && !matches!(target.path, "/" | "/login" | "/logout" | "/healthz") {
        return failure(404, "Not Found");
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
            ls(&path, &LISTED.map(entry), Metadata::None, facts)
        }
        "files/cat" if reads => cat::serve(&path, facts),
        "files/save" | "files/cat" if posts || (call == "files/save" && head.method == Method::Patch) => {
            // Each upload costs its client a connection. The server keeps its end open: for Go, only `close` means that.
            let mut answer = ok();
            header(&mut answer, "Connection: Close");
            answer
        }
        "files/mkdir" | "files/touch" if posts => ok(),
        "files/mv" | "files/rm" if posts => failure(501, "Not Implemented"),
        "files/ls" | "files/cat" | "files/save" | "files/mkdir" | "files/touch" | "files/mv" | "files/rm" => {
            failure(405, "Not Allowed")
        }
        _ => failure(404, "Not Found"),
    }
}

/// What a listing says of each file besides name, type, size and time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Metadata {
    None,
    /// What SFTP tells of files. Only its length is played.
    OfFiles,
}

fn ls(path: &str, entries: &[Entry], metadata: Metadata, facts: &Facts<'_>) -> Answer {
    let etag = etag(path, entries.len());
    if facts.fields.if_none_match.as_deref() == Some(etag.as_bytes()) {
        let mut answer = Answer::of(304, Content::Empty, Some(0));
        header(&mut answer, &format!("Etag: {etag}"));
        return answer;
    }
    let entry = |entry: &Entry| {
        let name = serde_json::Value::from(entry.name.as_str());
        let kind = if entry.is_directory { "directory" } else { "file" };
        let (size, time) = (entry.size, entry.changed * 1000);
        let fields =
            format!("{I3}\"name\": {name},\n{I3}\"type\": \"{kind}\",\n{I3}\"size\": {size},\n{I3}\"time\": {time}");
        match metadata {
            Metadata::None => format!("{I2}{{\n{fields}\n{I2}}}"),
            Metadata::OfFiles => {
                let framed = |text: &str| {
                    format!("{I2}{{\n{fields},\n{I3}\"metadata\": {{\n{I4}\"stand_in\": \"{text}\"\n{I3}}}\n{I2}}}")
                };
                let room = SFTP_ENTRY_BYTES.saturating_sub(framed("").len() + ",\n".len());
                framed(&"-".repeat(room))
            }
        }
    };
    let entries: Vec<String> = entries.iter().map(entry).collect();
    let results = if entries.is_empty() { "[]".to_owned() } else { format!("[\n{}\n{I1}]", entries.join(",\n")) };
    let text = format!("{{\n{I1}\"status\": \"ok\",\n{I1}\"results\": {results},\n{I1}\"permissions\": {{}}\n}}");
    let mut answer = json(200, &text);
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

// Go's encoder indents by four spaces.
const I1: &str = "    ";
const I2: &str = "        ";
const I3: &str = "            ";
const I4: &str = "                ";

fn ok() -> Answer {
    json(200, &format!("{{\n{I1}\"status\": \"ok\"\n}}"))
}

/// A result of these fields, each with its value in JSON.
fn result(fields: &[(&str, String)]) -> Answer {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{I2}\"{name}\": {value}")).collect();
    let fields = fields.join(",\n");
    json(200, &format!("{{\n{I1}\"status\": \"ok\",\n{I1}\"result\": {{\n{fields}\n{I1}}}\n}}"))
}

fn failure(status: u16, message: &str) -> Answer {
    json(status, &format!("{{\n{I1}\"status\": \"error\",\n{I1}\"message\": \"{message}\"\n}}"))
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
    fn a_listing_over_sftp_passes_the_buffer_with_its_fifth_entry() {
        let entry = |index| Entry { name: format!("file-{index}"), is_directory: false, size: 1, changed: 1 };
        let fields = crate::stand_in::Fields::default();
        let facts = Facts { received: 0, fields: &fields };
        let length = |count, metadata| {
            let entries: Vec<Entry> = (0..count).map(entry).collect();
            ls("/", &entries, metadata, &facts).length
        };
        // Without a length, an HTTP/1.0 connection is not kept.
        assert_eq!(length(4, Metadata::OfFiles), Some(71 - 2 + 4 * 480));
        assert_eq!(length(5, Metadata::OfFiles), None);
        assert!(length(5, Metadata::None).is_some());
    }

    #[test]
    fn logins_come_in_a_burst_and_then_at_their_rate() {
        let rate = NonZeroU64::new(1).unwrap();
        let player =
            FilestashPlayer::new(Filestash { logins_per_second: rate, login_burst: 5, ..Filestash::default() });
        let taken = (0..20).filter(|_| player.may_log_in()).count();
        assert_eq!(taken, 5);
    }
}
