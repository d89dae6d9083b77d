//! What a request is answered with.

use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use wire::{BadRequest, ByteRange, ContentRange, Header, Method, RangeRequest, RequestHead, Resolved, Version};

use crate::cluster::Route;
use crate::faults::{Planted, Spoil};
use crate::files::{Found, NotServed};
use crate::pattern::Pattern;
use crate::query::Options;
use crate::site::Site;
use crate::source::Source;
use crate::stand_in::Fields;
use crate::target::{Named, Target};

/// An answer that has been decided on and not been sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content: Content,
    /// Where in the content the body begins.
    pub(crate) first: u64,
    /// Length of the body, sent or not; without a number, nobody knows it before the end.
    pub(crate) length: Option<u64>,
    pub(crate) content_range: Option<ContentRange>,
    pub(crate) framing: Framing,
    pub(crate) media: Media,
    pub(crate) accept_ranges: AcceptRanges,
    /// Whether the connection is closed afterwards.
    pub(crate) close: bool,
    /// Whether the client may have sent more on this connection, which a plain close would answer with a reset.
    pub(crate) linger: bool,
    /// What is allowed, for a 405.
    pub(crate) allow: Option<&'static str>,
    pub(crate) headers: Vec<Header>,
    pub(crate) location: Option<Box<str>>,
    /// What is wrong with the body.
    pub(crate) spoil: Spoil,
    /// What is sent in place of the proper end when the body breaks off; HTTP/1 without TLS alone.
    pub(crate) cut_tail: &'static [u8],
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

/// What `Content-Type` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Media {
    /// What goes with the content: text or bytes.
    OfContent,
    Named(Box<str>),
    /// Nothing.
    Unsaid,
}

/// What `Accept-Ranges` says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AcceptRanges {
    Bytes,
    None,
    /// Nothing.
    Unsaid,
}

impl AcceptRanges {
    /// The value of the header, if it is sent.
    pub(crate) fn told(self) -> Option<&'static str> {
        match self {
            Self::Bytes => Some("bytes"),
            Self::None => Some("none"),
            Self::Unsaid => None,
        }
    }
}

/// Where a body's bytes come from.
#[derive(Debug)]
pub(crate) enum Content {
    /// There is none, whatever length is told.
    Empty,
    Text(Cow<'static, [u8]>),
    Pattern,
    File(File),
    /// Made or fetched while it is sent.
    Source(Box<dyn Source>),
}

impl Content {
    /// Appends a piece to `out`; an error when a file has become shorter.
    pub(crate) fn append(&self, pattern: &Pattern, first: u64, length: usize, out: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::Empty | Self::Source(_) => {}
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

    /// Its media type, unless the answer names another.
    fn media_type(&self) -> &'static str {
        match self {
            Self::Text(_) => "text/plain; charset=utf-8",
            Self::Empty | Self::Pattern | Self::File(_) | Self::Source(_) => "application/octet-stream",
        }
    }
}

impl Answer {
    /// An answer with the whole of `content`; without a length, it is sent in chunks.
    pub(crate) fn of(status: u16, content: Content, length: Option<u64>) -> Self {
        Self {
            status,
            content,
            first: 0,
            length,
            content_range: None,
            framing: Framing::Length,
            media: Media::OfContent,
            accept_ranges: AcceptRanges::Bytes,
            close: false,
            linger: false,
            allow: None,
            headers: Vec::new(),
            location: None,
            spoil: Spoil::default(),
            cut_tail: b"",
        }
    }

    pub(crate) fn text(status: u16, text: impl Into<Cow<'static, [u8]>>) -> Self {
        let text = text.into();
        let length = text.len() as u64;
        Self::of(status, Content::Text(text), Some(length))
    }

    pub(crate) fn sentence(status: u16, sentence: &str) -> Self {
        Self::text(status, format!("{sentence}\n").into_bytes())
    }

    /// The answer to what could not be read.
    pub(crate) fn to_malformed(bad: BadRequest) -> Self {
        Self { close: true, linger: true, ..Self::sentence(bad.status(), &bad.to_string()) }
    }

    /// This answer's place taken by another one: a HEAD stays without a body, and a connection that is to be closed is.
    pub(crate) fn replaced(self, other: Self) -> Self {
        let framing = if self.framing == Framing::Told { Framing::Told } else { Framing::Length };
        Self { close: self.close || other.close, linger: self.linger || other.linger, framing, ..other }
    }

    /// The answer of a planted error.
    pub(crate) fn planted_error() -> Self {
        Self::text(500, &b"planted error\n"[..])
    }

    /// Bytes of the body, if there is to be one; without a number, nobody knows it before the end.
    pub(crate) fn body_bytes(&self) -> Option<u64> {
        match self.framing {
            Framing::Length | Framing::Chunked | Framing::UntilClose => self.length,
            Framing::Bare | Framing::Told => Some(0),
        }
    }

    /// Plants in a body with content the faults that are its turn to have, beside those that it has.
    pub(crate) fn plant(&mut self, planted: &Planted) {
        if matches!(self.status, 200..300) && self.body_bytes() != Some(0) {
            self.spoil = self.spoil.or(planted.spoil());
        }
    }

    /// What `Content-Type` says, if anything.
    pub(crate) fn media_type(&self) -> Option<&str> {
        match &self.media {
            Media::Unsaid => None,
            Media::Named(name) => Some(name),
            Media::OfContent if self.framing == Framing::Bare => None,
            Media::OfContent => Some(self.content.media_type()),
        }
    }

    /// The range that a 206 holds.
    pub(crate) fn range(&self) -> Option<ByteRange> {
        self.content_range.filter(|_| self.status == 206)?.range
    }
}

/// The answer of a server that could not get one from the owner.
pub(crate) fn bad_gateway() -> Answer {
    Answer::sentence(502, "the owner of this object did not answer")
}

/// What is known of a request besides its head.
#[derive(Debug)]
pub(crate) struct Facts<'a> {
    /// Bytes of its body.
    pub(crate) received: u64,
    pub(crate) fields: &'a Fields,
}

/// What is to be done with a request.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "the large one is the usual one, and it moves on at once")]
pub(crate) enum Decision {
    /// It is answered, after the delay that it asks for.
    Answer(Answer, Duration),
    /// The answer is that of another server.
    Fetch(SocketAddr),
}

impl Decision {
    fn at_once(answer: Answer, head: &RequestHead) -> Self {
        Self::Answer(finish(answer, head, false), Duration::ZERO)
    }
}

impl Decision {
    /// What is done in place of this with a request that is refused because there are too many, or at random.
    pub(crate) fn refused(self, site: &Site, head: &RequestHead, overload: bool) -> Self {
        let other = if overload { site.stand_in.overloaded(head) } else { Answer::planted_error() };
        match self {
            Self::Answer(answer, asked) => Self::Answer(answer.replaced(other), asked),
            Self::Fetch(_) => Self::at_once(other, head),
        }
    }
}

/// What makes of a whole answer the one to a range.
type Narrow = fn(Answer, &RequestHead, &Facts<'_>) -> Answer;

/// Decides what is done with a request.
pub(crate) fn decide(site: &Site, head: &RequestHead, facts: &Facts<'_>) -> Decision {
    let target = Target::parse(&head.target);
    let options = match target.and_then(|target| target.query).map(Options::parse).transpose() {
        Ok(options) => options,
        Err(sentence) => return Decision::at_once(Answer::sentence(400, sentence), head),
    };
    let Some(target) = target else {
        return Decision::at_once(Answer::sentence(400, "the target is neither a path nor an http URL"), head);
    };
    if let Some(elsewhere) = elsewhere(site, head, target, options.as_ref().is_some_and(|options| options.sent_here)) {
        return elsewhere;
    }
    let (answer, narrow): (Answer, Narrow) = match site.stand_in.answer(head, target, facts) {
        Some(answer) => (answer, |answer, _, _| answer),
        None => (plain(site, head, target, facts), ranged),
    };
    let Some(options) = options else { return Decision::at_once(narrow(answer, head, facts), head) };
    let delay = options.delay;
    let (chunked, close) = (options.chunked, options.close);
    let mut answer = finish(asked_for(answer, options, |answer| narrow(answer, head, facts)), head, chunked);
    answer.linger |= close && !answer.close;
    answer.close |= close;
    Decision::Answer(answer, delay)
}

/// What is done with a request for an object that another server of the cluster owns. Faults that its query asks for
/// are the owner's to make.
fn elsewhere(site: &Site, head: &RequestHead, target: Target<'_>, sent_here: bool) -> Option<Decision> {
    let member = site.member.as_ref().filter(|_| site.stand_in.is_object(target))?;
    match member.route(target, head.host.as_deref(), sent_here) {
        Route::Fetch(owner) if matches!(head.method, Method::Get | Method::Head) => Some(Decision::Fetch(owner)),
        Route::Here | Route::Fetch(_) => None,
        Route::Redirect { location, after } => {
            let answer = Answer { location: Some(location), ..Answer::text(307, &b""[..]) };
            Some(Decision::Answer(finish(answer, head, false), after))
        }
    }
}

/// The answer of a server that stands in for nobody.
fn plain(site: &Site, head: &RequestHead, target: Target<'_>, facts: &Facts<'_>) -> Answer {
    match &head.method {
        Method::Get | Method::Head => object(site, target),
        Method::Put => Answer::sentence(201, &facts.received.to_string()),
        Method::Post => Answer::sentence(200, &facts.received.to_string()),
        _ => Answer {
            allow: Some("GET, HEAD, PUT, POST"),
            ..Answer::sentence(405, "only GET, HEAD, PUT and POST are served")
        },
    }
}

/// Applies what a query asks for. Where another status is asked for, ranges are ignored.
fn asked_for(answer: Answer, options: Options, narrow: impl Fn(Answer) -> Answer) -> Answer {
    let mut answer = if let Some(redirect) = options.redirect {
        Answer { location: Some(redirect.location), ..Answer::sentence(redirect.code, "see Location") }
    } else {
        match options.status {
            None => narrow(answer),
            Some(status @ 200..300) => Answer { status, ..answer },
            Some(status) => Answer::sentence(status, "as asked for by status="),
        }
    };
    answer.headers.extend(options.headers);
    answer.spoil = options.spoil.or(answer.spoil);
    answer
}

fn object(site: &Site, target: Target<'_>) -> Answer {
    match (target.named(), &site.directory) {
        (Ok(Named::Blackhole(bytes)), _) => Answer::of(200, Content::Pattern, Some(bytes)),
        (Err(error), _) => Answer::sentence(400, &error.to_string()),
        (Ok(Named::File(_)), None) => {
            Answer::sentence(404, "not found: there is /blackhole/SIZE, as in /blackhole/1MiB")
        }
        (Ok(Named::File(path)), Some(directory)) => match directory.open(path) {
            Ok(Found::File { file, bytes }) => Answer::of(200, Content::File(file), Some(bytes)),
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
pub(crate) fn ranged(answer: Answer, head: &RequestHead, facts: &Facts<'_>) -> Answer {
    let asked = head.range.as_ref().filter(|_| head.method == Method::Get && answer.status == 200);
    let (Some(request), Some(complete)) = (asked, answer.length) else { return answer };
    match part(request, complete) {
        _ if facts.fields.if_range.is_some() => answer,
        Part::Whole => answer,
        Part::Outside => {
            let content_range = Some(ContentRange::unsatisfied(complete));
            Answer { content_range, ..Answer::sentence(416, "the range lies outside of the object") }
        }
        Part::Range(range) => slice(answer, range, complete),
    }
}

/// What a `Range` comes to on this server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Several ranges are answered with everything (RFC 9110 §14.2 allows it).
    Whole,
    Range(ByteRange),
    /// 416.
    Outside,
}

/// The part of an object of `complete` bytes that is asked for.
pub(crate) fn part(request: &RangeRequest, complete: u64) -> Part {
    match request.resolve(complete) {
        _ if request.specs().len() != 1 => Part::Whole,
        Resolved::Unsatisfiable => Part::Outside,
        Resolved::Satisfiable(ranges) => ranges.first().map_or(Part::Whole, |range| Part::Range(*range)),
    }
}

/// One range of an object of `complete` bytes.
pub(crate) fn slice(answer: Answer, range: ByteRange, complete: u64) -> Answer {
    let content_range = ContentRange::of(range, Some(complete));
    Answer { status: 206, first: range.first(), length: Some(range.len()), content_range, ..answer }
}

/// Settles how the body ends and what becomes of the connection.
pub(crate) fn finish(mut answer: Answer, head: &RequestHead, chunked: bool) -> Answer {
    let chunked = chunked || answer.length.is_none();
    answer.framing = match head.version {
        _ if matches!(answer.status, 204 | 304) => Framing::Bare,
        _ if head.method == Method::Head && answer.length.is_none() => Framing::Bare,
        _ if head.method == Method::Head => Framing::Told,
        Version::Http11 | Version::Http2 if chunked => Framing::Chunked,
        Version::Http10 if chunked => Framing::UntilClose,
        _ => Framing::Length,
    };
    answer.close |= !head.keep_alive || answer.framing == Framing::UntilClose;
    answer
}
