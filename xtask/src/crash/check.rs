//! The checks after a fill has ended: the store of the server, open uploads, and the report compared with the journal.

use super::ServerKind;
use super::server::Server;
use crate::failure::{Context, Result, failure};
use content::{Content, Dataset, Description};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use store::fill_directory::FillDirectory;
use store::journal::{Record, Unsettled, for_each_entry};

/// Prefix of the fill's keys.
const PREFIX: &str = "f/";
/// Maximum number of requests for the list of open uploads.
const TRIES: u32 = 5;

/// Checks the objects, uploads and reports of a finished fill, and returns a short description.
pub fn check(plimsoll: &Path, server: &mut Server, fill: &Path) -> Result<String> {
    let (identity, hash) = FillDirectory::read_identity(fill).map_err(failure)?;
    let description: Description = serde_json::from_value(identity.dataset).map_err(failure)?;
    let dataset = Dataset::new(description);
    let report = report(plimsoll, server, fill)?;
    let journal = Recomputed::of(fill, &hash)?;
    compare(&report, &journal, &dataset)?;
    let open = open_uploads(plimsoll, server)?;
    if open > 0 {
        return Err(failure(format_args!("{open} multipart uploads are open")));
    }
    server.stop();
    let objects = match server.kind() {
        ServerKind::Embedded => objects_of_embedded(server.store())?,
        ServerKind::Versitygw => objects_of_versitygw(&server.store().join("bucket"))?,
    };
    compare_objects(&objects, &dataset)?;
    let number = |name: &str| report[name].as_u64().unwrap_or(0);
    Ok(format!(
        "{} objects, {} found after an interruption, {} sent again",
        number("stored"),
        number("found_on_resume"),
        measure::units::ByteSize(number("sent_again_bytes")).human()
    ))
}

/// Returns the objects that are acknowledged according to the journal. No session may be running.
pub fn acked(fill: &Path) -> Result<BTreeSet<u64>> {
    if !fill.join(store::fill_directory::JOURNAL_DIRECTORY).exists() {
        return Ok(BTreeSet::new());
    }
    let (_, hash) = FillDirectory::read_identity(fill).map_err(failure)?;
    Ok(Recomputed::of(fill, &hash)?.acked.into_keys().collect())
}

/// Returns the report of the fill as JSON.
fn report(plimsoll: &Path, server: &Server, fill: &Path) -> Result<Value> {
    let mut command = server.client(plimsoll, &["report", "--json"]);
    let output = command.arg(fill).stderr(Stdio::null()).output().cannot("run plimsoll")?;
    serde_json::from_slice(&output.stdout).map_err(|error| failure(format_args!("the report cannot be read: {error}")))
}

/// Returns the number of open multipart uploads of the bucket.
fn open_uploads(plimsoll: &Path, server: &Server) -> Result<u64> {
    let mut message = String::new();
    // The faults of the server can hit this command too.
    for _ in 0..TRIES {
        let mut command = server.client(plimsoll, &["cleanup", "s3://bucket", "--count", "1", "--json"]);
        let output = command.output().cannot("run plimsoll")?;
        if let Ok(cleaned) = serde_json::from_slice(&output.stdout) {
            return counted(&cleaned);
        }
        message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    }
    Err(failure(format_args!("open uploads cannot be listed: {message}")))
}

fn counted(cleaned: &Value) -> Result<u64> {
    let uploads = &cleaned["uploads"];
    match (uploads["aborted"].as_u64(), uploads["others"].as_u64()) {
        (Some(aborted), Some(others)) => Ok(aborted + others),
        _ => Err(failure("open uploads cannot be listed")),
    }
}

/// Totals of the journal. They are computed independently of the program's own computation.
#[derive(Debug, Default)]
struct Recomputed {
    intended: BTreeSet<u64>,
    acked: BTreeMap<u64, u64>,
    found: u64,
    attempts: u64,
    sent_bytes: u64,
    /// For each session, the last record of attempts without a result.
    unsettled: Vec<Unsettled>,
}

impl Recomputed {
    fn of(fill: &Path, hash: &[u8; 32]) -> Result<Self> {
        let mut totals = Self::default();
        let journal = fill.join(store::fill_directory::JOURNAL_DIRECTORY);
        let (mut unintended, mut twice) = (0_u64, 0_u64);
        let visited = for_each_entry(&[&journal], Some(hash), |entry| match entry.record {
            Record::SessionStarted { .. } => totals.unsettled.push(Unsettled::default()),
            Record::Unsettled(unsettled) => totals.unsettled.last_mut().into_iter().for_each(|last| *last = unsettled),
            Record::Intend { first, end } => totals.intended.extend(first..end),
            Record::Acked(batch) => {
                for object in batch {
                    unintended += u64::from(!totals.intended.contains(&object.number));
                    if totals.acked.insert(object.number, object.file_bytes).is_none() {
                        totals.found += u64::from(object.evidence == store::journal::Evidence::FoundOnResume);
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
        visited.map_err(failure)?;
        totals.attempts += totals.unsettled.iter().map(|session| session.attempts).sum::<u64>();
        totals.sent_bytes += totals.unsettled.iter().map(|session| session.sent_bytes).sum::<u64>();
        match (unintended, twice) {
            (0, 0) => Ok(totals),
            (0, _) => Err(failure(format_args!("{twice} objects were acknowledged twice"))),
            _ => Err(failure(format_args!("{unintended} objects were acknowledged that were never intended"))),
        }
    }
}

/// Compares the report with the journal and with the dataset.
fn compare(report: &Value, journal: &Recomputed, dataset: &Dataset) -> Result<()> {
    let count = dataset.count();
    let expected = [
        ("objects", count),
        ("stored", journal.acked.len() as u64),
        ("stored", count),
        ("stored_bytes", journal.acked.values().sum()),
        ("stored_bytes", (0..count).filter_map(|number| dataset.size(number)).map(|size| size.0).sum()),
        ("found_on_resume", journal.found),
        ("attempts", journal.attempts),
        ("sent_bytes", journal.sent_bytes),
        ("failed", 0),
    ];
    for (name, value) in expected {
        if report[name].as_u64() != Some(value) {
            return Err(failure(format_args!("`{name}` is {} in the report, and must be {value}", report[name])));
        }
    }
    let good = report["verified"]["good"].as_u64();
    if report["result"] != "pass" || good != Some(count) {
        return Err(failure(format_args!("the result is {}, with {good:?} good objects of {count}", report["result"])));
    }
    Ok(())
}

/// Compares the objects of the fill at the server with the dataset, byte by byte.
fn compare_objects(objects: &BTreeMap<String, Vec<PathBuf>>, dataset: &Dataset) -> Result<()> {
    let content = Content::new(dataset.description().seed);
    let mut key = String::new();
    for number in 0..dataset.count() {
        let size = dataset.read(number, &mut key).map_or(0, |size| size.0);
        let Some(files) = objects.get(&key) else {
            return Err(failure(format_args!("{key} was acknowledged, and is not in the store")));
        };
        let mut stored = Vec::new();
        for file in files {
            stored.extend(fs::read(file).cannot(format_args!("read {}", file.display()))?);
        }
        let mut expected = vec![0; size as usize];
        content.object(&key).fill(0, &mut expected);
        if stored != expected {
            return Err(failure(format_args!("{key} has other bytes than it should")));
        }
    }
    match objects.keys().find(|key| dataset.index_of(key).is_none()) {
        Some(key) => Err(failure(format_args!("{key} was never intended"))),
        None => Ok(()),
    }
}

/// Returns the files of each object of the fill in a store of the embedded server.
fn objects_of_embedded(store: &Path) -> Result<BTreeMap<String, Vec<PathBuf>>> {
    let mut objects = BTreeMap::new();
    for entry in fs::read_dir(store).cannot("read the store")? {
        let path = entry.cannot("read the store")?.path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let record: Value = serde_json::from_slice(&fs::read(&path).cannot("read the store")?).map_err(failure)?;
        let object = &record["Object"];
        let Some(key) = object["key"].as_str().and_then(|key| key.strip_prefix(PREFIX)) else { continue };
        let data = object["data"].as_array().into_iter().flatten().filter_map(Value::as_u64);
        let files = data.map(|number| store.join(format!("{number:016x}.data"))).collect();
        if objects.insert(key.to_owned(), files).is_some() {
            return Err(failure(format_args!("the store has {key} twice")));
        }
    }
    Ok(objects)
}

/// Returns the file of each object of the fill in a bucket of VersityGW.
fn objects_of_versitygw(bucket: &Path) -> Result<BTreeMap<String, Vec<PathBuf>>> {
    let directory = bucket.join(PREFIX);
    let mut objects = BTreeMap::new();
    for entry in fs::read_dir(&directory).cannot("read the bucket")? {
        let path = entry.cannot("read the bucket")?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        objects.insert(name, vec![path]);
    }
    Ok(objects)
}
