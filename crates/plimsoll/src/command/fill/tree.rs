//! The local files of a fill with `--from`.
//!
//! The first start lists them in the manifest of the fill's directory. Later starts read this list, so files that were
//! added or removed meanwhile do not change the numbers of the others.

use crate::command::put::files;
use crate::failure::Failure;
use engine::plan::{LocalFile, LocalFiles};
use std::ffi::OsStr;
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use store::fill_directory::{FileEntry, MANIFEST_FILE, ManifestReader, ManifestWriter, Reservation};
use store::{SavedFill, StoreError};

/// Returns the files below `root`: those in the manifest of the fill, or, if the fill does not exist, those on the disk.
pub fn find(root: &Path, copies: NonZeroU64, fill: &Path) -> Result<LocalFiles, Failure> {
    let manifest = fill.join(MANIFEST_FILE);
    if !SavedFill::is_in(fill) || !manifest.exists() {
        return files::find(root, copies);
    }
    let base = files::base(root);
    let entries = ManifestReader::open(&manifest, None).map_err(Failure::could_not_run)?;
    let file = |entry: Result<FileEntry, StoreError>| {
        let FileEntry { path, bytes: size, modified_nanos } = entry.map_err(Failure::could_not_run)?;
        let key = std::str::from_utf8(&path)
            .map_err(|_| Failure::could_not_run(format!("{}: a name that is not UTF-8", manifest.display())))?;
        Ok(LocalFile { key: key.into(), path: base.join(OsStr::from_bytes(&path)), size, modified_nanos })
    };
    Ok(LocalFiles::new(entries.map(file).collect::<Result<_, Failure>>()?, copies))
}

/// Returns the digest of the files in hexadecimal. If the fill does not exist, writes its manifest.
pub fn digest(files: &LocalFiles, reservation: &Reservation) -> Result<String, StoreError> {
    let path = reservation.manifest_path();
    let summary = if reservation.identity().is_some() {
        let mut reader = ManifestReader::open(&path, None)?;
        reader.by_ref().try_for_each(|entry| entry.map(drop))?;
        reader.summary().unwrap_or_default()
    } else {
        let mut writer = ManifestWriter::create(&path)?;
        for LocalFile { key, size, modified_nanos, .. } in files.files() {
            let path = key.as_bytes().to_vec();
            writer.add(&FileEntry { path, bytes: *size, modified_nanos: *modified_nanos })?;
        }
        writer.finish()?
    };
    Ok(summary.digest.iter().map(|byte| format!("{byte:02x}")).collect())
}
