//! Merging of saved runs into one: `merge` merges runs of several machines, and a run of several hosts merges the parts
//! that its agents made.
//!
//! Each run is read by its own thread, one interval at a time, so even long runs of many machines need little memory.

use crate::execute;
use crate::failure::Failure;
use crate::saved;
use measure::summary::common_time::{CommonTime, RunTimes, Span};
use measure::{Instant, Interval, Model, Stage};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use store::{Begin, End, EndReason, FORMAT, Fleet, Record, RunWriter, SavedRun, StoreError};

/// Maximum number of targets in the record, as for any run.
const TARGETS_MAX: usize = 10;

/// One of the runs to merge.
pub struct SourceRun {
    pub directory: PathBuf,
    pub run: SavedRun,
    pub times: RunTimes,
}

impl SourceRun {
    /// Returns the run in a directory.
    pub fn of(directory: &Path, run: SavedRun) -> Self {
        let spans = run.points.iter().map(|point| Span { stage: point.stage, start: point.start, end: point.end });
        let times = RunTimes { started_unix_ms: run.begin.started_unix_ms, spans: spans.collect() };
        Self { directory: directory.to_owned(), run, times }
    }

    /// Returns the number of measured intervals that count in the merged run.
    fn counting(&self, index: usize, overlap: &CommonTime) -> u64 {
        let counts = |span: &&Span| span.stage == Stage::Measured && overlap.place(index, **span).is_some();
        self.times.spans.iter().filter(counts).count() as u64
    }
}

/// Returns the record of the merged run.
pub fn describe_all(first: &Begin, parts: &[SourceRun], overlap: &CommonTime) -> Begin {
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
    merged.load = match merged.part.take() {
        Some(part) => format!("{}, divided among {} agents", part.load, part.of),
        None => format!("{} runs at once, each: {}", begins.len(), merged.load),
    };
    merged.levels = None;
    if !overlap.is_whole() {
        (merged.warmup_ms, merged.duration_ms) = (0, None);
    }
    merged.host.name = distinct(|begin| &begin.host.name, " + ");
    merged.host.kernel = distinct(|begin| &begin.host.kernel, " + ");
    merged.host.cpu = distinct(|begin| &begin.host.cpu, " + ");
    merged
}

/// Returns the combined load model of two runs.
pub fn sum_of_models(a: Model, b: Model) -> Model {
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

/// Returns the position of an interval in the merged run. All drains come last, because a run that ended early drains
/// while other runs are still being measured.
pub fn order(interval: &Interval) -> (bool, Instant) {
    (interval.stage == Stage::Drain, interval.start)
}

/// Adds the interval of another run to the sum of the intervals with the same position.
pub fn add(sum: &mut Option<Interval>, interval: Interval) {
    match sum {
        Some(sum) => sum.merge(&interval),
        None => *sum = Some(interval),
    }
}

/// Writes the merged run.
///
/// # Errors
/// Fails if the run cannot be written, or if a source changes while it is read.
pub fn write(
    parts: &[SourceRun],
    overlap: &CommonTime,
    begin: &Begin,
    (reason, fleet): (EndReason, Option<Fleet>),
    out: &Path,
) -> Result<(), Failure> {
    let mut writer = RunWriter::create(out, begin).map_err(|error| saved::cannot_save("the merged run", &error))?;
    let mut over = Instant::ZERO;
    let written = thread::scope(|scope| {
        let sources = parts.iter().enumerate();
        let sources: Vec<Receiver<Interval>> =
            sources.map(|(index, part)| intervals(scope, index, part.directory.clone(), overlap.clone())).collect();
        let mut seconds = 0;
        let mut next: Vec<Option<Interval>> = sources.iter().map(|source| source.recv().ok()).collect();
        while let Some(place) = next.iter().flatten().map(order).min() {
            let mut merged: Option<Interval> = None;
            for (source, waiting) in sources.iter().zip(&mut next) {
                let Some(interval) = waiting.take_if(|interval| order(interval) == place) else { continue };
                seconds += u64::from(interval.stage == Stage::Measured);
                add(&mut merged, interval);
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
    let counting = parts.iter().enumerate().map(|(index, part)| part.counting(index, overlap));
    if seconds != counting.sum::<u64>() {
        return Err(Failure::could_not_run(
            "a run changed while it was read: merge the runs after all of them have ended",
        ));
    }
    let ends = || parts.iter().filter_map(|part| part.run.end.as_ref());
    let end = End {
        reason,
        at: over,
        server: ends().find_map(|end| end.server.clone()),
        peak_memory_bytes: ends().map(|end| end.peak_memory_bytes).fold(0, u64::saturating_add),
        cpu_nanos: ends().map(|end| end.cpu_nanos).fold(0, u64::saturating_add),
        uploads: ends().filter_map(|end| end.uploads).reduce(store::Uploads::with),
        fresh_below: ends().map(|end| end.fresh_below).max().unwrap_or(0),
        damaged: ends().filter_map(|end| end.damaged.clone()).reduce(store::Damaged::with),
        probes: None,
        path: None,
        fleet: fleet.map(Box::new),
    };
    writer.end(&end).map_err(|error| saved::cannot_save("the merged run", &error))
}
