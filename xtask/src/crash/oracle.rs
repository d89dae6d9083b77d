//! Independent checks of a fill: what its journal records, and which bytes the store of the embedded server has. The tests
//! of fills on several hosts include this file too.

use content::{Content, Dataset};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use store::fill_directory::{FillDirectory, JOURNAL_DIRECTORY};
use store::journal::{Evidence, Record, Unsettled, for_each_entry};

/// The contents of a journal, read independently of the program's own code.
#[derive(Debug, Default)]
pub struct Journal {
    /// Numbers of the objects whose upload may have started.
    pub intended: BTreeSet<u64>,
    /// Sizes of the acknowledged objects by their number.
    pub acked: BTreeMap<u64, u64>,
    /// Number of acknowledged objects that were found at the target.
    pub found: u64,
    /// Number of attempts of all uploads.
    pub attempts: u64,
    /// Bytes of content that all attempts sent.
    pub sent_bytes: u64,
    /// For each session, the last record of attempts without a result.
    unsettled: Vec<Unsettled>,
}

impl Journal {
    /// Reads the journal of a fill. No session may be running. A fill that was killed before its first record is empty.
    pub fn read(fill: &Path) -> Result<Self, String> {
        let mut totals = Self::default();
        let journal = fill.join(JOURNAL_DIRECTORY);
        if !journal.exists() {
            return Ok(totals);
        }
        let (_, hash) = FillDirectory::read_identity(fill).map_err(text)?;
        let (mut unintended, mut twice) = (0_u64, 0_u64);
        let visited = for_each_entry(&[&journal], Some(&hash), |entry| match entry.record {
            Record::SessionStarted { .. } => totals.unsettled.push(Unsettled::default()),
            Record::Unsettled(unsettled) => totals.unsettled.last_mut().into_iter().for_each(|last| *last = unsettled),
            Record::Intend { first, end } => totals.intended.extend(first..end),
            Record::Acked(batch) => {
                for object in batch {
                    unintended += u64::from(!totals.intended.contains(&object.number));
                    if totals.acked.insert(object.number, object.file_bytes).is_none() {
                        totals.found += u64::from(object.evidence == Evidence::FoundOnResume);
                        totals.attempts += u64::from(object.attempts);
                        totals.sent_bytes += object.sent_bytes;
                    } else {
                        twice += 1;
                    }
                }
            }
            Record::Failed(batch) => {
                for object in batch {
                    totals.attempts += u64::from(object.attempts);
                    totals.sent_bytes += object.sent_bytes;
                }
            }
            _ => {}
        });
        visited.map_err(text)?;
        totals.attempts += totals.unsettled.iter().map(|session| session.attempts).sum::<u64>();
        totals.sent_bytes += totals.unsettled.iter().map(|session| session.sent_bytes).sum::<u64>();
        match (unintended, twice) {
            (0, 0) => Ok(totals),
            (0, _) => Err(format!("{twice} objects were acknowledged twice")),
            _ => Err(format!("{unintended} objects were acknowledged that were never intended")),
        }
    }
}

/// Compares the objects of a fill at the server with the dataset, byte by byte. Every object of the dataset must be there,
/// and no other.
pub fn compare_objects(objects: &BTreeMap<String, Vec<PathBuf>>, dataset: &Dataset) -> Result<(), String> {
    let content = Content::new(dataset.description().seed);
    let mut key = String::new();
    for number in 0..dataset.count() {
        let size = dataset.read(number, &mut key).map_or(0, |size| size.0);
        let Some(files) = objects.get(&key) else {
            return Err(format!("{key} was acknowledged, and is not in the store"));
        };
        let mut stored = Vec::new();
        for file in files {
            stored.extend(fs::read(file).map_err(|error| format!("cannot read {}: {error}", file.display()))?);
        }
        let mut expected = vec![0; size as usize];
        content.object(&key).fill(0, &mut expected);
        if stored != expected {
            return Err(format!("{key} has other bytes than it should"));
        }
    }
    match objects.keys().find(|key| dataset.index_of(key).is_none()) {
        Some(key) => Err(format!("{key} was never intended")),
        None => Ok(()),
    }
}

/// Returns the files of each object with this prefix in a store of the embedded server, by the keys below the prefix.
pub fn objects_of_embedded(store: &Path, prefix: &str) -> Result<BTreeMap<String, Vec<PathBuf>>, String> {
    let cannot_read = |error: std::io::Error| format!("cannot read the store: {error}");
    let mut objects = BTreeMap::new();
    for entry in fs::read_dir(store).map_err(cannot_read)? {
        let path = entry.map_err(cannot_read)?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let record: Value = serde_json::from_slice(&fs::read(&path).map_err(cannot_read)?).map_err(text)?;
        let object = &record["Object"];
        let Some(key) = object["key"].as_str().and_then(|key| key.strip_prefix(prefix)) else { continue };
        let data = object["data"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        let files = data.map(|number| store.join(format!("{number:016x}.data"))).collect();
        if objects.insert(key.to_owned(), files).is_some() {
            return Err(format!("the store has {key} twice"));
        }
    }
    Ok(objects)
}

fn text(error: impl Display) -> String {
    error.to_string()
}
