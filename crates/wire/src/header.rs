//! Request headers from the user. Headers are validated when they are parsed, so no value can contain a second line.
//! The module also decides which headers are secrets.

use std::fmt;
use std::str::FromStr;

/// Maximum size of a header line from the user.
pub const MAX_HEADER_LINE_BYTES: usize = 16 * 1024;

/// An invalid header line. Messages never repeat the line, which may contain a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum HeaderError {
    /// There is no colon.
    #[error("the header has no colon: write \"Name: value\"")]
    NoColon,
    /// The name is empty or not a token.
    #[error("the header's name is not valid: use letters, digits and !#$%&'*+-.^_`|~, and no space before the colon")]
    BadName,
    /// The value contains a control character other than the tab.
    #[error("the header's value contains a line break or another control character: write it on one line")]
    BadValue,
    /// The line is longer than [`MAX_HEADER_LINE_BYTES`].
    #[error("the header is longer than 16 KiB")]
    TooLong,
}

/// A header's name, which is a token (RFC 9110 §5.6.2). A name keeps its case, but comparisons ignore case.
#[derive(Debug, Clone)]
pub struct HeaderName(Box<str>);

/// A header, cookie or query parameter is a secret if its name contains one of these parts (in lower case). Some
/// harmless names also contain these parts, but hiding too much does less harm than showing a secret.
const SECRET_PARTS: [&str; 10] =
    ["auth", "cookie", "credential", "key", "passphrase", "passw", "secret", "session", "signature", "token"];
/// A header, cookie or query parameter is also a secret if its whole name is in this list. These names are too short to
/// be searched for inside other names.
const SECRET_NAMES: [&str; 4] = ["jwt", "pwd", "sid", "sig"];

/// Returns whether the value of a header or query parameter with this name must not be shown or stored.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    SECRET_NAMES.contains(&lower.as_str()) || SECRET_PARTS.iter().any(|part| lower.contains(part))
}

impl HeaderName {
    /// Parses a name.
    pub fn parse(text: &str) -> Result<Self, HeaderError> {
        if text.len() > MAX_HEADER_LINE_BYTES {
            Err(HeaderError::TooLong)
        } else if text.is_empty() || !text.bytes().all(is_token_byte) {
            Err(HeaderError::BadName)
        } else {
            Ok(Self(text.into()))
        }
    }

    /// Returns the name in its original case.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns whether this is `name`, ignoring case.
    pub fn is(&self, name: &str) -> bool {
        self.0.eq_ignore_ascii_case(name)
    }

    /// Returns whether the value of a header with this name must not be shown or stored.
    pub fn is_secret(&self) -> bool {
        is_secret_name(&self.0)
    }
}

impl PartialEq for HeaderName {
    fn eq(&self, other: &Self) -> bool {
        self.is(&other.0)
    }
}

impl Eq for HeaderName {}

impl fmt::Display for HeaderName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A header's value: trimmed text without control characters other than tabs. The value may be a secret, so `Debug`
/// shows only its length.
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderValue {
    text: Box<str>,
    secret: bool,
}

impl HeaderValue {
    /// Parses a value and trims it.
    pub fn parse(text: &str) -> Result<Self, HeaderError> {
        let text = text.trim_matches([' ', '\t']);
        if text.len() > MAX_HEADER_LINE_BYTES {
            Err(HeaderError::TooLong)
        } else if text.bytes().any(|byte| (byte < b' ' && byte != b'\t') || byte == 0x7f) {
            Err(HeaderError::BadValue)
        } else {
            Ok(Self { text: text.into(), secret: false })
        }
    }

    /// Marks the value as a secret regardless of its name. Callers use this for values from files or the environment,
    /// which are usually secrets.
    #[must_use]
    pub fn into_secret(self) -> Self {
        Self { secret: true, ..self }
    }

    /// Returns the value. Check [`Header::is_secret`] before you show it.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for HeaderValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeaderValue({} bytes)", self.text.len())
    }
}

/// A header to send. Displayed as `Name: value`, or `Name: (hidden)` when it is a secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// The name.
    pub name: HeaderName,
    /// The value.
    pub value: HeaderValue,
}

impl Header {
    /// Parses `Name: value`. The value may be empty.
    pub fn parse(line: &str) -> Result<Self, HeaderError> {
        if line.len() > MAX_HEADER_LINE_BYTES {
            return Err(HeaderError::TooLong);
        }
        let (name, value) = line.split_once(':').ok_or(HeaderError::NoColon)?;
        Ok(Self { name: HeaderName::parse(name)?, value: HeaderValue::parse(value)? })
    }

    /// Returns whether the value must not be shown or stored.
    pub fn is_secret(&self) -> bool {
        self.name.is_secret() || self.value.secret
    }

    /// Appends the line as it is sent, including the line ending.
    pub fn write_to(&self, out: &mut Vec<u8>) {
        for part in [self.name.as_str(), ": ", self.value.as_str(), "\r\n"] {
            out.extend_from_slice(part.as_bytes());
        }
    }
}

impl fmt::Display for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = if self.is_secret() { "(hidden)" } else { self.value.as_str() };
        write!(f, "{}: {shown}", self.name)
    }
}

impl FromStr for Header {
    type Err = HeaderError;

    fn from_str(line: &str) -> Result<Self, HeaderError> {
        Self::parse(line)
    }
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_split_at_the_first_colon() {
        let header = Header::parse("X-Time:\t 12:30 \t").unwrap();
        assert_eq!((header.name.as_str(), header.value.as_str()), ("X-Time", "12:30"));
        assert_eq!(header.name, HeaderName::parse("x-time").unwrap());
        let mut sent = Vec::new();
        header.write_to(&mut sent);
        assert_eq!(sent, b"X-Time: 12:30\r\n");
        assert_eq!(Header::parse("Empty:").unwrap().value.as_str(), "");
    }

    #[test]
    fn no_input_becomes_a_second_line() {
        let error = |line: &str| Header::parse(line).unwrap_err();
        assert_eq!(error("no colon"), HeaderError::NoColon);
        for line in [": x", "Na me: x", "Name : x", "N\u{e4}me: x", "Name\r\n: x", "\"Name\": x"] {
            assert_eq!(error(line), HeaderError::BadName, "{line:?}");
        }
        for line in ["Name: a\r\nEvil: b", "Name: a\nb", "Name: a\rb", "Name: a\0b", "Name: a\x7fb", "Name: a\n"] {
            assert_eq!(error(line), HeaderError::BadValue, "{line:?}");
        }
        assert_eq!(error(&format!("a:{}", "x".repeat(MAX_HEADER_LINE_BYTES))), HeaderError::TooLong);
    }

    #[test]
    fn secrets_are_recognized_and_hidden() {
        for name in
            ["AUTHORIZATION", "Proxy-Authorization", "Cookie", "X-Amz-Security-Token", "X-Api-Key", "Private-Token"]
        {
            let header = Header::parse(&format!("{name}: hunter2")).unwrap();
            assert!(header.is_secret(), "{name}");
            assert_eq!(header.to_string(), format!("{name}: (hidden)"));
            assert!(!format!("{header:?}").contains("hunter2"));
        }
        let plain = Header::parse("Accept: text/html").unwrap();
        assert!(!plain.is_secret());
        assert_eq!(plain.to_string(), "Accept: text/html");
    }

    proptest! {
        #[test]
        fn the_receiver_parses_an_accepted_header_as_one_line(line in "[!-~]{1,12}:[ -~\\t\u{80}-\u{2ff}]{0,40}") {
            if let Ok(header) = Header::parse(&line) {
                let mut sent = Vec::new();
                header.write_to(&mut sent);
                sent.extend_from_slice(b"\r\n");
                let mut buffer = [httparse::EMPTY_HEADER; 2];
                let parsed = httparse::parse_headers(&sent, &mut buffer);
                let Ok(httparse::Status::Complete((length, headers))) = parsed else {
                    return Err(TestCaseError::fail(format!("{line:?} is not one header: {parsed:?}")));
                };
                prop_assert_eq!((length, headers.len()), (sent.len(), 1));
                prop_assert_eq!(headers[0].name, header.name.as_str());
                prop_assert_eq!(headers[0].value, header.value.as_str().as_bytes());
            }
        }

        #[test]
        fn arbitrary_lines_never_panic_nor_keep_line_breaks(line in any::<String>()) {
            if let Ok(header) = Header::parse(&line) {
                prop_assert!(!header.value.as_str().contains(['\r', '\n', '\0']));
            }
        }
    }
}
