//! `plimsoll merge`: merges runs of the same load that several machines made at the same time.
//!
//! The merged run covers only the time in which all machines measured ([`measure::summary::common_time`]).

use crate::console;
use crate::failure::{Exit, Failure};
use crate::saved::merged::{self, SourceRun};
use crate::saved::{self, repeats};
use measure::summary::common_time::{CommonTime, RunTimes};
use measure::time::INTERVAL;
use measure::{Instant, Stage};
use report::compare::load_differences;
use report::escape::escape;
use report::number::{plural, seconds};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::{EndReason, SavedRun};

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

const AFTER: &str = "Histograms, counts, concurrency and rates are added up. The merged run covers only the time during which all \
    runs measured. The report shows how much was left out. The clocks of the machines must agree to well below a \
    second (NTP, chrony).\n\
    \n\
    \x20 plimsoll merge from-a from-b --out both\n\
    \x20 plimsoll report both";

/// Maximum number of runs. Each run needs an open file.
const RUNS_MAX: usize = 256;

/// One of the runs to merge, and what is checked and reported about it.
struct Part {
    source: SourceRun,
    /// Numbers of operations that ended, and that were dropped, in each interval.
    ended: Vec<(u64, u64)>,
    measured_seconds: f64,
    window: Option<(Instant, Instant)>,
    counters_agree: bool,
    is_whole: bool,
}

impl Part {
    fn of(directory: &Path, run: SavedRun) -> Self {
        let ended = run.points.iter().map(|point| (point.ok.saturating_add(point.failed), point.dropped)).collect();
        Self {
            ended,
            measured_seconds: run.summary().measured.seconds,
            window: run.summary().window,
            counters_agree: report::result::of(&run).accounting.violations.is_empty(),
            is_whole: run.is_whole(),
            source: SourceRun::of(directory, run),
        }
    }
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
    let times: Vec<RunTimes> = parts.iter().map(|part| part.source.times.clone()).collect();
    let overlap = CommonTime::of(&times).ok_or_else(|| {
        Failure::usage(format!(
            "the runs do not overlap by a full second: {}; merge runs that measured at the same time",
            parts.iter().map(when_measured).collect::<Vec<_>>().join(", ")
        ))
    })?;
    let describe = |(index, part)| describe_part(part, &left_out(index, part, &overlap), &overlap);
    let descriptions: Vec<String> = parts.iter().enumerate().map(describe).collect();
    let sources: Vec<SourceRun> = parts.into_iter().map(|part| part.source).collect();
    let Some(first) = sources.first() else { return Err(Failure::usage("name the directories of two runs or more")) };
    let mut begin = merged::describe_all(&first.begin, &sources, &overlap);
    for description in descriptions {
        console::eprintln(&description);
        begin.settings.push(("merged".to_owned(), description));
    }
    let reason = EndReason::Merged { runs: sources.len() as u64 };
    merged::write(&sources, &overlap, &begin, (reason, None), &args.out)?;
    let merged = SavedRun::read(&args.out).map_err(|error| saved::cannot_read_back(&error))?;
    saved::print_run(&merged, saved::OutputFormat::Text)?;
    console::eprintln(&format!("saved in {}", args.out.display()));
    Ok(saved::conclude(&merged).into())
}

fn read(directories: &[PathBuf]) -> Result<Vec<Part>, Failure> {
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
        Ok(Part::of(directory, run))
    };
    directories.iter().map(one).collect()
}

/// Checks that the runs have the same load, that each run is complete, and that no run is named twice.
fn check(parts: &[Part], partial: bool) -> Result<(), Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    for (index, part) in parts.iter().enumerate() {
        let name = part.source.directory.display();
        if parts.iter().take(index).any(|other| real(&other.source.directory) == real(&part.source.directory)) {
            return Err(Failure::usage(format!("{name} is named twice: name each run once")));
        }
        if part.source.times.spans.iter().any(|span| span.end.since(span.start) > INTERVAL) {
            return Err(Failure::usage(format!(
                "{name} is too long to merge, because its older seconds were joined: merge runs of less than an hour"
            )));
        }
        if !part.counters_agree {
            let message = format!("cannot merge {name}: its counters disagree (exit code 3)");
            return Err(Failure::Message(Exit::Unusable, message));
        }
        if !part.is_whole && !partial {
            return Err(Failure::usage(format!(
                "{name} is incomplete, so the end of its measurement is unknown: use --partial to merge it anyway"
            )));
        }
    }
    let Some((first, others)) = parts.split_first() else { return Ok(()) };
    for other in others {
        if let Some(difference) = load_differences(&first.source.begin, &other.source.begin).first() {
            let name = other.source.directory.display();
            return Err(Failure::usage(format!("{name} has another load, {difference}: merge runs of the same load")));
        }
    }
    Ok(())
}

/// Returns the time of a run's measurement, as text.
fn when_measured(part: &Part) -> String {
    let start = part.source.begin.started_unix_ms;
    let wall = |at: Instant| {
        let utc = store::Utc::from_unix_ms(start.saturating_add(at.as_nanos() / 1_000_000));
        format!("{:02}:{:02}:{:02}", utc.hour, utc.minute, utc.second)
    };
    let directory = part.source.directory.display();
    match part.window {
        Some((from, to)) => format!("{directory} measured from {} to {} UTC", wall(from), wall(to)),
        None => format!("{directory} measured nothing"),
    }
}

fn left_out(index: usize, part: &Part, overlap: &CommonTime) -> LeftOut {
    let mut left = LeftOut::default();
    for ((ended, dropped), span) in part.ended.iter().zip(&part.source.times.spans) {
        if overlap.place(index, *span).is_none() && span.stage != Stage::Warmup {
            if span.stage == Stage::Measured {
                left.seconds += span.end.nanos_since(span.start) as f64 / 1e9;
            }
            left.ended = left.ended.saturating_add(*ended);
            left.lost = left.lost.saturating_add(*dropped);
        }
    }
    left
}

/// Returns a message about one run: the part inside the common time, and the part outside.
fn describe_part(part: &Part, left: &LeftOut, overlap: &CommonTime) -> String {
    let mut text = format!(
        "{} on {}: {} of {} are merged",
        part.source.directory.display(),
        escape(&part.source.begin.host.name),
        seconds(overlap.seconds() as f64),
        seconds(part.measured_seconds),
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
