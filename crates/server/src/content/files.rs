//! Files below one directory, and nothing outside it.
//!
//! First, the path is split and decoded. Paths with `..`, NUL or encoded slashes are rejected. Then the file is opened,
//! and its real name (from `/proc/self/fd`) must be below the directory. The name belongs to the open file, so the
//! check also detects symbolic links, and paths that are replaced in the meantime.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// Maximum number of names in a listing.
pub(crate) const LISTED_MAX: usize = 1000;
/// The characters that are percent-encoded in a listed name: all but letters, digits, `-`, `.`, `_` and `~`.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The served directory.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Absolute path of the served directory, without symbolic links.
    root: PathBuf,
}

/// An opened file, or the listing of a directory.
#[derive(Debug)]
pub(crate) enum Opened {
    File {
        file: File,
        bytes: u64,
    },
    /// Names, one per line.
    Listing(Vec<u8>),
}

/// The reason why a path cannot be served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FileError {
    /// Status 400: the path is not a valid file name.
    BadPath,
    /// Status 403: the path leads outside the directory, or to something that is neither a file nor a directory.
    Forbidden,
    /// Status 404: the path does not exist.
    Absent,
    /// Status 500: the system reports another error.
    Failed,
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::NotADirectory => Self::Absent,
            ErrorKind::PermissionDenied => Self::Forbidden,
            _ if error.raw_os_error() == Some(libc::ELOOP) => Self::Forbidden,
            ErrorKind::InvalidFilename | ErrorKind::InvalidInput => Self::BadPath,
            _ => Self::Failed,
        }
    }
}

impl Directory {
    pub(crate) fn new(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        if !root.is_dir() {
            return Err(ErrorKind::NotADirectory.into());
        }
        Ok(Self { root })
    }

    /// Opens the file or directory with this percent-encoded path.
    ///
    /// # Errors
    /// Fails if the path is not valid, leads outside the directory, or cannot be opened.
    pub(crate) fn open(&self, path: &str) -> Result<Opened, FileError> {
        let path = self.root.join(relative(path)?);
        // The file is opened in non-blocking mode, so that a pipe cannot block the thread.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
        let real = fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).map_err(|_| FileError::Failed)?;
        if !real.starts_with(&self.root) {
            return Err(FileError::Forbidden);
        }
        let metadata = file.metadata()?;
        if metadata.is_dir() {
            return list(&real).map(Opened::Listing).map_err(FileError::from);
        }
        if !metadata.is_file() {
            return Err(FileError::Forbidden);
        }
        Ok(Opened::File { file, bytes: metadata.len() })
    }
}

/// Decodes a path and makes it relative to the served directory.
fn relative(path: &str) -> Result<PathBuf, FileError> {
    let mut relative = PathBuf::new();
    for segment in path.split('/') {
        let decoded: Vec<u8> = percent_decode_str(segment).collect();
        match decoded.as_slice() {
            b"" | b"." => {}
            b".." => return Err(FileError::BadPath),
            bytes if bytes.contains(&0) || bytes.contains(&b'/') => return Err(FileError::BadPath),
            bytes => relative.push(OsStr::from_bytes(bytes)),
        }
    }
    Ok(relative)
}

/// Lists the names in a directory, sorted and percent-encoded, with a slash after directories.
fn list(directory: &Path) -> io::Result<Vec<u8>> {
    let mut names = Vec::new();
    let mut left_out = false;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if names.len() == LISTED_MAX {
            left_out = true;
            break;
        }
        let mut name = percent_encode(entry.file_name().as_bytes(), ESCAPED).to_string();
        if entry.file_type()?.is_dir() {
            name.push('/');
        }
        names.push(name);
    }
    names.sort_unstable();
    if left_out {
        // Readers cannot confuse this line with a name, because a name in a listing contains a slash only at its end.
        names.push(format!("// more than {LISTED_MAX} names; the others are not listed"));
    }
    let mut text = names.join("\n").into_bytes();
    if !text.is_empty() {
        text.push(b'\n');
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::symlink;
    use std::path::Component;

    fn refused(directory: &Directory, path: &str) -> FileError {
        directory.open(path).expect_err(path)
    }

    #[test]
    fn paths_cannot_leave_the_directory() {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        let inside = outside.path().join("inside");
        fs::create_dir(&inside).unwrap();
        fs::create_dir(outside.path().join("inside-too")).unwrap();
        fs::write(outside.path().join("inside-too/secret"), "secret").unwrap();
        fs::write(inside.join("plain"), "hello").unwrap();
        symlink("plain", inside.join("link")).unwrap();
        symlink("../secret", inside.join("leaving")).unwrap();
        symlink("..", inside.join("up")).unwrap();
        symlink("../inside-too", inside.join("sibling")).unwrap();
        symlink("loop", inside.join("loop")).unwrap();
        symlink("/dev/zero", inside.join("zero")).unwrap();
        let directory = Directory::new(&inside).unwrap();

        for path in ["/plain", "//plain", "/./plain", "/%70lain", "/link"] {
            assert!(matches!(directory.open(path), Ok(Opened::File { bytes: 5, .. })), "{path}");
        }
        for path in ["/../secret", "/%2e%2e/secret", "/.%2E/secret", "/a/../../secret", "/..", "/..%2fsecret", "/a%00b"]
        {
            assert_eq!(refused(&directory, path), FileError::BadPath, "{path}");
        }
        for path in ["/leaving", "/up/secret", "/up", "/sibling/secret", "/loop", "/zero"] {
            assert_eq!(refused(&directory, path), FileError::Forbidden, "{path}");
        }
        for path in ["/absent", "/plain/x", "/...", "/%252e%252e/secret", "/..\\secret"] {
            assert_eq!(refused(&directory, path), FileError::Absent, "{path}");
        }
        assert_eq!(refused(&directory, &format!("/{}", "x".repeat(300))), FileError::BadPath);
    }

    #[test]
    fn pipe_does_not_block_the_thread() {
        let inside = tempfile::tempdir().unwrap();
        let made = std::process::Command::new("mkfifo").arg(inside.path().join("pipe")).status().unwrap();
        assert!(made.success());
        let directory = Directory::new(inside.path()).unwrap();
        assert_eq!(refused(&directory, "/pipe"), FileError::Forbidden);
    }

    #[test]
    fn listings_are_sorted_escaped_and_bounded() {
        let inside = tempfile::tempdir().unwrap();
        fs::create_dir(inside.path().join("b")).unwrap();
        fs::write(inside.path().join("a\nb c"), "").unwrap();
        let directory = Directory::new(inside.path()).unwrap();
        let listing = |path: &str| match directory.open(path) {
            Ok(Opened::Listing(text)) => String::from_utf8(text).unwrap(),
            other => panic!("{other:?}"),
        };
        assert_eq!(listing("/"), "a%0Ab%20c\nb/\n");
        assert_eq!(listing("/b/"), "");
        for number in 0..=LISTED_MAX {
            fs::write(inside.path().join("b").join(number.to_string()), "").unwrap();
        }
        assert_eq!(listing("/b").lines().count(), LISTED_MAX + 1);
        assert!(listing("/b").ends_with("not listed\n"));
        assert!(Directory::new(&inside.path().join("a\nb c")).is_err());
    }

    proptest! {
        #[test]
        fn any_accepted_path_stays_below_the_directory(path in "(/|\\.|%2e|%2F|%00|[a-z~\u{e9}]){0,12}") {
            if let Ok(relative) = relative(&path) {
                prop_assert!(relative.components().all(|part| matches!(part, Component::Normal(_))), "{relative:?}");
            }
        }
    }
}
