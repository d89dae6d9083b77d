//! The files to upload: one file, or all files below a directory.
//!
//! Like `aws s3 cp --recursive`, `put` follows symbolic links. `put` skips broken links, links to a directory that
//! contains the link, sockets, pipes and devices. A message shows the number of skipped entries.

use crate::console;
use crate::failure::Failure;
use engine::plan::{LocalFile, LocalFiles};
use report::number::plural;
use std::fs;
use std::io::ErrorKind;
use std::num::NonZeroU64;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum number of files of a run. It also limits the number of visited files and directories, because links may lead
/// to the same file many times.
const FILES_MAX: usize = 10_000_000;
/// Linux's error number for "too many levels of symbolic links". No stable `ErrorKind` exists for this error.
const ELOOP: i32 = 40;
/// Maximum depth of nested directories.
const DEPTH_MAX: usize = 256;

/// Returns the file at `path`, or all files below it, with `copies` copies of each. The key of a file is its relative
/// path.
pub fn find(path: &Path, copies: NonZeroU64) -> Result<LocalFiles, Failure> {
    let refused =
        |path: &Path, why: &dyn std::fmt::Display| Failure::usage(format!("--from {}: {why}", path.display()));
    let base = base(path);
    let mut found = FoundFiles::default();
    found.collect(path, &mut Vec::new()).map_err(|(path, error)| refused(&path, &error))?;
    if let Some(skipped) = found.skipped.description() {
        console::eprintln(&format!("--from {}: {skipped}", path.display()));
    }
    if found.files.is_empty() {
        return Err(refused(path, &"contains no files"));
    }
    let file = |FoundFile { path, size, modified_nanos }| {
        let key = Path::strip_prefix(&path, base).ok().and_then(Path::to_str);
        let key = key.ok_or_else(|| refused(&path, &"the name is not UTF-8; rename the file"))?.into();
        Ok(LocalFile { key, size, modified_nanos, path })
    };
    Ok(LocalFiles::new(found.files.into_iter().map(file).collect::<Result<_, Failure>>()?, copies))
}

/// Returns the directory to which keys are relative: `path` itself, or the directory of the file at `path`.
pub fn base(path: &Path) -> &Path {
    if path.is_dir() { path } else { path.parent().unwrap_or(Path::new("")) }
}

/// The files below a path.
#[derive(Debug, Default)]
struct FoundFiles {
    /// Regular files.
    files: Vec<FoundFile>,
    skipped: Skipped,
    /// Number of entries visited: files, directories and others.
    looked_at: usize,
}

/// A regular file.
#[derive(Debug)]
struct FoundFile {
    path: PathBuf,
    /// Size in bytes.
    size: u64,
    /// Time of the last modification, in nanoseconds since 1970.
    modified_nanos: i64,
}

/// The entries that cannot be uploaded.
#[derive(Debug, Default, PartialEq, Eq)]
struct Skipped {
    /// Links with a missing target, and links that lead only to each other.
    broken: u64,
    /// Links to a directory that contains the link.
    circles: u64,
    /// Sockets, pipes and devices.
    special: u64,
    /// The first entry that was skipped.
    first: Option<PathBuf>,
}

impl Skipped {
    /// Returns a message about the skipped entries, or `None` if there are none.
    fn description(&self) -> Option<String> {
        let first = self.first.as_ref()?;
        let kinds = [
            (self.broken, "broken link", "broken links"),
            (self.circles, "link to a directory above it", "links to directories above them"),
            (self.special, "socket, pipe or device", "sockets, pipes or devices"),
        ];
        let some = kinds.iter().filter(|(count, ..)| *count > 0);
        let some = some.map(|(count, one, many)| format!("{count} {}", if *count == 1 { one } else { many }));
        let all = self.broken + self.circles + self.special;
        let all = plural(all, "entry");
        Some(format!("skipped {all}: {}; the first is {}", some.collect::<Vec<_>>().join(", "), first.display()))
    }
}

/// Device and inode number, which identify a directory independently of its path.
type Identity = (u64, u64);

impl FoundFiles {
    /// Adds the file at `path`, or all files below it. `above` identifies the directories that contain `path`.
    fn collect(&mut self, path: &Path, above: &mut Vec<Identity>) -> Result<(), (PathBuf, String)> {
        let failed = |error: std::io::Error| (path.to_owned(), error.to_string());
        let about = match fs::metadata(path) {
            Ok(about) => about,
            Err(error) if !above.is_empty() && leads_nowhere(path, &error) => {
                self.skip(path, |skipped| &mut skipped.broken);
                return Ok(());
            }
            Err(error) => return Err(failed(error)),
        };
        self.looked_at += 1;
        if self.looked_at > FILES_MAX {
            return Err((path.to_owned(), format!("more than {FILES_MAX} files; name a smaller directory")));
        }
        if about.is_file() {
            let (size, modified_nanos) = (about.len(), LocalFile::modified_nanos(&about));
            self.files.push(FoundFile { path: path.to_owned(), size, modified_nanos });
        } else if about.is_dir() {
            let identity = (about.dev(), about.ino());
            if above.contains(&identity) {
                self.skip(path, |skipped| &mut skipped.circles);
                return Ok(());
            }
            if above.len() >= DEPTH_MAX {
                return Err((
                    path.to_owned(),
                    format!("more than {DEPTH_MAX} nested directories; name a directory further down"),
                ));
            }
            above.push(identity);
            for entry in fs::read_dir(path).map_err(failed)? {
                self.collect(&entry.map_err(failed)?.path(), above)?;
            }
            above.pop();
        } else {
            self.skip(path, |skipped| &mut skipped.special);
        }
        Ok(())
    }

    fn skip(&mut self, path: &Path, count: impl Fn(&mut Skipped) -> &mut u64) {
        *count(&mut self.skipped) += 1;
        self.skipped.first.get_or_insert_with(|| path.to_owned());
    }
}

/// Returns whether an error means that a link in the path is broken.
fn leads_nowhere(path: &Path, error: &std::io::Error) -> bool {
    let is_link = fs::symlink_metadata(path).is_ok_and(|about| about.is_symlink());
    let is_circle = error.raw_os_error() == Some(ELOOP);
    is_link && (is_circle || matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    #[test]
    fn links_are_followed_and_skipped_entries_are_counted() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        fs::create_dir_all(at("tree/sub")).unwrap();
        fs::write(at("outside"), "four").unwrap();
        fs::write(at("tree/sub/file"), "x").unwrap();
        symlink("../outside", at("tree/link")).unwrap();
        symlink("sub", at("tree/to-sub")).unwrap();
        symlink("..", at("tree/sub/circle")).unwrap();
        symlink("missing", at("tree/broken")).unwrap();
        symlink("itself", at("tree/itself")).unwrap();
        let _socket = UnixListener::bind(at("tree/socket")).unwrap();
        symlink("tree", at("top")).unwrap();
        for top in ["tree", "top"] {
            let mut found = FoundFiles::default();
            found.collect(&at(top), &mut Vec::new()).unwrap();
            let name = |path: &Path| path.strip_prefix(at(top)).unwrap().to_str().unwrap().to_owned();
            let mut names: Vec<_> = found.files.iter().map(|file| (name(&file.path), file.size)).collect();
            names.sort();
            let expected = [("link", 4), ("sub/file", 1), ("to-sub/file", 1)];
            assert_eq!(names, expected.map(|(name, size)| (name.to_owned(), size)), "{top}");
            let Skipped { broken, circles, special, .. } = found.skipped;
            // The link to a directory that contains the link is found twice: below `sub`, and below `to-sub`.
            assert_eq!((broken, circles, special), (2, 2, 1), "{top}");
            let description = found.skipped.description().unwrap();
            assert!(
                description.starts_with("skipped 5 entries: 2 broken links, 2 links to directories above them"),
                "{description}"
            );
        }
    }

    #[test]
    fn a_named_path_must_exist() {
        let place = tempfile::tempdir().unwrap();
        symlink("missing", place.path().join("broken")).unwrap();
        assert!(FoundFiles::default().collect(&place.path().join("broken"), &mut Vec::new()).is_err());
        fs::write(place.path().join("file"), "x").unwrap();
        let mut found = FoundFiles::default();
        found.collect(&place.path().join("file"), &mut Vec::new()).unwrap();
        assert_eq!((found.files.len(), found.skipped.description()), (1, None));
    }
}
