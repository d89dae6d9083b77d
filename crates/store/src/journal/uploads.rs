//! Multipart uploads that were neither completed nor aborted.

use std::collections::BTreeMap;

/// Maximum number of open uploads that are kept. The server can list the remaining uploads.
pub const OPEN_UPLOADS_MAX: usize = 65_536;
/// Maximum number of open uploads of one object that are kept.
const OF_ONE_OBJECT_MAX: usize = 100;

/// Multipart uploads that were neither completed nor aborted, by the number of their object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenUploads {
    /// Upload IDs in the order of their creation.
    by_number: BTreeMap<u64, Vec<String>>,
    len: usize,
    beyond: u64,
}

impl OpenUploads {
    /// Returns the upload IDs of an object in the order of their creation.
    #[must_use]
    pub fn of(&self, number: u64) -> &[String] {
        self.by_number.get(&number).map_or(&[], Vec::as_slice)
    }

    /// Returns the object number and upload ID of each open upload.
    pub fn iter(&self) -> impl Iterator<Item = (u64, &str)> {
        self.by_number.iter().flat_map(|(number, ids)| ids.iter().map(move |id| (*number, id.as_str())))
    }

    /// Returns the number of open uploads that are kept.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no open upload.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of uploads that are not kept. These uploads were created when there were already
    /// [`OPEN_UPLOADS_MAX`] open uploads, or too many open uploads of their object.
    #[must_use]
    pub fn beyond(&self) -> u64 {
        self.beyond
    }

    pub(crate) fn add(&mut self, number: u64, upload_id: &str) {
        if self.of(number).iter().any(|known| known == upload_id) {
            return;
        }
        if self.len >= OPEN_UPLOADS_MAX || self.of(number).len() >= OF_ONE_OBJECT_MAX {
            self.beyond += 1;
            return;
        }
        self.by_number.entry(number).or_default().push(upload_id.to_owned());
        self.len += 1;
    }

    pub(crate) fn remove(&mut self, number: u64, upload_id: &str) {
        let Some(ids) = self.by_number.get_mut(&number) else { return };
        if let Some(index) = ids.iter().position(|id| id == upload_id) {
            ids.remove(index);
            self.len -= 1;
        }
        if ids.is_empty() {
            self.by_number.remove(&number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_can_have_several_uploads() {
        let mut uploads = OpenUploads::default();
        for (number, id) in [(7, "a"), (7, "b"), (7, "b"), (3, "a")] {
            uploads.add(number, id);
        }
        uploads.remove(7, "c");
        uploads.remove(9, "a");
        assert_eq!(uploads.iter().collect::<Vec<_>>(), [(3, "a"), (7, "a"), (7, "b")]);
        uploads.remove(7, "a");
        assert_eq!((uploads.of(7), uploads.of(9), uploads.len()), (&["b".to_owned()][..], &[][..], 2));
        uploads.remove(7, "b");
        uploads.remove(3, "a");
        assert!(uploads.is_empty() && uploads.by_number.is_empty());
    }

    #[test]
    fn uploads_beyond_the_limit_are_counted() {
        let mut uploads = OpenUploads::default();
        (0..OPEN_UPLOADS_MAX as u64 + 3).for_each(|number| uploads.add(number, "x"));
        assert_eq!((uploads.len(), uploads.beyond()), (OPEN_UPLOADS_MAX, 3));

        let mut uploads = OpenUploads::default();
        (0..OF_ONE_OBJECT_MAX + 2).for_each(|index| uploads.add(1, &index.to_string()));
        assert_eq!((uploads.len(), uploads.beyond()), (OF_ONE_OBJECT_MAX, 2));
    }
}
