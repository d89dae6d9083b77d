//! Merging of saved runs into one: `merge` merges runs of several machines, and a run of several hosts merges the parts
//! that its agents made.
//!
//! A run is read one interval at a time, and each interval is added to the sum at once. Memory therefore grows neither
//! with the length nor with the number of the runs, except for the positions of the intervals.

use crate::execute;
use crate::failure::Failure;
use crate::saved;
use measure::summary::common_time::{CommonTime, RunTimes, Span};
use measure::{Instant, Interval, Model, Stage};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::path::{Path, PathBuf};
use store::{Begin, End, EndReason, FORMAT, Fleet, Record, RunRecords, RunWriter, SavedRun, StoreError};

/// Maximum number of targets in the record, as for any run.
const TARGETS_MAX: usize = 10;

/// One of the runs to merge, without its histograms.
pub struct SourceRun {
    pub directory: PathBuf,
    pub begin: Begin,
    pub end: Option<End>,
    pub times: RunTimes,
}

impl SourceRun {
    /// Returns the run in a directory.
    pub fn of(directory: &Path, run: SavedRun) -> Self {
        let spans = run.points.iter().map(|point| Span { stage: point.stage, start: point.start, end: point.end });
        let times = RunTimes { started_unix_ms: run.begin.started_unix_ms, spans: spans.collect() };
        Self { directory: directory.to_owned(), begin: run.begin, end: run.end, times }
    }

    /// Returns the number of measured intervals that count in the merged run.
    fn counting(&self, index: usize, overlap: &CommonTime) -> u64 {
        let counts = |span: &&Span| span.stage == Stage::Measured && overlap.place(index, **span).is_some();
        self.times.spans.iter().filter(counts).count() as u64
    }
}

/// Returns the record of the merged run.
pub fn describe_all(first: &Begin, parts: &[SourceRun], overlap: &CommonTime) -> Begin {
    let begins: Vec<&Begin> = parts.iter().map(|part| &part.begin).collect();
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

/// Returns the position of an interval in the merged run. All drains come last, because a run that ended early drains
/// while other runs are still being measured.
pub fn order(interval: &Interval) -> Position {
    position(Span::of(interval))
}

/// The position of an interval in the merged run.
pub type Position = (bool, Instant);

fn position(span: Span) -> Position {
    (span.stage == Stage::Drain, span.start)
}

/// A run that is being merged.
struct Source<'s> {
    records: RunRecords,
    /// Positions of the intervals that have not been read and count in the merged run.
    left: Box<dyn Iterator<Item = Position> + 's>,
}

impl<'s> Source<'s> {
    fn open(index: usize, part: &'s SourceRun, overlap: &'s CommonTime) -> Result<Self, StoreError> {
        let placed = part.times.spans.iter().filter_map(move |span| overlap.place(index, *span));
        Ok(Self { records: RunRecords::open(&part.directory)?, left: Box::new(placed.map(position)) })
    }

    /// Reads the next interval that counts in the merged run.
    fn next(&mut self, index: usize, overlap: &CommonTime) -> Option<Interval> {
        while let Some(record) = self.records.next_record() {
            if let Record::Interval(interval) = record
                && let Some(interval) = overlap.take(index, *interval)
            {
                return Some(interval);
            }
        }
        None
    }
}

/// Adds the interval of another run to the sum of the intervals with the same position.
fn add(sum: &mut Option<Interval>, interval: Interval) {
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
    let sources = parts.iter().enumerate().map(|(index, part)| Source::open(index, part, overlap));
    let mut sources = sources.collect::<Result<Vec<_>, _>>().map_err(|error| saved::cannot_read(&error))?;
    let (mut over, mut seconds) = (Instant::ZERO, 0);
    // The runs with the positions of their next intervals. The positions are known, so an interval is unpacked only when
    // it is added.
    let mut next: BinaryHeap<Reverse<(Position, usize)>> = BinaryHeap::new();
    for (index, source) in sources.iter_mut().enumerate() {
        next.extend(source.left.next().map(|place| Reverse((place, index))));
    }
    while let Some(Reverse((place, _))) = next.peek().copied() {
        let (mut merged, mut later) = (None, Vec::new());
        while let Some(top) = next.peek_mut().filter(|top| top.0.0 == place) {
            let Reverse((_, index)) = PeekMut::pop(top);
            let Some(source) = sources.get_mut(index) else { continue };
            let Some(interval) = source.next(index, overlap) else { continue };
            seconds += u64::from(interval.stage == Stage::Measured);
            add(&mut merged, interval);
            later.extend(source.left.next().map(|place| Reverse((place, index))));
        }
        next.extend(later);
        if let Some(interval) = merged {
            over = over.max(interval.end);
            writer.interval(&interval).map_err(|error| saved::cannot_save("the merged run", &error))?;
        }
    }
    let counting = parts.iter().enumerate().map(|(index, part)| part.counting(index, overlap));
    if seconds != counting.sum::<u64>() {
        return Err(Failure::could_not_run(
            "a run changed while it was read: merge the runs after all of them have ended",
        ));
    }
    let ends = || parts.iter().filter_map(|part| part.end.as_ref());
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
