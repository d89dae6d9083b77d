//! The canonical request: a normalized form of a request as text. Client and server both compute it.
//!
//! For S3, the path is percent-encoded once and not normalized further, because `a//b` and `a/../b` are distinct keys.

use crate::percent::{self, Space};
use std::ops::Range;

/// Maximum number of headers that a signature covers. The value equals the maximum number of headers in a head.
pub const MAX_SIGNED_HEADERS: usize = crate::MAX_HEADERS;

/// The parts of a request that the signature covers.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The method as in the request line.
    pub method: &'a str,
    /// The request target up to the question mark, in any percent-encoding.
    pub path: &'a str,
    /// The request target after the question mark. Empty if there is none.
    pub query: &'a str,
    /// Header names in any case, with values as sent. For signing, these are the headers to sign, including `Host`. For
    /// verification, these are all headers of the request.
    pub headers: &'a [(&'a str, &'a [u8])],
}

/// The signed headers. Sort them before writing.
pub(super) struct SignedHeaders<'a> {
    list: [(&'a str, &'a [u8]); MAX_SIGNED_HEADERS],
    count: usize,
}

/// The error for more than [`MAX_SIGNED_HEADERS`] signed headers.
pub(super) struct TooMany;

impl<'a> SignedHeaders<'a> {
    pub(super) fn new() -> Self {
        Self { list: [("", &[]); MAX_SIGNED_HEADERS], count: 0 }
    }

    pub(super) fn push(&mut self, name: &'a str, value: &'a [u8]) -> Result<(), TooMany> {
        *self.list.get_mut(self.count).ok_or(TooMany)? = (name, value);
        self.count += 1;
        Ok(())
    }

    /// Sorts the headers by name. Headers of the same name keep their order.
    pub(super) fn sort(&mut self) {
        let lower = |name: &'a str| name.bytes().map(|byte| byte.to_ascii_lowercase());
        self.list[..self.count].sort_by(|(one, _), (other, _)| lower(one).cmp(lower(other)));
    }

    /// Appends `name:value` lines. Values of the same name are joined by commas.
    fn write_lines(&self, out: &mut Vec<u8>) {
        for (at, (name, value)) in self.list[..self.count].iter().enumerate() {
            if self.repeats(at) {
                // Continue the line of the previous header, which has the same name.
                out.pop();
                out.push(b',');
            } else {
                out.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
                out.push(b':');
            }
            push_value(value, out);
            out.push(b'\n');
        }
    }

    /// Appends the lower-case names, joined by semicolons.
    pub(super) fn write_names(&self, out: &mut Vec<u8>) {
        for (at, (name, _)) in self.list[..self.count].iter().enumerate().filter(|(at, _)| !self.repeats(*at)) {
            if at > 0 {
                out.push(b';');
            }
            out.extend(name.bytes().map(|byte| byte.to_ascii_lowercase()));
        }
    }

    fn repeats(&self, at: usize) -> bool {
        at > 0 && self.list[at - 1].0.eq_ignore_ascii_case(self.list[at].0)
    }
}

/// Appends a header's value, trimmed and with consecutive spaces reduced to one.
fn push_value(value: &[u8], out: &mut Vec<u8>) {
    let mut words = value.trim_ascii().split(|byte| *byte == b' ').filter(|word| !word.is_empty());
    if let Some(first) = words.next() {
        out.extend_from_slice(first);
    }
    for word in words {
        out.push(b' ');
        out.extend_from_slice(word);
    }
}

/// The parameters of a query in canonical form.
#[derive(Debug, Clone, Default)]
pub(super) struct Parameters {
    text: Vec<u8>,
    /// Positions of name and value of each parameter in `text`.
    spans: Vec<(Range<usize>, Range<usize>)>,
}

impl Parameters {
    pub(super) fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    /// Adds the parameters of a query as sent, except those that `skip` selects by their encoded names.
    pub(super) fn push_query(&mut self, query: &str, skip: impl Fn(&str) -> bool) {
        for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
            let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
            if !skip(name) {
                self.push_with(
                    |out| percent::push_canonical(name, Space::PlusOrPercent, out),
                    |out| percent::push_canonical(value, Space::PlusOrPercent, out),
                );
            }
        }
    }

    /// Adds an unencoded parameter.
    pub(super) fn push_plain(&mut self, name: &str, value: &[u8]) {
        self.push_with(|out| percent::push_parameter(name.as_bytes(), out), |out| percent::push_parameter(value, out));
    }

    fn push_with(&mut self, name: impl FnOnce(&mut Vec<u8>), value: impl FnOnce(&mut Vec<u8>)) {
        let start = self.text.len();
        name(&mut self.text);
        let middle = self.text.len();
        value(&mut self.text);
        self.spans.push((start..middle, middle..self.text.len()));
    }

    /// Appends all parameters, sorted by encoded name and then by encoded value.
    pub(super) fn write_sorted(&mut self, out: &mut Vec<u8>) {
        let text = &self.text;
        let key = |(name, value): &(Range<usize>, Range<usize>)| (name.clone(), value.clone());
        self.spans.sort_by(|one, other| {
            let ((name, value), (other_name, other_value)) = (key(one), key(other));
            (&text[name], &text[value]).cmp(&(&text[other_name], &text[other_value]))
        });
        for (at, (name, value)) in self.spans.iter().enumerate() {
            if at > 0 {
                out.push(b'&');
            }
            out.extend_from_slice(&text[name.clone()]);
            out.push(b'=');
            out.extend_from_slice(&text[value.clone()]);
        }
    }
}

/// Appends the canonical request. `payload` is the value of `x-amz-content-sha256`.
pub(super) fn write(
    request: &Request,
    parameters: &mut Parameters,
    headers: &SignedHeaders,
    payload: &[u8],
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(request.method.as_bytes());
    out.push(b'\n');
    push_path(request.path, out);
    out.push(b'\n');
    parameters.write_sorted(out);
    out.push(b'\n');
    headers.write_lines(out);
    out.push(b'\n');
    headers.write_names(out);
    out.push(b'\n');
    out.extend_from_slice(payload);
}

fn push_path(path: &str, out: &mut Vec<u8>) {
    if path.is_empty() {
        out.push(b'/');
    }
    for (at, segment) in path.split('/').enumerate() {
        if at > 0 {
            out.push(b'/');
        }
        percent::push_canonical(segment, Space::Percent, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn canonical(path: &str, query: &str, headers: &[(&str, &str)]) -> String {
        let mut parameters = Parameters::default();
        parameters.push_query(query, |name| name == "skip");
        let mut signed = SignedHeaders::new();
        for (name, value) in headers {
            assert!(signed.push(name, value.as_bytes()).is_ok());
        }
        signed.sort();
        let mut out = Vec::new();
        let request = Request { method: "GET", path, query, headers: &[] };
        write(&request, &mut parameters, &signed, b"HASH", &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn paths_are_encoded_once_and_keep_their_segments() {
        let path = |path: &str| canonical(path, "", &[]).lines().nth(1).unwrap().to_owned();
        assert_eq!(path(""), "/");
        assert_eq!(path("/"), "/");
        assert_eq!(path("/a//b/../c/."), "/a//b/../c/.");
        assert_eq!(path("/test$file.text"), "/test%24file.text");
        assert_eq!(path("/test%24file.text"), "/test%24file.text");
        assert_eq!(path("/a%2fb+c%20d"), "/a%2Fb%2Bc%20d");
    }

    #[test]
    fn parameters_are_sorted_by_name_and_then_value() {
        let query = |query: &str| canonical("/", query, &[]).lines().nth(2).unwrap().to_owned();
        assert_eq!(query("lifecycle"), "lifecycle=");
        assert_eq!(query("b=2&a=10&a=1&skip=x&a-=0"), "a=1&a=10&a-=0&b=2");
        assert_eq!(query("prefix=a+b/c&max-keys=2&&x=="), "max-keys=2&prefix=a%20b%2Fc&x=%3D");
        assert_eq!(query("B=1&a=1&%61=0"), "B=1&a=0&a=1");
    }

    #[test]
    fn headers_are_lower_cased_sorted_trimmed_and_joined() {
        let text = canonical("/", "", &[("X-B", " two   words "), ("Host", "h"), ("x-b", "again"), ("X-A", "")]);
        assert_eq!(text, "GET\n/\n\nhost:h\nx-a:\nx-b:two words,again\n\nhost;x-a;x-b\nHASH");
    }

    #[test]
    fn the_number_of_signed_headers_is_limited() {
        let mut signed = SignedHeaders::new();
        for _ in 0..MAX_SIGNED_HEADERS {
            assert!(signed.push("a", b"").is_ok());
        }
        assert!(signed.push("a", b"").is_err());
    }
}
