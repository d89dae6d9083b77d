//! The identity of a fill. The identity consists of the settings that determine the objects and the target.

use super::{FillError, IDENTITY_FILE};
use crate::error::{StoreError, StoreErrorKind};
use crate::record::Versioned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

/// The version of the format.
pub const FORMAT: u32 = 1;
/// Maximum size of the file.
const BYTES_MAX: u64 = 1 << 20;
/// Maximum number of characters of a value in an error message.
const SHOWN_CHARS_MAX: usize = 100;

/// The settings of a fill. All sessions of a fill have the same settings, except for version and time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Identity {
    /// Version of the format.
    pub format: u32,
    /// Version of the program that created the fill.
    pub version: String,
    /// The target without credentials.
    pub target: String,
    /// Description of the dataset.
    pub dataset: serde_json::Value,
    /// Number of objects.
    pub objects: u64,
    /// Size of all objects in bytes.
    pub object_bytes: u64,
    /// Number of copies of each file.
    pub copies: u64,
    /// Size of a part of multipart uploads. `None` without multipart uploads.
    pub part_bytes: Option<u64>,
    /// Order of the uploads.
    pub order: String,
    /// Digest of the tree of files, in hexadecimal. `None` for generated content.
    pub tree_digest: Option<String>,
    /// The share of the dataset that this fill uploads, if several hosts upload the dataset together. `None` for the whole
    /// dataset. The counts and the object numbers of the journal are those of the share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub share: Option<Share>,
    /// Wall time of creation in milliseconds since 1970.
    pub created_unix_ms: u64,
}

/// The share of a host in a dataset: number `index` of `of`, counted from 0. Object n of the share is object
/// n × `of` + `index` of the dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Number of the share.
    pub index: u32,
    /// Number of shares.
    pub of: u32,
}

impl std::fmt::Display for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} of {}", u64::from(self.index) + 1, self.of)
    }
}

/// An identity and the digest of the file that contains it.
#[derive(Debug)]
pub(super) struct SavedIdentity {
    pub(super) identity: Identity,
    pub(super) hash: [u8; 32],
}

impl Identity {
    /// Returns the settings in which another identity differs, with both values. `None` if all settings are equal.
    #[must_use]
    pub fn differences(&self, other: &Self) -> Option<String> {
        let Self { format: _, version: _, target, dataset, objects: _, object_bytes: _, .. } = self;
        let Self { copies, part_bytes, order, tree_digest, share, created_unix_ms: _, .. } = self;
        let text = |value: Option<&String>| value.map_or_else(|| "none".to_owned(), Clone::clone);
        let share_text = |share: Option<Share>| share.map_or_else(|| "none".to_owned(), |share| share.to_string());
        let bytes = |value: Option<u64>| value.map_or_else(|| "none".to_owned(), |bytes| format!("{bytes} B"));
        let fields = [
            ("target", target.clone(), other.target.clone()),
            ("copies", copies.to_string(), other.copies.to_string()),
            ("part size", bytes(*part_bytes), bytes(other.part_bytes)),
            ("order", order.clone(), other.order.clone()),
            ("share of a host", share_text(*share), share_text(other.share)),
            ("files of the tree", text(tree_digest.as_ref()), text(other.tree_digest.as_ref())),
        ];
        let differ = fields.iter().filter(|(_, saved, new)| saved != new);
        let mut differ: Vec<String> = differ.map(|(name, saved, new)| describe(name, saved, new)).collect();
        differ.extend(dataset_differences(dataset, &other.dataset));
        (!differ.is_empty()).then(|| differ.join(", "))
    }

    pub(super) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = serde_json::to_vec_pretty(self)?;
        bytes.push(b'\n');
        Ok(bytes)
    }
}

/// Compares the datasets, field by field if both are JSON objects.
fn dataset_differences(saved: &serde_json::Value, new: &serde_json::Value) -> Vec<String> {
    let (Some(saved_fields), Some(new_fields)) = (saved.as_object(), new.as_object()) else {
        return if saved == new { Vec::new() } else { vec![describe("dataset", &saved.to_string(), &new.to_string())] };
    };
    let text = |value: Option<&serde_json::Value>| value.map_or_else(|| "none".to_owned(), ToString::to_string);
    let only_new = new_fields.keys().filter(|name| !saved_fields.contains_key(*name));
    let names = saved_fields.keys().chain(only_new).map(|name| (name, saved_fields.get(name), new_fields.get(name)));
    let differ = names.filter(|(_, saved, new)| saved != new);
    differ.map(|(name, saved, new)| describe(&format!("dataset {name}"), &text(saved), &text(new))).collect()
}

fn describe(name: &str, saved: &str, new: &str) -> String {
    format!("{name} ({}, now {})", shorten(saved), shorten(new))
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Reads the identity in a directory.
pub(super) fn read(directory: &Path) -> Result<SavedIdentity, StoreError> {
    let path = directory.join(IDENTITY_FILE);
    let failed = |error: io::Error| StoreError::new(&path, error);
    let file = File::open(&path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound if !directory.exists() => StoreError::new(directory, StoreErrorKind::Missing),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => StoreError::new(directory, FillError::NotAFill),
        _ => failed(error),
    })?;
    if !fs::metadata(&path).map_err(failed)?.is_file() {
        return Err(StoreError::new(&path, StoreErrorKind::NotAFile));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > BYTES_MAX {
        let (bytes, limit) = (bytes.len(), BYTES_MAX as usize);
        return Err(StoreError::new(&path, StoreErrorKind::TooLarge { bytes, limit }));
    }
    let json = |error: serde_json::Error| StoreError::new(&path, error);
    let saved: Versioned = serde_json::from_slice(&bytes).map_err(json)?;
    StoreErrorKind::check_format(saved.format, FORMAT).map_err(|kind| StoreError::new(&path, kind))?;
    let identity = serde_json::from_slice(&bytes).map_err(json)?;
    Ok(SavedIdentity { identity, hash: Sha256::digest(&bytes).into() })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;

    pub fn identity() -> Identity {
        Identity {
            format: FORMAT,
            version: "0.1.0".to_owned(),
            target: "s3://bucket/prefix".to_owned(),
            dataset: json!({"objects": 1000, "size": "10MiB", "seed": 7}),
            objects: 1000,
            object_bytes: 1000 * (10 << 20),
            copies: 1,
            part_bytes: Some(8 << 20),
            order: "as given".to_owned(),
            tree_digest: None,
            share: None,
            created_unix_ms: 1_795_228_200_000,
        }
    }

    #[test]
    fn version_and_time_may_differ() {
        let later = Identity { version: "0.2.0".to_owned(), created_unix_ms: 5, ..identity() };
        assert_eq!(identity().differences(&later), None);
    }

    #[test]
    fn each_setting_that_differs_is_named_with_both_values() {
        let other = Identity {
            target: "s3://bucket/other".to_owned(),
            dataset: json!({"objects": 1000, "size": "20MiB", "names": "a"}),
            copies: 2,
            part_bytes: None,
            order: "random".to_owned(),
            tree_digest: Some("ab".repeat(100)),
            share: Some(Share { index: 1, of: 3 }),
            ..identity()
        };
        let text = identity().differences(&other).unwrap();
        let shown = "ab".repeat(50);
        let expected = format!(
            "target (s3://bucket/prefix, now s3://bucket/other), copies (1, now 2), part size (8388608 B, now none), \
             order (as given, now random), share of a host (none, now 2 of 3), files of the tree (none, now {shown}…), dataset seed (7, now none), \
             dataset size (\"10MiB\", now \"20MiB\"), dataset names (none, now \"a\")"
        );
        assert_eq!(text, expected);
        let other = Identity { dataset: json!("tree"), ..identity() };
        assert!(identity().differences(&other).unwrap().starts_with("dataset ({\"objects\":1000"));
    }

    #[test]
    fn identities_that_cannot_be_read_are_rejected() {
        let dir = tempfile::tempdir().unwrap();
        let failure = |text: &str| {
            fs::write(dir.path().join(IDENTITY_FILE), text).unwrap();
            read(dir.path()).unwrap_err().to_string()
        };
        assert!(failure("{\"format\": 7, \"new\": 1}").contains("format 7"));
        assert!(failure("{\"format\": 1}").contains("not valid JSON (missing field"));
        assert!(failure("").contains("not valid JSON"));
        let mut json = serde_json::to_value(identity()).unwrap();
        json["compression"] = true.into();
        assert!(failure(&json.to_string()).contains("unknown field `compression`"));
        assert!(failure(&" ".repeat(2 << 20)).contains("above the limit"));
        fs::remove_file(dir.path().join(IDENTITY_FILE)).unwrap();
        let error = read(dir.path()).unwrap_err().to_string();
        assert!(error.ends_with("not a fill, because it contains no fill.json"), "{error}");
        assert!(matches!(read(Path::new("/nowhere/at/all")).unwrap_err().kind, StoreErrorKind::Missing));
    }
}
