//! What S3 says when it refuses: an `<Error>` message with a code.

use super::xml::{Element, Writer, XmlError};
use std::fmt;

/// The most bytes that are kept of a message, and of each other text in it.
const MAX_TEXT_BYTES: usize = 1024;
/// The most bytes of a code that is not known here.
const MAX_CODE_BYTES: usize = 64;

macro_rules! codes {
    ($($(#[$doc:meta])+ $code:ident $status:literal;)+) => {
        /// A code of S3's: those that decide something here, and any other.
        #[derive(Debug, Clone, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($(#[$doc])+ $code,)+
            /// Any other, at most 64 bytes of it.
            Other(Box<str>),
        }

        impl ErrorCode {
            /// All that are known by name.
            pub const KNOWN: &'static [Self] = &[$(Self::$code,)+];

            /// The code as it is written.
            pub fn as_str(&self) -> &str {
                match self {
                    $(Self::$code => stringify!($code),)+
                    Self::Other(code) => code,
                }
            }

            /// The status that it comes with; 400 when it is not known.
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
    /// Not allowed, or not signed.
    AccessDenied 403;
    /// What stands for a signature can not be understood, or is for another region.
    AuthorizationHeaderMalformed 400;
    /// A checksum differs.
    BadDigest 400;
    /// The bucket is there and belongs to another.
    BucketAlreadyExists 409;
    /// The bucket is there already.
    BucketAlreadyOwnedByYou 409;
    /// A part is smaller than 5 MiB and not the last.
    EntityTooSmall 400;
    /// The body is larger than an object may be.
    EntityTooLarge 400;
    /// The session token is over its time.
    ExpiredToken 400;
    /// The body is shorter than said.
    IncompleteBody 400;
    /// The server failed.
    InternalError 500;
    /// The access key is not known.
    InvalidAccessKeyId 403;
    /// A parameter is not valid.
    InvalidArgument 400;
    /// The bucket's name is not valid.
    InvalidBucketName 400;
    /// A part is not there, or has another ETag.
    InvalidPart 400;
    /// The parts are not in order.
    InvalidPartOrder 400;
    /// The range does not lie in the object.
    InvalidRange 416;
    /// The request is not one that S3 has.
    InvalidRequest 400;
    /// The session token is not valid.
    InvalidToken 400;
    /// The key is too long.
    KeyTooLongError 400;
    /// An XML message is not valid.
    MalformedXML 400;
    /// This method is not for this.
    MethodNotAllowed 405;
    /// The length was not said.
    MissingContentLength 411;
    /// There is no such bucket.
    NoSuchBucket 404;
    /// There is no such object.
    NoSuchKey 404;
    /// There is no such multipart upload.
    NoSuchUpload 404;
    /// Not there yet.
    NotImplemented 501;
    /// Two requests changed one thing at once.
    OperationAborted 409;
    /// A condition of the request does not hold.
    PreconditionFailed 412;
    /// The request took too long to come.
    RequestTimeout 400;
    /// The clocks differ too much.
    RequestTimeTooSkewed 403;
    /// The server can not serve now.
    ServiceUnavailable 503;
    /// The signature is another one.
    SignatureDoesNotMatch 403;
    /// Too many requests: slow down.
    SlowDown 503;
    /// The bucket is elsewhere for now.
    TemporaryRedirect 307;
    /// The body's SHA-256 is not the one that was signed.
    XAmzContentSHA256Mismatch 400;
}

impl ErrorCode {
    /// The code with that name.
    pub fn from_name(name: &str) -> Self {
        let known = Self::KNOWN.iter().find(|code| code.as_str() == name).cloned();
        known.unwrap_or_else(|| Self::Other(cut(name, MAX_CODE_BYTES).into()))
    }

    /// Whether the server asks for fewer requests.
    pub fn is_throttling(&self) -> bool {
        matches!(self, Self::SlowDown | Self::ServiceUnavailable)
    }

    /// Whether it is about who asks: keys, signatures, clocks.
    pub fn is_about_credentials(&self) -> bool {
        matches!(
            self,
            Self::AccessDenied
                | Self::AuthorizationHeaderMalformed
                | Self::ExpiredToken
                | Self::InvalidAccessKeyId
                | Self::InvalidToken
                | Self::RequestTimeTooSkewed
                | Self::SignatureDoesNotMatch
        )
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An `<Error>` message. Its texts are the server's: data to be escaped before they are shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErrorBody {
    /// What is wrong.
    pub code: ErrorCode,
    /// For people; at most 1 KiB.
    pub message: Box<str>,
    /// Bucket or object; at most 1 KiB.
    pub resource: Option<Box<str>>,
    /// By which the server's own logs know the request; at most 1 KiB.
    pub request_id: Option<Box<str>>,
}

impl ErrorBody {
    /// An error without a resource.
    pub fn new(code: ErrorCode, message: &str, request_id: &str) -> Self {
        let (message, request_id) = (cut(message, MAX_TEXT_BYTES).into(), cut(request_id, MAX_TEXT_BYTES).into());
        Self { code, message, resource: None, request_id: Some(request_id) }
    }

    /// Reads a message.
    pub fn parse(bytes: &[u8]) -> Result<Self, XmlError> {
        let root = Element::parse(bytes)?;
        // Some servers put the error into an `ErrorResponse`, as other services of Amazon's do.
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

/// At most so many bytes of a text, whole characters only.
pub(super) fn cut(text: &str, most_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(most_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_have_their_names() {
        for code in ErrorCode::KNOWN {
            assert_eq!(ErrorCode::from_name(code.as_str()), *code);
            assert!((300..600).contains(&code.status()), "{code}");
        }
        assert_eq!(ErrorCode::from_name("SlowDown").status(), 503);
        assert_eq!(ErrorCode::from_name("XMinioBusy"), ErrorCode::Other("XMinioBusy".into()));
        assert_eq!(ErrorCode::from_name(&"\u{e9}".repeat(50)).as_str().len(), 64);
    }

    /// As in Amazon's "REST Error Responses".
    #[test]
    fn the_published_example_is_read() {
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
        fn what_is_written_reads_back(code in "[A-Za-z]{1,20}", message in "\\PC{0,40}", id in "\\PC{0,10}") {
            let error = ErrorBody::new(ErrorCode::from_name(&code), &message, &id);
            let mut out = String::new();
            error.write(&mut out);
            prop_assert_eq!(ErrorBody::parse(out.as_bytes()), Ok(error));
        }
    }
}
