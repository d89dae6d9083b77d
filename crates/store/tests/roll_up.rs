//! Tests that rolling up a run loses nothing, whenever its process is killed.

use measure::{Instant, Interval, Model, OpKind, Stage};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use store::{
    Begin, DamageKind, FORMAT, Host, RECORDS_FILE, Record, RollUpRules, RunWriter, SNAPSHOT_FILE, SavedRun, Step,
    for_each_record, segments,
};

fn begin() -> Begin {
    Begin {
        format: FORMAT,
        version: "0".into(),
        debug_build: false,
        started_unix_ms: 7,
        command: Vec::new(),
        targets: Vec::new(),
        urls: 1,
        model: Model::Closed { concurrency: 2 },
        load: String::new(),
        levels: None,
        warmup_ms: 0,
        duration_ms: None,
        seed: 0,
        threads: 1,
        settings: Vec::new(),
        objectives: Vec::new(),
        accept_not_enough_data: false,
        host: Host::default(),
        loopback: false,
        header: None,
        insecure: false,
        path: None,
        part: None,
    }
}

fn second(index: u64) -> Interval {
    let at = |second: u64| Instant::from_nanos(second * 1_000_000_000);
    let mut interval = Interval::new(Stage::Measured, at(index), at(index + 1));
    for kind in [OpKind::Put, OpKind::PutMultipart] {
        let stats = interval.stats.kind_mut(kind);
        for value in 0..20 {
            stats.response.record((value + 1) * (index % 50 + 1) * 977_000);
            stats.ok += 1;
        }
    }
    interval.stats.measured.ok = 40;
    interval.stats.traffic.sent_body = 1000 + index;
    interval.client.busy = 0.25;
    interval
}

fn rules() -> RollUpRules {
    let step = |age, length| Step { age: Duration::from_secs(age), length: Duration::from_secs(length) };
    RollUpRules { file: Duration::from_secs(15), steps: [step(30, 5), step(60, 15)] }
}

fn write(dir: &Path, seconds: u64) -> RunWriter {
    let mut writer = RunWriter::create(dir, &begin()).unwrap().rolling_up(rules());
    for index in 0..seconds {
        writer.interval(&second(index)).unwrap();
        writer.settle();
    }
    writer
}

/// Checks that a run consists of its first seconds. Returns their number.
fn check(run: &SavedRun) -> u64 {
    let seconds = run.points.last().map_or(0, |point| point.end.as_nanos() / 1_000_000_000);
    let all: Vec<Interval> = (0..seconds).map(second).collect();
    let expected = SavedRun::of(begin(), &all, None);
    let (mine, theirs) = (run.summary(), expected.summary());
    assert_eq!(mine.all.response, theirs.all.response);
    assert_eq!(mine.stats.measured, theirs.stats.measured);
    assert_eq!(mine.stats.traffic, theirs.stats.traffic);
    assert_eq!(mine.seconds, theirs.seconds);
    assert!(
        (mine.measured.seconds - seconds as f64).abs() < 1e-6 && (mine.limits.busy - theirs.limits.busy).abs() < 1e-6
    );
    assert_eq!(run.heat.columns().flatten().sum::<u64>(), seconds * 40);
    assert_eq!(run.points.iter().map(|point| point.ok).sum::<u64>(), seconds * 40);
    assert!(run.points.windows(2).all(|pair| pair[0].end == pair[1].start));
    assert_eq!(run.damage, None);
    seconds
}

#[test]
fn old_intervals_are_joined_in_two_steps() {
    let dir = tempfile::tempdir().unwrap();
    let writer = write(dir.path(), 200);
    drop(writer);
    for with_snapshot in [true, false] {
        let run = SavedRun::read(dir.path()).unwrap();
        assert_eq!(check(&run), 200);
        let lengths: Vec<u64> =
            run.points.iter().map(|point| point.end.nanos_since(point.start) / 1_000_000_000).collect();
        // Thirteen files are complete at 195 s. The first nine end at 135 s or before, and the next two at 165 s.
        assert_eq!(lengths, [vec![15; 9], vec![5; 6], vec![1; 35]].concat(), "with a snapshot: {with_snapshot}");
        let _ = std::fs::remove_file(dir.path().join(SNAPSHOT_FILE));
    }
    let mut intervals = 0;
    let tail = for_each_record(dir.path(), |record| intervals += u64::from(matches!(record, Record::Interval(_))));
    assert_eq!((tail.unwrap(), intervals), (store::Tail::default(), 50));
}

#[test]
fn a_snapshot_that_is_damaged_or_of_another_run_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    drop(write(dir.path(), 100));
    let other = tempfile::tempdir().unwrap();
    let different = Begin { started_unix_ms: 8, ..begin() };
    let mut writer = RunWriter::create(other.path(), &different).unwrap().rolling_up(rules());
    for index in 0..40 {
        writer.interval(&second(index)).unwrap();
        writer.settle();
    }
    let snapshot = dir.path().join(SNAPSHOT_FILE);
    let whole = std::fs::read(&snapshot).unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 4;
    let foreign = std::fs::read(other.path().join(SNAPSHOT_FILE)).unwrap();
    for bytes in [&flipped, &whole[..whole.len() - 1], &whole[..0], &foreign] {
        std::fs::write(&snapshot, bytes).unwrap();
        assert_eq!(check(&SavedRun::read(dir.path()).unwrap()), 100);
    }
}

#[test]
fn damage_in_an_old_file_ends_the_reading_there() {
    let dir = tempfile::tempdir().unwrap();
    drop(write(dir.path(), 100));
    std::fs::remove_file(dir.path().join(SNAPSHOT_FILE)).unwrap();
    let path = dir.path().join(segments::name(3));
    let bytes = std::fs::read(&path).unwrap();
    let later: u64 = (4..=7).map(|number| dir.path().join(segments::name(number)).metadata().unwrap().len()).sum();
    std::fs::write(&path, &bytes[..bytes.len() - 3]).unwrap();
    let run = SavedRun::read(dir.path()).unwrap();
    let damage = run.damage.expect("damage");
    assert_eq!((damage.file, damage.kind), (3, DamageKind::Frame));
    assert_eq!(damage.at_byte + damage.unread_bytes, bytes.len() as u64 - 3 + later);
    assert!(run.points.last().unwrap().end.as_nanos() <= 45_000_000_000, "nothing after the damage is read");

    // A file in the place of another one is damage too.
    std::fs::copy(dir.path().join(segments::name(4)), &path).unwrap();
    let damage = SavedRun::read(dir.path()).unwrap().damage.expect("damage");
    assert_eq!((damage.file, damage.at_byte, damage.kind), (3, 0, DamageKind::OutOfPlace));
}

#[test]
fn the_rest_of_an_earlier_run_is_never_mixed_with_a_new_one() {
    for rest in [SNAPSHOT_FILE.to_owned(), segments::name(2)] {
        let dir = tempfile::tempdir().unwrap();
        drop(write(dir.path(), 40));
        for name in [RECORDS_FILE.to_owned(), SNAPSHOT_FILE.to_owned(), segments::name(2), segments::name(3)] {
            if name != rest {
                std::fs::remove_file(dir.path().join(name)).unwrap();
            }
        }
        let Err(error) = RunWriter::create(dir.path(), &begin()) else { panic!("{rest} was ignored") };
        assert!(error.to_string().contains(&rest), "{error}");
    }
}

/// The variable that makes [`writes_until_killed`] write, and names its directory.
const KILLED: &str = "PLIMSOLL_TEST_KILLED";

/// Writes intervals without end, and prints the number of intervals written so far. This test is the child process of
/// the next test.
#[test]
fn writes_until_killed() {
    let Some(dir) = std::env::var_os(KILLED) else { return };
    let mut writer = RunWriter::create(Path::new(&dir), &begin()).unwrap().rolling_up(rules());
    let mut out = std::io::stdout();
    for index in 0.. {
        writer.interval(&second(index)).unwrap();
        writeln!(out, "written {}", index + 1).unwrap();
        std::thread::sleep(Duration::from_micros(200));
    }
}

#[test]
fn a_run_killed_at_any_moment_keeps_all_it_had_written() {
    let mut rolled_up = 0;
    for round in 0..40_u64 {
        let dir = tempfile::tempdir().unwrap();
        let run = dir.path().join("run");
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "writes_until_killed", "--nocapture"])
            .env(KILLED, &run)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Kill at different moments of the writing and of the rolling up.
        let until = 60 + round * 7;
        let mut written = 0;
        while written < until {
            let line = lines.next().expect("the child writes").unwrap();
            written = line.rsplit_once("written ").map_or(written, |(_, count)| count.parse().unwrap());
        }
        std::thread::sleep(Duration::from_micros(round * 37 % 900));
        child.kill().unwrap();
        child.wait().unwrap();

        let saved = SavedRun::read(&run).unwrap();
        let seconds = check(&saved);
        assert!(seconds >= written, "{written} were written, but only {seconds} were read");
        let mut intervals = 0_u64;
        for_each_record(&run, |record| intervals += u64::from(matches!(record, Record::Interval(_)))).unwrap();
        rolled_up += u64::from(intervals < seconds);
        let _ = std::fs::remove_file(run.join(SNAPSHOT_FILE));
        assert_eq!(check(&SavedRun::read(&run).unwrap()), seconds);
    }
    assert!(rolled_up > 10, "only {rolled_up} runs were rolled up before they were killed");
}
