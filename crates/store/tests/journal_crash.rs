//! Tests that killing a session at any moment loses nothing that it has counted, and that nothing is counted twice.
//!
//! The session is a child process: this test program, which runs only the test `session` with a directory in its
//! environment. The session reports the objects that it has counted through a pipe.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use store::StoreErrorKind;
use store::fill_directory::{FORMAT, FillDirectory, FillError, Identity, Origin};
use store::journal::{
    AckedObject, Evidence, FillState, JournalWriter, NumberSet, Record, SessionEnd, VerifiedObject, for_each_entry,
    replay,
};

/// The variable with the directory of the fill.
const DIRECTORY: &str = "JOURNAL_CRASH_DIRECTORY";
/// Number of sessions that are killed.
const KILLS: u64 = 40;

fn identity() -> Identity {
    Identity {
        format: FORMAT,
        version: "0.1.0".to_owned(),
        target: "http://h".to_owned(),
        dataset: serde_json::json!({"seed": 1}),
        objects: 1000,
        object_bytes: 0,
        copies: 1,
        part_bytes: None,
        order: "as given".to_owned(),
        tree_digest: None,
        share: None,
        created_unix_ms: 1,
    }
}

fn acked(number: u64) -> AckedObject {
    AckedObject {
        number,
        attempts: 1 + (number % 3) as u32,
        sent_bytes: number * 11 + 5,
        file_bytes: number * 7 + 1,
        evidence: Evidence::Response,
    }
}

/// The child process. Does nothing in an ordinary run of the tests.
#[test]
fn session() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let (fill, _) = FillDirectory::start(Path::new(&directory), &identity()).unwrap();
    let (mut writer, replay) = JournalWriter::open(&fill, &[]).unwrap();
    let state = replay.state;
    let (session, path) = fill.next_session(&state).unwrap();
    fs::create_dir_all(path).unwrap();
    writer.append(&Record::SessionStarted { session, unix_ms: 0 }).unwrap();
    // When the fill resumes, it determines which of the objects in doubt are stored. In this test, the server has every
    // second one of these objects.
    let (mut next, mut intended) = (state.intended_end, state.intended_end);
    let doubtful: Vec<u64> = state.in_doubt().collect();
    let (found, missing): (Vec<u64>, Vec<u64>) = doubtful.into_iter().partition(|number| number.is_multiple_of(2));
    let found = found.into_iter().map(|number| AckedObject { evidence: Evidence::FoundOnResume, ..acked(number) });
    writer.append(&Record::Acked(found.collect())).unwrap();
    let mut again = missing.into_iter();

    for round in 1.. {
        let mut batch = Vec::new();
        while batch.len() < 20 {
            let number = again.next().unwrap_or_else(|| {
                if next == intended {
                    intended += 50;
                    writer.append(&Record::Intend { first: next, end: intended }).unwrap();
                    // The intent is durable before the first request.
                    writer.sync(round).unwrap();
                }
                next += 1;
                next - 1
            });
            batch.push(number);
        }
        // Every seventh upload is still in flight when the others end.
        batch.retain(|number| !number.is_multiple_of(7));
        writer.append(&Record::Acked(batch.iter().copied().map(acked).collect())).unwrap();
        let verified =
            batch.iter().map(|number| VerifiedObject { number: *number, result: store::journal::Verification::Good });
        writer.append(&Record::Verified(verified.collect())).unwrap();
        writer.sync(round).unwrap();
        let counted: Vec<String> = batch.iter().map(ToString::to_string).collect();
        // A line is one write, which a kill does not split.
        std::io::stderr().write_all(format!("counted {}\n", counted.join(" ")).as_bytes()).unwrap();
    }
}

fn spawn(directory: &Path) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "session", "--nocapture", "--test-threads=1"]).env(DIRECTORY, directory);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs a session until it has counted `lines` batches, waits for `pause`, and kills the session. Returns the counted
/// objects.
fn kill_after(directory: &Path, lines: u64, pause: Duration) -> Vec<u64> {
    let mut child = spawn(directory);
    let mut output = BufReader::new(child.stderr.take().unwrap());
    let (mut counted, mut line) = (Vec::new(), String::new());
    for read in 0.. {
        if read == lines {
            std::thread::sleep(pause);
            child.kill().unwrap();
        }
        line.clear();
        if output.read_line(&mut line).unwrap() == 0 {
            break;
        }
        let numbers = line.strip_prefix("counted ").unwrap_or_else(|| panic!("the session failed: {line}"));
        counted.extend(numbers.split_whitespace().map(|number| number.parse::<u64>().unwrap()));
    }
    child.wait().unwrap();
    counted
}

#[test]
fn killed_sessions_lose_nothing_and_count_nothing_twice() {
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("fill");
    let mut counted = NumberSet::default();
    for kill in 0..KILLS {
        let pause = Duration::from_micros(kill * 7919 % 3000);
        for number in kill_after(&directory, kill % 6, pause) {
            assert!(counted.insert(number), "{number} was counted twice");
        }
        let (_, hash) = match FillDirectory::read_identity(&directory) {
            Ok(identity) => identity,
            // The session was killed before it created the fill.
            Err(error) => {
                assert!(counted.is_empty() && kill % 6 == 0, "{error}");
                continue;
            }
        };
        let replay = replay(&[&directory.join("journal")], Some(&hash)).unwrap();
        let state = &replay.state;
        assert!(counted.iter().all(|number| state.completed.contains(number)), "kill {kill}: counted, but lost");
        assert_eq!((state.duplicates, state.unintended), (0, 0), "kill {kill}");
        // Objects that were found when the fill resumed count from the session's first sync on.
        counted = state.completed.clone();
        let sum = |value: fn(AckedObject) -> u64| -> u64 { state.completed.iter().map(acked).map(value).sum() };
        let totals = state.totals;
        assert_eq!(totals.objects, state.completed.len());
        assert_eq!(
            (totals.file_bytes, totals.sent_bytes),
            (sum(|object| object.file_bytes), sum(|object| object.sent_bytes))
        );
        assert!(state.verified.good.iter().all(|number| state.completed.contains(number)));
    }
    assert!(counted.len() > 1000, "{counted:?}");

    let (fill, origin) = FillDirectory::start(&directory, &identity()).unwrap();
    assert_eq!(origin, Origin::Resumed);
    let (mut writer, replay) = JournalWriter::open(&fill, &[]).unwrap();
    assert_eq!(replay.state.completed, counted);
    let sessions = replay.state.sessions.len() as u64;
    assert!(sessions > KILLS / 2 && replay.state.gaps().count() as u64 == sessions - 1, "{sessions} sessions");
    writer.append(&Record::SessionEnded { session: 1, unix_ms: 0, reason: SessionEnd::Finished }).unwrap();
    writer.close(0).unwrap();
    assert!(!directory.join("journal/reserve").exists());
    check_fold(&fill);
}

/// Checks that replaying is the same as folding the records one by one.
fn check_fold(fill: &FillDirectory) {
    let (journal, hash) = (fill.journal_directory(), fill.identity_hash());
    let (mut state, mut next) = (FillState::default(), 0);
    let extent = for_each_entry(&[&journal], Some(&hash), |entry| {
        assert_eq!(entry.seq, next);
        next += 1;
        state.apply(&entry.record, entry.unix_ms);
    });
    let replay = replay(&[&journal], Some(&hash)).unwrap();
    assert_eq!((state, extent.unwrap()), (replay.state, replay.extent));
    assert_eq!(next, replay.extent.records);
}

#[test]
fn two_processes_never_share_a_fill() {
    let base = tempfile::tempdir().unwrap();
    let directory = base.path().join("fill");
    let mut child = spawn(&directory);
    let mut line = String::new();
    let mut output = BufReader::new(child.stderr.take().unwrap());
    output.read_line(&mut line).unwrap();
    assert!(line.starts_with("counted "), "{line}");
    let error = FillDirectory::start(&directory, &identity()).unwrap_err();
    let pid = child.id();
    assert!(
        matches!(error.kind, StoreErrorKind::Fill(FillError::InUse { pid: Some(found) }) if found == pid),
        "{error}"
    );

    // Readers do not need the lock.
    let (_, hash) = FillDirectory::read_identity(&directory).unwrap();
    for _ in 0..20 {
        let replay = replay(&[&directory.join("journal")], Some(&hash)).unwrap();
        assert!(!replay.state.completed.is_empty());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    FillDirectory::start(&directory, &identity()).unwrap();
}

#[test]
fn the_writer_keeps_the_lock_of_its_fill() {
    let base = tempfile::tempdir().unwrap();
    let (fill, _) = FillDirectory::start(base.path(), &identity()).unwrap();
    let (writer, _) = JournalWriter::open(&fill, &[]).unwrap();
    drop(fill);
    assert!(matches!(
        FillDirectory::open(base.path()).unwrap_err().kind,
        StoreErrorKind::Fill(FillError::InUse { .. })
    ));
    writer.close(0).unwrap();
    FillDirectory::open(base.path()).unwrap();
}

#[test]
fn segments_in_another_directory_are_read_when_it_is_named() {
    let base = tempfile::tempdir().unwrap();
    let spare = tempfile::tempdir().unwrap();
    let (fill, _) = FillDirectory::start(base.path(), &identity()).unwrap();
    let (mut writer, _) = JournalWriter::open(&fill, &[]).unwrap();
    writer.append(&Record::Intend { first: 0, end: 10 }).unwrap();
    writer.sync(0).unwrap();
    writer.open_next_segment(Some(spare.path())).unwrap();
    writer.append(&Record::Acked(vec![acked(3)])).unwrap();
    writer.close(0).unwrap();
    for _ in 0..2 {
        let (writer, replay) = JournalWriter::open(&fill, &[spare.path()]).unwrap();
        assert_eq!(replay.state.completed.iter().collect::<Vec<_>>(), [3]);
        writer.close(0).unwrap();
    }
    // Without the spare directory, the previous segment is missing.
    let error = JournalWriter::open(&fill, &[]).err().unwrap();
    assert!(matches!(error.kind, StoreErrorKind::Fill(FillError::MissingSegment)), "{error}");
}

#[test]
fn a_journal_can_be_replayed_while_it_is_written() {
    let base = tempfile::tempdir().unwrap();
    let (fill, _) = FillDirectory::start(base.path(), &identity()).unwrap();
    let (journal, hash) = (fill.journal_directory(), fill.identity_hash());
    let durable = AtomicU64::new(0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            for session in 0..40 {
                let (mut writer, _) = JournalWriter::open(&fill, &[]).unwrap();
                for _ in 0..5 {
                    writer.append(&Record::Intend { first: number, end: number + 9 }).unwrap();
                    writer.append(&Record::Acked((number..number + 9).map(acked).collect())).unwrap();
                    writer.sync(session).unwrap();
                    number += 9;
                    durable.store(number, Ordering::Release);
                    writer.open_next_segment(None).unwrap();
                }
            }
        });
        let (mut replays, mut last) = (0, 0);
        while last < 40 * 5 * 9 {
            last = durable.load(Ordering::Acquire);
            let replay = replay(&[&journal], Some(&hash)).unwrap();
            let found = replay.state.completed.len();
            assert!(found >= last, "{found} of {last} durable objects");
            replays += 1;
        }
        assert!(replays > 10, "{replays} replays");
    });
}

#[test]
fn a_hundred_thousand_objects_replay_in_a_moment() {
    const OBJECTS: u64 = 100_000;
    let base = tempfile::tempdir().unwrap();
    let (fill, _) = FillDirectory::start(base.path(), &identity()).unwrap();
    let (mut writer, _) = JournalWriter::open(&fill, &[]).unwrap();
    writer.append(&Record::Intend { first: 0, end: OBJECTS + 7 }).unwrap();
    for first in (0..OBJECTS).step_by(1000) {
        writer.append(&Record::Acked((first..first + 1000).rev().map(acked).collect())).unwrap();
    }
    writer.close(0).unwrap();
    let start = std::time::Instant::now();
    let replay = replay(&[&fill.journal_directory()], None).unwrap();
    // The limit is a hundredth of the goal for 10 million objects, which the example `journal_replay` measures.
    assert!(start.elapsed() < Duration::from_millis(300), "{:?}", start.elapsed());
    assert_eq!((replay.state.completed.len(), replay.state.in_doubt_count()), (OBJECTS, 7));
    assert!(replay.extent.bytes < OBJECTS * 16, "{} bytes", replay.extent.bytes);
}
