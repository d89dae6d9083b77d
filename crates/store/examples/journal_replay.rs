//! Writes a journal with this many acknowledged objects (10 million by default) and replays it. Prints the time, the size
//! and the peak memory of both.
//!
//! ```text
//! cargo run --release -p store --example journal_replay -- 10000000
//! ```

use std::error::Error;
use std::time::Instant;
use store::fill_directory::{FORMAT, FillDirectory, Identity};
use store::journal::{AckedObject, Evidence, JournalWriter, Record, replay};

/// Objects per sync, as at 10,000 objects per second and ten syncs.
const GROUP_OBJECTS: u64 = 1000;
/// Objects of one interval and thread.
const BATCH_OBJECTS: u64 = 250;

fn main() -> Result<(), Box<dyn Error>> {
    let objects: u64 = std::env::args().nth(1).map_or(Ok(10_000_000), |count| count.parse())?;
    let directory = tempfile::tempdir_in(".")?;
    let identity = Identity {
        format: FORMAT,
        version: String::new(),
        target: "http://localhost:9000".to_owned(),
        dataset: serde_json::Value::Null,
        objects,
        object_bytes: 0,
        copies: 1,
        part_bytes: None,
        order: "as given".to_owned(),
        tree_digest: None,
        created_unix_ms: 0,
    };
    let (fill, _) = FillDirectory::start(&directory.path().join("fill"), &identity)?;
    write(&fill, objects)?;

    let before = sys::limits::peak_memory_bytes()?;
    let start = Instant::now();
    let replay = replay(&[&fill.journal_directory()], Some(&fill.identity_hash()))?;
    let seconds = start.elapsed().as_secs_f64();
    assert_eq!((replay.state.totals.objects, replay.state.in_doubt_count()), (objects, 0));
    let start = Instant::now();
    assert_eq!(replay.state.in_doubt().next(), None);
    println!(
        "replay: {seconds:.2} s, {:.1} MB in {} segments, in doubt listed in {:.3} s, peak memory {:.1} MB ({:.1} MB before)",
        replay.extent.bytes as f64 / 1e6,
        replay.extent.segments,
        start.elapsed().as_secs_f64(),
        sys::limits::peak_memory_bytes()? as f64 / 1e6,
        before as f64 / 1e6,
    );
    Ok(())
}

fn write(fill: &FillDirectory, objects: u64) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let (mut writer, _) = JournalWriter::open(fill, &[])?;
    let mut syncs = 0;
    for first in (0..objects).step_by(GROUP_OBJECTS as usize) {
        let end = (first + GROUP_OBJECTS).min(objects);
        writer.append(&Record::Intend { first, end })?;
        for batch in (first..end).step_by(BATCH_OBJECTS as usize) {
            // Uploads do not end in the order of their start.
            let numbers = (batch..(batch + BATCH_OBJECTS).min(end)).rev();
            writer.append(&Record::Acked(numbers.map(acked).collect()))?;
        }
        writer.sync(first)?;
        syncs += 1;
    }
    writer.close(objects)?;
    let seconds = start.elapsed().as_secs_f64();
    println!(
        "write: {seconds:.2} s, {syncs} syncs of {GROUP_OBJECTS} objects, {:.3} ms each",
        seconds / f64::from(syncs) * 1e3
    );
    Ok(())
}

fn acked(number: u64) -> AckedObject {
    let file_bytes = 1_000_000 + number * 7919 % 50_000_000;
    AckedObject { number, attempts: 1, sent_bytes: file_bytes, file_bytes, evidence: Evidence::Response }
}
