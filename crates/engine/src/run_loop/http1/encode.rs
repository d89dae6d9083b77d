//! Requests as the text of HTTP/1.

use crate::run_loop::request::fields::Fields;
use wire::message::Version;

/// Parts of a request that are the same text for all requests of a kind.
#[derive(Debug)]
pub(in crate::run_loop) struct FixedHead {
    /// Method, space, and the prefix of the path.
    before_target: Box<[u8]>,
    /// The text from the space after the path to the last fixed field.
    after_target: Box<[u8]>,
}

impl FixedHead {
    /// Returns the text for these fields. `prefix` is the text before the path.
    pub fn new(method: &str, prefix: &str, version: Version, fields: &Fields) -> Self {
        let version = match version {
            Version::Http10 => "1.0",
            Version::Http11 | Version::Http2 => "1.1",
        };
        let request_line_end = format!(" HTTP/{version}\r\n");
        Self {
            before_target: format!("{method} {prefix}").into_bytes().into(),
            after_target: [request_line_end.as_bytes(), fields.lines()].concat().into(),
        }
    }

    /// Writes the head of a request into `out`, replacing its content.
    #[inline]
    pub fn write(&self, target: &str, fields: &Fields, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.before_target);
        out.extend_from_slice(target.as_bytes());
        out.extend_from_slice(&self.after_target);
        out.extend_from_slice(fields.lines());
        out.extend_from_slice(b"\r\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_has_fixed_fields_before_its_own() {
        let (mut fixed, mut own, mut out) = (Fields::default(), Fields::default(), b"replaced".to_vec());
        fixed.push("Host", b"a.test");
        let head = FixedHead::new("GET", "http://a.test", Version::Http10, &fixed);
        head.write("/b?c", &own, &mut out);
        assert_eq!(out, b"GET http://a.test/b?c HTTP/1.0\r\nHost: a.test\r\n\r\n");
        own.push("Range", b"bytes=0-1");
        FixedHead::new("GET", "", Version::Http11, &fixed).write("/", &own, &mut out);
        assert_eq!(out, b"GET / HTTP/1.1\r\nHost: a.test\r\nRange: bytes=0-1\r\n\r\n");
    }
}
