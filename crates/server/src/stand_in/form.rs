//! Form values, looked up like Go's `FormValue`: first in a form in the body, then in the query.

use percent_encoding::percent_decode;

use crate::request::target::Target;

/// The values of a request.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form<'a> {
    body: &'a [u8],
    query: &'a [u8],
}

impl<'a> Form<'a> {
    pub(super) fn of_request(target: Target<'a>, body: &'a [u8]) -> Self {
        Self { body, query: target.query.unwrap_or_default().as_bytes() }
    }

    /// Returns the first value with this name; empty if there is none.
    pub(super) fn value(self, name: &str) -> String {
        let find = |text: &'a [u8]| {
            let mut pairs =
                text.split(|byte| *byte == b'&').map(|pair| match pair.iter().position(|byte| *byte == b'=') {
                    Some(at) => (&pair[..at], &pair[at + 1..]),
                    None => (pair, &[][..]),
                });
            pairs.find(|(found, _)| decoded(found) == name).map(|(_, value)| decoded(value))
        };
        find(self.body).or_else(|| find(self.query)).unwrap_or_default()
    }

    /// Returns the number with this name. `None` if there is no such value, and an error if it is not a number.
    pub(super) fn number<T: std::str::FromStr>(self, name: &str) -> Result<Option<T>, T::Err> {
        let value = self.value(name);
        if value.is_empty() { Ok(None) } else { value.parse().map(Some) }
    }
}

/// Decodes percent-encoded text. Plus signs become spaces.
fn decoded(text: &[u8]) -> String {
    let spaced: Vec<u8> = text.iter().map(|byte| if *byte == b'+' { b' ' } else { *byte }).collect();
    percent_decode(&spaced).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_body_comes_before_the_query() {
        let target = Target { path: "/", query: Some("a=1&b=%2Fx+y&c&b=2") };
        let form = Form::of_request(target, b"a=2&d=3");
        assert_eq!(["a", "b", "c", "d", "e"].map(|name| form.value(name)), ["2", "/x y", "", "3", ""]);
        assert_eq!(form.number::<u64>("d"), Ok(Some(3)));
        assert_eq!(form.number::<u64>("e"), Ok(None));
        assert!(form.number::<u64>("b").is_err());
    }
}
