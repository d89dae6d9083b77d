//! Local files that are uploaded, once or as several copies.
//!
//! Each copy of a file is one object. The first copies of all files, in the order of their keys, have the lowest object
//! numbers. The second copies of all files follow, and so on. If a file changed during its upload, the uploaded object
//! would match neither the old nor the new file. The size and the modification time are therefore checked when a file
//! is opened, and again after it was read.

use std::error::Error;
use std::fmt::{self, Write};
use std::fs::{File, Metadata};
use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A local file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Key of the first copy, relative to the location.
    pub key: Box<str>,
    /// Size in bytes.
    pub size: u64,
    /// Time of the last modification, in nanoseconds since 1970.
    pub modified_nanos: i64,
}

/// Local files, sorted by key, with their copies.
#[derive(Clone, Debug)]
pub struct LocalFiles {
    files: Box<[LocalFile]>,
    copies: NonZeroU64,
}

/// Error for a file that was changed, replaced or deleted after it was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SourceChanged;

impl fmt::Display for SourceChanged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the file has changed since it was found")
    }
}

impl Error for SourceChanged {}

impl LocalFile {
    /// Returns the time of the last modification, in nanoseconds since 1970.
    #[must_use]
    pub fn modified_nanos(about: &Metadata) -> i64 {
        about.mtime().saturating_mul(1_000_000_000).saturating_add(about.mtime_nsec())
    }

    /// Opens the file.
    ///
    /// # Errors
    /// Fails if the file was changed or replaced after it was found, or if the file cannot be opened.
    pub fn open(&self) -> io::Result<File> {
        // A pipe may have replaced the file. Opening a pipe must not block.
        let file = sys::file::open_without_waiting(&self.path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => io::Error::other(SourceChanged),
            _ => error,
        })?;
        self.check(&file)?;
        Ok(file)
    }

    /// Checks that the opened file has not changed since it was found.
    ///
    /// # Errors
    /// Fails with [`SourceChanged`] if the file has changed, or with an error of the operating system.
    pub(crate) fn check(&self, file: &File) -> io::Result<()> {
        let about = file.metadata()?;
        let is_same =
            about.is_file() && about.len() == self.size && Self::modified_nanos(&about) == self.modified_nanos;
        if is_same { Ok(()) } else { Err(io::Error::other(SourceChanged)) }
    }
}

impl LocalFiles {
    /// Returns a set of these files, with `copies` copies of each.
    #[must_use]
    pub fn new(mut files: Vec<LocalFile>, copies: NonZeroU64) -> Self {
        files.sort_by(|one, other| one.key.cmp(&other.key));
        Self { files: files.into(), copies }
    }

    /// Returns the files, sorted by key.
    #[must_use]
    pub fn files(&self) -> &[LocalFile] {
        &self.files
    }

    /// Returns the number of copies of each file.
    #[must_use]
    pub fn copies(&self) -> NonZeroU64 {
        self.copies
    }

    /// Returns the number of objects, which is the number of files times the number of copies.
    #[must_use]
    pub fn count(&self) -> u64 {
        (self.files.len() as u64).saturating_mul(self.copies.get())
    }

    /// Returns the total size of all objects in bytes.
    #[must_use]
    pub fn total_bytes(&self) -> u128 {
        self.files.iter().map(|file| u128::from(file.size)).sum::<u128>() * u128::from(self.copies.get())
    }

    /// Returns the file of an object, and the number of the copy.
    fn copy(&self, number: u64) -> Option<(&LocalFile, u64)> {
        let files = self.files.len() as u64;
        let copy = number.checked_div(files).filter(|copy| *copy < self.copies.get())?;
        Some((&self.files[(number % files) as usize], copy))
    }

    /// Returns the file of an object.
    #[must_use]
    pub fn file(&self, number: u64) -> Option<&LocalFile> {
        self.copy(number).map(|(file, _)| file)
    }

    /// Writes the key of an object to `key`, and returns the size of the object. With several copies, the number of the
    /// copy precedes the extension, as in `a/b-00000005.txt`.
    pub fn read(&self, number: u64, key: &mut String) -> Option<u64> {
        let (file, copy) = self.copy(number)?;
        key.clear();
        if self.copies == NonZeroU64::MIN {
            key.push_str(&file.key);
        } else {
            let (stem, extension) = file.key.split_at(extension_at(&file.key));
            // Writing to memory does not fail.
            let _ = write!(key, "{stem}-{copy:08}{extension}");
        }
        Some(file.size)
    }

    /// Returns the number of the object with this key.
    #[must_use]
    pub fn number(&self, key: &str) -> Option<u64> {
        let find = |key: &str| self.files.binary_search_by(|file| file.key.as_ref().cmp(key)).ok();
        if self.copies == NonZeroU64::MIN {
            return find(key).map(|index| index as u64);
        }
        let (stem, extension) = key.split_at(extension_at(key));
        let (stem, copy) = stem.rsplit_once('-')?;
        let copy = Some(copy).filter(|copy| copy.len() >= 8)?.parse::<u64>().ok()?;
        let number =
            copy.checked_mul(self.files.len() as u64)?.checked_add(find(&format!("{stem}{extension}"))? as u64)?;
        let mut found = String::new();
        self.read(number, &mut found).filter(|_| found == key).map(|_| number)
    }
}

/// Returns the position of the dot before the extension. If a key has no extension, returns the length of the key. A
/// name whose only dot is its first character has no extension.
fn extension_at(key: &str) -> usize {
    let name = key.rfind('/').map_or(0, |slash| slash + 1);
    match key[name..].rfind('.') {
        None | Some(0) => key.len(),
        Some(dot) => name + dot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(keys: &[&str], copies: u64) -> LocalFiles {
        let file = |key: &&str| LocalFile {
            path: PathBuf::from(key),
            key: (*key).into(),
            size: key.len() as u64,
            modified_nanos: 0,
        };
        LocalFiles::new(keys.iter().map(file).collect(), NonZeroU64::new(copies).unwrap())
    }

    fn keys(files: &LocalFiles) -> Vec<String> {
        let mut key = String::new();
        let of = |number| files.read(number, &mut key).map(|_| key.clone());
        (0..files.count()).map_while(of).collect()
    }

    /// The uploader in the 2018 study of Sia uses the same names.
    #[test]
    fn copies_have_their_number_before_the_extension() {
        let files = files(&["foo/bar.txt", "foo/.hidden", "a.b/c", "x.tar.gz"], 6);
        assert_eq!((files.count(), files.total_bytes()), (24, 6 * (11 + 11 + 5 + 8)));
        let keys = keys(&files);
        assert_eq!(keys[..4], ["a.b/c-00000000", "foo/.hidden-00000000", "foo/bar-00000000.txt", "x.tar-00000000.gz"]);
        assert_eq!(keys[22], "foo/bar-00000005.txt");
        for (number, key) in (0..).zip(&keys) {
            assert_eq!(files.number(key), Some(number), "{key}");
        }
        for other in ["foo/bar.txt", "foo/bar-5.txt", "foo/bar-00000006.txt", "foo/bar-000000005.txt", "-00000000"] {
            assert_eq!(files.number(other), None, "{other}");
        }
        assert_eq!((files.file(24), files.read(24, &mut String::new())), (None, None));
    }

    #[test]
    fn a_single_copy_has_the_name_of_its_file() {
        let one = files(&["b", "a/c"], 1);
        assert_eq!(keys(&one), ["a/c", "b"]);
        assert_eq!((one.number("b"), one.number("c"), one.file(0).unwrap().size), (Some(1), None, 3));
        assert_eq!((files(&[], 5).count(), files(&[], 5).file(0), files(&[], 5).number("a-00000000")), (0, None, None));
    }

    #[test]
    fn files_that_have_changed_are_recognized() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("file");
        std::fs::write(&path, "abc").unwrap();
        let about = std::fs::metadata(&path).unwrap();
        let found = LocalFile {
            path: path.clone(),
            key: "k".into(),
            size: 3,
            modified_nanos: LocalFile::modified_nanos(&about),
        };
        let open = found.open().unwrap();
        let changed = |result: io::Result<()>| matches!(result.unwrap_err().get_ref(), Some(error) if error.is::<SourceChanged>());
        File::options().append(true).open(&path).unwrap().set_len(4).unwrap();
        assert!(changed(found.check(&open)) && changed(found.open().map(drop)));
        std::fs::remove_file(&path).unwrap();
        assert!(changed(found.open().map(drop)));
        std::fs::create_dir(&path).unwrap();
        assert!(changed(found.open().map(drop)), "a directory has taken its place");
    }
}
