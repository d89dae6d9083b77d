//! Header fields that only some kinds of servers read.

use std::fmt;

use super::target::Target;

/// The first value of each field, as Go's `Header.Get` returns it. The size of these values is limited by the maximum
/// size of a request head.
#[derive(Default)]
pub(crate) struct RequestFields {
    pub(crate) if_range: Option<Box<[u8]>>,
    pub(crate) if_none_match: Option<Box<[u8]>>,
    pub(crate) if_modified_since: Option<Box<[u8]>>,
    pub(crate) accept: Option<Box<[u8]>>,
    pub(crate) accept_encoding: Option<Box<[u8]>>,
    pub(crate) cache_control: Option<Box<[u8]>>,
    pub(crate) range: Option<Box<[u8]>>,
    pub(crate) authorization: Option<Box<[u8]>>,
    pub(crate) cookie: Option<Box<[u8]>>,
    pub(crate) requested_with: Option<Box<[u8]>>,
    pub(crate) user_agent: Option<Box<[u8]>>,
    /// The beginning of the request body, up to the length that a stand-in reads.
    pub(crate) body: Vec<u8>,
    noted: bool,
}

/// Shows only whether there are any fields, because some fields contain secrets.
impl fmt::Debug for RequestFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestFields").field("noted", &self.noted).finish_non_exhaustive()
    }
}

impl RequestFields {
    /// Keeps a field if it is `If-Range`, or if `keep_all` is set and the field is known.
    #[inline]
    pub(crate) fn note(&mut self, keep_all: bool, name: &[u8], value: &[u8]) {
        if keep_all || (name.len() == 8 && name.eq_ignore_ascii_case(b"if-range")) {
            self.keep(name, value);
        }
    }

    fn keep(&mut self, name: &[u8], value: &[u8]) {
        let place = match name.to_ascii_lowercase().as_slice() {
            b"if-range" => &mut self.if_range,
            b"if-none-match" => &mut self.if_none_match,
            b"if-modified-since" => &mut self.if_modified_since,
            b"accept" => &mut self.accept,
            b"accept-encoding" => &mut self.accept_encoding,
            b"cache-control" => &mut self.cache_control,
            b"range" => &mut self.range,
            b"authorization" => &mut self.authorization,
            b"cookie" => &mut self.cookie,
            b"x-requested-with" => &mut self.requested_with,
            b"user-agent" => &mut self.user_agent,
            _ => return,
        };
        place.get_or_insert_with(|| value.into());
        self.noted = true;
    }

    /// Keeps a piece of the body, up to `most` bytes in total.
    #[inline]
    pub(crate) fn note_body(&mut self, most: usize, piece: &[u8]) {
        let room = most.saturating_sub(self.body.len());
        if room > 0 {
            self.body.extend_from_slice(&piece[..piece.len().min(room)]);
            self.noted = true;
        }
    }

    /// Clears all fields before the next request.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if self.noted {
            *self = Self::default();
        }
    }
}

/// Splits the comma-separated list of a header field into its elements, each with its parameters (trimmed `name=value`
/// pairs).
pub(crate) fn elements(list: &[u8]) -> impl Iterator<Item = (&str, Vec<(&str, &str)>)> {
    let list = str::from_utf8(list).unwrap_or("");
    list.split(',').map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let value = parts.next().unwrap_or("");
        let pairs = parts.filter_map(|part| part.split_once('=')).map(|(name, value)| (name.trim(), value.trim()));
        (value, pairs.collect())
    })
}

/// Returns the value, still percent-encoded, of the first query parameter with this name.
pub(crate) fn parameter<'a>(target: Target<'a>, name: &str) -> Option<&'a str> {
    let mut pairs = target.query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// Returns the weight (`q`) in the parameters of a list element. Returns 1 if there is no weight, and 0 if the weight
/// is not a number.
pub(crate) fn weight(parameters: &[(&str, &str)]) -> f64 {
    let weight = parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case("q"));
    weight.map_or(1.0, |(_, value)| value.parse().unwrap_or(0.0))
}
