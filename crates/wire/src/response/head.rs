//! The head of a response: its fields, and the rules by which it is rejected.

use std::mem::{self, MaybeUninit};

use super::{MAX_HEADERS, MAX_LOCATION_BYTES, RequestKind};
use crate::chunked::ChunkError;
use crate::framing_fields::{FramingError, FramingFields, elements};
use crate::message::{Framing, Version};
use crate::range::ContentRange;

/// A final (not 1xx) head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// The status code, 200 to 599.
    pub status: u16,
    /// The protocol version of the response.
    pub version: Version,
    /// The framing of the body.
    pub framing: Framing,
    /// `true` if the server keeps the connection open. [`super::ResponseReader::reusable`] decides whether the client
    /// may reuse the connection.
    pub keep_alive: bool,
    /// The value of `Content-Range`.
    pub content_range: RangeField,
    /// `true` if the body is `multipart/byteranges`.
    pub content_type_multipart_byteranges: bool,
    /// The value of `Content-Encoding`.
    pub encoding: Encoding,
    /// The value of `Location`. Read from 3xx responses only.
    pub location: Location,
    /// The value of `Content-Length`, even where it does not determine the end of the body (HEAD, 304, chunked).
    pub declared_length: Option<u64>,
    /// Irregularities that do not make the response unreadable.
    pub flags: HeadFlags,
}

/// The state of `Content-Range`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeField {
    /// No such header.
    Absent,
    /// One value, or several equal ones.
    Valid(ContentRange),
    /// An invalid value, or several different ones.
    Invalid,
}

/// The state of `Content-Encoding`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// Absent, or "identity".
    Identity,
    /// Any other coding. The bytes of the body then differ from the bytes of the object.
    Other,
}

/// The state of `Location` in a 3xx response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// No such header, or not a 3xx response.
    Absent,
    /// One value, or several equal ones.
    One(Box<str>),
    /// The value is empty, longer than [`MAX_LOCATION_BYTES`], not UTF-8, or contains whitespace or control characters.
    Invalid,
    /// Several different values.
    Several,
}

/// Irregularities in a head that is otherwise valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeadFlags {
    /// The head has both `Transfer-Encoding` and `Content-Length`. The chunks determine the end of the body, and the
    /// connection is not reused.
    pub smuggling_risk: bool,
    /// `Content-Length` occurs more than once with the same number.
    pub duplicate_length: bool,
}

/// The reason why a response cannot be read any further. The connection cannot be used any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Malformed {
    /// The head has more than [`super::MAX_HEAD_BYTES`].
    #[error("the head is larger than 64 KiB")]
    HeadTooLarge,
    /// The head has more than [`MAX_HEADERS`].
    #[error("the head has more than 100 headers")]
    TooManyHeaders,
    /// A header line has a control character, an invalid name, or no colon.
    #[error("the head is not valid HTTP/1")]
    BadHead,
    /// The response has another version, such as HTTP/0.9, or another protocol.
    #[error("the response is not HTTP/1.0 or HTTP/1.1")]
    NotHttp,
    /// The status line is not valid, or its code is not within 100 to 599.
    #[error("the status line is not valid, or its code is not within 100 to 599")]
    BadStatus,
    /// `Content-Length` is not a number, or there are two different numbers.
    #[error("Content-Length is not a single number")]
    BadContentLength,
    /// An HTTP/1.0 response has a `Transfer-Encoding`, which HTTP/1.0 does not define.
    #[error("an HTTP/1.0 response has a Transfer-Encoding")]
    TransferEncodingInHttp10,
    /// `Transfer-Encoding` is not `chunked`, or has several values.
    #[error("Transfer-Encoding is not \"chunked\"")]
    UnknownTransferEncoding,
    /// There are more interim heads than [`super::MAX_INTERIM_HEADS`], or more bytes in them than
    /// [`super::MAX_INTERIM_BYTES`].
    #[error("too many interim (1xx) responses")]
    TooManyInterim,
    /// Status 101: the server switches protocols, which the client did not request.
    #[error("the server switches protocols without a request to do so (101)")]
    UnexpectedSwitch,
    /// The size line or the line ending of a chunk is not valid.
    #[error("a chunk is not valid")]
    BadChunk,
    /// Chunk extensions are larger than [`super::MAX_CHUNK_EXTENSION_BYTES`].
    #[error("chunk extensions are larger than 16 KiB")]
    ChunkExtensionsTooLarge,
    /// Trailers are larger than [`super::MAX_TRAILER_BYTES`].
    #[error("trailers are larger than 16 KiB")]
    TrailersTooLarge,
}

impl From<FramingError> for Malformed {
    fn from(error: FramingError) -> Self {
        match error {
            FramingError::ContentLength => Self::BadContentLength,
            FramingError::TransferEncoding => Self::UnknownTransferEncoding,
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
    /// Creates a final head from decoded fields, such as those of HTTP/2. Calls `visit` with each field.
    ///
    /// # Errors
    /// Fails with [`Malformed::BadStatus`], [`Malformed::TooManyHeaders`] or [`Malformed::BadContentLength`]. If there
    /// is any `Transfer-Encoding`, fails with [`Malformed::UnknownTransferEncoding`].
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
        let mut builder = HeadBuilder::new(status, version);
        for (number, (name, value)) in fields.enumerate() {
            if number >= MAX_HEADERS {
                return Err(Malformed::TooManyHeaders);
            }
            builder.observe(name, value)?;
            visit(name.as_bytes(), value);
        }
        builder.finish(kind)
    }
}

/// A parsed head.
pub(super) enum Parsed {
    Interim,
    Final(Head),
}

/// Parses a head. `None` if it is incomplete. Calls `visit` with each header, but only for a complete final head.
pub(super) fn parse_head(
    bytes: &[u8],
    kind: RequestKind,
    visit: &mut impl FnMut(&[u8], &[u8]),
) -> Result<Option<(usize, Parsed)>, Malformed> {
    // The array is not initialized, because writing 100 empty headers first would cost as much as parsing.
    let mut headers = [const { MaybeUninit::uninit() }; MAX_HEADERS];
    let mut raw = httparse::Response::new(&mut []);
    let parser = httparse::ParserConfig::default();
    let httparse::Status::Complete(length) =
        parser.parse_response_with_uninit_headers(&mut raw, bytes, &mut headers)?
    else {
        return Ok(None);
    };
    let (Some(status), Some(minor)) = (raw.code, raw.version) else { return Err(Malformed::BadStatus) };
    match status {
        101 => Err(Malformed::UnexpectedSwitch),
        100..=199 => Ok(Some((length, Parsed::Interim))),
        200..=599 => {
            let mut builder = HeadBuilder::new(status, Version::from_minor(minor));
            for header in raw.headers.iter() {
                builder.observe(header.name, header.value)?;
                visit(header.name.as_bytes(), header.value);
            }
            Ok(Some((length, Parsed::Final(builder.finish(kind)?))))
        }
        _ => Err(Malformed::BadStatus),
    }
}

/// The values collected from the headers of a head.
struct HeadBuilder {
    head: Head,
    fields: FramingFields,
}

impl HeadBuilder {
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
        Self { head, fields: FramingFields::default() }
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

    /// Applies the rules of RFC 9112 §6.3, in the order given there.
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
    /// Combines this value with one more `Location` header.
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
