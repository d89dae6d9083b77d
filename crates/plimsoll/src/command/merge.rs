//! `plimsoll merge`: merges runs of the same load that several machines made at the same time.
//!
//! The merged run covers only the time in which all machines measured ([`measure::summary::common_time`]). Each run is
//! read by its own thread, one second at a time, so even long runs of many machines need little memory.

use crate::console;
use crate::execute;
use crate::failure::{Exit, Failure};
use crate::saved::{self, repeats};
use measure::summary::common_time::{CommonTime, RunTimes, Span};
use measure::time::INTERVAL;
use measure::{Instant, Interval, Model, Stage};
use report::compare::load_differences;
use report::escape::escape;
use report::number::{plural, seconds};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use store::{Begin, End, EndReason, FORMAT, Record, RunWriter, SavedRun, StoreError};

/// The flags of `merge`.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Directories of the saved runs, one per machine.
    #[arg(value_name = "DIR", num_args = 2.., required = true)]
    pub directories: Vec<PathBuf>,
    /// Directory in which to save the merged run.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Also merge runs that were cut off.
    #[arg(long)]
    pub partial: bool,
}

const AFTER: &str = "Histograms, counts, concurrency and rates are added up. The merged run contains only the time in which all \
    runs measured. The parts that are left out are reported. The clocks of the machines must agree to well below a \
    second (NTP, chrony).\n\
    \n\
    \x20 plimsoll merge from-a from-b --out both\n\
    \x20 plimsoll report both";

/// Maximum number of runs. Each run needs a thread and an open file.
const RUNS_MAX: usize = 256;

/// Maximum number of targets in the record, as for any run.
const TARGETS_MAX: usize = 10;

/// One of the runs to merge.
struct SourceRun {
    directory: PathBuf,
    run: SavedRun,
    times: RunTimes,
}

/// The part of a run outside the common time, which is left out.
#[derive(Default)]
struct LeftOut {
    seconds: f64,
    ended: u64,
    lost: u64,
}

/// Merges the runs, and returns the exit code of the merged run.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let parts = read(&args.directories)?;
    check(&parts, args.partial)?;
    let times: Vec<RunTimes> = parts.iter().map(|part| part.times.clone()).collect();
    let overlap = CommonTime::of(&times).ok_or_else(|| {
        Failure::usage(format!(
            "the runs do not overlap by a full second: {}; merge runs that measured at the same time",
            parts.iter().map(when_measured).collect::<Vec<_>>().join(", ")
        ))
    })?;
    let Some(first) = parts.first() else { return Err(Failure::usage("name the directories of two runs or more")) };
    let mut begin = describe_all(&first.run.begin, &parts, &overlap);
    for (index, part) in parts.iter().enumerate() {
        let description = describe_part(part, &left_out(index, part, &overlap), &overlap);
        console::eprintln(&description);
        begin.settings.push(("merged".to_owned(), description));
    }
    write(&parts, &overlap, &begin, &args.out)?;
    let merged = SavedRun::read(&args.out).map_err(|error| saved::cannot_read_back(&error))?;
    saved::print_run(&merged, saved::OutputFormat::Text)?;
    console::eprintln(&format!("saved in {}", args.out.display()));
    Ok(saved::conclude(&merged).into())
}

fn read(directories: &[PathBuf]) -> Result<Vec<SourceRun>, Failure> {
    if directories.len() > RUNS_MAX {
        return Err(Failure::usage(format!("{} runs are too many: the maximum is {RUNS_MAX}", directories.len())));
    }
    let one = |directory: &PathBuf| {
        if repeats::are_in(directory) {
            let first = repeats::directory(directory, 1);
            return Err(Failure::usage(format!(
                "{} contains several runs: name one run per machine, for example {}",
                directory.display(),
                first.display()
            )));
        }
        let run = SavedRun::read(directory).map_err(|error| saved::cannot_read(&error))?;
        let spans = run.points.iter().map(|point| Span { stage: point.stage, start: point.start, end: point.end });
        let times = RunTimes { started_unix_ms: run.begin.started_unix_ms, spans: spans.collect() };
        Ok(SourceRun { directory: directory.clone(), run, times })
    };
    directories.iter().map(one).collect()
}

/// Checks that the runs have the same load, that each run is complete, and that no run is named twice.
fn check(parts: &[SourceRun], partial: bool) -> Result<(), Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for (index, part) in parts.iter().enumerate() {
        let name = part.directory.display();
        if parts.iter().take(index).any(|other| real(&other.directory) == real(&part.directory)) {
            return Err(Failure::usage(format!("{name} is named twice: name each run once")));
        }
        if part.times.spans.iter().any(|span| span.end.since(span.start) > INTERVAL) {
            return Err(Failure::usage(format!(
                "{name} is too long to merge, because its older seconds were joined: merge runs of less than an hour"
            )));
        }
        if !report::result::of(&part.run).accounting.violations.is_empty() {
            let message = format!("cannot merge {name}: its counters disagree (exit code 3)");
            return Err(Failure::Message(Exit::Unusable, message));
        }
        if !part.run.is_whole() && !partial {
            return Err(Failure::usage(format!(
                "{name} is incomplete, so the end of its measurement is unknown: use --partial to merge it anyway"
            )));
        }
    }
    let Some((first, others)) = parts.split_first() else { return Ok(()) };
    for other in others {
        if let Some(difference) = load_differences(&first.run, &other.run).first() {
            let name = other.directory.display();
            return Err(Failure::usage(format!("{name} has another load, {difference}: merge runs of the same load")));
        }
    }
    Ok(())
}

/// Returns the time of a run's measurement, as text.
fn when_measured(part: &SourceRun) -> String {
    let start = part.run.begin.started_unix_ms;
    let wall = |at: Instant| {
        let utc = store::Utc::from_unix_ms(start.saturating_add(at.as_nanos() / 1_000_000));
        format!("{:02}:{:02}:{:02}", utc.hour, utc.minute, utc.second)
    };
    match part.run.summary().window {
        Some((from, to)) => format!("{} measured from {} to {} UTC", part.directory.display(), wall(from), wall(to)),
        None => format!("{} measured nothing", part.directory.display()),
    }
}

fn left_out(index: usize, part: &SourceRun, overlap: &CommonTime) -> LeftOut {
    let mut left = LeftOut::default();
    for (point, span) in part.run.points.iter().zip(&part.times.spans) {
        if overlap.place(index, *span).is_none() && span.stage != Stage::Warmup {
            if span.stage == Stage::Measured {
                left.seconds += span.end.nanos_since(span.start) as f64 / 1e9;
            }
            left.ended = left.ended.saturating_add(point.ok).saturating_add(point.failed);
            left.lost = left.lost.saturating_add(point.dropped);
        }
    }
    left
}

/// Returns a message about one run: the part inside the common time, and the part outside.
fn describe_part(part: &SourceRun, left: &LeftOut, overlap: &CommonTime) -> String {
    let mut text = format!(
        "{} on {}: {} of {} are merged",
        part.directory.display(),
        escape(&part.run.begin.host.name),
        seconds(overlap.seconds() as f64),
        seconds(part.run.summary().measured.seconds),
    );
    if left.seconds > 0.0 || left.ended > 0 || left.lost > 0 {
        let dropped = if left.lost > 0 { format!(" and {} dropped", left.lost) } else { String::new() };
        text.push_str(&format!(
            "; {} with {} that ended{dropped} are left out",
            seconds(left.seconds),
            plural(left.ended, "operation")
        ));
    }
    text
}

/// Returns the record of the merged run.
fn describe_all(first: &Begin, parts: &[SourceRun], overlap: &CommonTime) -> Begin {
    let begins: Vec<&Begin> = parts.iter().map(|part| &part.run.begin).collect();
    let distinct = |of: fn(&Begin) -> &str, joint: &str| {
        let mut texts: Vec<&str> = Vec::new();
        begins.iter().map(|begin| of(begin)).for_each(|text| {
            if !texts.contains(&text) {
                texts.push(text);
            }
        });
        texts.join(joint)
    };
    let mut merged = first.clone();
    for (index, begin) in begins.iter().enumerate().skip(1) {
        merged.model = sum_of_models(merged.model, begin.model);
        merged.threads = merged.threads.saturating_add(begin.threads);
        // Runs on the same machine share its cores and memory, so count each machine once.
        if !begins.iter().take(index).any(|other| other.host.name == begin.host.name) {
            merged.host.cores = merged.host.cores.saturating_add(begin.host.cores);
            merged.host.memory_bytes = merged.host.memory_bytes.saturating_add(begin.host.memory_bytes);
        }
        (merged.debug_build, merged.insecure) =
            (merged.debug_build | begin.debug_build, merged.insecure | begin.insecure);
        merged.loopback |= begin.loopback;
        let new: Vec<String> =
            begin.targets.iter().filter(|target| !merged.targets.contains(target)).cloned().collect();
        merged.targets.extend(new);
    }
    merged.targets.truncate(TARGETS_MAX);
    merged.format = FORMAT;
    env!("CARGO_PKG_VERSION").clone_into(&mut merged.version);
    merged.started_unix_ms = overlap.started_unix_ms();
    merged.command = execute::command_line();
    merged.load = format!("{} runs at once, each: {}", begins.len(), merged.load);
    (merged.levels, merged.warmup_ms, merged.duration_ms) = (None, 0, None);
    merged.host.name = distinct(|begin| &begin.host.name, " + ");
    merged.host.kernel = distinct(|begin| &begin.host.kernel, " + ");
    merged.host.cpu = distinct(|begin| &begin.host.cpu, " + ");
    merged
}

/// Returns the load model of two runs together.
fn sum_of_models(a: Model, b: Model) -> Model {
    match (a, b) {
        (Model::Closed { concurrency: a }, Model::Closed { concurrency: b }) => {
            Model::Closed { concurrency: a.saturating_add(b) }
        }
        (Model::Open { in_flight_max: a }, Model::Open { in_flight_max: b }) => {
            Model::Open { in_flight_max: a.saturating_add(b) }
        }
        // Cannot happen, because runs with different load models are refused.
        (a, _) => a,
    }
}

/// Number of intervals that each thread reads in advance.
const AHEAD: usize = 2;

/// Starts a thread that sends the intervals of a run within the common time, in order.
fn intervals<'s>(
    scope: &'s thread::Scope<'s, '_>,
    index: usize,
    directory: PathBuf,
    overlap: CommonTime,
) -> Receiver<Interval> {
    let (sender, receiver) = sync_channel(AHEAD);
    scope.spawn(move || {
        // Ignore errors, because the run was readable before, and a closed channel means that merging has ended.
        let _ = store::for_each_record(&directory, |record| {
            if let Record::Interval(interval) = record
                && let Some(interval) = overlap.take(index, *interval)
            {
                let _ = sender.send(interval);
            }
        });
    });
    receiver
}

fn write(parts: &[SourceRun], overlap: &CommonTime, begin: &Begin, out: &Path) -> Result<(), Failure> {
    let mut writer = RunWriter::create(out, begin).map_err(|error| saved::cannot_save("the merged run", &error))?;
    let mut over = Instant::ZERO;
    let written = thread::scope(|scope| {
        let sources = parts.iter().enumerate();
        let sources: Vec<Receiver<Interval>> =
            sources.map(|(index, part)| intervals(scope, index, part.directory.clone(), overlap.clone())).collect();
        let mut seconds = 0;
        let mut next: Vec<Option<Interval>> = sources.iter().map(|source| source.recv().ok()).collect();
        while let Some(start) = next.iter().flatten().map(|interval| interval.start).min() {
            let mut merged: Option<Interval> = None;
            for (source, waiting) in sources.iter().zip(&mut next) {
                let Some(interval) = waiting.take_if(|interval| interval.start == start) else { continue };
                seconds += u64::from(interval.stage == Stage::Measured);
                match &mut merged {
                    Some(merged) => merged.merge(&interval),
                    None => merged = Some(interval),
                }
                *waiting = source.recv().ok();
            }
            if let Some(interval) = merged {
                over = over.max(interval.end);
                writer.interval(&interval)?;
            }
        }
        Ok(seconds)
    });
    let seconds = written.map_err(|error: StoreError| saved::cannot_save("the merged run", &error))?;
    if seconds != overlap.seconds().saturating_mul(parts.len() as u64) {
        return Err(Failure::could_not_run(
            "a run changed while it was read: merge the runs after all of them have ended",
        ));
    }
    let ends = || parts.iter().filter_map(|part| part.run.end.as_ref());
    let end = End {
        reason: EndReason::Merged { runs: parts.len() as u64 },
        at: over,
        server: ends().find_map(|end| end.server.clone()),
        peak_memory_bytes: ends().map(|end| end.peak_memory_bytes).fold(0, u64::saturating_add),
        cpu_nanos: ends().map(|end| end.cpu_nanos).fold(0, u64::saturating_add),
        uploads: ends().filter_map(|end| end.uploads).reduce(store::Uploads::with),
        fresh_below: ends().map(|end| end.fresh_below).max().unwrap_or(0),
        damaged: ends().filter_map(|end| end.damaged.clone()).reduce(store::Damaged::with),
        probes: None,
        path: None,
    };
    writer.end(&end).map_err(|error| saved::cannot_save("the merged run", &error))
}
