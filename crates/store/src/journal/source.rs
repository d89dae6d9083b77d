//! Files of segments in one or more directories.

use super::segment::{Header, HeaderFlaw};
use crate::error::{StoreError, StoreErrorKind};
use crate::fill_directory::FillError;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Maximum number of segments. Each start of the command and each 64 MiB of records add a segment.
const SEGMENTS_MAX: usize = 1_000_000;

/// A segment that can be read several times.
pub(crate) struct Source<'a> {
    pub(crate) path: PathBuf,
    pub(crate) number: u64,
    pub(crate) bytes: u64,
    input: Input<'a>,
}

enum Input<'a> {
    File,
    Memory(&'a [u8]),
}

impl<'a> Source<'a> {
    /// Creates a segment from its bytes.
    pub(crate) fn from_bytes(path: &Path, number: u64, bytes: &'a [u8]) -> Self {
        Self { path: path.to_owned(), number, bytes: bytes.len() as u64, input: Input::Memory(bytes) }
    }

    /// Opens the segment at an offset. The reader ends at the initial size, even if a session appends to the segment in
    /// the meantime.
    pub(crate) fn open(&self, at_byte: u64) -> Result<Box<dyn Read + '_>, StoreError> {
        let left = self.bytes.saturating_sub(at_byte);
        match self.input {
            Input::File => {
                let opened = File::open(&self.path).and_then(|mut file| {
                    file.seek(SeekFrom::Start(at_byte))?;
                    Ok(file)
                });
                Ok(Box::new(opened.map_err(|error| self.error(error))?.take(left)))
            }
            Input::Memory(bytes) => {
                let start = usize::try_from(at_byte).map_or(bytes.len(), |at| at.min(bytes.len()));
                Ok(Box::new(&bytes[start..]))
            }
        }
    }

    /// Reads the header.
    pub(crate) fn header(&self) -> Result<Result<Header, HeaderFlaw>, StoreError> {
        Header::read(self.open(0)?).map_err(|error| self.error(error))
    }

    pub(crate) fn error(&self, kind: impl Into<StoreErrorKind>) -> StoreError {
        StoreError::new(&self.path, kind)
    }

    pub(crate) fn damaged(&self, at_byte: u64, flaw: &'static str) -> StoreError {
        self.error(FillError::Damaged { at_byte, flaw })
    }
}

/// Returns the path of a segment.
pub(crate) fn segment_path(directory: &Path, number: u64) -> PathBuf {
    directory.join(format!("{number:06}.wal"))
}

/// Finds the segments in these directories and returns them in ascending order. Ignores missing directories.
pub(crate) fn sources_in(directories: &[&Path]) -> Result<Vec<Source<'static>>, StoreError> {
    let mut named = Vec::new();
    for directory in directories {
        let failed = |error: io::Error| StoreError::new(directory, error);
        let entries = match fs::read_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let Some(number) = entry.file_name().to_str().and_then(number_of) else { continue };
            if named.len() >= SEGMENTS_MAX {
                return Err(StoreError::new(directory, FillError::TooManySegments { limit: SEGMENTS_MAX }));
            }
            named.push((number, entry.path()));
        }
    }
    // A session may be writing at this moment. A segment reaches its final size before the next segment has any
    // records. The sizes of later segments are therefore read first. If a later segment has records, the sizes of all
    // earlier segments are then final.
    named.sort_by(|a, b| b.cmp(a));
    let mut sources = Vec::with_capacity(named.len());
    for (number, path) in named {
        let metadata = match fs::metadata(&path) {
            // Another session has removed the segment in the meantime, because it had no records.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata.map_err(|error| StoreError::new(&path, error))?,
        };
        if !metadata.is_file() {
            return Err(StoreError::new(&path, StoreErrorKind::NotAFile));
        }
        sources.push(Source { path, number, bytes: metadata.len(), input: Input::File });
    }
    sort(sources)
}

/// Sorts segments by number.
pub(crate) fn sort(mut sources: Vec<Source<'_>>) -> Result<Vec<Source<'_>>, StoreError> {
    sources.sort_by_key(|source| source.number);
    match sources.windows(2).find(|pair| pair[0].number == pair[1].number) {
        Some([_, twice]) => Err(twice.error(FillError::DuplicateSegment)),
        _ => Ok(sources),
    }
}

/// Returns the number in the name of a segment, for example 12 for `000012.wal`. `None` for other files.
fn number_of(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".wal")?;
    let number = digits.parse().ok().filter(|number| *number > 0)?;
    (digits == format!("{number:06}")).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_recognized_by_their_names() {
        let dir = tempfile::tempdir().unwrap();
        for name in
            ["000002.wal", "1000000.wal", "000010.wal", "2.wal", "000000.wal", "+00001.wal", "000003.wal.new", "lock"]
        {
            fs::write(dir.path().join(name), name).unwrap();
        }
        let sources = sources_in(&[dir.path(), Path::new("/nowhere/at/all")]).unwrap();
        let numbers: Vec<u64> = sources.iter().map(|source| source.number).collect();
        assert_eq!(numbers, [2, 10, 1_000_000]);
        assert!(sources.iter().all(|source| source.path == segment_path(dir.path(), source.number)));
        let Err(error) = sources_in(&[dir.path(), dir.path()]) else { panic!("accepted") };
        assert!(error.to_string().contains("000002.wal: another directory has a segment"), "{error}");
    }
}
