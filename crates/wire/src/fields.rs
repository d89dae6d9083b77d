//! The header fields that frame a message or decide about its connection, which both sides read alike.

/// `Content-Length`, `Transfer-Encoding` and `Connection`, as far as they have been seen.
#[derive(Debug, Default)]
pub(crate) struct Fields {
    pub(crate) length: Option<u64>,
    /// The same length was said more than once.
    pub(crate) duplicate_length: bool,
    pub(crate) chunked: bool,
    close: bool,
    keep_alive: bool,
}

/// A framing field that cannot be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldError {
    /// Not a number, or two different ones.
    ContentLength,
    /// Anything but one single "chunked": nothing else was asked for, and what is not understood has no known end.
    TransferEncoding,
}

impl Fields {
    /// Looks at one header; answers whether it was one of these.
    #[inline]
    pub(crate) fn observe(&mut self, name: &str, value: &[u8]) -> Result<bool, FieldError> {
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
                    return Err(FieldError::TransferEncoding);
                }
                self.chunked = true;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// A number, or a list of equal numbers, which is what a proxy makes of a repeated header (RFC 9110 §8.6).
    fn observe_length(&mut self, value: &[u8]) -> Result<(), FieldError> {
        for element in value.split(|byte| *byte == b',') {
            let length = parse_u64(element.trim_ascii()).ok_or(FieldError::ContentLength)?;
            match self.length {
                None => self.length = Some(length),
                Some(known) if known == length => self.duplicate_length = true,
                Some(_) => return Err(FieldError::ContentLength),
            }
        }
        Ok(())
    }

    /// Whether the sender will keep the connection open after this message (RFC 9112 §9.3).
    pub(crate) fn persistent(&self, version: crate::Version) -> bool {
        match version {
            crate::Version::Http10 => self.keep_alive && !self.close,
            // In HTTP/2 the field has no meaning, and is not sent (RFC 9113 §8.2.2).
            crate::Version::Http11 | crate::Version::Http2 => !self.close,
        }
    }
}

/// The elements of a comma-separated list, without empty ones and surrounding blanks.
pub(crate) fn elements(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii).filter(|element| !element.is_empty())
}

/// Whether a list is exactly this one token.
fn is_single(value: &[u8], token: &[u8]) -> bool {
    let mut elements = elements(value);
    elements.next().is_some_and(|first| first.eq_ignore_ascii_case(token)) && elements.next().is_none()
}

/// One or more decimal digits and nothing else.
pub(crate) fn parse_u64(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0_u64, |number, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit <= 9)?;
        number.checked_mul(10)?.checked_add(u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;

    #[test]
    fn numbers_are_digits_within_64_bits() {
        assert_eq!(parse_u64(b"0"), Some(0));
        assert_eq!(parse_u64(b"000018446744073709551615"), Some(u64::MAX));
        for bad in [&b""[..], b"18446744073709551616", b"-1", b"+1", b" 1", b"1 ", b"0x1", b"1e3", b"\xff"] {
            assert_eq!(parse_u64(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn connection_options_are_a_list_over_several_headers() {
        let mut fields = Fields::default();
        assert!(!fields.persistent(Version::Http10) && fields.persistent(Version::Http11));
        assert_eq!(fields.observe("CONNECTION", b"Upgrade, Keep-Alive"), Ok(true));
        assert!(fields.persistent(Version::Http10));
        assert_eq!(fields.observe("Connection", b", ,CLOSE"), Ok(true));
        assert!(!fields.persistent(Version::Http10) && !fields.persistent(Version::Http11));
        assert_eq!(fields.observe("Date", b"close"), Ok(false));
    }
}
