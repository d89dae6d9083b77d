//! The reader of a manifest.

use super::FillError;
use super::manifest_writer::{
    ENTRIES, FORMAT, FRAME_ENTRIES_MAX, FileEntry, HEADER, MAGIC, ManifestSummary, PATH_BYTES_MAX, Summing, TRAILER,
};
use crate::error::{StoreError, StoreErrorKind};
use crate::frames::{DamageKind, FrameReader, Next};
use crate::journal::{Fields, Malformed};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The reader of a manifest. Returns the files in their order and keeps one frame in memory. For a damaged or
/// incomplete manifest, the last item is an error.
pub struct ManifestReader<R> {
    path: PathBuf,
    frames: FrameReader<R>,
    /// Files of the current frame in reverse order.
    files: Vec<FileEntry>,
    /// Path of the last file of the previous frame.
    last: Vec<u8>,
    summing: Summing,
    state: State,
    expected_digest: Option<[u8; 32]>,
}

#[derive(Clone, Copy)]
enum State {
    BeforeHeader,
    InEntries,
    Complete(ManifestSummary),
    Failed,
}

/// The content of a frame.
pub(super) enum Frame {
    Header { format: u32 },
    Entries(Vec<FileEntry>),
    Trailer(ManifestSummary),
}

impl ManifestReader<File> {
    /// Opens the manifest with this path. `expected_digest` is the digest in the identity of the fill, if known.
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub fn open(path: &Path, expected_digest: Option<[u8; 32]>) -> Result<Self, StoreError> {
        let file = File::open(path).map_err(|error| StoreError::new(path, error))?;
        Ok(Self { path: path.to_owned(), expected_digest, ..Self::new(file) })
    }
}

impl<R: Read> ManifestReader<R> {
    /// Creates a reader of any input.
    #[must_use]
    pub fn new(input: R) -> Self {
        Self {
            path: PathBuf::new(),
            frames: FrameReader::new(input),
            files: Vec::new(),
            last: Vec::new(),
            summing: Summing::default(),
            state: State::BeforeHeader,
            expected_digest: None,
        }
    }

    /// Returns the sums over all entries. `None` until the last entry was read.
    #[must_use]
    pub fn summary(&self) -> Option<ManifestSummary> {
        match self.state {
            State::Complete(summary) => Some(summary),
            State::BeforeHeader | State::InEntries | State::Failed => None,
        }
    }

    /// Checks the next frame. Returns its position and its number of files, or `None` at the end.
    pub(super) fn skip_frame(&mut self) -> Result<Option<(u64, u64)>, StoreError> {
        let at_byte = self.frames.at_byte();
        let more = self.advance().map_err(|kind| StoreError::new(&self.path, kind))?;
        let count = self.files.len() as u64;
        self.files.clear();
        Ok(more.then_some((at_byte, count)))
    }

    /// Reads the next frame. Returns `false` at the end.
    fn advance(&mut self) -> Result<bool, StoreErrorKind> {
        let frame = match self.frames.next()? {
            Next::Lines(bytes) => parse(bytes, &self.last),
            Next::End { torn_bytes: 0 } if matches!(self.state, State::Complete(_)) => return Ok(false),
            Next::End { .. } => Err(Malformed("the end of a list that is not complete")),
            Next::Damaged(damage) => {
                return Err(FillError::Damaged { at_byte: damage.at_byte, flaw: damage.kind.about() }.into());
            }
        };
        let flaw = match (frame, self.state) {
            (Ok(Frame::Header { format }), State::BeforeHeader) => {
                StoreErrorKind::check_format(format, FORMAT)?;
                self.state = State::InEntries;
                return Ok(true);
            }
            (Ok(Frame::Entries(files)), State::InEntries) => {
                self.keep(files);
                return Ok(true);
            }
            (Ok(Frame::Trailer(summary)), State::InEntries) if summary == self.summing.sum() => {
                if self.expected_digest.is_some_and(|expected| expected != summary.digest) {
                    return Err(FillError::OtherFill.into());
                }
                self.state = State::Complete(summary);
                return Ok(true);
            }
            (Ok(Frame::Trailer(_)), State::InEntries) => "sums that differ from those of the files",
            (Ok(_), _) => "a frame at a wrong position",
            (Err(Malformed(flaw)), _) => flaw,
        };
        let at_byte = self.frames.damage(DamageKind::Record)?.at_byte;
        Err(FillError::Damaged { at_byte, flaw }.into())
    }

    fn keep(&mut self, mut files: Vec<FileEntry>) {
        for FileEntry { path, bytes, modified_nanos } in &files {
            self.summing.add(path, *bytes, *modified_nanos);
        }
        if let Some(last) = files.last() {
            self.last.clone_from(&last.path);
        }
        files.reverse();
        self.files = files;
    }
}

impl<R: Read> Iterator for ManifestReader<R> {
    type Item = Result<FileEntry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.files.is_empty() && !matches!(self.state, State::Failed) {
            match self.advance() {
                Ok(true) => {}
                Ok(false) => return None,
                Err(kind) => {
                    self.state = State::Failed;
                    return Some(Err(StoreError::new(&self.path, kind)));
                }
            }
        }
        self.files.pop().map(Ok)
    }
}

/// Parses a frame. All paths must sort after `last`.
pub(super) fn parse(bytes: &[u8], last: &[u8]) -> Result<Frame, Malformed> {
    let mut fields = Fields::new(bytes);
    let frame = match fields.number()? {
        HEADER => {
            if fields.bytes(MAGIC.len())? != MAGIC {
                return Err(Malformed("not the header of a list of files"));
            }
            // Another version may have more fields.
            return Ok(Frame::Header { format: fields.u32()? });
        }
        ENTRIES => entries(&mut fields, last)?,
        TRAILER => {
            let (files, bytes) = (fields.number()?, fields.number()?);
            let digest = fields.array().ok_or(Malformed("a digest that is cut off"))?;
            Frame::Trailer(ManifestSummary { files, bytes, digest })
        }
        _ => return Err(Malformed("a frame of an unknown type")),
    };
    fields.end()?;
    Ok(frame)
}

fn entries(fields: &mut Fields<'_>, last: &[u8]) -> Result<Frame, Malformed> {
    let count = fields.count(FRAME_ENTRIES_MAX)?;
    let mut files = Vec::<FileEntry>::with_capacity(count);
    for _ in 0..count {
        let before = files.last().map_or(&[][..], |file| &file.path);
        let shared = usize::try_from(fields.number()?).ok().and_then(|shared| before.get(..shared));
        let rest = fields.bytes(PATH_BYTES_MAX)?;
        let path = [shared.ok_or(Malformed("a path with a wrong shared length"))?, rest].concat();
        if FileEntry::flaw(&path).is_some() {
            return Err(Malformed("a path that is not valid"));
        }
        if path.as_slice() <= files.last().map_or(last, |file| &file.path) {
            return Err(Malformed("a path that is not in ascending order"));
        }
        files.push(FileEntry { path, bytes: fields.number()?, modified_nanos: fields.signed()? });
    }
    Ok(Frame::Entries(files))
}

#[cfg(test)]
mod tests {
    use super::super::error::tests::fill_error;
    use super::super::manifest_writer::ManifestWriter;
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn write(path: &Path, files: &[FileEntry]) -> ManifestSummary {
        let _ = fs::remove_file(path);
        let mut writer = ManifestWriter::create(path).unwrap();
        files.iter().for_each(|file| writer.add(file).unwrap());
        assert!(!path.exists(), "an incomplete list has no name");
        writer.finish().unwrap()
    }

    fn file(path: impl Into<Vec<u8>>) -> FileEntry {
        FileEntry { path: path.into(), bytes: 5, modified_nanos: -1 }
    }

    fn many(count: usize) -> Vec<FileEntry> {
        (0..count).map(|number| file(format!("photos/{:03}/{number:08}.jpg", number / 1000))).collect()
    }

    #[test]
    fn a_list_round_trips_over_many_frames() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("files.zst");
        for count in [0, 1, FRAME_ENTRIES_MAX, 3 * FRAME_ENTRIES_MAX + 1] {
            let files = many(count);
            let summary = write(&path, &files);
            assert_eq!((summary.files, summary.bytes), (count as u64, count as u64 * 5));
            let mut reader = ManifestReader::open(&path, Some(summary.digest)).unwrap();
            let read: Vec<_> = reader.by_ref().collect::<Result<_, _>>().unwrap();
            assert_eq!((read, reader.summary()), (files, Some(summary)));
        }
        assert!(fs::metadata(&path).unwrap().len() < 20 * 3 * FRAME_ENTRIES_MAX as u64);
        let last = ManifestReader::open(&path, Some([0; 32])).unwrap().last().unwrap();
        assert!(matches!(fill_error(last.unwrap_err()), FillError::OtherFill));
    }

    #[test]
    fn every_truncation_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("files.zst");
        let files = many(FRAME_ENTRIES_MAX + 10);
        write(&path, &files);
        let bytes = fs::read(&path).unwrap();
        for len in (0..bytes.len()).filter(|len| len % 97 == 0 || len + 300 > bytes.len()) {
            let items: Vec<_> = ManifestReader::new(&bytes[..len]).collect();
            let (last, before) = items.split_last().unwrap();
            assert!(last.is_err() && before.iter().all(Result::is_ok), "{len} bytes");
        }
        let twice = [bytes.as_slice(), &bytes].concat();
        let last = ManifestReader::new(twice.as_slice()).last().unwrap().unwrap_err();
        let expected = FillError::Damaged { at_byte: bytes.len() as u64, flaw: "a frame at a wrong position" };
        assert_eq!(fill_error(last).to_string(), expected.to_string());
    }

    #[test]
    fn changed_entries_with_a_valid_checksum_are_found() {
        let pack = |frames: &[&[u8]]| -> Vec<u8> {
            frames.iter().flat_map(|frame| zstd::bulk::compress(frame, 1).unwrap()).collect()
        };
        let header = [&[0, 10][..], MAGIC, &[1]].concat();
        let entry = [1, 1, 0, 1, b'a', 0, 0];
        let mut summing = Summing::default();
        summing.add(b"a", 0, 0);
        let trailer = [&[2, 1, 0][..], &summing.sum().digest].concat();
        let read = |frames: &[&[u8]]| -> Result<Vec<_>, String> {
            ManifestReader::new(pack(frames).as_slice()).map(|file| file.map_err(|error| error.to_string())).collect()
        };
        assert_eq!(read(&[&header, &entry, &trailer]).unwrap().len(), 1);
        for (frames, reason) in [
            (vec![&header[..], &[1, 1, 0, 1, b'b', 0, 0], &trailer], "sums that differ"),
            (vec![&header, &entry, &entry, &trailer], "not in ascending order"),
            (vec![&header, &[1, 1, 0, 1, b'/', 0, 0], &trailer], "a path that is not valid"),
            (vec![&header, &[1, 1, 9, 1, b'a', 0, 0], &trailer], "wrong shared length"),
            (vec![&header, &[9], &trailer], "unknown type"),
            (vec![&entry, &trailer], "wrong position"),
            (vec![&header, &entry], "not complete"),
            (vec![&[0, 10, b'x'], &entry], "cut off"),
            (vec![&[0, 1, b'x', 1], &entry], "not the header of a list"),
            (vec![&[&header[..12], &[7, 7]].concat(), &entry, &trailer], "format 7"),
        ] {
            let error = read(&frames).unwrap_err();
            assert!(error.contains(reason), "{reason}: {error}");
        }
    }

    #[test]
    fn paths_outside_of_the_tree_and_out_of_order_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let mut writer = ManifestWriter::create(&dir.path().join("files.zst")).unwrap();
        writer.add(&file("b")).unwrap();
        let long = vec![b'x'; PATH_BYTES_MAX + 1];
        for path in [&b""[..], b"/etc/passwd", b"c/../../x", b"c/./x", b"c//x", b"c/", b"c\0", b"a", b"b", &long] {
            let error = fill_error(writer.add(&file(path)).unwrap_err());
            assert!(matches!(error, FillError::BadPath { .. }), "{error}");
        }
        writer.add(&file(&b"c/\xFF\n"[..])).unwrap();
        writer.add(&file(&long[1..])).unwrap();
        assert_eq!(writer.finish().unwrap().files, 3);
    }

    proptest! {
        #[test]
        fn random_files_round_trip(
            paths in prop::collection::btree_set("[a-c/]{1,6}".prop_map(String::into_bytes), 0..60),
            (bytes, modified_nanos) in any::<(u64, i64)>(),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("files.zst");
            let paths = paths.into_iter().filter(|path| FileEntry::flaw(path).is_none());
            let files: Vec<_> = paths.map(|path| FileEntry { path, bytes, modified_nanos }).collect();
            let summary = write(&path, &files);
            let read = ManifestReader::open(&path, Some(summary.digest)).unwrap().collect::<Result<Vec<_>, _>>();
            prop_assert_eq!(read.unwrap(), files);
        }

        #[test]
        fn random_damage_is_found(place in any::<prop::sample::Index>(), flip in 1_u8..) {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("files.zst");
            write(&path, &many(50));
            let mut bytes = fs::read(&path).unwrap();
            *place.get_mut(&mut bytes) ^= flip;
            let items: Vec<_> = ManifestReader::new(bytes.as_slice()).collect();
            // A frame header has unused bits, so some changes have no effect.
            if items.iter().all(Result::is_ok) {
                prop_assert!(items.into_iter().map(Result::unwrap).eq(many(50)));
            }
        }
    }
}
