//! `cargo xtask bench weeks`: the size of the directory of a run that lasts weeks, and the time and memory of a report.
//!
//! The directory has the content of a run that uploads objects at 50 operations per second. The benchmark writes the
//! directory as fast as possible, without a server. A real run writes seconds, and later joins them into minutes. For
//! two weeks, this would take hours, so the benchmark writes minutes right away.

use crate::console;
use crate::failure::{Context, Result, check_interrupt, failure};
use crate::goal::GoalResult;
use crate::plimsoll::ProgramArgs;
use crate::process::{Affinity, ProcessEnd, resident, start};
use measure::stats::{Dimension, Group, GroupStats};
use measure::values::random::Random;
use measure::{
    AttemptClass, ClientLoad, Flag, Instant, Interval, IntervalJoiner, Label, Model, Objective, OpKind, Stage, Stats,
};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use store::{Begin, End, EndReason, FORMAT, Host, RollUpRules, RunWriter};

/// Goal for the size of a run directory of two weeks, in MB.
const SIZE_MAX_MB: f64 = 1000.0;
/// Goal for the time of a text report, in seconds.
const TEXT_MAX: f64 = 2.0;
/// Goal for the time of an HTML report, in seconds.
const HTML_MAX: f64 = 5.0;
/// Operations per second.
const OPERATIONS: u64 = 50;
/// Size of an object: a slab of Sia's renterd.
const OBJECT_BYTES: u64 = 40 << 20;
/// Number of different seconds, from which the run is composed at random.
const VARIANTS: usize = 200;
/// Number of different minutes, from which the run is composed at random.
const MINUTE_VARIANTS: usize = 20;
/// Length of the newest part of the run, in seconds. The benchmark writes this part as single seconds. It is longer
/// than the time for which a run keeps single seconds, so some of them have to be joined.
const RECENT: u64 = 7 * 3600;
/// Load model of the run.
const MODEL: Model = Model::Closed { concurrency: 50 };
/// Time limit of a report.
const PATIENCE: Duration = Duration::from_secs(600);

/// Length of the run, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Length of the run in days.
    #[arg(long, value_name = "N", default_value = "14", value_parser = clap::value_parser!(u64).range(1..=60))]
    days: u64,
    /// Keep every second, instead of joining old seconds into minutes.
    #[arg(long)]
    single_seconds: bool,
    /// Write the run to this directory and keep it, instead of using a temporary directory.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    let place = tempfile::tempdir().cannot("create a temporary directory")?;
    let dir = args.keep.clone().unwrap_or_else(|| place.path().join("run"));
    console::line("");
    console::line(format_args!("weeks: a run of {} days with {OPERATIONS} uploads per second", args.days));
    let begun = std::time::Instant::now();
    write(&dir, args)?;
    let size = size(&dir)? as f64 / 1e6;
    console::line(format_args!("  written in           {:.1} s", begun.elapsed().as_secs_f64()));
    console::line(format_args!(
        "  size                 {size:.1} MB   goal ≤ {SIZE_MAX_MB} MB: {}",
        GoalResult::from(size <= SIZE_MAX_MB)
    ));
    report(&program, &dir, "text", &[], TEXT_MAX)?;
    report(&program, &dir, "HTML", &["--html"], HTML_MAX)?;
    report(&program, &dir, "JSON", &["--json"], HTML_MAX)
}

/// Makes a report, and prints its time and memory.
fn report(program: &Path, dir: &Path, name: &str, flags: &[&str], goal: f64) -> Result<()> {
    let mut command = Command::new(program);
    command.arg("report").args(flags);
    if flags.contains(&"--html") {
        // `--html` accepts an optional value, so `--` is needed before the directory.
        command.arg("--");
    }
    command.arg(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let run = start(&mut command, Affinity::AllCores)?.finish(PATIENCE)?;
    if !matches!(run.end, ProcessEnd::Code(_)) {
        return Err(failure(format_args!("plimsoll report failed with {}", run.end)));
    }
    let wall = run.wall.as_secs_f64();
    console::line(format_args!(
        "  {name} report          {wall:.2} s (CPU {:.2} s, peak RSS {:.1} MB)   goal ≤ {goal} s: {}",
        run.cpu.as_secs_f64(),
        run.peak.bytes() as f64 / 1e6,
        GoalResult::from(wall <= goal)
    ));
    Ok(())
}

fn size(dir: &Path) -> Result<u64> {
    let entries = std::fs::read_dir(dir).cannot("list the run directory")?;
    let mut sum = 0;
    for entry in entries {
        sum += entry.and_then(|entry| entry.metadata()).cannot("list the run directory")?.len();
    }
    Ok(sum)
}

fn write(dir: &Path, args: &Args) -> Result<()> {
    let saved = |error: store::StoreError| failure(format_args!("cannot save the run: {error}"));
    let mut writer = RunWriter::create(dir, &begin(args.days)).map_err(saved)?;
    if args.single_seconds {
        writer = writer.rolling_up(RollUpRules { file: Duration::MAX, ..RollUpRules::DEFAULT });
    }
    let mut random = Random::new(13);
    let seconds = args.days * 86_400;
    let old = if args.single_seconds { 0 } else { seconds - RECENT };
    let minutes: Vec<Interval> = (0..if old > 0 { MINUTE_VARIANTS } else { 0 }).map(|_| minute(&mut random)).collect();
    let variants: Vec<Interval> = (0..VARIANTS).map(|_| variant(&mut random)).collect();
    let mut second = 0;
    while second < seconds {
        let (list, length) = if second < old { (&minutes, 60) } else { (&variants, 1) };
        let mut interval = list[random.below(list.len())].clone();
        (interval.start, interval.end) = (at(second), at(second + length));
        interval.stats.last.ok = Some(at(second + length));
        writer.interval(&interval).map_err(saved)?;
        // Wait for the thread that joins intervals. In a real run, each file takes 15 minutes, so this thread has
        // enough time.
        if second % 900 == 0 {
            writer.settle();
            check_interrupt()?;
        }
        second += length;
        if second.is_multiple_of(86_400) {
            let memory = resident(std::process::id()).map_or(0.0, |memory| memory.all as f64 / 1e6);
            let (day, size) = (second / 86_400, size(dir)? as f64 / 1e6);
            console::line(format_args!("  day {day:<3} directory {size:.1} MB, writer's RSS {memory:.1} MB"));
        }
    }
    writer.settle();
    writer.end(&end(seconds)).map_err(saved)
}

fn at(second: u64) -> Instant {
    Instant::from_nanos(second * 1_000_000_000)
}

/// Returns an interval of a minute, joined from its seconds.
fn minute(random: &mut Random) -> Interval {
    let mut joiner = IntervalJoiner::new(MODEL, Duration::from_secs(60));
    for second in 0..60 {
        let mut interval = variant(random);
        (interval.start, interval.end) = (at(second), at(second + 1));
        let _ = joiner.add(interval);
    }
    joiner.rest().unwrap_or_else(|| variant(random))
}

/// Returns an interval with uploads. Some uploads are sent in one request, and others in parts.
fn variant(random: &mut Random) -> Interval {
    let mut interval = Interval::new(Stage::Measured, at(0), at(1));
    let stats = &mut interval.stats;
    for operation in 0..OPERATIONS {
        // A sum of uniform numbers is almost normally distributed, so its exponential is almost log-normal. The median
        // time is about a second.
        let spread: f64 = (0..6).map(|_| random.unit() - 0.5).sum();
        let service = (1e9 * (spread * 1.2).exp()) as u64;
        upload(stats, random, operation, service);
    }
    let tally = &mut stats.measured;
    (tally.scheduled, tally.started, tally.ok, tally.attempts) = (OPERATIONS, OPERATIONS, OPERATIONS, OPERATIONS);
    (tally.sent_body, tally.sent_bytes) = (OPERATIONS * OBJECT_BYTES, OPERATIONS * (OBJECT_BYTES + 700));
    tally.overhead_bytes = OPERATIONS * 250;
    (0..OPERATIONS).for_each(|_| {
        tally.classes.add(AttemptClass::Ok);
        tally.flags.add(Flag::KeptAlive);
    });
    stats.traffic.sent_body = OPERATIONS * OBJECT_BYTES;
    stats.traffic.sent = tally.sent_bytes;
    stats.traffic.overhead = tally.overhead_bytes;
    (stats.in_flight_nanos, stats.residence_nanos) = (50_000_000_000, 50_000_000_000);
    (interval.in_flight, interval.in_flight_peak) = (50, 50);
    (interval.evidence.overtaking.marked, interval.evidence.overtaking.ahead) = (1, 49);
    interval.evidence.overtaking.overtaken = random.below(49) as u64;
    interval.evidence.network_paths.sampled = 10;
    interval.client = ClientLoad {
        busy: 0.2 + random.unit() / 10.0,
        unread: random.unit() / 50.0,
        run_delay: random.unit() / 100.0,
        run_delay_sum: random.unit() / 100.0,
        descriptors: 0.0007,
        ports: 0.005,
        host_busy: 0.3 + random.unit() / 10.0,
        cpu_nanos: 250_000_000,
        ..ClientLoad::default()
    };
    interval
}

fn upload(stats: &mut Stats, random: &mut Random, operation: u64, service: u64) {
    let part = |share: f64| (service as f64 * share) as u64;
    let kind = stats.kind_mut(if operation.is_multiple_of(5) { OpKind::PutMultipart } else { OpKind::Put });
    kind.ok += 1;
    let sending = 0.7 + random.unit() / 10.0;
    kind.response.record(service + 50_000 + random.bits() % 50_000);
    kind.service.record(service);
    kind.ttfb.record(part(0.95));
    kind.transfer.record(part(0.05));
    kind.sending.record(part(sending));
    kind.waiting.record(part(1.0 - sending));
    if operation.is_multiple_of(10) {
        kind.expect_continue.record(1_000_000 + random.bits() % 1_000_000);
        kind.connect.record(200_000 + random.bits() % 500_000);
    }
    kind.speed.record(OBJECT_BYTES * 1_000_000_000 / service.max(1));
    kind.lateness.record(random.bits() % 100_000);
    for (dimension, label) in [
        (Dimension::Host, format!("host-{}:9980", operation % 3)),
        (Dimension::Size, if operation.is_multiple_of(7) { "64 MiB".into() } else { "32 MiB".to_owned() }),
    ] {
        let label = Label::Value(label);
        let place = stats.groups.iter().position(|group| group.dimension == dimension && group.label == label);
        let place = place.unwrap_or_else(|| {
            stats.groups.push(Group { dimension, label, stats: GroupStats::default() });
            stats.groups.len() - 1
        });
        let group = &mut stats.groups[place].stats;
        group.ok += 1;
        group.ok_bytes += OBJECT_BYTES;
        group.response.record(service);
    }
}

fn begin(days: u64) -> Begin {
    Begin {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        debug_build: false,
        started_unix_ms: 1_795_228_200_000,
        command: vec!["plimsoll".into(), "put".into()],
        targets: vec!["http://host-0:9980".into()],
        urls: 1,
        model: MODEL,
        load: format!("closed, 50 slots, {days} days"),
        levels: None,
        warmup_ms: 0,
        duration_ms: Some(days * 86_400_000),
        seed: 1,
        threads: 2,
        settings: vec![("slots".into(), "50".into())],
        objectives: vec![Objective::DEFAULT],
        accept_not_enough_data: false,
        host: Host { name: "client".into(), cores: 2, ..Host::default() },
        loopback: false,
        header: None,
        insecure: false,
        path: None,
        part: None,
    }
}

fn end(seconds: u64) -> End {
    End {
        reason: EndReason::Completed,
        at: at(seconds),
        server: None,
        peak_memory_bytes: 1,
        cpu_nanos: 1,
        uploads: None,
        damaged: None,
        fresh_below: 0,
        fleet: None,
        probes: None,
        path: None,
    }
}
