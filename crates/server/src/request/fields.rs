//! Headers of a request that only some servers look at.

use std::fmt;

use super::target::Target;

/// The first value of each header, as Go's `Header.Get` takes it. Bounded by the limit of a head.
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
    /// The beginning of the request's body, as much of it as a stand-in looks at.
    pub(crate) body: Vec<u8>,
    noted: bool,
}

/// Only whether there are any: some are secrets.
impl fmt::Debug for RequestFields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RequestFields").field("noted", &self.noted).finish_non_exhaustive()
    }
}

impl RequestFields {
    /// Keeps a header: `If-Range` always, others when they are `wanted`.
    #[inline]
    pub(crate) fn note(&mut self, wanted: bool, name: &[u8], value: &[u8]) {
        if wanted || (name.len() == 8 && name.eq_ignore_ascii_case(b"if-range")) {
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
            _ => return,
        };
        place.get_or_insert_with(|| value.into());
        self.noted = true;
    }

    /// Keeps a piece of the body, up to `most` bytes in all.
    #[inline]
    pub(crate) fn note_body(&mut self, most: usize, piece: &[u8]) {
        let room = most.saturating_sub(self.body.len());
        if room > 0 {
            self.body.extend_from_slice(&piece[..piece.len().min(room)]);
            self.noted = true;
        }
    }

    /// Forgets all, for the next request.
    #[inline]
    pub(crate) fn clear(&mut self) {
        if self.noted {
            *self = Self::default();
        }
    }
}

/// The elements of a list in a header, without their parameters, and these (`name=value`, blanks cut off).
pub(crate) fn elements(list: &[u8]) -> impl Iterator<Item = (&str, Vec<(&str, &str)>)> {
    let list = str::from_utf8(list).unwrap_or("");
    list.split(',').map(|element| {
        let mut parts = element.split(';').map(str::trim);
        let value = parts.next().unwrap_or("");
        let pairs = parts.filter_map(|part| part.split_once('=')).map(|(name, value)| (name.trim(), value.trim()));
        (value, pairs.collect())
    })
}

/// The value of a query's first parameter of that name, percent-encoded.
pub(crate) fn parameter<'a>(target: Target<'a>, name: &str) -> Option<&'a str> {
    let mut pairs = target.query?.split('&').filter_map(|pair| pair.split_once('='));
    pairs.find(|(found, _)| *found == name).map(|(_, value)| value)
}

/// The weight of a list's element: `q`, 1 without one, 0 for one that is no number.
pub(crate) fn weight(parameters: &[(&str, &str)]) -> f64 {
    let weight = parameters.iter().find(|(name, _)| name.eq_ignore_ascii_case("q"));
    weight.map_or(1.0, |(_, value)| value.parse().unwrap_or(0.0))
}
