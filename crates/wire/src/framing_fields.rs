//! The header fields that determine the framing of a message or control its connection. Client and server interpret them
//! in the same way.

use crate::decimal::parse_u64;

/// The values of `Content-Length`, `Transfer-Encoding` and `Connection` in the headers processed so far.
#[derive(Debug, Default)]
pub(crate) struct FramingFields {
    pub(crate) length: Option<u64>,
    /// `true` if `Content-Length` occurred more than once, each time with the same number.
    pub(crate) duplicate_length: bool,
    pub(crate) chunked: bool,
    close: bool,
    keep_alive: bool,
}

/// A framing field with an unusable value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FramingError {
    /// `Content-Length` is not a number, or there are two different numbers.
    ContentLength,
    /// `Transfer-Encoding` is not `chunked`, or has several values. The client requests no other coding, and the reader
    /// cannot find the end of a body in an unknown coding.
    TransferEncoding,
}

impl FramingFields {
    /// Processes one header. Returns whether it is one of the framing fields.
    #[inline]
    pub(crate) fn observe(&mut self, name: &str, value: &[u8]) -> Result<bool, FramingError> {
        match name.len() {
            10 if name.eq_ignore_ascii_case("connection") => {
                for option in elements(value) {
                    self.close |= option.eq_ignore_ascii_case(b"close");
                    self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if name.eq_ignore_ascii_case("content-length") => self.observe_length(value)?,
            17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                if self.chunked || !is_single(value, b"chunked") {
                    return Err(FramingError::TransferEncoding);
                }
                self.chunked = true;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Parses a number, or a list of equal numbers. Proxies join repeated headers into such a list (RFC 9110 §8.6).
    fn observe_length(&mut self, value: &[u8]) -> Result<(), FramingError> {
        for element in value.split(|byte| *byte == b',') {
            let length = parse_u64(element.trim_ascii()).ok_or(FramingError::ContentLength)?;
            match self.length {
                None => self.length = Some(length),
                Some(known) if known == length => self.duplicate_length = true,
                Some(_) => return Err(FramingError::ContentLength),
            }
        }
        Ok(())
    }

    /// Returns whether the sender keeps the connection open after this message (RFC 9112 §9.3).
    pub(crate) fn persistent(&self, version: crate::Version) -> bool {
        match version {
            crate::Version::Http10 => self.keep_alive && !self.close,
            // The rule of HTTP/1.1 is also right for HTTP/2, which does not allow `Connection` (RFC 9113 §8.2.2).
            crate::Version::Http11 | crate::Version::Http2 => !self.close,
        }
    }
}

/// Returns the trimmed, non-empty elements of a comma-separated list.
pub(crate) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// Returns whether a list consists of this one token only.
fn is_single(value: &[u8], token: &[u8]) -> bool {
    let mut elements = elements(value);
    elements.next().is_some_and(|first| first.eq_ignore_ascii_case(token)) && elements.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;

    #[test]
    fn connection_options_accumulate_over_several_headers() {
        let mut fields = FramingFields::default();
        assert!(!fields.persistent(Version::Http10) && fields.persistent(Version::Http11));
        assert_eq!(fields.observe("CONNECTION", b"Upgrade, Keep-Alive"), Ok(true));
        assert!(fields.persistent(Version::Http10));
        assert_eq!(fields.observe("Connection", b", ,CLOSE"), Ok(true));
        assert!(!fields.persistent(Version::Http10) && !fields.persistent(Version::Http11));
        assert_eq!(fields.observe("Date", b"close"), Ok(false));
    }
}
