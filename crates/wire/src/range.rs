//! Byte ranges (RFC 9110 §14): the `Range` header of requests and the `Content-Range` header of responses.

use std::fmt;

use crate::decimal::{parse_u64, write_u64};
use crate::framing_fields::elements;

/// A non-empty slice of an object from `first` to `last`, both included. `last` is below 2⁶⁴−1, so the length fits into
/// 64 bits too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ByteRange {
    first: u64,
    last: u64,
}

impl ByteRange {
    /// Returns the range from `first` to `last`, both included. `None` if it is empty or `last` is 2⁶⁴−1.
    pub fn new(first: u64, last: u64) -> Option<Self> {
        (first <= last && last < u64::MAX).then_some(Self { first, last })
    }

    /// Returns the range of `length` bytes that starts at `first`. `None` if it is empty or its end is not below 2⁶⁴−1.
    pub fn of_length(first: u64, length: u64) -> Option<Self> {
        Self::new(first, first.checked_add(length.checked_sub(1)?)?)
    }

    /// Returns the offset of the first byte.
    pub fn first(self) -> u64 {
        self.first
    }

    /// Returns the offset of the last byte of the range.
    pub fn last(self) -> u64 {
        self.last
    }

    /// Returns the length, at least 1.
    #[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
    pub fn len(self) -> u64 {
        self.last - self.first + 1
    }

    /// Returns the part of this range within an object of `size` bytes. `None` if the whole range is beyond the object.
    pub fn within(self, size: u64) -> Option<Self> {
        Self::new(self.first, self.last.min(size.checked_sub(1)?))
    }

    /// Appends the value of a `Range` header for this range: `bytes=first-last`. Does not allocate if `out` has capacity
    /// for 47 more bytes.
    pub fn write_to(self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"bytes=");
        write_u64(self.first, out);
        out.push(b'-');
        write_u64(self.last, out);
    }

    /// Parses `first-last`.
    fn parse(text: &[u8]) -> Option<Self> {
        let (first, last) = split_once(text, b'-')?;
        Self::new(parse_u64(first)?, parse_u64(last)?)
    }
}

/// Displays the value of a `Range` header: `bytes=first-last`.
impl fmt::Display for ByteRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bytes={}-{}", self.first, self.last)
    }
}

/// The value of a `Content-Range` header. The constructors ensure that at least one of the fields is present.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct ContentRange {
    /// The range in the body. `None` if no range could be satisfied (`bytes */100`).
    pub range: Option<ByteRange>,
    /// The size of the whole object, which is larger than the last offset in `range`. `None` if it is unknown (`bytes
    /// 0-9/*`).
    pub complete: Option<u64>,
}

impl ContentRange {
    /// Creates the value for a body that contains `range` of an object with `complete` bytes. `None` if the range ends
    /// beyond the object.
    pub fn of(range: ByteRange, complete: Option<u64>) -> Option<Self> {
        let fits = complete.is_none_or(|complete| range.last < complete);
        fits.then_some(Self { range: Some(range), complete })
    }

    /// Creates the value for a range that lies outside an object of `complete` bytes.
    pub fn unsatisfied(complete: u64) -> Self {
        Self { range: None, complete: Some(complete) }
    }

    /// Parses `bytes 0-9/100`, `bytes 0-9/*` or `bytes */100`. `None` for anything else.
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (unit, rest) = split_once(value.trim_ascii(), b' ')?;
        if !unit.eq_ignore_ascii_case(b"bytes") {
            return None;
        }
        let (range, complete) = split_once(rest.trim_ascii_start(), b'/')?;
        let complete = if complete == b"*" { None } else { Some(parse_u64(complete)?) };
        if range == b"*" { complete.map(Self::unsatisfied) } else { Self::of(ByteRange::parse(range)?, complete) }
    }
}

impl fmt::Display for ContentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes ")?;
        match self.range {
            Some(ByteRange { first, last }) => write!(f, "{first}-{last}/")?,
            None => f.write_str("*/")?,
        }
        match self.complete {
            Some(complete) => write!(f, "{complete}"),
            None => f.write_str("*"),
        }
    }
}

/// Maximum number of ranges in a request.
pub const MAX_RANGES: usize = 64;

/// One requested range, before the size of the object is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RangeSpec {
    /// `first-last`, both included. If `last` is beyond the end of the object, the range includes the rest of the
    /// object.
    Between(ByteRange),
    /// `first-`: from this offset to the end.
    From(u64),
    /// `-length`: the last `length` bytes.
    Suffix(u64),
}

impl RangeSpec {
    fn parse(text: &[u8]) -> Option<Self> {
        let (first, last) = split_once(text, b'-')?;
        match (first.is_empty(), last.is_empty()) {
            (false, false) => ByteRange::parse(text).map(Self::Between),
            (false, true) => parse_u64(first).map(Self::From),
            (true, false) => parse_u64(last).map(Self::Suffix),
            (true, true) => None,
        }
    }

    fn resolve(self, total: u64) -> Option<ByteRange> {
        let end = total.checked_sub(1)?;
        match self {
            Self::Between(range) => ByteRange::new(range.first, range.last.min(end)),
            Self::From(first) => ByteRange::new(first, end),
            Self::Suffix(0) => None,
            Self::Suffix(length) => ByteRange::new(total.saturating_sub(length), end),
        }
    }
}

/// The value of a `Range` header: 1 to [`MAX_RANGES`] ranges.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RangeRequest {
    specs: Box<[RangeSpec]>,
}

/// Result of applying a [`RangeRequest`] to an object of known size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Resolved {
    /// The ranges within the object, in the requested order. There is at least one range, and ranges may overlap.
    Satisfiable(Vec<ByteRange>),
    /// No range lies within the object. The server responds with 416.
    Unsatisfiable,
}

impl RangeRequest {
    /// Parses `bytes=` and a list of `first-last`, `first-` and `-length`. `None` for anything else, and for more than
    /// [`MAX_RANGES`] ranges. A server ignores such a header (RFC 9110 §14.2).
    pub fn parse(value: &[u8]) -> Option<Self> {
        let (unit, list) = split_once(value.trim_ascii(), b'=')?;
        if !unit.eq_ignore_ascii_case(b"bytes") {
            return None;
        }
        let specs: Vec<RangeSpec> =
            elements(list).take(MAX_RANGES + 1).map(RangeSpec::parse).collect::<Option<Vec<_>>>()?;
        (!specs.is_empty() && specs.len() <= MAX_RANGES).then(|| Self { specs: specs.into() })
    }

    /// Returns the requested ranges, at least one.
    pub fn specs(&self) -> &[RangeSpec] {
        &self.specs
    }

    /// Applies the request to an object of `total` bytes.
    pub fn resolve(&self, total: u64) -> Resolved {
        let ranges: Vec<ByteRange> = self.specs.iter().filter_map(|spec| spec.resolve(total)).collect();
        if ranges.is_empty() { Resolved::Unsatisfiable } else { Resolved::Satisfiable(ranges) }
    }
}

fn split_once(text: &[u8], separator: u8) -> Option<(&[u8], &[u8])> {
    let at = text.iter().position(|byte| *byte == separator)?;
    Some((&text[..at], &text[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn range(first: u64, last: u64) -> ByteRange {
        ByteRange::new(first, last).unwrap()
    }

    #[test]
    fn a_range_is_never_empty_and_its_length_fits() {
        assert_eq!(ByteRange::new(1, 0), None);
        assert_eq!(ByteRange::new(0, u64::MAX), None);
        assert_eq!(range(0, u64::MAX - 1).len(), u64::MAX);
        assert_eq!(ByteRange::of_length(5, 0), None);
        assert_eq!(ByteRange::of_length(5, 3), Some(range(5, 7)));
        assert_eq!(ByteRange::of_length(2, u64::MAX), None);
    }

    #[test]
    fn content_range_accepts_three_forms_only() {
        let parse = |text: &str| ContentRange::parse(text.as_bytes());
        assert_eq!(parse("bytes 0-9/100"), ContentRange::of(range(0, 9), Some(100)));
        assert_eq!(parse("BYTES  0-9/*"), ContentRange::of(range(0, 9), None));
        assert_eq!(parse("bytes */100"), Some(ContentRange::unsatisfied(100)));
        let bad =
            ["", "bytes", "bytes 0-9", "bytes */*", "bytes 9-0/100", "bytes 0-9/9", "bytes=0-9/100", "items 0-9/100"];
        let worse = ["bytes 0-9/-1", "bytes -9/100", "bytes 0-/100", "bytes 0-9/18446744073709551616", "bytes +0-9/10"];
        for text in bad.into_iter().chain(worse) {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn requests_resolve_against_the_size() {
        let resolve = |text: &str, total| RangeRequest::parse(text.as_bytes()).unwrap().resolve(total);
        assert_eq!(resolve("bytes=0-9", 100), Resolved::Satisfiable(vec![range(0, 9)]));
        assert_eq!(resolve("bytes=90-200", 100), Resolved::Satisfiable(vec![range(90, 99)]));
        assert_eq!(resolve("bytes=90-", 100), Resolved::Satisfiable(vec![range(90, 99)]));
        assert_eq!(resolve("bytes=-10", 100), Resolved::Satisfiable(vec![range(90, 99)]));
        assert_eq!(resolve("bytes=-1000", 100), Resolved::Satisfiable(vec![range(0, 99)]));
        assert_eq!(resolve("Bytes= 0-0 , 100-, -1", 100), Resolved::Satisfiable(vec![range(0, 0), range(99, 99)]));
        for unsatisfiable in ["bytes=100-", "bytes=100-200", "bytes=-0"] {
            assert_eq!(resolve(unsatisfiable, 100), Resolved::Unsatisfiable, "{unsatisfiable}");
        }
        assert_eq!(resolve("bytes=0-", 0), Resolved::Unsatisfiable);
        for bad in ["", "bytes", "bytes=", "bytes=-", "bytes=a-b", "bytes=5-2", "items=0-1", "bytes=0-1;2-3"] {
            assert_eq!(RangeRequest::parse(bad.as_bytes()), None, "{bad}");
        }
        let many = |count: usize| format!("bytes={}", vec!["0-1"; count].join(","));
        assert!(RangeRequest::parse(many(MAX_RANGES).as_bytes()).is_some());
        assert_eq!(RangeRequest::parse(many(MAX_RANGES + 1).as_bytes()), None);
    }

    fn any_range() -> impl Strategy<Value = ByteRange> {
        (0..u64::MAX, 0..u64::MAX).prop_map(|(a, b)| range(a.min(b), a.max(b)))
    }

    proptest! {
        #[test]
        fn content_range_round_trips(range in any_range(), rest in any::<Option<u64>>()) {
            let complete = rest.map(|rest| range.last().saturating_add(1).saturating_add(rest));
            let written = ContentRange::of(range, complete).unwrap();
            prop_assert_eq!(ContentRange::parse(written.to_string().as_bytes()), Some(written));
            let unsatisfied = ContentRange::unsatisfied(range.first());
            prop_assert_eq!(ContentRange::parse(unsatisfied.to_string().as_bytes()), Some(unsatisfied));
        }

        #[test]
        fn a_server_parses_the_range_that_a_client_writes(range in any_range()) {
            let mut written = Vec::with_capacity(47);
            range.write_to(&mut written);
            prop_assert_eq!(written.capacity(), 47);
            let shown = range.to_string();
            prop_assert_eq!(written.as_slice(), shown.as_bytes());
            let read = RangeRequest::parse(&written).unwrap();
            prop_assert_eq!(read.resolve(u64::MAX), Resolved::Satisfiable(vec![range]));
        }

        #[test]
        fn resolved_ranges_lie_in_the_object(text in "bytes=[0-9,-]{1,30}", total in 0..200_u64) {
            if let Some(Resolved::Satisfiable(ranges)) =
                RangeRequest::parse(text.as_bytes()).map(|request| request.resolve(total))
            {
                prop_assert!(!ranges.is_empty());
                prop_assert!(ranges.iter().all(|range| range.last() < total));
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
            if let Some(parsed) = ContentRange::parse(&bytes) {
                prop_assert_eq!(ContentRange::parse(parsed.to_string().as_bytes()), Some(parsed));
            }
            let _ = RangeRequest::parse(&bytes);
        }
    }
}
