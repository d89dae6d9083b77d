use super::*;
use measure::Instant;
use measure::series::{ColumnKind, ColumnUnit, Number};
use sia::siad::{COLUMNS, Sample};
use std::fs;
use std::time::Duration;

fn columns(names: &[&str]) -> Vec<Column> {
    let column = |name: &&str| Column::new(name, ColumnKind::Gauge, ColumnUnit::Count).unwrap();
    names.iter().map(column).collect()
}

fn poll(end_unix_ms: u64, request_micros: u64, values: &[&str]) -> Poll {
    Poll {
        start: Instant::ZERO,
        end: Instant::ZERO,
        start_unix_ms: end_unix_ms,
        end_unix_ms,
        request_micros,
        missed: 0,
        sources: Vec::new(),
        values: values.iter().map(|value| Number::parse(value)).collect(),
    }
}

#[test]
fn a_row_of_siad_has_the_bytes_of_the_studys_collector() {
    let cells = "50,12,3,4194304000,4.194276e+16,83886080,1230000000000000000000000000,1,2,3,4,5,6,7,8";
    // The latencies are the results of `repr(timedelta(microseconds=…).total_seconds() * 1000)` in Python.
    for (micros, latency) in
        [(0, "0.0"), (1, "0.001"), (7_325, "7.325"), (1_100_003, "1100.0030000000002"), (250_000, "250.0")]
    {
        let line = format!("2018-02-11T16:05:02,{cells},{latency}");
        let sample = Sample::parse_row(&line).unwrap();
        assert_eq!(sample.row(), line, "the reference writes what it reads");
        let values: Vec<&str> = cells.split(',').collect();
        assert_eq!(row(&poll(1_518_365_102_999, micros, &values), Latency::Shown), line);
        let made = Sample::new(
            UtcSecond(1_518_365_102),
            sample.contracts,
            sample.files,
            sample.wallet,
            Duration::from_micros(micros),
        );
        assert_eq!(made.row(), line);
    }
    let names = &COLUMNS[1..COLUMNS.len() - 1];
    assert_eq!(header(&columns(names), Latency::Shown), COLUMNS);
}

#[test]
fn a_table_is_continued_with_its_own_line_ends() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.csv");
    let columns = columns(&["a", "b"]);
    let append = |values: &[&str]| {
        let mut writer = CsvWriter::open(&path, &columns, Latency::Absent).unwrap();
        writer.append(&poll(0, 0, values)).unwrap();
        writer.is_appended()
    };
    assert!(!append(&["1", ""]));
    assert!(append(&["2", "3"]));
    let text = "timestamp,a,b\n1970-01-01T00:00:00,1,\n1970-01-01T00:00:00,2,3\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    // A crash cut off a row.
    fs::write(&path, "timestamp,a,b\r\n1970-01-01T00:0").unwrap();
    append(&["4", "5"]);
    let text = "timestamp,a,b\r\n1970-01-01T00:0\r\n1970-01-01T00:00:00,4,5\r\n";
    assert_eq!(fs::read_to_string(&path).unwrap(), text);
    // A crash cut off the end of the header's line.
    fs::write(&path, "timestamp,a,b").unwrap();
    append(&["", "6"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "timestamp,a,b\n1970-01-01T00:00:00,,6\n");
}

#[test]
fn another_table_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.csv");
    for text in ["timestamp,a\n1,2\n", "timestamp,a,b,c\n", "timestamp,a,bc", "\n", "x\u{1b}[31m"] {
        fs::write(&path, text).unwrap();
        let error = CsvWriter::open(&path, &columns(&["a", "b"]), Latency::Absent).unwrap_err().to_string();
        assert!(error.starts_with("the file begins with another header (") && !error.contains('\u{1b}'), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }
    fs::remove_file(&path).unwrap();
    let _first = CsvWriter::open(&path, &columns(&["a"]), Latency::Shown).unwrap();
    assert!(matches!(CsvWriter::open(&path, &columns(&["a"]), Latency::Shown), Err(CsvError::InUse)));
}
