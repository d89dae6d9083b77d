//! The checks after a fill has ended: the store of the server, open uploads, and the report compared with the journal.

use super::ServerKind;
use super::oracle::{Journal, compare_objects, objects_of_embedded};
use super::server::Server;
use crate::failure::{Context, Result, failure};
use content::{Dataset, Description};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use store::fill_directory::FillDirectory;

/// Prefix of the fill's keys.
const PREFIX: &str = "f/";
/// Maximum number of requests for the list of open uploads.
const TRIES: u32 = 5;

/// Checks the objects, uploads and reports of a finished fill, and returns a short description.
pub fn check(plimsoll: &Path, server: &mut Server, fill: &Path) -> Result<String> {
    let (identity, _) = FillDirectory::read_identity(fill).map_err(failure)?;
    let description: Description = serde_json::from_value(identity.dataset).map_err(failure)?;
    let dataset = Dataset::new(description);
    let report = report(plimsoll, server, fill)?;
    let journal = Journal::read(fill).map_err(failure)?;
    compare(&report, &journal, &dataset)?;
    let open = open_uploads(plimsoll, server)?;
    if open > 0 {
        return Err(failure(format_args!("{open} multipart uploads are open")));
    }
    server.stop();
    let objects = match server.kind() {
        ServerKind::Embedded => objects_of_embedded(server.store(), PREFIX).map_err(failure)?,
        ServerKind::Versitygw => objects_of_versitygw(&server.store().join("bucket"))?,
    };
    compare_objects(&objects, &dataset).map_err(failure)?;
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
    Ok(Journal::read(fill).map_err(failure)?.acked.into_keys().collect())
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

/// Compares the report with the journal and with the dataset.
fn compare(report: &Value, journal: &Journal, dataset: &Dataset) -> Result<()> {
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
