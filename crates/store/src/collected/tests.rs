use super::*;
use measure::Instant as RunInstant;
use measure::series::{ColumnKind, ColumnUnit, FailureClass, Number, PollFailure, SourcePoll};
use std::io::Write;

fn begin(names: &[&str], started_unix_ms: u64) -> CollectedBegin {
    let column = |name: &&str| Column::new(name, ColumnKind::Gauge, ColumnUnit::Bytes).unwrap();
    let columns = names.iter().map(column).collect();
    CollectedBegin::new(started_unix_ms, Duration::from_secs(1), vec!["a source".to_owned()], columns)
}

fn poll(second: u64, values: &[Option<&str>]) -> Poll {
    let at = RunInstant::from_nanos(second * 1_000_000_000);
    let failure = values.contains(&None).then(|| PollFailure::new(FailureClass::Missing, "b"));
    Poll {
        start: at,
        end: at,
        start_unix_ms: second * 1000,
        end_unix_ms: second * 1000,
        request_micros: 7,
        missed: 0,
        sources: vec![SourcePoll { nanos: 5, failure }],
        values: values.iter().map(|value| value.and_then(Number::parse)).collect(),
    }
}

fn records(dir: &Path) -> (Vec<CollectedRecord>, Tail) {
    let mut records = Vec::new();
    let tail = for_each_collected(dir, |record| records.push(record)).unwrap();
    (records, tail)
}

#[test]
fn polls_survive_with_all_digits() {
    let dir = tempfile::tempdir().unwrap();
    let begin = begin(&["a", "b"], 0);
    let mut writer = CollectedWriter::create(dir.path(), &begin).unwrap();
    let polls =
        [poll(1, &[Some("340282366920938463463374607431768211455"), None]), poll(2, &[Some("1"), Some("-2.5")])];
    for poll in &polls {
        writer.append(poll.clone()).unwrap();
    }
    writer.end().unwrap();
    let (found, tail) = records(dir.path());
    let expected = [CollectedRecord::Begin(Box::new(begin))].into_iter();
    let expected: Vec<_> = expected.chain(polls.map(|poll| CollectedRecord::Poll(Box::new(poll)))).collect();
    assert_eq!((found, tail), (expected, Tail::default()));
}

#[test]
fn a_collector_goes_on_after_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = CollectedWriter::resume(dir.path(), &begin(&["a"], 1_000)).unwrap();
    writer.append(poll(1, &[Some("1")])).unwrap();
    writer.end().unwrap();
    let path = dir.path().join(COLLECTED_FILE);
    let whole = fs::metadata(&path).unwrap().len();
    let torn = zstd::bulk::compress(b"{\"poll\":{}}\n", 1).unwrap();
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    file.write_all(&torn[..torn.len() - 3]).unwrap();
    assert_eq!(records(dir.path()).1.torn_bytes, torn.len() as u64 - 3);

    let mut writer = CollectedWriter::resume(dir.path(), &begin(&["a"], 61_000)).unwrap();
    writer.append(poll(2, &[Some("5")])).unwrap();
    writer.end().unwrap();
    let (found, tail) = records(dir.path());
    assert_eq!((found.len(), tail), (4, Tail::default()));
    assert!(fs::metadata(&path).unwrap().len() > whole);
    let collected = Collected::read(dir.path()).unwrap().unwrap();
    let ends: Vec<f64> = collected.series.points.iter().map(|point| point.to).collect();
    assert_eq!(ends, [1.0, 62.0], "the second start was a minute later");
    assert_eq!(collected.series.summaries[0].max, 5.0);
}

#[test]
fn other_columns_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    CollectedWriter::create(dir.path(), &begin(&["a"], 0)).unwrap().end().unwrap();
    let error = CollectedWriter::resume(dir.path(), &begin(&["a", "b"], 0)).err().unwrap();
    assert!(matches!(error.kind, StoreErrorKind::OtherColumns), "{error}");
    let error = CollectedWriter::create(dir.path(), &begin(&["a"], 0)).err().unwrap();
    assert!(matches!(error.kind, StoreErrorKind::Exists), "{error}");
}

#[test]
fn the_file_has_one_writer() {
    let dir = tempfile::tempdir().unwrap();
    let writer = CollectedWriter::create(dir.path(), &begin(&["a"], 0)).unwrap();
    let error = CollectedWriter::resume(dir.path(), &begin(&["a"], 0)).err().unwrap();
    assert!(error.to_string().contains("another program is writing this file"), "{error}");
    drop(writer);
    CollectedWriter::resume(dir.path(), &begin(&["a"], 0)).unwrap();
}

#[test]
fn records_that_do_not_fit_end_the_reading() {
    let line = |record: &CollectedRecord| serde_json::to_string(record).unwrap() + "\n";
    let begin_line = line(&CollectedRecord::Begin(Box::new(begin(&["a"], 0))));
    let good = line(&CollectedRecord::Poll(Box::new(poll(1, &[Some("1")]))));
    let two_values = line(&CollectedRecord::Poll(Box::new(poll(1, &[Some("1"), None]))));
    let not_a_number = good.replace("\"1\"", "\"NaN\"");
    assert_ne!(good, not_a_number);
    for (lines, records, kind) in [
        ([&begin_line, &good, &two_values], 2, DamageKind::Record),
        ([&begin_line, &not_a_number, &good], 1, DamageKind::Record),
        ([&good, &begin_line, &good], 0, DamageKind::OutOfPlace),
    ] {
        let frame = zstd::bulk::compress(lines.map(String::as_str).concat().as_bytes(), 1).unwrap();
        let mut count = 0;
        let tail = read_collected(frame.as_slice(), |_| count += 1).unwrap();
        assert_eq!((count, tail.damage.map(|damage| damage.kind)), (records, Some(kind)));
    }
    let other = begin_line.replace("\"format\":1", "\"format\":9");
    let frame = zstd::bulk::compress(other.as_bytes(), 1).unwrap();
    let error = read_collected(frame.as_slice(), |_| ()).unwrap_err();
    assert!(matches!(error, StoreErrorKind::Format { found: 9, readable: COLLECTED_FORMAT }), "{error}");
}

#[test]
fn a_directory_without_the_file_has_no_series() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(Collected::read(dir.path()).unwrap(), None);
}
