//! Compares exports with the data of the run. The sums of exported tables must equal the counts in the report. The
//! `hdrhistogram` crate must read the histograms of the summary from the exported files. The exports of a small run are
//! golden files that a person has read.

use crate::common;
use crate::common::simulation::{Op, Texts, begin, ended, simulate};
use crate::common::{HOSTILE, MS, SECOND};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use measure::recorder::Pacing;
use measure::{AttemptClass, Cause, Distribution, Instant, Interval, Model, OpKind, OpOutcome, Phase, Timeline};
use report::export::column::Column;
use report::export::table::TableForm;
use report::export::{hdr, intervals, markdown, operations, runs, table};
use report::json;
use report::other_tools::{ab_files, retrieval};
use std::fs;
use std::path::Path;
use std::time::Duration;
use store::{EndReason, HopRecord, OpRecord, SavedRun, Slice};

/// Returns the operations of a run with 4 slots. The run has one second of warm-up, three measured seconds, and a
/// drain. Responses take 2 ms to 400 ms. Some operations are refused, and some are redirected.
fn ops() -> Vec<Op> {
    let mut ops = Vec::new();
    for slot in 0..4_u64 {
        let (mut now, mut number) = (slot * MS, slot);
        while now < 4 * SECOND {
            let length = 2 * MS + number % 7 * 600_000 + if number.is_multiple_of(41) { 398 * MS } else { 0 };
            let op = Op { connect: (now == slot * MS).then_some(250_000), ..Op::ok(now, now + length, 4096) };
            ops.push(match number % 19 {
                7 => op.failed(AttemptClass::Http5xx, Cause::Status, Phase::Head, Some(500)),
                _ => op,
            });
            (now, number) = (now + length + 10_000, number + 5);
        }
    }
    ops.push(Op { end: 4 * SECOND + 900 * MS, ..Op::ok(3 * SECOND, 3 * SECOND, 0) }.unfinished());
    ops
}

fn small() -> (SavedRun, Vec<Interval>) {
    let mut begin =
        begin(Model::Closed { concurrency: 5 }, "closed, 5 slots, 3s, after 1s of warm-up", Some(3 * SECOND));
    begin.settings = vec![("method".into(), "GET".into()), ("range".into(), "1MiB at random".into())];
    let timeline = Timeline::new(Instant::ZERO, Duration::from_secs(1), Some(Duration::from_secs(3)));
    let texts = Texts { url: "http://localhost:8080/object", detail: "" };
    let intervals = simulate(timeline, Pacing::Immediate, &ops(), &[], &texts);
    (SavedRun::of(begin, &intervals, Some(ended(EndReason::Completed, 5 * SECOND))), intervals)
}

fn logged(number: u64, op: &Op) -> OpRecord {
    let at = Instant::from_nanos;
    let class = match op.outcome {
        OpOutcome::Ok => AttemptClass::Ok,
        OpOutcome::Failed(outcome) => outcome.class,
        OpOutcome::Unfinished | OpOutcome::CutOff => AttemptClass::InflightAtEnd,
    };
    OpRecord {
        op: number,
        kind: OpKind::Get,
        url: 0,
        intended: at(op.intended),
        started: at(op.started),
        sent: Some(at(op.started + 10_000)),
        first_byte: (op.outcome == OpOutcome::Ok).then(|| at(op.first_byte)),
        end: at(op.end),
        attempts: 1,
        status: op.status,
        class,
        cause: Cause::None,
        body_bytes: op.bytes,
        bytes: op.bytes + 160,
        range: number.is_multiple_of(2).then_some(Slice { first: number, last: number + 9 }),
        connect_nanos: op.connect,
        handshake_nanos: None,
        slot: 0,
        hops: Vec::new(),
    }
}

fn written<R>(form: TableForm, columns: &'static [Column<R>], rows: impl IntoIterator<Item = R>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut table = table::begin(form, columns, &mut bytes).unwrap();
    rows.into_iter().for_each(|row| table.row(&row).unwrap());
    table.finish().unwrap();
    bytes
}

fn seconds(form: TableForm) -> Vec<u8> {
    let (run, intervals) = small();
    written(
        form,
        intervals::COLUMNS,
        intervals.into_iter().map(|one| intervals::Row::of(run.begin.started_unix_ms, one)),
    )
}

fn operations(form: TableForm, count: usize) -> Vec<u8> {
    let (run, _) = small();
    let rows = (0..).zip(ops()).take(count).map(|(number, op)| operations::Row::of(&run, logged(number, &op)));
    written(form, operations::COLUMNS, rows)
}

/// Parses CSV according to RFC 4180.
fn parse(text: &str) -> Vec<Vec<String>> {
    let (mut rows, mut row, mut cell, mut quoted) = (Vec::new(), Vec::new(), String::new(), false);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' if quoted && rest.peek() == Some(&'"') => cell.extend(rest.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(row.is_empty() && cell.is_empty() && !quoted, "the last line has no end");
    rows
}

/// Returns the cells of a column, without empty ones.
fn column<'t>(rows: &'t [Vec<String>], name: &str) -> Vec<&'t str> {
    let index = rows[0].iter().position(|title| title == name).unwrap_or_else(|| panic!("no column {name}"));
    rows[1..].iter().map(|row| row[index].as_str()).filter(|cell| !cell.is_empty()).collect()
}

fn sum(rows: &[Vec<String>], name: &str) -> u64 {
    column(rows, name).iter().map(|cell| cell.parse::<u64>().unwrap()).sum()
}

fn check(name: &str, found: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/export").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, found).unwrap();
        return;
    }
    let wanted = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(wanted == found, "{} differs; UPDATE_GOLDEN=1 rewrites it:\n{found}", path.display());
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_small_run_in_every_form() {
    let (run, _) = small();
    check("seconds.csv", &text(seconds(TableForm::Csv)));
    check("operations.csv", &text(operations(TableForm::Csv, 25)));
    let mut out = Vec::new();
    hdr::percentiles(&run.summary().all.response, &mut out).unwrap();
    check("response.hgrm", &text(std::mem::take(&mut out)));
    ab_files::percentages(&run.summary().all.response, &mut out).unwrap();
    check("percentages.csv", &text(std::mem::take(&mut out)));
    let mut gnuplot = ab_files::Gnuplot::default();
    for (number, op) in (0..).zip(ops()).take(25) {
        gnuplot.add(run.begin.started_unix_ms, &logged(number, &op)).unwrap();
    }
    gnuplot.write(&mut out).unwrap();
    check("gnuplot.tsv", &text(out));
    check("run.md", &markdown::run(&run));
    let row = |repeat| runs::Row {
        position: runs::Position { directory: format!("{repeat}"), repeat: Some(repeat), ..runs::Position::default() },
        run: run.clone(),
    };
    check("runs.csv", &text(written(TableForm::Csv, runs::COLUMNS, [row(1), row(2)])));
    check("retrieval.csv", &text(written(TableForm::Csv, retrieval::COLUMNS, [row(1)])));
    check("repeats.md", &markdown::repeats(&[("1".into(), run.clone()), ("2".into(), run)]));
}

#[test]
fn seconds_add_up_to_the_report() {
    let (run, _) = small();
    let rows = parse(&text(seconds(TableForm::Csv)));
    assert!(rows.iter().all(|row| row.len() == intervals::COLUMNS.len()));
    let (report, stages) = (json(&run), column(&rows, "stage"));
    assert_eq!(stages, ["warmup", "measured", "measured", "measured", "drain"]);
    let counts = &report.operations;
    let sums = ["offered", "started", "ok", "failed", "dropped", "unfinished", "attempts"].map(|name| sum(&rows, name));
    let truth =
        [counts.offered, counts.started, counts.ok, counts.failed, counts.dropped, counts.unfinished, counts.attempts];
    assert_eq!(sums, truth);
    assert!(counts.ok > 900 && counts.failed > 20 && counts.unfinished == 1);
    let bytes = &report.bytes;
    assert_eq!(sum(&rows, "body_bytes"), bytes.warmup.body_bytes + bytes.measured.body_bytes + bytes.drain.body_bytes);
    for (point, cell) in report.series.iter().zip(column(&rows, "start_seconds")) {
        assert_eq!(point.start_nanos as f64 / 1e9, cell.parse::<f64>().unwrap());
    }
    let p99: Vec<f64> = column(&rows, "response_p99_ms").iter().map(|cell| cell.parse().unwrap()).collect();
    let truth: Vec<f64> =
        report.series.iter().filter_map(|point| point.response_p99_nanos).map(|n| n as f64 / 1e6).collect();
    assert_eq!(p99, truth);
}

#[test]
fn operations_add_up_to_the_report() {
    let (run, _) = small();
    let rows = parse(&text(operations(TableForm::Csv, usize::MAX)));
    assert_eq!(rows.len(), ops().len() + 1);
    let counts = json(&run).operations;
    let (measured, class) = (column(&rows, "measured"), column(&rows, "class"));
    let of = |name: &str| {
        measured.iter().zip(&class).filter(|(measured, class)| **measured == "1" && **class == name).count()
    };
    assert_eq!([of("ok"), of("http_5xx"), of("inflight_at_end")].map(|n| n as u64), [counts.ok, counts.failed, 1]);
    let times: Vec<f64> = column(&rows, "response_ms").iter().map(|cell| cell.parse().unwrap()).collect();
    assert_eq!(
        times.len(),
        class.iter().filter(|class| **class == "ok").count(),
        "operations without success have times"
    );
}

#[test]
fn the_plotter_reads_the_percentiles_and_the_total_is_the_count() {
    let (run, _) = small();
    let response = &run.summary().all.response;
    let mut out = Vec::new();
    hdr::percentiles(response, &mut out).unwrap();
    let text = text(out);
    // Parse the file in the same way as plotFiles.html of HdrHistogram.
    let rows = text.lines().filter(|line| !line.trim_start().starts_with('#'));
    let rows: Vec<Vec<f64>> = rows
        .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect::<Vec<f64>>())
        .filter(|values| values.len() == 4)
        .collect();
    assert!(rows.len() > 20, "{text}");
    for row in &rows {
        let (value, quantile, below, inverse) = (row[0], row[1], row[2], row[3]);
        assert!((inverse - 1.0 / (1.0 - quantile)).abs() <= inverse * 0.01, "{row:?}");
        let truth = response.quantile(quantile).unwrap() as f64 / 1e6;
        assert!((value - truth).abs() <= truth * 2e-3, "{row:?}: {truth}");
        assert!(below / response.count() as f64 >= quantile - 1e-9, "{row:?}");
    }
    let last = text.lines().rfind(|line| !line.starts_with('#')).unwrap();
    let words: Vec<&str> = last.split_whitespace().collect();
    assert_eq!(words[1..], ["1.000000000000", &response.count().to_string()]);
    assert_eq!(words[0], format!("{:.3}", response.max().unwrap() as f64 / 1e6));
    assert!(text.contains(&format!("Total count    = {:12}]", response.count())), "{text}");
    let mut empty = Vec::new();
    hdr::percentiles(&Distribution::default(), &mut empty).unwrap();
    assert!(!String::from_utf8(empty).unwrap().contains("NaN"));
}

#[test]
fn the_interval_log_leads_back_to_the_summary() {
    let (run, intervals) = small();
    let mut bytes = Vec::new();
    let mut serializer = hdr::serializer();
    let mut log = hdr::Log::begin(run.begin.started_unix_ms, &mut bytes, &mut serializer).unwrap();
    intervals.iter().for_each(|interval| log.interval(interval).unwrap());
    let text = text(bytes);
    assert!(text.lines().any(|line| line == "#[Histogram log format version 1.3]"), "{text:.400}");
    let new = || Histogram::<u64>::new_with_bounds(64, 1 << 40, 3).unwrap();
    let (mut response, mut service, mut starts) = (new(), new(), Vec::new());
    for entry in IntervalLogIterator::new(text.as_bytes()) {
        match entry.unwrap() {
            LogEntry::StartTime(at) | LogEntry::BaseTime(at) => {
                assert_eq!(at.as_millis(), u128::from(run.begin.started_unix_ms));
            }
            LogEntry::Interval(interval) => {
                use base64::Engine;
                let packed = base64::engine::general_purpose::STANDARD.decode(interval.encoded_histogram()).unwrap();
                let histogram: Histogram<u64> = Deserializer::new().deserialize(&mut packed.as_slice()).unwrap();
                match interval.tag().map(|tag| tag.as_str()) {
                    None => {
                        response.add(&histogram).unwrap();
                        starts.push(interval.start_timestamp().as_secs());
                        assert!((interval.max() - histogram.max() as f64 / 1e6).abs() < 1e-3);
                    }
                    Some(tag) => {
                        assert_eq!(tag, "service");
                        service.add(&histogram).unwrap();
                    }
                }
            }
        }
    }
    assert_eq!(starts, [1, 2, 3, 4], "the warm-up is not left out");
    for (found, truth) in [(response, &run.summary().all.response), (service, &run.summary().all.service)] {
        let found: Vec<(u64, u64)> =
            found.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        assert_eq!(found, truth.recorded().collect::<Vec<_>>());
    }
}

#[cfg(feature = "parquet")]
#[test]
fn parquet_holds_what_csv_holds() {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    let pairs = [
        (seconds(TableForm::Csv), seconds(TableForm::Parquet)),
        (operations(TableForm::Csv, usize::MAX), operations(TableForm::Parquet, usize::MAX)),
    ];
    for (csv, packed) in pairs {
        let rows = parse(&text(csv));
        let reader = SerializedFileReader::new(bytes::Bytes::from(packed)).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows() as usize, rows.len() - 1);
        let mut read = 0;
        for (row, wanted) in reader.get_row_iter(None).unwrap().zip(&rows[1..]) {
            let row = row.unwrap();
            for (((name, field), title), cell) in row.get_column_iter().zip(&rows[0]).zip(wanted) {
                assert_eq!(name, title);
                let found = match field {
                    Field::Null => String::new(),
                    Field::Long(value) => value.to_string(),
                    Field::Double(value) => value.to_string(),
                    Field::Str(value) => value.clone(),
                    other => panic!("{name}: {other:?}"),
                };
                assert_eq!(&found, cell, "{name}");
            }
            read += 1;
        }
        assert_eq!(read, rows.len() - 1);
    }
}

#[test]
fn hostile_text_stays_in_its_cell() {
    let (run, _) = small();
    let mut op = logged(0, &ops()[0]);
    let texts = [HOSTILE, "=HYPERLINK(\"http://x\")", "a,b\"c\nd", "@x|y"];
    op.hops = texts
        .iter()
        .map(|host| HopRecord { host: (*host).into(), sent: None, end: Instant::ZERO, status: None, bytes: 0 })
        .collect();
    let rows = parse(&text(written(TableForm::Csv, operations::COLUMNS, [operations::Row::of(&run, op.clone())])));
    assert_eq!((rows.len(), rows[1].len()), (2, operations::COLUMNS.len()));
    op.hops.remove(0);
    let rows = parse(&text(written(TableForm::Csv, operations::COLUMNS, [operations::Row::of(&run, op)])));
    let cell = rows[1].last().unwrap();
    assert!(cell.starts_with("'=HYPERLINK") && cell.contains("a,b\"c\\u{a}d"), "{cell}");
    let mut hostile = common::hostile();
    hostile.begin.load = "a|b\n<img src=x> @someone".into();
    let shown = markdown::run(&hostile);
    for line in shown.lines().filter(|line| line.starts_with('|')) {
        assert_eq!(line.matches('|').count(), 3, "{line}");
    }
    assert!(
        !shown.contains(['@', '\u{1b}', '\u{202e}']) && !shown.contains("<img") && !shown.contains("<script"),
        "{shown}"
    );
}

#[test]
fn every_kind_of_run_can_be_exported() {
    for (name, run) in common::cases() {
        let position = runs::Position { directory: name.into(), ..runs::Position::default() };
        let rows = parse(&text(written(
            TableForm::Csv,
            runs::COLUMNS,
            [runs::Row { position: position.clone(), run: run.clone() }],
        )));
        assert_eq!((column(&rows, "directory"), sum(&rows, "ok")), (vec![name], json(&run).operations.ok));
        let rows =
            parse(&text(written(TableForm::Csv, retrieval::COLUMNS, [runs::Row { position, run: run.clone() }])));
        assert_eq!(rows[0].len(), 19);
        let (mut hgrm, mut ab) = (Vec::new(), Vec::new());
        hdr::percentiles(&run.summary().all.response, &mut hgrm).unwrap();
        ab_files::percentages(&run.summary().all.response, &mut ab).unwrap();
        for shown in [text(hgrm), text(ab), markdown::run(&run)] {
            assert!(!shown.contains("NaN") && !shown.contains("inf "), "{name}: {shown}");
        }
    }
}
