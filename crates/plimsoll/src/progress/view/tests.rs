//! Pictures of the live view, compared with the files in `golden/`. `UPDATE_GOLDEN=1` rewrites them.

use super::draw;
use super::theme::Theme;
use crate::progress::state::fill::Phase;
use crate::progress::state::line::Step;
use crate::progress::state::study::{TrialResult, TrialStatus};
use crate::progress::state::{Fill, Line, Run, State, Study};
use engine::plan::StopAfter;
use measure::Phase as AttemptPhase;
use measure::result::load_line::LoadUnit;
use measure::sample::outcome::{AttemptClass, AttemptOutcome, Cause};
use measure::{Example, Instant, Interval, Model, Objective, OpKind, ResultWord, Stage};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::Color;
use report::load_line::{Level, LevelOutcome};
use report::run_metrics::RunMetrics;
use std::num::NonZeroU64;
use std::time::Duration;
use store::{Begin, FORMAT, Host};

/// Text that would clear the terminal, change its title, and reverse a line.
const HOSTILE: &str = "\x1b[2J\x1b]0;owned\x07\r\n\u{202e}evil\u{200b}\t";

fn begin(objectives: &[&str]) -> Begin {
    Begin {
        format: FORMAT,
        version: "0.1.0".to_owned(),
        debug_build: false,
        started_unix_ms: 0,
        command: Vec::new(),
        targets: vec!["http://127.0.0.1:8080/objects/a".to_owned()],
        urls: 1,
        model: Model::Closed { concurrency: 50 },
        load: "closed, 50 slots, 10s".to_owned(),
        levels: None,
        warmup_ms: 0,
        duration_ms: Some(10_000),
        seed: 1,
        threads: 2,
        settings: Vec::new(),
        objectives: objectives.iter().map(|text| text.parse().expect("a valid objective")).collect(),
        accept_not_enough_data: false,
        host: Host::default(),
        loopback: true,
        header: None,
        insecure: false,
        path: None,
        part: None,
    }
}

fn second(number: u64) -> Instant {
    Instant::from_nanos(number * 1_000_000_000)
}

/// Returns the interval of a second: `ok` responses around 2 ms, a few slow ones, and `failed` responses with status 503.
fn interval(number: u64, ok: u64, failed: u64) -> Interval {
    let mut interval = Interval::new(Stage::Measured, second(number), second(number + 1));
    let (stats, all) = (&mut interval.stats, ok + failed);
    let tally = &mut stats.measured;
    (tally.scheduled, tally.started, tally.attempts) = (all, all, all);
    (tally.ok, tally.failed) = (ok, failed);
    let statuses = if failed > 0 { vec![(200, ok), (503, failed)] } else { vec![(200, ok)] };
    tally.statuses = serde_json::from_value(serde_json::json!(statuses)).expect("valid counts");
    (0..ok).for_each(|_| tally.classes.add(AttemptClass::Ok));
    (0..failed).for_each(|_| tally.classes.add(AttemptClass::Throttled));
    stats.traffic.body = ok * 16_384;
    let kind = stats.kind_mut(OpKind::Get);
    (kind.ok, kind.failed) = (ok, failed);
    for index in 0..ok {
        let nanos = match index % 50 {
            0 => 25_000_000 + index * 10_000,
            _ => 1_500_000 + (index * 7919 % 1000) * 1_500,
        };
        kind.response.record(nanos + number * 100_000);
        kind.service.record(nanos);
    }
    (0..failed).for_each(|_| kind.failed_response.record(900_000));
    interval.in_flight = 50;
    interval
}

fn failure(detail: &str) -> Example {
    Example {
        outcome: AttemptOutcome::failed(AttemptClass::Throttled, Cause::Status, AttemptPhase::Head),
        at: second(3),
        url: "http://127.0.0.1:8080/objects/a".to_owned(),
        address: Some("127.0.0.1:8080".to_owned()),
        status: Some(503),
        detail: detail.to_owned(),
    }
}

/// Returns a run of 10 s after 6 s. The target of this run fails for some time.
fn run(objectives: &[&str], detail: &str) -> Run {
    let stop = StopAfter { time: Some(Duration::from_secs(10)), ..StopAfter::default() };
    let mut run = Run::new(&begin(objectives), stop, true);
    for (number, (ok, failed)) in
        [(4000, 0), (4200, 0), (3900, 120), (2100, 900), (4100, 0), (4150, 0)].iter().enumerate()
    {
        let mut interval = interval(number as u64, *ok, *failed);
        if *failed > 0 {
            interval.stats.keep_example(&failure(detail));
        }
        run.add(&interval);
    }
    run.set_now(Instant::from_nanos(6_300_000_000));
    run
}

fn usual_run() -> Run {
    run(&["success >= 99%", "response p99 <= 50ms"], "Slow Down")
}

fn draws(state: &State, (width, height): (u16, u16), color: bool) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).expect("writing to memory");
    terminal.draw(|frame| draw(state, Theme { color }, frame)).expect("writing to memory");
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area().width).max(1);
    let row = |cells: &[ratatui::buffer::Cell]| {
        let text: String = cells.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.trim_end().to_owned() + "\n"
    };
    buffer.content().chunks(width).map(row).collect()
}

/// Compares pictures of both sizes with the golden files of this name. No cell may contain a control character.
fn compare(name: &str, state: &State) {
    for (width, height) in [(80, 24), (120, 40)] {
        let buffer = draws(state, (width, height), true);
        for cell in buffer.content() {
            assert!(!cell.symbol().chars().any(char::is_control), "{name}: {:?}", cell.symbol());
        }
        let found = lines(&buffer);
        let path = format!("{}/src/progress/view/golden/{name}_{width}x{height}.txt", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            std::fs::write(&path, &found).expect("golden files can be written");
        } else {
            let wanted = std::fs::read_to_string(&path).unwrap_or_default();
            assert!(wanted == found, "{path} differs; UPDATE_GOLDEN=1 rewrites it:\n{found}");
        }
    }
}

#[test]
fn a_run() {
    compare("run", &State { run: Some(usual_run()), ..State::default() });
}

#[test]
fn a_run_in_its_first_second() {
    let stop = StopAfter { ops: NonZeroU64::new(100_000), ..StopAfter::default() };
    let run = Run::new(&begin(&["success >= 99%"]), stop, true);
    compare("first_second", &State { run: Some(run), ..State::default() });
}

#[test]
fn hostile_text_is_only_text() {
    let objectives = ["success >= 99%", "response p99 <= 5ms", "ttfb p90 <= 10ms", "rate >= 1M", "goodput >= 1GB/s"];
    let mut run = run(&objectives, &HOSTILE.repeat(100));
    run.number = Some((2, 5));
    let messages = vec!["first\nsecond".to_owned(), HOSTILE.repeat(3)];
    compare("hostile", &State { run: Some(run), messages, ..State::default() });
}

fn level(level: f64, outcome: LevelOutcome, reason: Option<&str>) -> Level {
    let rate = if level > 100.0 { 18_000.0 + level } else { level * 180.0 };
    let nanos = if level > 100.0 { 60_000_000 } else { 5_200_000 };
    Level {
        level,
        passed: outcome == LevelOutcome::Passed,
        outcome,
        reason: reason.map(str::to_owned),
        limited_by_client: false,
        seconds: 5.0,
        certain: outcome != LevelOutcome::Passed,
        metrics: RunMetrics {
            ok_per_second: Some(rate),
            goodput_bytes_per_second: Some(rate * 16_384.0),
            success_share: Some(1.0),
            response_p50_nanos: Some(nanos),
            response_p50_low_nanos: Some(nanos),
            response_p99_nanos: Some(nanos * 2),
            response_p99_low_nanos: Some(nanos * 2),
            objectives: Vec::new(),
            first_missed: None,
            limited_by: "target".to_owned(),
            pace_set_by: None,
            directory: String::new(),
        },
    }
}

#[test]
fn a_search_for_the_load_line() {
    let mut line = Line::new(LoadUnit::Concurrency);
    let passed = [8.0, 16.0, 32.0, 64.0].map(|load| level(load, LevelOutcome::Passed, None));
    let missed = Some("response p95 <= 50ms");
    let failed = [128.0, 128.0].map(|load| level(load, LevelOutcome::Failed, missed));
    line.levels = passed.into_iter().chain(failed).chain([level(96.0, LevelOutcome::Passed, None)]).collect();
    line.step = Step::Level { load: 112.0, confirming: false };
    assert_eq!(line.bracket(), (Some(96.0), Some(128.0)));
    let (run, elapsed) = (Some(usual_run()), Duration::from_secs(31));
    let messages = vec!["       96: passed (5 s)".to_owned()];
    compare("line", &State { line: Some(line), run, elapsed, messages, ..State::default() });
}

#[test]
fn a_search_that_waits() {
    let mut line = Line::new(LoadUnit::Rate);
    line.levels = vec![level(100.5, LevelOutcome::NotDecided, Some("the backlog"))];
    line.step = Step::Recovery;
    let text = lines(&draws(&State { line: Some(line), ..State::default() }, (80, 24), false));
    assert!(text.contains("waiting until the target has recovered") && text.contains("100.50"), "{text}");
}

#[test]
fn a_study() {
    let mut study = Study::new("small-objects");
    let result = |word, text: &str| TrialStatus::Done(TrialResult { word, text: text.to_owned() });
    for repeat in 0..2 {
        for (index, size) in ["1KiB", "64KiB", "1MiB"].iter().enumerate() {
            for target in ["minio", "nginx"] {
                let status = match (repeat, index, target) {
                    (0, 0, _) => TrialStatus::DoneEarlier,
                    (0, 1, "nginx") => result(ResultWord::Fail, "9,100/s, 596.38 MB/s"),
                    (0, ..) => result(ResultWord::Pass, "12,345/s, 101.13 MB/s"),
                    (_, 0, "minio") => TrialStatus::Running,
                    _ => TrialStatus::Left,
                };
                study.add(&format!("size={size} c=32"), target, repeat, status);
            }
        }
    }
    assert_eq!(study.done(), (6, 12));
    study.set("size=1KiB c=32", "minio", 0, result(ResultWord::Unusable, &HOSTILE.repeat(2)));
    study.left = Some(Duration::from_secs(190));
    let (run, elapsed) = (Some(usual_run()), Duration::from_secs(185));
    let messages = vec!["[7 of 12] size=1KiB c=32, minio; about 3m10s left".to_owned()];
    compare("study", &State { study: Some(study), run, elapsed, messages, ..State::default() });
}

#[test]
fn a_study_with_more_cells_than_lines() {
    let mut study = Study::new("large");
    for number in 0..300 {
        study.add(&format!("cell {number}"), "one", 0, TrialStatus::Left);
    }
    study.set("cell 200", "one", 0, TrialStatus::Running);
    let text = lines(&draws(&State { study: Some(study), ..State::default() }, (80, 24), false));
    assert!(text.contains("cell 200 ") && text.contains("cell 199 ") && !text.contains("cell 1 "), "{text}");
}

#[test]
fn a_fill() {
    let fill = Fill {
        phase: Phase::Upload,
        location: "http://127.0.0.1:8080/bucket/set/".to_owned(),
        elapsed: Duration::from_secs(3 * 3600),
        objects: (1_200, 5_000),
        bytes: (12_000_000_000, 50_000_000_000),
        failed: 3,
        bandwidth: Some(15_000_000.0),
        spent: Some("1.27 USD".to_owned()),
        waiting: None,
        cap: Some("5 USD".to_owned()),
        rules: vec![
            ("trailing 24h bandwidth < 50Mbit/s".to_owned(), Some("now 118.20 Mbit/s".to_owned())),
            ("gone > 1h".to_owned(), Some("no contact for 0s".to_owned())),
            ("time >= 336h".to_owned(), None),
        ],
    };
    let messages = vec!["resuming fills/one: 400 objects of 5,000 stored, session 2".to_owned()];
    let elapsed = Duration::from_secs(3 * 3600);
    compare("fill", &State { fill: Some(fill), run: Some(usual_run()), messages, elapsed, ..State::default() });
}

#[test]
fn a_fill_that_reads_back() {
    let rules = vec![("gone > 1h".to_owned(), Some("no contact for 0s".to_owned()))];
    // The uploads have ended, so their numbers must not look like the numbers of the current phase.
    let (bandwidth, spent) = (Some(15_000_000.0), Some("1.27 USD".to_owned()));
    let (objects, bytes) = ((5_000, 5_000), (50_000_000_000, 50_000_000_000));
    let cap = Some("5 USD".to_owned());
    let location = "http://127.0.0.1:8080/bucket/set/".to_owned();
    let fill = Fill { phase: Phase::Verify, location, objects, bytes, bandwidth, spent, rules, cap, ..Fill::default() };
    let stop = StopAfter { ops: NonZeroU64::new(5_000), ..StopAfter::default() };
    let mut run = Run::new(&begin(&[]), stop, true);
    run.add(&interval(0, 1_000, 0));
    let elapsed = Duration::from_secs(3 * 3600);
    compare("fill_reads_back", &State { fill: Some(fill), run: Some(run), elapsed, ..State::default() });
}

#[test]
fn no_color_means_no_color() {
    let state = State { run: Some(usual_run()), ..State::default() };
    let is_plain =
        |buffer: &Buffer| buffer.content().iter().all(|cell| (cell.fg, cell.bg) == (Color::Reset, Color::Reset));
    let (plain, colored) = (draws(&state, (80, 24), false), draws(&state, (80, 24), true));
    assert!(is_plain(&plain) && !is_plain(&colored));
    assert_eq!(lines(&plain), lines(&colored));
}

#[test]
fn every_size_can_be_drawn() {
    let state = State { run: Some(usual_run()), ..State::default() };
    for size in [(0, 0), (1, 1), (79, 24), (80, 19), (80, 20), (81, 20), (200, 21), (80, 100), (400, 120)] {
        let text = lines(&draws(&state, size, true));
        let is_small = size.0 < 80 || size.1 < 20;
        assert!(is_small || text.contains("whole run"), "{size:?}:\n{text}");
    }
    let small = lines(&draws(&state, (60, 10), true));
    assert!(small.starts_with("6s/10s 4150/s") && small.contains("80 columns"), "{small}");
}

#[test]
fn objectives_are_judged_on_the_results_so_far() {
    let run = run(&["success >= 99%", "response p99 <= 50ms"], "");
    let judged: Vec<(Objective, _)> =
        run.details.iter().flat_map(|details| details.judged()).map(|one| (one.objective, one.outcome)).collect();
    let outcome = |text: &str| {
        let wanted: Objective = text.parse().expect("a valid objective");
        judged.iter().find(|(objective, _)| *objective == wanted).map(|(_, outcome)| *outcome)
    };
    assert_eq!(outcome("success >= 99%"), Some(measure::objective::ObjectiveOutcome::Missed));
    assert_eq!(judged.len(), 2);
}
