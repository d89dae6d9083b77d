//! What a request is answered with.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use wire::{BadRequest, ByteRange, ContentRange, Header, Method, RequestHead, Resolved, Version};

use crate::files::{Found, NotServed};
use crate::pattern::Pattern;
use crate::query::Options;
use crate::site::Site;
use crate::target::{Named, Target};

/// An answer that has been decided on and not been sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content: Content,
    /// Where in the content the body begins.
    pub(crate) first: u64,
    /// Length of the body, sent or not.
    pub(crate) length: u64,
    pub(crate) content_range: Option<ContentRange>,
    pub(crate) framing: Framing,
    /// Whether the connection is closed afterwards.
    pub(crate) close: bool,
    /// Whether the client may have sent more on this connection, which a plain close would answer with a reset.
    pub(crate) linger: bool,
    /// A 405, which names what is allowed.
    pub(crate) allow: bool,
    pub(crate) headers: Vec<Header>,
    pub(crate) location: Option<Box<str>>,
}

/// How the end of the body is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Framing {
    /// There is no body and no length (204, 304).
    Bare,
    /// The length is told, but there is no body (HEAD).
    Told,
    Length,
    Chunked,
    UntilClose,
}

/// Where a body's bytes come from.
#[derive(Debug)]
pub(crate) enum Content {
    Text(Cow<'static, [u8]>),
    Pattern,
    File(File),
}

impl Content {
    /// Appends a piece to `out`; an error when a file has become shorter.
    pub(crate) fn append(&self, pattern: &Pattern, first: u64, length: usize, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Text(text) => {
                let first = usize::try_from(first).unwrap_or(usize::MAX).min(text.len());
                let last = first.saturating_add(length).min(text.len());
                out.extend_from_slice(&text[first..last]);
            }
            Self::Pattern => pattern.append(first, length, out),
            Self::File(file) => {
                let at = out.len();
                out.resize(at + length, 0);
                file.read_exact_at(&mut out[at..], first)?;
            }
        }
        Ok(())
    }

    pub(crate) fn is_text(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

impl Answer {
    fn whole(status: u16, content: Content, length: u64) -> Self {
        Self {
            status,
            content,
            first: 0,
            length,
            content_range: None,
            framing: Framing::Length,
            close: false,
            linger: false,
            allow: false,
            headers: Vec::new(),
            location: None,
        }
    }

    fn text(status: u16, text: impl Into<Cow<'static, [u8]>>) -> Self {
        let text = text.into();
        let length = text.len() as u64;
        Self::whole(status, Content::Text(text), length)
    }

    fn sentence(status: u16, sentence: &str) -> Self {
        Self::text(status, format!("{sentence}\n").into_bytes())
    }

    /// The answer to what could not be read.
    pub(crate) fn to_malformed(bad: BadRequest) -> Self {
        Self { close: true, linger: true, ..Self::sentence(bad.status(), &bad.to_string()) }
    }

    /// The answer of a planted error.
    pub(crate) fn planted_error(self) -> Self {
        Self {
            close: self.close,
            linger: self.linger,
            ..framed(Self::text(500, &b"planted error\n"[..]), self.framing)
        }
    }

    /// The range that a 206 holds.
    pub(crate) fn range(&self) -> Option<ByteRange> {
        self.content_range.filter(|_| self.status == 206)?.range
    }
}

/// Keeps a HEAD bodiless when its answer is replaced.
fn framed(answer: Answer, framing: Framing) -> Answer {
    Answer { framing: if framing == Framing::Told { Framing::Told } else { Framing::Length }, ..answer }
}

/// What is known of a request besides its head.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    /// Bytes of its body.
    pub(crate) received: u64,
    /// It has `If-Range`.
    pub(crate) conditional_range: bool,
}

/// Decides on the answer, and how long the request asks it to be delayed.
pub(crate) fn answer(site: &Site, head: &RequestHead, facts: Facts) -> (Answer, std::time::Duration) {
    let target = Target::parse(&head.target);
    let options = match target.and_then(|target| target.query).map(Options::parse).transpose() {
        Ok(options) => options,
        Err(sentence) => return (finish(Answer::sentence(400, sentence), head, false), std::time::Duration::ZERO),
    };
    let answer = match (&head.method, target) {
        (_, None) => Answer::sentence(400, "the target is neither a path nor an http URL"),
        (Method::Get | Method::Head, Some(target)) => object(site, target),
        (Method::Put, Some(_)) => Answer::sentence(201, &facts.received.to_string()),
        (Method::Post, Some(_)) => Answer::sentence(200, &facts.received.to_string()),
        _ => Answer { allow: true, ..Answer::sentence(405, "only GET, HEAD, PUT and POST are served") },
    };
    let Some(options) = options else {
        return (finish(ranged(answer, head, facts), head, false), std::time::Duration::ZERO);
    };
    let delay = options.delay;
    let (chunked, close) = (options.chunked, options.close);
    let mut answer = finish(asked_for(answer, options, head, facts), head, chunked);
    answer.linger |= close && !answer.close;
    answer.close |= close;
    (answer, delay)
}

/// Applies what a query asks for.
fn asked_for(answer: Answer, options: Options, head: &RequestHead, facts: Facts) -> Answer {
    let mut answer = if let Some(redirect) = options.redirect {
        Answer { location: Some(redirect.location), ..Answer::sentence(redirect.code, "see Location") }
    } else {
        match options.status {
            None => ranged(answer, head, facts),
            Some(status @ 200..300) => Answer { status, ..answer },
            Some(status) => Answer::sentence(status, "as asked for by status="),
        }
    };
    answer.headers = options.headers;
    answer
}

fn object(site: &Site, target: Target<'_>) -> Answer {
    match (target.named(), &site.directory) {
        (Ok(Named::Blackhole(bytes)), _) => Answer::whole(200, Content::Pattern, bytes),
        (Err(error), _) => Answer::sentence(400, &error.to_string()),
        (Ok(Named::File(_)), None) => {
            Answer::sentence(404, "not found: there is /blackhole/SIZE, as in /blackhole/1MiB")
        }
        (Ok(Named::File(path)), Some(directory)) => match directory.open(path) {
            Ok(Found::File { file, bytes }) => Answer::whole(200, Content::File(file), bytes),
            Ok(Found::Listing(names)) => Answer::text(200, names),
            Err(NotServed::BadPath) => Answer::sentence(400, "the path is not one of a file"),
            Err(NotServed::Forbidden) => Answer::sentence(403, "not below the directory that is served, or no file"),
            Err(NotServed::Absent) => Answer::sentence(404, "not found"),
            Err(NotServed::Failed) => Answer::sentence(500, "the file could not be opened"),
        },
    }
}

/// Narrows a good answer to the range that was asked for. Several ranges, and one with a condition that cannot hold
/// since no validators are sent, get the whole object (RFC 9110 §14.2, §13.1.5).
fn ranged(answer: Answer, head: &RequestHead, facts: Facts) -> Answer {
    let Some(request) = head.range.as_ref().filter(|_| head.method == Method::Get && answer.status == 200) else {
        return answer;
    };
    if request.specs().len() != 1 || facts.conditional_range {
        return answer;
    }
    let complete = answer.length;
    let ranges = match request.resolve(complete) {
        Resolved::Satisfiable(ranges) => ranges,
        Resolved::Unsatisfiable => {
            let content_range = Some(ContentRange::unsatisfied(complete));
            return Answer { content_range, ..Answer::sentence(416, "the range lies outside of the object") };
        }
    };
    let Some(range) = ranges.first() else { return answer };
    let content_range = ContentRange::of(*range, Some(complete));
    Answer { status: 206, first: range.first(), length: range.len(), content_range, ..answer }
}

/// Settles how the body ends and what becomes of the connection.
fn finish(mut answer: Answer, head: &RequestHead, chunked: bool) -> Answer {
    answer.framing = match head.version {
        _ if matches!(answer.status, 204 | 304) => Framing::Bare,
        _ if head.method == Method::Head => Framing::Told,
        Version::Http11 if chunked => Framing::Chunked,
        Version::Http10 if chunked => Framing::UntilClose,
        _ => Framing::Length,
    };
    answer.close |= !head.keep_alive || answer.framing == Framing::UntilClose;
    answer
}
