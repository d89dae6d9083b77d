//! The head of a response: what it says, and the rules by which it is refused.

use std::mem::{self, MaybeUninit};

use super::{MAX_HEADERS, MAX_LOCATION_BYTES, RequestKind};
use crate::chunked::ChunkError;
use crate::fields::{FieldError, Fields, elements};
use crate::message::{Framing, Version};
use crate::range::ContentRange;

/// A final (not 1xx) head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// 200 to 599 (1xx heads are interim).
    pub status: u16,
    /// The version the server speaks.
    pub version: Version,
    /// How the body ends.
    pub framing: Framing,
    /// What the server says about keeping the connection. Whether it may really be used again is
    /// [`super::ResponseReader::reusable`].
    pub keep_alive: bool,
    /// `Content-Range`.
    pub content_range: RangeField,
    /// The body is `multipart/byteranges`.
    pub content_type_multipart_byteranges: bool,
    /// `Content-Encoding`.
    pub encoding: Encoding,
    /// `Location`; looked at with 3xx only.
    pub location: Location,
    /// `Content-Length`, also where it does not frame a body (HEAD, 304, chunked).
    pub declared_length: Option<u64>,
    /// What deserves a remark.
    pub flags: HeadFlags,
}

/// `Content-Range` as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeField {
    /// Not there.
    Absent,
    /// One (or several that agree).
    Valid(ContentRange),
    /// Not to be understood, or several that differ.
    Invalid,
}

/// `Content-Encoding` as found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Absent, or "identity".
    Identity,
    /// Anything else: the body's bytes are not the object's.
    Other,
}

/// `Location` of a 3xx as found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// Not there, or no 3xx.
    Absent,
    /// One (or several that agree).
    One(Box<str>),
    /// Empty, longer than [`MAX_LOCATION_BYTES`], not UTF-8, or with blanks or control characters.
    Invalid,
    /// Two that differ.
    Several,
}

/// What deserves a remark in a head that is otherwise good.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeadFlags {
    /// Both `Transfer-Encoding` and `Content-Length`: the chunks count, and the connection is not used again.
    pub smuggling_risk: bool,
    /// `Content-Length` more than once, with the same number.
    pub duplicate_length: bool,
}

/// Why a response cannot be read any further. The connection is lost with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Malformed {
    /// The head has more than [`super::MAX_HEAD_BYTES`].
    #[error("the head is larger than 64 KiB")]
    HeadTooLarge,
    /// The head has more than [`MAX_HEADERS`].
    #[error("the head has more than 100 headers")]
    TooManyHeaders,
    /// A header is no header: a control character, a name that is none, no colon.
    #[error("the head is not valid HTTP/1")]
    BadHead,
    /// HTTP/0.9, another version, or another protocol.
    #[error("the answer is not HTTP/1.0 or HTTP/1.1")]
    NotHttp,
    /// The status line is not valid, or its code not within 100 to 599.
    #[error("the status line is not valid or its code not within 100 to 599")]
    BadStatus,
    /// `Content-Length` is not a number, or two different ones.
    #[error("Content-Length is not one number")]
    BadContentLength,
    /// HTTP/1.0 has no `Transfer-Encoding`.
    #[error("an HTTP/1.0 answer has a Transfer-Encoding")]
    TransferEncodingInHttp10,
    /// A `Transfer-Encoding` other than one single "chunked".
    #[error("Transfer-Encoding is not \"chunked\"")]
    UnknownTransferEncoding,
    /// More interim heads than [`super::MAX_INTERIM_HEADS`], or more bytes in them than [`super::MAX_INTERIM_BYTES`].
    #[error("too many interim (1xx) answers")]
    TooManyInterim,
    /// 101: a switch of protocols that was not asked for.
    #[error("the server switches protocols unasked (101)")]
    UnexpectedSwitch,
    /// A chunk's size or line end is not valid.
    #[error("a chunk is not valid")]
    BadChunk,
    /// More chunk extensions than [`super::MAX_CHUNK_EXTENSION_BYTES`].
    #[error("chunk extensions are larger than 16 KiB")]
    ChunkExtensionsTooLarge,
    /// More trailers than [`super::MAX_TRAILER_BYTES`].
    #[error("trailers are larger than 16 KiB")]
    TrailersTooLarge,
}

impl From<FieldError> for Malformed {
    fn from(error: FieldError) -> Self {
        match error {
            FieldError::ContentLength => Self::BadContentLength,
            FieldError::TransferEncoding => Self::UnknownTransferEncoding,
        }
    }
}

impl From<ChunkError> for Malformed {
    fn from(error: ChunkError) -> Self {
        match error {
            ChunkError::Syntax => Self::BadChunk,
            ChunkError::ExtensionsTooLarge => Self::ChunkExtensionsTooLarge,
            ChunkError::TrailersTooLarge => Self::TrailersTooLarge,
        }
    }
}

impl From<httparse::Error> for Malformed {
    fn from(error: httparse::Error) -> Self {
        match error {
            httparse::Error::Version => Self::NotHttp,
            httparse::Error::Status => Self::BadStatus,
            httparse::Error::TooManyHeaders => Self::TooManyHeaders,
            _ => Self::BadHead,
        }
    }
}

impl Head {
    /// A final head whose fields have been read already, as those of HTTP/2 are. Calls `visit` with each field.
    ///
    /// # Errors
    /// [`Malformed::BadStatus`], [`Malformed::TooManyHeaders`], [`Malformed::BadContentLength`], or
    /// [`Malformed::UnknownTransferEncoding`] when one is there at all.
    pub fn of_fields<'f>(
        version: Version,
        status: u16,
        kind: RequestKind,
        fields: impl Iterator<Item = (&'f str, &'f [u8])>,
        visit: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<Self, Malformed> {
        if !(200..=599).contains(&status) {
            return Err(Malformed::BadStatus);
        }
        let mut draft = Draft::new(status, version);
        for (number, (name, value)) in fields.enumerate() {
            if number >= MAX_HEADERS {
                return Err(Malformed::TooManyHeaders);
            }
            draft.observe(name, value)?;
            visit(name.as_bytes(), value);
        }
        draft.finish(kind)
    }
}

/// What one head turned out to be.
pub(super) enum Parsed {
    Interim,
    Final(Head),
}

/// Parses one head; `None` when it is not complete. Calls `visit` only with the headers of a complete, final head.
pub(super) fn parse_head(
    bytes: &[u8],
    kind: RequestKind,
    visit: &mut impl FnMut(&[u8], &[u8]),
) -> Result<Option<(usize, Parsed)>, Malformed> {
    // Left uninitialised: writing 100 empty headers first would cost as much as parsing.
    let mut room = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut raw = httparse::Response::new(&mut []);
    let parser = httparse::ParserConfig::default();
    let httparse::Status::Complete(length) = parser.parse_response_with_uninit_headers(&mut raw, bytes, &mut room)?
    else {
        return Ok(None);
    };
    let (Some(status), Some(minor)) = (raw.code, raw.version) else { return Err(Malformed::BadStatus) };
    match status {
        101 => Err(Malformed::UnexpectedSwitch),
        100..=199 => Ok(Some((length, Parsed::Interim))),
        200..=599 => {
            let mut draft = Draft::new(status, Version::from_minor(minor));
            for header in raw.headers.iter() {
                draft.observe(header.name, header.value)?;
                visit(header.name.as_bytes(), header.value);
            }
            Ok(Some((length, Parsed::Final(draft.finish(kind)?))))
        }
        _ => Err(Malformed::BadStatus),
    }
}

/// A head while its headers are looked at.
struct Draft {
    head: Head,
    fields: Fields,
}

impl Draft {
    fn new(status: u16, version: Version) -> Self {
        let head = Head {
            status,
            version,
            framing: Framing::UntilClose,
            keep_alive: false,
            content_range: RangeField::Absent,
            content_type_multipart_byteranges: false,
            encoding: Encoding::Identity,
            location: Location::Absent,
            declared_length: None,
            flags: HeadFlags::default(),
        };
        Self { head, fields: Fields::default() }
    }

    #[inline]
    fn observe(&mut self, name: &str, value: &[u8]) -> Result<(), Malformed> {
        if self.fields.observe(name, value)? {
            return Ok(());
        }
        let head = &mut self.head;
        match name.len() {
            8 if (300..400).contains(&head.status) && name.eq_ignore_ascii_case("location") => {
                head.location = mem::replace(&mut head.location, Location::Absent).and(value);
            }
            12 if name.eq_ignore_ascii_case("content-type") => {
                head.content_type_multipart_byteranges |= is_multipart_byteranges(value);
            }
            13 if name.eq_ignore_ascii_case("content-range") => {
                let found = ContentRange::parse(value).map_or(RangeField::Invalid, RangeField::Valid);
                let agrees = head.content_range == RangeField::Absent || head.content_range == found;
                head.content_range = if agrees { found } else { RangeField::Invalid };
            }
            16 if name.eq_ignore_ascii_case("content-encoding") => {
                let coded = elements(value).any(|coding| !coding.eq_ignore_ascii_case(b"identity"));
                head.encoding = if coded { Encoding::Other } else { head.encoding };
            }
            _ => {}
        }
        Ok(())
    }

    /// RFC 9112 §6.3, in its order.
    fn finish(self, kind: RequestKind) -> Result<Head, Malformed> {
        let Self { mut head, fields } = self;
        match head.version {
            Version::Http10 if fields.chunked => return Err(Malformed::TransferEncodingInHttp10),
            Version::Http2 if fields.chunked => return Err(Malformed::UnknownTransferEncoding),
            Version::Http10 | Version::Http11 | Version::Http2 => {}
        }
        head.keep_alive = fields.persistent(head.version);
        head.declared_length = fields.length;
        head.flags = HeadFlags {
            smuggling_risk: fields.chunked && fields.length.is_some(),
            duplicate_length: fields.duplicate_length,
        };
        head.framing = match fields.length {
            _ if kind == RequestKind::Head || matches!(head.status, 204 | 304) => Framing::None,
            _ if fields.chunked => Framing::Chunked,
            Some(length) => Framing::Length(length),
            None => Framing::UntilClose,
        };
        Ok(head)
    }
}

impl Location {
    /// This and one more `Location` header.
    fn and(self, value: &[u8]) -> Self {
        let more = match std::str::from_utf8(value) {
            Ok(text) if text.is_empty() || text.len() > MAX_LOCATION_BYTES => Self::Invalid,
            Ok(text) if text.contains(|c: char| c.is_whitespace() || c.is_control()) => Self::Invalid,
            Ok(text) => Self::One(text.into()),
            Err(_) => Self::Invalid,
        };
        match self {
            Self::Absent => more,
            known if known == more => known,
            _ => Self::Several,
        }
    }
}

fn is_multipart_byteranges(value: &[u8]) -> bool {
    const TYPE: &[u8] = b"multipart/byteranges";
    let media_type = value.split(|byte| *byte == b';').next().unwrap_or_default();
    media_type.trim_ascii().eq_ignore_ascii_case(TYPE)
}
