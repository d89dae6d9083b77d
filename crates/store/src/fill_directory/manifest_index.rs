//! Random access to the files of a manifest.

use super::FillError;
use super::manifest_reader::{Frame, ManifestReader, parse};
use super::manifest_writer::{FileEntry, ManifestSummary};
use crate::error::StoreError;
use crate::frames::{FrameReader, Next};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// The positions of all frames of a manifest. Takes 16 bytes per 4096 files.
#[derive(Debug)]
pub struct ManifestIndex {
    path: PathBuf,
    file: File,
    frames: Vec<FramePosition>,
    summary: ManifestSummary,
}

#[derive(Clone, Copy, Debug)]
struct FramePosition {
    /// Number of the first file.
    first: u64,
    at_byte: u64,
}

/// Consecutive files of a manifest, at most [`super::FRAME_ENTRIES_MAX`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRange {
    first: u64,
    files: Vec<FileEntry>,
}

impl FileRange {
    /// Returns the file with this number, if the range contains it.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<&FileEntry> {
        self.files.get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }
}

impl ManifestIndex {
    /// Opens the manifest with this path and checks its whole content. `expected_digest` is the digest in the identity
    /// of the fill, if known.
    ///
    /// # Errors
    /// Fails with [`FillError::Damaged`] for a damaged or incomplete manifest, with [`FillError::OtherFill`], with
    /// [`StoreErrorKind::Format`](crate::StoreErrorKind::Format) for another version, or with an error of the system.
    pub fn open(path: &Path, expected_digest: Option<[u8; 32]>) -> Result<Self, StoreError> {
        let mut reader = ManifestReader::open(path, expected_digest)?;
        let (mut frames, mut first) = (Vec::new(), 0);
        while let Some((at_byte, count)) = reader.skip_frame()? {
            if count > 0 {
                frames.push(FramePosition { first, at_byte });
                first += count;
            }
        }
        let summary = reader.summary().expect("the reader ends with the sums or an error");
        let file = File::open(path).map_err(|error| StoreError::new(path, error))?;
        Ok(Self { path: path.to_owned(), file, frames, summary })
    }

    /// Returns the sums over all files.
    #[must_use]
    pub fn summary(&self) -> ManifestSummary {
        self.summary
    }

    /// Reads the entry with this number and its neighbors. Returns `None` if the manifest has fewer entries.
    ///
    /// # Errors
    /// Fails with [`FillError::Damaged`] if the manifest has changed since it was opened, or with an error of the
    /// system.
    pub fn read(&self, number: u64) -> Result<Option<FileRange>, StoreError> {
        if number >= self.summary.files {
            return Ok(None);
        }
        let after = self.frames.partition_point(|frame| frame.first <= number);
        let FramePosition { first, at_byte } = self.frames[after - 1];
        let mut reader = FrameReader::new(At { file: &self.file, at_byte });
        let files = match reader.next().map_err(|error| StoreError::new(&self.path, error))? {
            Next::Lines(bytes) => parse(bytes, &[]).ok(),
            Next::End { .. } | Next::Damaged(_) => None,
        };
        match files {
            Some(Frame::Entries(files)) if number - first < files.len() as u64 => Ok(Some(FileRange { first, files })),
            _ => {
                let flaw = "a list of files that has changed since it was opened";
                Err(StoreError::new(&self.path, FillError::Damaged { at_byte, flaw }))
            }
        }
    }
}

/// A reader that starts at an offset. The reader does not move the cursor of the file.
struct At<'a> {
    file: &'a File,
    at_byte: u64,
}

impl Read for At<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buf, self.at_byte)?;
        self.at_byte += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::super::manifest_writer::{FRAME_ENTRIES_MAX, ManifestWriter};
    use super::*;

    #[test]
    fn each_file_is_found_by_its_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("files.zst");
        let files: Vec<_> = (0..2 * FRAME_ENTRIES_MAX as u64 + 5)
            .map(|number| FileEntry { path: format!("{number:08}").into(), bytes: number, modified_nanos: 0 })
            .collect();
        let mut writer = ManifestWriter::create(&path).unwrap();
        files.iter().for_each(|file| writer.add(file).unwrap());
        let summary = writer.finish().unwrap();

        let index = ManifestIndex::open(&path, Some(summary.digest)).unwrap();
        assert_eq!((index.summary(), index.frames.len()), (summary, 3));
        for number in [0, 1, 4095, 4096, 5000, 8191, 8192, 8196] {
            let range = index.read(number).unwrap().unwrap();
            assert_eq!(range.get(number), Some(&files[number as usize]));
            assert_eq!(range.get(number % 4096 + 4096 * 3), None);
            assert_eq!(range.get(range.first), Some(&files[range.first as usize]));
        }
        assert_eq!(index.read(8197).unwrap(), None);
        assert!(ManifestIndex::open(&path, Some([1; 32])).is_err());

        let bytes = std::fs::read(&path).unwrap();
        std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
        assert!(ManifestIndex::open(&path, None).is_err(), "incomplete");
        assert!(index.read(8196).unwrap_err().to_string().contains("has changed since it was opened"));
    }

    #[test]
    fn an_empty_tree_has_no_files() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("files.zst");
        ManifestWriter::create(&path).unwrap().finish().unwrap();
        assert_eq!(ManifestIndex::open(&path, None).unwrap().read(0).unwrap(), None);
    }
}
