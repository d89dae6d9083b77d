//! Tests that reading a truncated or damaged run returns the records before the damage, and never panics.

use measure::Model;
use measure::sample::Example;
use measure::{
    AttemptClass, AttemptOutcome, Cause, Instant, Interval, Label, Objective, OpKind, Phase, Stage, stats::Dimension,
    stats::Group, stats::GroupStats,
};
use proptest::prelude::*;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;
use store::{
    Begin, DamageKind, End, EndReason, FORMAT, Host, LevelStage, Levels, OPS_FILE, OpLogReader, OpLogWriter, OpRecord,
    RECORDS_FILE, Record, RunWriter, SavedRun, Server, Slice, StoreErrorKind, Uploads, for_each_record,
};

const INTERVALS: u64 = 12;

fn begin() -> Begin {
    Begin {
        format: FORMAT,
        version: "0.1.0".into(),
        debug_build: true,
        started_unix_ms: 1_795_228_200_000,
        command: vec!["plimsoll".into(), "get".into(), "http://h:80/\u{1b}[31m\"\n".into()],
        targets: vec!["http://h:80".into()],
        urls: 3,
        model: Model::Open { in_flight_max: 100 },
        load: "open, 1,000/s, 10 s".into(),
        levels: Some(Levels { from: 0.0, stages: vec![LevelStage { length_nanos: 10_000_000_000, level: 1000.0 }] }),
        warmup_ms: 500,
        duration_ms: Some(10_000),
        seed: u64::MAX,
        threads: 2,
        settings: vec![("rate".into(), "1000/s".into())],
        objectives: vec![Objective::DEFAULT],
        accept_not_enough_data: false,
        host: Host { name: "a".into(), kernel: "6".into(), cpu: "c".into(), cores: 2, memory_bytes: 1 << 34 },
        loopback: true,
        header: Some("x-cache".into()),
        insecure: true,
        path: None,
        part: None,
    }
}

fn interval(index: u64) -> Interval {
    let at = |second: u64| Instant::from_nanos(second * 1_000_000_000);
    let mut interval = Interval::new(Stage::Measured, at(index), at(index + 1));
    let kind = interval.stats.kind_mut(OpKind::GetRange);
    for value in 0..200 {
        kind.response.record(value * (index + 1) * 977);
        kind.ok += 1;
    }
    let outcome = AttemptOutcome::failed(AttemptClass::Reset, Cause::ResetInBody, Phase::Body);
    let (url, detail) = ("http://h/\u{0}".to_owned(), "\u{202e}".to_owned());
    let example = Example { outcome, at: at(index), url, address: None, status: Some(200), detail };
    interval.stats.keep_example(&example);
    interval.stats.measured.classes.add(AttemptClass::Ok);
    let stats = GroupStats::default();
    interval.stats.groups.push(Group { dimension: Dimension::Host, label: Label::Value("h:80".into()), stats });
    interval.client.busy = 0.1 + index as f64;
    interval.in_flight = index;
    interval
}

fn end() -> End {
    let server = Server {
        software: Some("x".into()),
        address: "[::1]:80".into(),
        document_bytes: 0,
        status: 206,
        http_version: "HTTP/1.1".into(),
        tls: None,
    };
    End {
        reason: EndReason::Unreachable { detail: "refused".into() },
        at: Instant::NEVER,
        server: Some(server),
        peak_memory_bytes: 9,
        cpu_nanos: 8,
        uploads: Some(Uploads { aborted: 1, left: 2, unknown: 3 }),
        damaged: None,
        fresh_below: 0,
        fleet: None,
        probes: None,
        path: None,
    }
}

/// Returns the bytes of a run with all kinds of content, and its records as JSON.
static RUN: LazyLock<(Vec<u8>, Vec<String>)> = LazyLock::new(|| {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = RunWriter::create(dir.path(), &begin()).unwrap();
    let mut records = vec![Record::Begin(Box::new(begin()))];
    for index in 0..INTERVALS {
        writer.interval(&interval(index)).unwrap();
        records.push(Record::Interval(Box::new(interval(index))));
    }
    writer.end(&end()).unwrap();
    records.push(Record::End(Box::new(end())));
    let records = records.iter().map(|record| serde_json::to_string(record).unwrap()).collect();
    (fs::read(dir.path().join(RECORDS_FILE)).unwrap(), records)
});

fn read(dir: &Path) -> Result<(Vec<String>, store::Tail), store::StoreError> {
    let mut records = Vec::new();
    let tail = for_each_record(dir, |record| records.push(serde_json::to_string(&record).unwrap()))?;
    Ok((records, tail))
}

fn directory(file: &str, bytes: &[u8]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join(file), bytes).unwrap();
    dir
}

#[test]
fn a_run_round_trips() {
    let (bytes, records) = &*RUN;
    let dir = directory(RECORDS_FILE, bytes);
    let (found, tail) = read(dir.path()).unwrap();
    assert_eq!((&found, tail), (records, store::Tail::default()));
    let saved = SavedRun::read(dir.path()).unwrap();
    assert_eq!((&saved.begin, saved.end.as_ref()), (&begin(), Some(&end())));
    assert_eq!((saved.points.len() as u64, saved.summary().all.ok), (INTERVALS, INTERVALS * 200));
    assert!(!saved.is_whole(), "a run whose target was unreachable is not whole");
}

#[test]
fn every_truncation_leaves_a_prefix() {
    let (bytes, records) = &*RUN;
    let dir = directory(RECORDS_FILE, bytes);
    let mut longest = 0;
    for len in 0..bytes.len() {
        fs::write(dir.path().join(RECORDS_FILE), &bytes[..len]).unwrap();
        match read(dir.path()) {
            Ok((found, tail)) => {
                assert_eq!(found, records[..found.len()], "{len} bytes");
                assert!(found.len() >= longest && found.len() < records.len(), "{len} bytes: {} records", found.len());
                assert_eq!(tail.damage, None, "{len} bytes: truncation by a crash does not count as damage");
                longest = found.len();
            }
            Err(error) => assert!(longest == 0 && matches!(error.kind, StoreErrorKind::NotARun), "{len}: {error}"),
        }
    }
    assert_eq!(longest, records.len() - 1, "all records but the end record were read");
}

#[test]
fn damage_in_the_middle_is_reported_with_its_position() {
    let (bytes, records) = &*RUN;
    for flip in [0x01, 0x80] {
        let mut damaged = bytes.clone();
        damaged[bytes.len() / 2] ^= flip;
        let dir = directory(RECORDS_FILE, &damaged);
        let (found, tail) = read(dir.path()).unwrap();
        let damage = tail.damage.expect("damage");
        assert!(found.len() > 1 && found == records[..found.len()]);
        assert!(damage.at_byte <= bytes.len() as u64 / 2 && damage.kind == DamageKind::Frame);
        assert_eq!(damage.at_byte + damage.unread_bytes, bytes.len() as u64);
        assert!(!SavedRun::read(dir.path()).unwrap().is_whole());
    }
}

#[test]
fn other_formats_and_other_files_are_rejected() {
    let pack = |text: &str| zstd::bulk::compress(text.as_bytes(), 1).unwrap();
    for format in [1, 3] {
        // In another version, any record may lack fields or have other fields.
        let begin = format!("{{\"begin\":{{\"format\":{format},\"other\":true}}}}\n");
        let run = directory(RECORDS_FILE, &[pack(&begin), pack("{\"interval\":{}}\n")].concat());
        for error in [read(run.path()).unwrap_err(), SavedRun::read(run.path()).unwrap_err()] {
            let wanted =
                format!("made by another version of plimsoll, in format {format}; this version reads only format 2");
            assert!(error.to_string().ends_with(&wanted), "{error}");
        }
    }
    for bytes in [
        pack("{\"interval\":{}}\n"),
        pack("{\"begin\":{\"format\":2}}\n"),
        pack("{\"begin\":{\"other\":true}}\n"),
        b"plain text".to_vec(),
        Vec::new(),
    ] {
        let kind = read(directory(RECORDS_FILE, &bytes).path()).unwrap_err().kind;
        assert!(matches!(kind, StoreErrorKind::NotARun), "{kind}");
    }
    assert!(matches!(read(Path::new("/nowhere/at/all")).unwrap_err().kind, StoreErrorKind::Missing));
}

#[test]
fn records_out_of_place_and_torn_lines_end_the_reading() {
    let (bytes, records) = &*RUN;
    let again = [bytes.clone(), bytes.clone()].concat();
    let (found, tail) = read(directory(RECORDS_FILE, &again).path()).unwrap();
    assert_eq!((&found, tail.damage.map(|damage| damage.kind)), (records, Some(DamageKind::OutOfPlace)));

    // The text is truncated inside its last line, and then repacked into one frame.
    let text = records.join("\n");
    let repacked = zstd::bulk::compress(&text.as_bytes()[..text.len() - 9], 1).unwrap();
    let (found, tail) = read(directory(RECORDS_FILE, &repacked).path()).unwrap();
    assert_eq!(found, records[..records.len() - 1]);
    assert_eq!(tail.damage.map(|damage| damage.kind), Some(DamageKind::Record));
}

fn op(number: u64) -> OpRecord {
    OpRecord {
        op: number,
        kind: OpKind::GetRange,
        url: number % 7,
        intended: Instant::from_nanos(number * 1000),
        started: Instant::from_nanos(number * 1000 + 1),
        sent: Some(Instant::from_nanos(number * 1000 + 2)),
        first_byte: None,
        end: Instant::from_nanos(number * 3000),
        attempts: 1,
        status: (!number.is_multiple_of(3)).then_some(206),
        class: AttemptClass::InflightAtEnd,
        cause: Cause::RunEnded,
        body_bytes: number * 12_345,
        bytes: number * 12_399,
        range: number.is_multiple_of(2).then_some(Slice { first: number, last: number + 9 }),
        connect_nanos: Some(5),
        handshake_nanos: None,
        slot: 3,
        hops: Vec::new(),
    }
}

fn log_of(count: u64) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = OpLogWriter::create(dir.path()).unwrap();
    let mut lines = Vec::new();
    for number in 0..count {
        op(number).write_line(&mut lines);
        if number % 1000 == 999 || number == count - 1 {
            writer.append(&lines).unwrap();
            lines.clear();
        }
    }
    writer.end().unwrap();
    dir
}

#[test]
fn the_log_of_operations_round_trips_over_many_frames() {
    let dir = log_of(30_000);
    assert!(OpLogWriter::create(dir.path()).is_err(), "never overwritten");
    let mut reader = OpLogReader::open(dir.path()).unwrap();
    let mut number = 0;
    for record in reader.by_ref() {
        assert_eq!(record.unwrap(), op(number));
        number += 1;
    }
    assert_eq!((number, reader.damage()), (30_000, None));
}

#[test]
fn a_line_that_is_not_an_operation_is_rejected() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = OpLogWriter::create(dir.path()).unwrap();
    let error = writer.append(&[b'x'; 100_000]).unwrap_err();
    assert!(matches!(error.kind, StoreErrorKind::TooLarge { bytes: 100_000, .. }), "{error}");
}

proptest! {
    #[test]
    fn random_damage_never_panics(
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in any::<prop::sample::Index>(),
    ) {
        let (bytes, records) = &*RUN;
        let mut damaged = bytes.clone();
        for (place, value) in places {
            *place.get_mut(&mut damaged) = value;
        }
        damaged.truncate(damaged.len() - cut.index(damaged.len()) / 4);
        let dir = directory(RECORDS_FILE, &damaged);
        if let Ok((found, _)) = read(dir.path()) {
            prop_assert_eq!(&found[..], &records[..found.len()]);
        }
    }

    #[test]
    fn damage_that_passes_the_checksum_never_panics(place in any::<prop::sample::Index>(), value in any::<u8>()) {
        let text = RUN.1.join("\n") + "\n";
        let mut damaged = text.into_bytes();
        *place.get_mut(&mut damaged) = value;
        let dir = directory(RECORDS_FILE, &zstd::bulk::compress(&damaged, 1).unwrap());
        let _ = read(dir.path());
    }

    #[test]
    fn a_damaged_log_of_operations_gives_a_prefix(place in any::<prop::sample::Index>(), value in any::<u8>()) {
        let dir = log_of(50);
        let path = dir.path().join(OPS_FILE);
        let mut bytes = fs::read(&path).unwrap();
        *place.get_mut(&mut bytes) = value;
        fs::write(&path, &bytes).unwrap();
        for (number, record) in OpLogReader::open(dir.path()).unwrap().enumerate() {
            prop_assert_eq!(record.unwrap(), op(number as u64));
        }
    }
}
