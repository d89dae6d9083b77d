//! The directory of a store. Content is kept in files. Each bucket and each object has a record, which is a JSON file.
//! The store uses only numbers as file names. No text from a client becomes part of a path, so no key can lead out of
//! the directory. Symbolic links are not followed.

use std::collections::HashSet;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::objects::ObjectInfo;
use crate::s3::content::Content;
use crate::s3::content::piece::open_plain;
use crate::s3::content::quota::{Quota, WriteError};

/// The file that marks a directory as a store.
const MARK: &str = "plimsoll-store";
const MARK_TEXT: &str = "Objects of `plimsoll serve --s3`, which creates and removes the files here.\n";
/// Maximum size of a record in bytes. This size is enough for a key, metadata and the numbers of 10,000 parts.
const RECORD_MAX: u64 = 4 << 20;

/// The directory of a store.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
}

/// The record of a bucket or an object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[expect(clippy::large_enum_variant, reason = "written and read one at a time")]
pub(super) enum Record {
    Bucket { name: String, created: SystemTime },
    Object { bucket: String, key: String, info: ObjectInfo, data: Vec<u64> },
}

impl Record {
    pub(super) fn object(bucket: &str, key: &str, info: &ObjectInfo, content: &Content) -> Self {
        let data = content.files().filter_map(|path| number_of(path, "data")).collect();
        Self::Object { bucket: bucket.to_owned(), key: key.to_owned(), info: info.clone(), data }
    }
}

/// The records that an earlier server wrote.
pub(super) struct LoadedStore {
    pub(super) records: Vec<(u64, Record, Content)>,
    /// The lowest number that is above all used numbers.
    pub(super) next: u64,
}

impl Disk {
    /// Opens the store in a directory. The directory must be empty, missing, or already a store.
    ///
    /// # Errors
    /// Fails if the directory contains other files, or cannot be used.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let at = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        fs::create_dir_all(path).map_err(at)?;
        let root = path.canonicalize().map_err(at)?;
        let mark = root.join(MARK);
        if open_plain(&mark).is_err() {
            if fs::read_dir(&root).map_err(at)?.next().is_some() {
                let what = "is neither empty nor a store: name another directory with --store";
                return Err(io::Error::new(ErrorKind::DirectoryNotEmpty, format!("{} {what}", path.display())));
            }
            fs::write(&mark, MARK_TEXT).map_err(at)?;
        }
        Ok(Self { root })
    }

    pub(super) fn data_path(&self, number: u64) -> PathBuf {
        self.path(number, "data")
    }

    fn path(&self, number: u64, kind: &str) -> PathBuf {
        self.root.join(format!("{number:016x}.{kind}"))
    }

    /// Writes a record atomically.
    pub(super) fn write(&self, number: u64, record: &Record) -> io::Result<()> {
        let (new, path) = (self.path(number, "new"), self.path(number, "json"));
        let mut text = serde_json::to_vec(record)?;
        text.push(b'\n');
        fs::write(&new, text)?;
        fs::rename(new, path)
    }

    pub(super) fn erase(&self, number: u64) -> io::Result<()> {
        fs::remove_file(self.path(number, "json"))
    }

    /// Reads the records, and removes files that do not belong to a record. Unfinished uploads leave such files behind.
    pub(super) fn load(&self, quota: &Arc<Quota>) -> io::Result<LoadedStore> {
        let mut found = LoadedStore { records: Vec::new(), next: 1 };
        let (mut named, mut data) = (HashSet::new(), Vec::new());
        for entry in fs::read_dir(&self.root)? {
            let path = entry?.path();
            if let Some(number) = number_of(&path, "json") {
                let (record, content) = self.read(&path, quota)?;
                if let Record::Object { data, .. } = &record {
                    named.extend(data.iter().copied());
                }
                found.next = found.next.max(number + 1);
                found.records.push((number, record, content));
            } else if let Some(number) = number_of(&path, "data") {
                found.next = found.next.max(number + 1);
                data.push(number);
            } else if number_of(&path, "new").is_some() {
                fs::remove_file(path)?;
            }
        }
        for number in data.into_iter().filter(|number| !named.contains(number)) {
            fs::remove_file(self.data_path(number))?;
        }
        found.records.sort_by_key(|(number, ..)| *number);
        Ok(found)
    }

    fn read(&self, path: &Path, quota: &Arc<Quota>) -> io::Result<(Record, Content)> {
        let damaged = |what: &dyn std::fmt::Display| {
            io::Error::new(ErrorKind::InvalidData, format!("{}: {what}; remove this file to continue", path.display()))
        };
        let file = open_plain(path).map_err(|error| damaged(&error))?;
        let record: Record =
            serde_json::from_reader(io::Read::take(file, RECORD_MAX)).map_err(|error| damaged(&error))?;
        let data = match &record {
            Record::Bucket { .. } => &[][..],
            Record::Object { data, .. } => data,
        };
        let paths = data.iter().map(|number| self.data_path(*number)).collect();
        match Content::of_files(paths, quota) {
            Ok(content) => Ok((record, content)),
            Err(WriteError::Failed(error)) => Err(damaged(&error)),
            Err(WriteError::Full) => {
                Err(io::Error::new(ErrorKind::StorageFull, "the store is larger than --store-max; raise --store-max"))
            }
        }
    }
}

/// Returns the number in a file name, if the file has this extension.
fn number_of(path: &Path, kind: &str) -> Option<u64> {
    let name = path.file_name()?.to_str()?.strip_suffix(kind)?.strip_suffix('.')?;
    let digits = name.len() == 16 && name.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    let number = u64::from_str_radix(name, 16).ok().filter(|number| digits && *number < u64::MAX)?;
    Some(number)
}
