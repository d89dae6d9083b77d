//! A disk in memory that fails when a test requests it, and that can lose power.

use crate::journal::disk::{Disk, SegmentFile};
use crate::journal::source::{Source, sort};
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// Size of a block in bytes. A power loss keeps or loses each block independently.
const BLOCK_BYTES: usize = 32;

/// A fault of an operation of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A write that takes only a part of the bytes, which is not an error.
    ShortWrite,
    /// A full disk. Nothing is written, or only a part of the bytes.
    Full,
    /// A failed operation. A failed sync leaves pages that count as clean.
    Broken,
}

/// The disk. Copies share their content.
#[derive(Clone, Default)]
pub struct SimDisk(Arc<Mutex<Content>>);

#[derive(Default)]
struct Content {
    files: BTreeMap<PathBuf, SimFile>,
    /// Faults by number of the operation.
    faults: BTreeMap<u64, Fault>,
    operations: u64,
    /// Number of bytes that fit. `None` without a limit.
    capacity: Option<usize>,
}

#[derive(Clone, Default)]
struct SimFile {
    /// The content of the page cache, which programs read.
    bytes: Vec<u8>,
    /// The content on the disk, up to the first dirty byte.
    on_disk: Vec<u8>,
    is_named: bool,
    reserved_bytes: usize,
}

impl SimDisk {
    /// Plans faults, each with the number of its operation. The next operation has the number 0.
    pub fn plan(&self, faults: impl IntoIterator<Item = (u64, Fault)>) {
        let mut content = self.0.lock().unwrap();
        let from = content.operations;
        content.faults = faults.into_iter().map(|(after, fault)| (from + after, fault)).collect();
    }

    /// Limits the disk to its present content and `free` more bytes.
    pub fn limit(&self, free: usize) {
        let mut content = self.0.lock().unwrap();
        content.capacity = Some(content.used() + free);
    }

    /// Returns the disk after a power loss. For each block and name that was not synced, `keep` decides whether it is
    /// kept.
    pub fn after_power_loss(&self, mut keep: impl FnMut() -> bool) -> Self {
        let content = self.0.lock().unwrap();
        let named = content.files.iter().filter(|(_, file)| file.is_named || keep());
        let named: Vec<_> = named.map(|(path, file)| (path.clone(), file.clone())).collect();
        let files = named.into_iter().map(|(path, file)| (path, file.after_power_loss(&mut keep))).collect();
        Self(Arc::new(Mutex::new(Content { files, ..Content::default() })))
    }

    /// Returns the bytes of all segments.
    pub fn segments(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let content = self.0.lock().unwrap();
        let segments = content.files.iter().filter(|(path, _)| path.extension().is_some_and(|kind| kind == "wal"));
        segments.map(|(path, file)| (path.clone(), file.bytes.clone())).collect()
    }
}

/// Returns segments as sources.
pub fn sources(segments: &[(PathBuf, Vec<u8>)]) -> Vec<Source<'_>> {
    let number = |path: &Path| path.file_stem().unwrap().to_str().unwrap().parse().unwrap();
    sort(segments.iter().map(|(path, bytes)| Source::from_bytes(path, number(path), bytes)).collect()).unwrap()
}

impl Content {
    fn next_fault(&mut self) -> Option<Fault> {
        self.operations += 1;
        self.faults.remove(&(self.operations - 1))
    }

    fn used(&self) -> usize {
        self.files.values().map(|file| file.bytes.len() + file.reserved_bytes).sum()
    }
}

impl SimFile {
    fn after_power_loss(mut self, mut keep: impl FnMut() -> bool) -> Self {
        let dirty = &self.bytes[self.on_disk.len()..];
        // The new length may be on the disk without all of the data.
        let kept: Vec<Vec<u8>> =
            dirty.chunks(BLOCK_BYTES).map(|block| if keep() { block.to_vec() } else { vec![0; block.len()] }).collect();
        let length = if keep() { kept.len() } else { kept.len() / 2 };
        self.on_disk.extend(kept[..length].concat());
        Self { bytes: self.on_disk.clone(), is_named: true, ..self }
    }
}

impl Disk for SimDisk {
    fn create(&mut self, path: &Path) -> io::Result<Box<dyn SegmentFile>> {
        let mut content = self.0.lock().unwrap();
        if let Some(fault) = content.next_fault() {
            return Err(fault.error());
        }
        assert!(!content.files.contains_key(path), "{} exists", path.display());
        content.files.insert(path.to_owned(), SimFile::default());
        Ok(Box::new(OpenFile { disk: self.clone(), path: path.to_owned() }))
    }

    fn sync_directory(&mut self, path: &Path) -> io::Result<()> {
        let mut content = self.0.lock().unwrap();
        if let Some(fault) = content.next_fault() {
            return Err(fault.error());
        }
        let inside = content.files.iter_mut().filter(|(file, _)| file.parent() == Some(path));
        inside.for_each(|(_, file)| file.is_named = true);
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let mut content = self.0.lock().unwrap();
        if let Some(fault) = content.next_fault() {
            return Err(fault.error());
        }
        content.files.remove(path).map(|_| ()).ok_or(io::ErrorKind::NotFound.into())
    }

    fn reserve(&mut self, path: &Path, bytes: u64) -> io::Result<()> {
        let file = SimFile { reserved_bytes: bytes as usize, ..SimFile::default() };
        self.0.lock().unwrap().files.insert(path.to_owned(), file);
        Ok(())
    }
}

impl Fault {
    fn error(self) -> io::Error {
        match self {
            Self::Full => io::ErrorKind::StorageFull.into(),
            Self::ShortWrite | Self::Broken => io::Error::other("input/output error"),
        }
    }
}

/// An open segment.
struct OpenFile {
    disk: SimDisk,
    path: PathBuf,
}

impl Write for OpenFile {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let mut content = self.disk.0.lock().unwrap();
        let fault = content.next_fault();
        let free = content.capacity.map_or(usize::MAX, |capacity| capacity.saturating_sub(content.used()));
        let file = content.files.get_mut(&self.path).expect("the file exists");
        let fits = match fault {
            None => buf.len().min(free),
            Some(Fault::ShortWrite) => buf.len().div_ceil(2).min(free),
            Some(Fault::Full | Fault::Broken) => buf.len() / 3,
        };
        file.bytes.extend_from_slice(&buf[..fits]);
        match fault {
            Some(fault @ (Fault::Full | Fault::Broken)) => Err(fault.error()),
            // Like the kernel, write as much as fits.
            _ if fits == 0 => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(fits),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SegmentFile for OpenFile {
    fn sync(&mut self) -> io::Result<()> {
        let mut content = self.disk.0.lock().unwrap();
        let fault = content.next_fault();
        let file = content.files.get_mut(&self.path).expect("the file exists");
        let dirty = file.bytes[file.on_disk.len()..].to_vec();
        match fault {
            None => file.on_disk.extend(dirty),
            // As on Linux, a failed sync marks the pages as clean, so that no later sync writes them.
            Some(_) => file.on_disk.extend(dirty.iter().map(|_| 0)),
        }
        fault.map_or(Ok(()), |fault| Err(fault.error()))
    }
}
