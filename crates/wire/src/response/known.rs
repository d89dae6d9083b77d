//! The last head of a connection, kept so that the same bytes need no parsing when they come again.
//!
//! Answers to the same request differ in little, and within one second of `Date` often in nothing. What the same bytes
//! say is the same, so that comparing them replaces parsing, which is the greater part of what a small answer costs.

use super::{Head, RequestKind};

/// Longer heads are parsed each time: this bounds what a connection keeps.
const BYTES_MAX: usize = 1024;
/// So are heads with more fields.
const FIELDS_MAX: usize = 32;

/// A final head that came in one piece.
#[derive(Debug)]
pub(super) struct Known {
    kind: RequestKind,
    head: Head,
    /// From the first byte to the empty line.
    bytes: Vec<u8>,
    fields: Vec<Field>,
}

/// Where name and value of a field begin in a head, and how long they are.
#[derive(Clone, Copy, Debug, Default)]
struct Field {
    name: (u16, u16),
    value: (u16, u16),
}

/// The fields of a head that is being parsed.
#[derive(Debug, Default)]
pub(super) struct Fields {
    places: [Field; FIELDS_MAX],
    /// How many there are, also where there is no place for them.
    count: usize,
}

impl Fields {
    /// Notes a field of a head that begins with `bytes`, of which name and value are parts.
    #[inline]
    pub fn note(&mut self, bytes: &[u8], name: &[u8], value: &[u8]) {
        if let Some(field) = self.places.get_mut(self.count) {
            *field = Field { name: place(bytes, name), value: place(bytes, value) };
        }
        self.count += 1;
    }
}

/// Where a part of `bytes` stands. Wrong beyond [`BYTES_MAX`], where nothing is kept.
#[inline]
fn place(bytes: &[u8], part: &[u8]) -> (u16, u16) {
    (part.as_ptr().addr().wrapping_sub(bytes.as_ptr().addr()) as u16, part.len() as u16)
}

/// The part of `bytes` that stands there.
#[inline]
fn part(bytes: &[u8], (start, length): (u16, u16)) -> &[u8] {
    &bytes[usize::from(start)..][..usize::from(length)]
}

impl Known {
    /// Keeps a head that came with these bytes, in the place of an earlier one.
    pub fn keep(earlier: &mut Option<Box<Self>>, kind: RequestKind, bytes: &[u8], fields: &Fields, head: &Head) {
        let Some(fields) = fields.places.get(..fields.count).filter(|_| bytes.len() <= BYTES_MAX) else { return };
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

    /// How many bytes the head has, and what it says, when `input` begins with the same one. Calls `visit` with each
    /// field.
    #[inline]
    pub fn recall(
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
