//! Files of a renter, and their totals.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use crate::error::ParseError;
use crate::json;

/// Maximum number of files in one response.
pub const FILES_MAX: usize = 1_000_000;

/// A file of a renter.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct FileInfo<'a> {
    /// The file's path in siad.
    #[serde(borrow)]
    pub siapath: Cow<'a, str>,
    /// The file's size in bytes.
    #[serde(rename = "filesize")]
    pub bytes: u64,
    /// `true` if the file can be downloaded because each of its chunks has enough pieces.
    #[serde(default)]
    pub available: bool,
    /// Redundancy of the least redundant chunk; -1 for an empty file. The redundancy of a chunk is the number of its
    /// stored pieces divided by the number of its data pieces.
    #[serde(default)]
    pub redundancy: f64,
    /// Bytes that hosts store for the file, with padding and redundancy.
    #[serde(rename = "uploadedbytes")]
    pub uploaded_bytes: u64,
    /// Progress of the upload: the percentage of the file's bytes, with redundancy, that hosts have stored. A file can
    /// be available long before 100 %.
    #[serde(rename = "uploadprogress")]
    pub progress_percent: f64,
}

/// The files of a renter. When the command `fill` resumes, it looks up files by name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Files {
    /// The files, sorted by name.
    pub files: Vec<FileInfo<'static>>,
}

/// Totals over files.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FileTotals {
    /// The number of files.
    pub count: u64,
    /// Files whose upload has not reached 100 %.
    pub in_progress: u64,
    /// The sum of size × progress over all files. For incomplete files, the sum is too low, because progress includes
    /// redundancy.
    pub file_bytes: f64,
    /// Bytes that hosts store, with padding and redundancy.
    pub uploaded_bytes: u64,
}

const REQUEST: &str = "GET /renter/files of siad";

/// Path of the request that uploads a file, before the name of the file.
const UPLOAD: &str = "/renter/upload";

/// Returns the name of the file in the URL or path of the request that uploads it; `None` for other URLs.
#[must_use]
pub fn siapath_of_upload(url: &str) -> Option<String> {
    let (_, name) = url.split_once(UPLOAD)?;
    let name = name.split('?').next().unwrap_or_default();
    Some(wire::percent::decode_path(name).trim_start_matches('/').to_owned())
}

impl Files {
    /// Parses the body of `GET /renter/files`. siad lists files in no particular order.
    ///
    /// # Errors
    /// Returns an error if the body is not valid, or has more than [`FILES_MAX`] files.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let mut files = Vec::new();
        for_each(body, &mut |file| files.push(file.into_owned()))?;
        files.sort_by(|a, b| a.siapath.cmp(&b.siapath));
        Ok(Self { files })
    }

    /// Returns the file with this name.
    #[must_use]
    pub fn get(&self, siapath: &str) -> Option<&FileInfo<'static>> {
        let found = self.files.binary_search_by(|file| file.siapath.as_ref().cmp(siapath));
        found.ok().and_then(|index| self.files.get(index))
    }
}

impl FileInfo<'_> {
    /// Returns whether the upload has not reached 100 %.
    #[must_use]
    pub fn is_in_progress(&self) -> bool {
        self.progress_percent < 100.0
    }

    fn into_owned(self) -> FileInfo<'static> {
        FileInfo { siapath: Cow::Owned(self.siapath.into_owned()), ..self }
    }
}

impl FileTotals {
    /// Adds up the files in the body of `GET /renter/files`, without keeping the list in memory.
    ///
    /// # Errors
    /// Returns an error if the body is not valid, or has more than [`FILES_MAX`] files.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let mut totals = Self::default();
        for_each(body, &mut |file| totals.add(&file))?;
        Ok(totals)
    }

    /// Adds a file. The floating-point operations have the same order as in the study's collector, so that the rounding
    /// is the same.
    pub fn add(&mut self, file: &FileInfo<'_>) {
        self.count += 1;
        self.file_bytes += file.bytes as f64 * (file.progress_percent / 100.0);
        self.uploaded_bytes = self.uploaded_bytes.saturating_add(file.uploaded_bytes);
        self.in_progress += u64::from(file.is_in_progress());
    }
}

/// Calls `take` with each file of a body, in the order of the body.
fn for_each<'de>(body: &'de [u8], take: &mut dyn FnMut(FileInfo<'de>)) -> Result<(), ParseError> {
    json::parse_seed(REQUEST, body, Document { take })
}

/// The document `{"files": […]}`.
struct Document<'a, 'de> {
    take: &'a mut dyn FnMut(FileInfo<'de>),
}

impl<'de> DeserializeSeed<'de> for Document<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Document<'_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `files`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut found = false;
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            if key == "files" {
                if found {
                    return Err(A::Error::duplicate_field("files"));
                }
                found = true;
                map.next_value_seed(List { take: self.take })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        if found { Ok(()) } else { Err(A::Error::missing_field("files")) }
    }
}

struct List<'a, 'de> {
    take: &'a mut dyn FnMut(FileInfo<'de>),
}

impl<'de> DeserializeSeed<'de> for List<'_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        json::each(deserializer, FILES_MAX, self.take)
    }
}
