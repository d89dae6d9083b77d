//! Objects in doubt. Such an object is reserved in the journal, but its upload was not acknowledged. The next step for
//! the object depends on what the target has stored of it.

use std::collections::BTreeMap;
use std::num::NonZeroU64;

/// The state of the object at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// The target does not have the object.
    Missing,
    /// The target has an object with this name.
    Found {
        /// Size in bytes, if reported.
        size: Option<u64>,
        /// `true` if the checksum matches; `None` if the target does not report a comparable checksum.
        checksum: Option<bool>,
    },
}

/// A stored part of an open multipart upload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredPart {
    /// Part number, starting at 1.
    pub number: u32,
    /// Size in bytes.
    pub size: u64,
    /// ETag of the part, required to complete the upload.
    pub etag: Box<str>,
}

/// An open multipart upload of the object at the target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenUpload {
    /// The ID of the upload, assigned by the target.
    pub id: Box<str>,
    /// The stored parts.
    pub parts: Vec<StoredPart>,
    /// `true` if an earlier session may have asked the target to complete the upload.
    pub may_be_complete: bool,
}

/// The next step for an object in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// Do nothing, because the target has the whole object. The object then counts as acknowledged.
    Recovered,
    /// Send the missing parts of an open upload.
    Resume(OpenUpload),
    /// Upload the object again from the first byte.
    Restart,
}

/// The decision about an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The next step.
    pub next: Next,
    /// IDs of open uploads to abort because they are no longer needed.
    pub abort: Vec<Box<str>>,
}

/// Sizes of an object and of its parts.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Size in bytes.
    pub size: u64,
    /// Size of each part except the last; `None` for an upload in one request.
    pub part_bytes: Option<NonZeroU64>,
}

impl Shape {
    /// Returns the size of part `number`; `None` if there is no such part. The first part has number 1.
    #[must_use]
    pub fn part_size(self, number: u32) -> Option<u64> {
        let part_bytes = self.part_bytes?.get();
        let offset = u64::from(number.checked_sub(1)?).checked_mul(part_bytes)?;
        // An empty object has one empty part.
        (offset < self.size || (number == 1 && self.size == 0)).then(|| part_bytes.min(self.size - offset))
    }

    /// Returns whether these parts, given by their numbers and sizes, cover the whole object. If so, an earlier session
    /// may have asked the target to complete the upload. A fill makes this request only after the target has confirmed
    /// all parts.
    #[must_use]
    pub fn is_covered_by(self, sizes: &BTreeMap<u32, u64>) -> bool {
        let mut parts = (1..).map_while(|number| Some((number, self.part_size(number)?)));
        self.part_bytes.is_some() && parts.all(|(number, size)| sizes.get(&number) == Some(&size))
    }

    /// Keeps the parts that have the expected size. The fill sends the other parts again, which replaces them.
    fn usable(self, upload: OpenUpload) -> OpenUpload {
        let fits = |part: &StoredPart| self.part_size(part.number) == Some(part.size);
        let mut parts: Vec<StoredPart> = upload.parts.into_iter().filter(fits).collect();
        parts.sort_by_key(|part| part.number);
        parts.dedup_by_key(|part| part.number);
        OpenUpload { parts, ..upload }
    }
}

/// Decides the next step for an object in doubt.
#[must_use]
pub fn decide(shape: Shape, stored: Stored, uploads: Vec<OpenUpload>) -> Decision {
    let all = |uploads: Vec<OpenUpload>| uploads.into_iter().map(|upload| upload.id).collect();
    if is_whole(shape, stored) {
        return Decision { next: Next::Recovered, abort: all(uploads) };
    }
    // An upload that contains a part beyond the end of the object cannot be completed, because the stored object would
    // include this part.
    let has_foreign = |upload: &OpenUpload| upload.parts.iter().any(|part| shape.part_size(part.number).is_none());
    let (foreign, own): (Vec<_>, Vec<_>) = uploads.into_iter().partition(has_foreign);
    let mut own: Vec<OpenUpload> = own.into_iter().map(|upload| shape.usable(upload)).collect();
    own.sort_by_key(|upload| upload.parts.iter().map(|part| part.size).sum::<u64>());
    let best = if shape.part_bytes.is_some() { own.pop() } else { None };
    let next = best.map_or(Next::Restart, Next::Resume);
    own.extend(foreign);
    Decision { next, abort: all(own) }
}

/// Returns whether the target has the whole object.
fn is_whole(shape: Shape, stored: Stored) -> bool {
    match stored {
        Stored::Missing
        | Stored::Found { checksum: Some(false), .. }
        | Stored::Found { size: None, checksum: None } => false,
        Stored::Found { size: None, checksum: Some(true) } => true,
        Stored::Found { size: Some(size), .. } => size == shape.size,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn shape(size: u64) -> Shape {
        Shape { size, part_bytes: NonZeroU64::new(5 * MIB) }
    }

    fn part(number: u32, size: u64) -> StoredPart {
        StoredPart { number, size, etag: format!("e{number}").into() }
    }

    fn upload(id: &str, parts: &[(u32, u64)]) -> OpenUpload {
        let parts = parts.iter().map(|(number, size)| part(*number, *size)).collect();
        OpenUpload { id: id.into(), parts, may_be_complete: false }
    }

    fn found(size: u64, checksum: Option<bool>) -> Stored {
        Stored::Found { size: Some(size), checksum }
    }

    #[test]
    fn a_whole_object_is_recovered_and_its_uploads_are_aborted() {
        let decision = decide(shape(12), found(12, None), vec![upload("a", &[])]);
        assert_eq!(decision, Decision { next: Next::Recovered, abort: vec!["a".into()] });
        for stored in
            [found(11, None), found(12, Some(false)), Stored::Missing, Stored::Found { size: None, checksum: None }]
        {
            assert_eq!(decide(shape(12), stored, vec![]).next, Next::Restart, "{stored:?}");
        }
    }

    #[test]
    fn the_upload_with_most_bytes_goes_on() {
        let one = upload("one", &[(1, 5 * MIB)]);
        let two = upload("two", &[(3, MIB), (1, 5 * MIB)]);
        let decision = decide(shape(11 * MIB), Stored::Missing, vec![two.clone(), one]);
        assert_eq!(decision.abort, ["one".into()]);
        let Next::Resume(resumed) = decision.next else { panic!("{decision:?}") };
        assert_eq!(resumed.parts.iter().map(|part| part.number).collect::<Vec<_>>(), [1, 3]);
    }

    #[test]
    fn torn_and_foreign_parts_are_not_used() {
        let torn = upload("torn", &[(1, 4 * MIB), (2, 5 * MIB)]);
        let Next::Resume(resumed) = decide(shape(11 * MIB), Stored::Missing, vec![torn]).next else { panic!() };
        assert_eq!(resumed.parts, [part(2, 5 * MIB)]);
        let beyond = upload("beyond", &[(1, 5 * MIB), (4, 5 * MIB)]);
        let decision = decide(shape(11 * MIB), Stored::Missing, vec![beyond]);
        assert_eq!(decision, Decision { next: Next::Restart, abort: vec!["beyond".into()] });
    }

    #[test]
    fn an_upload_in_one_request_resumes_nothing() {
        let whole = Shape { size: 11 * MIB, part_bytes: None };
        let decision = decide(whole, Stored::Missing, vec![upload("a", &[(1, 5 * MIB)])]);
        assert_eq!(decision, Decision { next: Next::Restart, abort: vec!["a".into()] });
    }

    #[test]
    fn an_upload_can_only_be_complete_if_it_has_all_parts() {
        let covered = |size, parts: &[(u32, u64)]| shape(size).is_covered_by(&parts.iter().copied().collect());
        assert!(covered(11 * MIB, &[(1, 5 * MIB), (2, 5 * MIB), (3, MIB)]));
        assert!(!covered(11 * MIB, &[(1, 5 * MIB), (3, MIB)]));
        assert!(!covered(11 * MIB, &[(1, 5 * MIB), (2, 5 * MIB), (3, 2 * MIB)]));
        assert!(covered(0, &[(1, 0)]) && !covered(0, &[]));
        assert!(!Shape { size: 0, part_bytes: None }.is_covered_by(&BTreeMap::new()));
    }

    #[test]
    fn empty_objects_have_one_part() {
        let Next::Resume(resumed) = decide(shape(0), Stored::Missing, vec![upload("a", &[(1, 0)])]).next else {
            panic!()
        };
        assert_eq!(resumed.parts.len(), 1);
    }
}
