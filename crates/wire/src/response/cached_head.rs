//! Cache of the last head of a connection. An identical head needs no parsing.
//!
//! Responses to the same request differ little, and heads with the same `Date` are often identical. Parsing the head is
//! most of the cost of a small response. Comparing its bytes with an earlier head is cheaper.

use super::{Head, RequestKind};

/// Maximum size of a cached head, which limits the memory per connection. Longer heads are always parsed.
const MAX_BYTES: usize = 1024;
/// Maximum number of fields of a cached head.
const MAX_FIELDS: usize = 32;

/// A final head that arrived in one piece.
#[derive(Debug)]
pub(super) struct CachedHead {
    kind: RequestKind,
    head: Head,
    /// All bytes of the head, including the empty line at its end.
    bytes: Vec<u8>,
    fields: Vec<FieldSpan>,
}

/// Offset and length of the name and the value of a field in a head.
#[derive(Clone, Copy, Debug, Default)]
struct FieldSpan {
    name: (u16, u16),
    value: (u16, u16),
}

/// The positions of the fields of a head that is being parsed.
#[derive(Debug, Default)]
pub(super) struct FieldSpans {
    spans: [FieldSpan; MAX_FIELDS],
    /// Number of fields, including those that do not fit into `spans`.
    count: usize,
}

impl FieldSpans {
    /// Records a field of the head `bytes`. `name` and `value` are slices of `bytes`.
    #[inline]
    pub fn record(&mut self, bytes: &[u8], name: &[u8], value: &[u8]) {
        if let Some(field) = self.spans.get_mut(self.count) {
            *field = FieldSpan { name: span(bytes, name), value: span(bytes, value) };
        }
        self.count += 1;
    }
}

/// Returns offset and length of `part`, a slice of `bytes`. The result is wrong for heads above [`MAX_BYTES`], but these
/// are not cached.
#[inline]
fn span(bytes: &[u8], part: &[u8]) -> (u16, u16) {
    (part.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr()) as u16, part.len() as u16)
}

/// Returns the slice of `bytes` at this offset and length.
#[inline]
fn part(bytes: &[u8], (start, length): (u16, u16)) -> &[u8] {
    &bytes[usize::from(start)..][..usize::from(length)]
}

impl CachedHead {
    /// Stores a head and its bytes, replacing an earlier one.
    pub fn store(earlier: &mut Option<Box<Self>>, kind: RequestKind, bytes: &[u8], fields: &FieldSpans, head: &Head) {
        let Some(fields) = fields.spans.get(..fields.count).filter(|_| bytes.len() <= MAX_BYTES) else { return };
        match earlier {
            Some(known) => {
                (known.kind, known.head) = (kind, head.clone());
                known.bytes.clear();
                known.bytes.extend_from_slice(bytes);
                known.fields.clear();
                known.fields.extend_from_slice(fields);
            }
            None => {
                let (bytes, fields) = (bytes.to_vec(), fields.to_vec());
                *earlier = Some(Box::new(Self { kind, head: head.clone(), bytes, fields }));
            }
        }
    }

    /// If `input` begins with the cached head, calls `visit` with each field, and returns the length and content of the
    /// head.
    #[inline]
    pub fn match_input(
        &self,
        kind: RequestKind,
        input: &[u8],
        visit: &mut impl FnMut(&[u8], &[u8]),
    ) -> Option<(usize, Head)> {
        if kind != self.kind || !input.starts_with(&self.bytes) {
            return None;
        }
        self.fields.iter().for_each(|field| visit(part(&self.bytes, field.name), part(&self.bytes, field.value)));
        Some((self.bytes.len(), self.head.clone()))
    }
}
