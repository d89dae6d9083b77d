//! The local files of a fill with `--from`.
//!
//! The first session lists the files in the manifest of the fill's directory. Later sessions read this list, so files
//! that were added or removed in between do not change the numbers of other files.

use crate::command::put::files;
use crate::failure::Failure;
use engine::plan::{LocalFile, LocalFiles};
use std::ffi::OsStr;
use std::io;
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use store::fill_directory::{FileEntry, MANIFEST_FILE, ManifestReader, ManifestSummary, ManifestWriter, Reservation};
use store::{SavedFill, StoreError};

/// The directory (or file) of `--from`, as it was at the start.
#[derive(Debug)]
pub struct SourceDirectory {
    path: PathBuf,
    /// Device and inode number of the directory. Both change if the disk of the directory is unmounted.
    inode: (u64, u64),
}

impl SourceDirectory {
    /// Returns the directory at `root`.
    pub fn of(root: &Path) -> Result<Self, Failure> {
        let refused = |error| Failure::usage(format!("--from {}: {error}", root.display()));
        let path = root.canonicalize().map_err(refused)?;
        let inode = inode(&path).map_err(refused)?;
        Ok(Self { path, inode })
    }

    /// Returns the absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns whether the path no longer exists, or leads to another directory now.
    pub fn is_gone(&self) -> bool {
        inode(&self.path).ok() != Some(self.inode)
    }

    /// Returns an error message for a directory that [is gone](Self::is_gone).
    pub fn about_gone(&self) -> String {
        format!("the directory {} of --from is gone; check that its disk is mounted", self.path.display())
    }
}

fn inode(path: &Path) -> io::Result<(u64, u64)> {
    let about = std::fs::metadata(path)?;
    Ok((about.dev(), about.ino()))
}

/// Returns the files below `root`. If the fill exists, its manifest lists the files. Otherwise, lists the files on the
/// disk.
pub fn find(root: &Path, copies: NonZeroU64, fill: Option<&Path>) -> Result<LocalFiles, Failure> {
    let manifest = fill.filter(|fill| SavedFill::is_in(fill)).map(|fill| fill.join(MANIFEST_FILE));
    let Some(manifest) = manifest.filter(|manifest| manifest.exists()) else { return files::find(root, copies) };
    let base = files::base(root);
    let entries = ManifestReader::open(&manifest, None).map_err(Failure::could_not_run)?;
    let file = |entry: Result<FileEntry, StoreError>| {
        let FileEntry { path, bytes: size, modified_nanos } = entry.map_err(Failure::could_not_run)?;
        let key = std::str::from_utf8(&path)
            .map_err(|_| Failure::could_not_run(format!("{} has a name that is not UTF-8", manifest.display())))?;
        Ok(LocalFile { key: key.into(), path: base.join(OsStr::from_bytes(&path)), size, modified_nanos })
    };
    Ok(LocalFiles::new(entries.map(file).collect::<Result<_, Failure>>()?, copies))
}

/// Returns the digest of the files in hexadecimal. If the fill does not exist, writes its manifest.
pub fn digest(files: &LocalFiles, reservation: &Reservation) -> Result<String, StoreError> {
    let mut entries = files.files().iter().map(|LocalFile { key, size, modified_nanos, .. }| FileEntry {
        path: key.as_bytes().to_vec(),
        bytes: *size,
        modified_nanos: *modified_nanos,
    });
    let digest = if reservation.identity().is_some() {
        ManifestSummary::of(entries).digest
    } else {
        let mut writer = ManifestWriter::create(&reservation.manifest_path())?;
        entries.try_for_each(|entry| writer.add(&entry))?;
        writer.finish()?.digest
    };
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
