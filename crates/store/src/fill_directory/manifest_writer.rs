//! The writer of a manifest, which lists the files of a tree when a fill is created.
//!
//! ```text
//! file    = frame of the header, frames of entries, frame of the trailer; each is a zstd frame with a checksum
//! header  = 0 | magic | format
//! entries = 1 | count | count × (length shared with the previous path, rest of the path, size, modification time)
//! trailer = 2 | number of entries | sum of sizes | SHA-256 of the entries
//! ```
//!
//! Numbers are LEB128. The object with number n is entry n.

use super::FillError;
use crate::error::StoreError;
use crate::files::{TemporaryFile, sync_name, temporary_path};
use crate::frames::FrameWriter;
use crate::journal::{put_bytes, put_number, put_signed};
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};

/// Name of the file.
pub const MANIFEST_FILE: &str = "files.zst";
/// Maximum number of entries in a frame.
pub const FRAME_ENTRIES_MAX: usize = 4096;
/// Maximum length of a path in bytes, as on Linux.
pub const PATH_BYTES_MAX: usize = 4096;
pub(super) const MAGIC: &[u8] = b"fill-files";
/// The version of the format.
pub(super) const FORMAT: u32 = 1;
pub(super) const HEADER: u64 = 0;
pub(super) const ENTRIES: u64 = 1;
pub(super) const TRAILER: u64 = 2;

/// A file of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEntry {
    /// Path below the root of the tree. The path may be invalid UTF-8.
    pub path: Vec<u8>,
    /// Size in bytes.
    pub bytes: u64,
    /// Modification time in nanoseconds since 1970.
    pub modified_nanos: i64,
}

impl FileEntry {
    /// Returns the reason why a manifest cannot contain this path, as a predicate. Returns `None` for a valid path.
    pub(super) fn flaw(path: &[u8]) -> Option<&'static str> {
        let is_bad = |name: &[u8]| name.is_empty() || name == b"." || name == b"..";
        match path {
            [] => Some("is empty"),
            [b'/', ..] => Some("is not below the root of the tree"),
            path if path.len() > PATH_BYTES_MAX => Some("is too long"),
            path if path.contains(&0) => Some("contains a null byte"),
            path if path.split(|byte| *byte == b'/').any(is_bad) => Some("contains an empty name, . or .."),
            _ => None,
        }
    }
}

/// Sums over the entries of a manifest, and their digest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ManifestSummary {
    /// Number of files.
    pub files: u64,
    /// Sum of their sizes.
    pub bytes: u64,
    /// SHA-256 digest of paths, sizes and modification times.
    pub digest: [u8; 32],
}

impl ManifestSummary {
    /// Returns the summary of a manifest with these entries.
    #[must_use]
    pub fn of(entries: impl Iterator<Item = FileEntry>) -> Self {
        let mut summing = Summing::default();
        entries.for_each(|FileEntry { path, bytes, modified_nanos }| summing.add(&path, bytes, modified_nanos));
        summing.sum()
    }
}

/// The incremental computation of a [`ManifestSummary`].
#[derive(Default)]
pub(super) struct Summing {
    files: u64,
    bytes: u64,
    digest: Sha256,
    line: Vec<u8>,
}

impl Summing {
    pub(super) fn add(&mut self, path: &[u8], bytes: u64, modified_nanos: i64) {
        self.line.clear();
        put_bytes(&mut self.line, path);
        put_number(&mut self.line, bytes);
        put_signed(&mut self.line, modified_nanos);
        self.digest.update(&self.line);
        self.files += 1;
        self.bytes = self.bytes.saturating_add(bytes);
    }

    pub(super) fn sum(&self) -> ManifestSummary {
        ManifestSummary { files: self.files, bytes: self.bytes, digest: self.digest.clone().finalize().into() }
    }
}

/// The writer of a manifest. The file gets its final name when it is complete.
pub struct ManifestWriter {
    path: PathBuf,
    file: TemporaryFile,
    frames: FrameWriter,
    /// Encoded entries of the current frame, without their count.
    entries: Vec<u8>,
    count: usize,
    last: Vec<u8>,
    summing: Summing,
}

impl ManifestWriter {
    /// Creates the writer of a manifest with this path, usually [`super::Reservation::manifest_path`].
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub fn create(path: &Path) -> Result<Self, StoreError> {
        let failed = |error: io::Error| StoreError::new(&temporary_path(path), error);
        let (file, medium) = TemporaryFile::create(path).map_err(failed)?;
        let frames = FrameWriter::new(Box::new(medium)).map_err(failed)?;
        let (path, entries, last) = (path.to_owned(), Vec::new(), Vec::new());
        let mut writer = Self { path, file, frames, entries, count: 0, last, summing: Summing::default() };
        let mut header = Vec::new();
        put_number(&mut header, HEADER);
        put_bytes(&mut header, MAGIC);
        put_number(&mut header, FORMAT.into());
        writer.append(&header)?;
        Ok(writer)
    }

    /// Adds a file. Paths must be in ascending order of their bytes. To produce this order, a walk of the tree must
    /// append a `/` to the names of directories before it sorts the entries of a directory.
    ///
    /// # Errors
    /// Fails with [`FillError::BadPath`], or with an error of the system.
    pub fn add(&mut self, file: &FileEntry) -> Result<(), StoreError> {
        let FileEntry { path, bytes, modified_nanos } = file;
        let unsorted = (*path <= self.last).then_some("is not in ascending order");
        if let Some(flaw) = FileEntry::flaw(path).or(unsorted) {
            let path = String::from_utf8_lossy(path).into_owned();
            return Err(StoreError::new(&self.path, FillError::BadPath { path, flaw }));
        }
        let shared = if self.count == 0 { 0 } else { shared_bytes(path, &self.last) };
        put_number(&mut self.entries, shared as u64);
        put_bytes(&mut self.entries, &path[shared..]);
        put_number(&mut self.entries, *bytes);
        put_signed(&mut self.entries, *modified_nanos);
        self.summing.add(path, *bytes, *modified_nanos);
        self.count += 1;
        self.last.clone_from(path);
        if self.count >= FRAME_ENTRIES_MAX { self.end_frame() } else { Ok(()) }
    }

    /// Completes the manifest and waits until it is on the disk.
    ///
    /// # Errors
    /// Fails with an error of the system.
    pub fn finish(mut self) -> Result<ManifestSummary, StoreError> {
        if self.count > 0 {
            self.end_frame()?;
        }
        let summary = self.summing.sum();
        let mut trailer = Vec::new();
        put_number(&mut trailer, TRAILER);
        put_number(&mut trailer, summary.files);
        put_number(&mut trailer, summary.bytes);
        trailer.extend_from_slice(&summary.digest);
        self.append(&trailer)?;
        let Self { path, file, mut frames, .. } = self;
        let named = |error: io::Error| StoreError::new(&path, error);
        frames.sync().and_then(|()| file.rename()).and_then(|()| sync_name(&path)).map_err(named)?;
        Ok(summary)
    }

    fn end_frame(&mut self) -> Result<(), StoreError> {
        let mut frame = Vec::with_capacity(self.entries.len() + 4);
        put_number(&mut frame, ENTRIES);
        put_number(&mut frame, self.count as u64);
        frame.extend_from_slice(&self.entries);
        self.entries.clear();
        self.count = 0;
        self.append(&frame)
    }

    fn append(&mut self, frame: &[u8]) -> Result<(), StoreError> {
        self.frames.append(frame).map_err(|error| StoreError::new(self.file.temporary(), error))
    }
}

fn shared_bytes(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}
