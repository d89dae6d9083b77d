//! The `<Error>` message of S3 and its codes.

use super::xml::{Element, Writer, XmlError};
use std::fmt;

/// Maximum size of the message and of each other text. Longer texts are cut.
const MAX_TEXT_BYTES: usize = 1024;
/// Maximum size of an unknown code. Longer codes are cut.
const MAX_CODE_BYTES: usize = 64;

macro_rules! codes {
    ($($(#[$doc:meta])+ $code:ident $status:literal;)+) => {
        /// An error code of S3.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])+ $code,)+
            /// Any other code, cut to 64 bytes.
            Other(Box<str>),
        }

        impl ErrorCode {
            /// All codes except [`Self::Other`].
            pub const KNOWN: &'static [Self] = &[$(Self::$code,)+];

            /// Returns the code as written in messages.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$code => stringify!($code),)+
                    Self::Other(code) => code,
                }
            }

            /// Returns the HTTP status of responses with this code, 400 for unknown codes.
            pub fn status(&self) -> u16 {
                match self {
                    $(Self::$code => $status,)+
                    Self::Other(_) => 400,
                }
            }
        }
    };
}

codes! {
    /// The request is not allowed or not signed.
    AccessDenied 403;
    /// The `Authorization` header cannot be parsed, or is for another region.
    AuthorizationHeaderMalformed 400;
    /// A checksum does not match.
    BadDigest 400;
    /// The bucket exists and belongs to someone else.
    BucketAlreadyExists 409;
    /// The bucket exists already.
    BucketAlreadyOwnedByYou 409;
    /// A part other than the last is smaller than 5 MiB.
    EntityTooSmall 400;
    /// The body is larger than the maximum size of an object.
    EntityTooLarge 400;
    /// The session token has expired.
    ExpiredToken 400;
    /// The body is shorter than announced.
    IncompleteBody 400;
    /// The server failed.
    InternalError 500;
    /// The access key is unknown.
    InvalidAccessKeyId 403;
    /// A parameter is not valid.
    InvalidArgument 400;
    /// The name of the bucket is not valid.
    InvalidBucketName 400;
    /// A part is missing, or its ETag differs.
    InvalidPart 400;
    /// The parts are not in order.
    InvalidPartOrder 400;
    /// The range is outside the object.
    InvalidRange 416;
    /// S3 does not define such a request.
    InvalidRequest 400;
    /// The session token is not valid.
    InvalidToken 400;
    /// The key is too long.
    KeyTooLongError 400;
    /// An XML message is not valid.
    MalformedXML 400;
    /// The resource does not support the method.
    MethodNotAllowed 405;
    /// The request has no length.
    MissingContentLength 411;
    /// The bucket does not exist.
    NoSuchBucket 404;
    /// The object does not exist.
    NoSuchKey 404;
    /// The multipart upload does not exist.
    NoSuchUpload 404;
    /// The server does not implement the request.
    NotImplemented 501;
    /// Concurrent requests changed the same resource.
    OperationAborted 409;
    /// A condition of the request is not met.
    PreconditionFailed 412;
    /// The request took too long to arrive.
    RequestTimeout 400;
    /// The clocks of client and server differ too much.
    RequestTimeTooSkewed 403;
    /// The server is temporarily unable to respond.
    ServiceUnavailable 503;
    /// The signature does not match.
    SignatureDoesNotMatch 403;
    /// The client sends too many requests.
    SlowDown 503;
    /// The bucket is temporarily at another location.
    TemporaryRedirect 307;
    /// The SHA-256 of the body differs from the signed one.
    XAmzContentSHA256Mismatch 400;
}

impl ErrorCode {
    /// Returns the code with this name.
    pub fn from_name(name: &str) -> Self {
        let known = Self::KNOWN.iter().find(|code| code.as_str() == name).cloned();
        known.unwrap_or_else(|| Self::Other(cut(name, MAX_CODE_BYTES).into()))
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An `<Error>` message. The texts come from the server, and must be escaped before they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    /// The error code.
    pub code: ErrorCode,
    /// An explanation for people, at most 1 KiB.
    pub message: Box<str>,
    /// The bucket or object that the error concerns, at most 1 KiB.
    pub resource: Option<Box<str>>,
    /// The identifier of the request in the server's logs, at most 1 KiB.
    pub request_id: Option<Box<str>>,
}

impl ErrorBody {
    /// Creates an error without a resource.
    pub fn new(code: ErrorCode, message: &str, request_id: &str) -> Self {
        let (message, request_id) = (cut(message, MAX_TEXT_BYTES).into(), cut(request_id, MAX_TEXT_BYTES).into());
        Self { code, message, resource: None, request_id: Some(request_id) }
    }

    /// Parses a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        let root = Element::parse(bytes)?;
        // Some servers wrap the error in an `ErrorResponse`, as other services of Amazon do.
        match root.is("Error") {
            true => Self::of(&root),
            false if root.is("ErrorResponse") => Self::of(root.children("Error").next().unwrap_or(&root)),
            false => Err(XmlError::NotA("Error")),
        }
    }

    pub(super) fn of(element: &Element) -> Result<Self, XmlError> {
        let text = |name| element.text(name).map(|text| cut(text, MAX_TEXT_BYTES).into());
        Ok(Self {
            code: ErrorCode::from_name(element.required("Code")?.trim_ascii()),
            message: text("Message").unwrap_or_default(),
            resource: text("Resource"),
            request_id: text("RequestId"),
        })
    }

    /// Appends the message.
    pub fn write(&self, out: &mut String) {
        let mut writer = Writer::new(out, "Error");
        writer.text("Code", self.code.as_str());
        writer.text("Message", &self.message);
        writer.optional("Resource", self.resource.as_deref());
        writer.optional("RequestId", self.request_id.as_deref());
    }
}

/// Cuts a text to at most `max_bytes`, at a character boundary.
pub(super) fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_round_trip_through_their_names() {
        for code in ErrorCode::KNOWN {
            assert_eq!(ErrorCode::from_name(code.as_str()), *code);
            assert!((300..600).contains(&code.status()), "{code}");
        }
        assert_eq!(ErrorCode::from_name("SlowDown").status(), 503);
        assert_eq!(ErrorCode::from_name("XMinioBusy"), ErrorCode::Other("XMinioBusy".into()));
        assert_eq!(ErrorCode::from_name(&"\u{e9}".repeat(50)).as_str().len(), 64);
    }

    /// The example is from Amazon's "REST Error Responses".
    #[test]
    fn the_published_example_is_parsed() {
        let text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>\n  <Code>NoSuchKey</Code>\n  <Message>The resource \
                    you requested does not exist</Message>\n  <Resource>/mybucket/myfoto.jpg</Resource> \n  \
                    <RequestId>4442587FB7D0A2F9</RequestId>\n</Error>";
        let error = ErrorBody::parse(text.as_bytes()).unwrap();
        assert_eq!(error.code, ErrorCode::NoSuchKey);
        assert_eq!(&*error.message, "The resource you requested does not exist");
        assert_eq!(error.resource.as_deref(), Some("/mybucket/myfoto.jpg"));
        assert_eq!(error.request_id.as_deref(), Some("4442587FB7D0A2F9"));
        assert_eq!(ErrorBody::parse(b"<Error/>"), Err(XmlError::Missing("Code")));
        let wrapped = b"<ErrorResponse><Error><Code>SlowDown</Code></Error></ErrorResponse>";
        assert_eq!(ErrorBody::parse(wrapped).map(|error| error.code), Ok(ErrorCode::SlowDown));
        let long = format!("<Error><Code>SlowDown</Code><Message>{}</Message></Error>", "m".repeat(9000));
        assert_eq!(ErrorBody::parse(long.as_bytes()).unwrap().message.len(), MAX_TEXT_BYTES);
    }

    proptest! {
        #[test]
        fn messages_round_trip(code in "[A-Za-z]{1,20}", message in "\\PC{0,40}", id in "\\PC{0,10}") {
            let error = ErrorBody::new(ErrorCode::from_name(&code), &message, &id);
            let mut out = String::new();
            error.write(&mut out);
            prop_assert_eq!(ErrorBody::parse(out.as_bytes()), Ok(error));
        }
    }
}
