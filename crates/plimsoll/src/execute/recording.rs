//! Recording of a run in progress. The recording saves and shows every interval, and handles interrupts.

use super::{PartEvent, PartOfFleet, RunOptions, damaged_object};
use crate::live_metrics::LiveMetrics;
use crate::progress::{Interrupts, Progress};
use crate::redact;
use engine::plan::{Plan, Subject, Targets};
use engine::{Control, Observer, StopReason};
use engine::{HopEntry, OpEntry};
use measure::{Instant, Interval};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use store::{
    DamagedWriter, End, EndReason, HOPS_KEPT_MAX, HopRecord, OpLogWriter, OpRecord, RunWriter, Slice, StoreError,
};
use study::objective_monitor::{Decision, Missed, ObjectiveMonitor, SliceCounts};

/// The state of a run in progress: its records, and the progress that is shown to the user.
pub struct Recording {
    writer: RunWriter,
    log: Option<OpLogWriter>,
    damaged: DamagedWriter,
    targets: Arc<Targets>,
    lines: Vec<u8>,
    metrics: LiveMetrics,
    progress: Progress,
    full: bool,
    failed: Option<StoreError>,
    interrupts: Interrupts,
    /// Monitor that ends the run once the outcomes of its objectives are certain.
    monitor: Option<ObjectiveMonitor>,
    abort: ObjectiveMonitor,
    /// The reason for the end, if an objective or a condition ended the run.
    ended: Option<EndReason>,
    /// The part of the run in a run of several hosts.
    part: Option<PartOfFleet>,
    /// Counts of slices that the coordinator does not have yet.
    slices: Vec<SliceCounts>,
}

/// Number of slices that are passed on together. With fewer slices in a message, more messages would have to wait while
/// a message bus is not connected, and they would not fit into its queue.
const SLICES_TOGETHER: usize = 5;

/// Probability that a run which meets its objectives is aborted by mistake.
const ABORTED_WRONGLY: f64 = 0.01;

impl Recording {
    /// Returns a recording that saves to the run directory of these writers.
    pub fn new(
        plan: &Plan,
        options: &RunOptions,
        directory: &Path,
        (writer, log): (RunWriter, Option<OpLogWriter>),
    ) -> Self {
        Self {
            writer,
            log,
            damaged: DamagedWriter::new(directory),
            targets: Arc::clone(&plan.targets),
            lines: Vec::new(),
            metrics: options.metrics.clone(),
            progress: options.progress.clone(),
            full: false,
            failed: None,
            // There are no interrupts from earlier repeats, because an interrupt ends all repeats.
            interrupts: Interrupts::default(),
            monitor: options.monitor.clone(),
            abort: ObjectiveMonitor::new(&options.abort, ABORTED_WRONGLY),
            ended: None,
            part: options.part.clone(),
            slices: Vec::new(),
        }
    }

    /// Returns whether the disk became too full to save all results.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Returns the number of the signal that interrupted the run, or 0.
    pub fn signal(&self) -> i32 {
        self.interrupts.signal()
    }

    /// Returns the reason for the end, or `None` if no objective or condition ended the run.
    pub fn ended(&self) -> Option<&EndReason> {
        self.ended.as_ref()
    }

    /// Returns the monitor of the objectives. Call it after the run.
    pub fn take_monitor(&mut self) -> Option<ObjectiveMonitor> {
        self.monitor.take()
    }

    /// Writes the end of the run. Writes the run's records before the log of operations, so that the records are
    /// complete even if writing the log fails.
    ///
    /// # Errors
    /// Returns all failures to save, in the order in which they happened.
    pub fn end(mut self, mut end: End) -> Result<(), Vec<StoreError>> {
        self.progress.run_ends();
        end.damaged = self.damaged.counts();
        if let Err(error) = self.damaged.flush() {
            self.lost(error);
        }
        if let Some(error) = &self.failed {
            end.reason = EndReason::Failed { detail: error.to_string() };
        }
        let ended = self.writer.end(&end);
        let logged = match self.log {
            Some(log) if !self.full && self.failed.is_none() => log.end(),
            _ => Ok(()),
        };
        let failures: Vec<_> = self.failed.into_iter().chain(ended.err()).chain(logged.err()).collect();
        if failures.is_empty() { Ok(()) } else { Err(failures) }
    }

    /// Passes the log entries of the previous second to the system, so that they survive a crash of this process.
    fn flush_log(&mut self) {
        if let Err(error) = self.damaged.flush() {
            self.lost(error);
        }
        let Some(log) = self.log.as_mut().filter(|_| !self.full && self.failed.is_none()) else { return };
        if let Err(error) = log.flush() {
            self.lost(error);
        }
    }

    /// Adds the damaged objects that operations found to the list of the run.
    fn list_damaged(&mut self, ops: &[OpEntry]) {
        let found: Vec<_> = ops.iter().filter_map(|op| damaged_object::found_by(op, &self.targets)).collect();
        for damage in found {
            if !self.full
                && self.failed.is_none()
                && let Err(error) = self.damaged.add(damage)
            {
                self.lost(error);
            }
        }
    }

    /// Passes the counts of slices on to the coordinator.
    fn pass_slices_on(&mut self) {
        if let Some(part) = self.part.as_ref().filter(|_| !self.slices.is_empty()) {
            part.report(PartEvent::Slices(std::mem::take(&mut self.slices)));
        }
    }

    /// Remembers a failed write. After this call, nothing more is saved.
    fn lost(&mut self, error: StoreError) {
        if error.is_full() {
            self.full = true;
        } else {
            self.failed.get_or_insert(error);
        }
    }

    /// Stops the run, because a record could not be written.
    fn broken(&mut self, error: StoreError, control: &Control, now: Instant) {
        self.lost(error);
        control.stop(now, StopReason::ResultsFull);
    }
}

impl Observer for Recording {
    fn started(&mut self, at: Instant) {
        if let Some(part) = &self.part {
            part.report(PartEvent::Started(at.since(Instant::ZERO)));
        }
    }

    fn slice(&mut self, slice: &Interval, control: &Control, now: Instant) {
        let aborted = self.abort.add_slice(slice).and_then(|decided| match decided {
            Decision::Missed(Missed::Objective(objective)) => {
                Some(EndReason::Aborted { condition: objective.condition() })
            }
            Decision::Missed(Missed::Backlog) | Decision::Met => None,
        });
        let decided = self.monitor.as_mut().and_then(|monitor| monitor.add_slice(slice)).map(stopped_early);
        if let Some(reason) = aborted.or(decided).filter(|_| self.ended.is_none()) {
            self.ended = Some(reason);
            control.stop(now, StopReason::Decided);
        }
        if let Some(part) = &self.part {
            self.slices.extend(SliceCounts::of(slice, &part.objectives));
        }
        if self.slices.len() >= SLICES_TOGETHER {
            self.pass_slices_on();
        }
    }

    fn interval(&mut self, interval: &Interval, control: &Control, now: Instant) {
        self.pass_slices_on();
        let shown = redacted(interval);
        if !self.full
            && let Err(error) = self.writer.interval(&shown)
        {
            self.broken(error, control, now);
        }
        self.flush_log();
        self.progress.interval(&shown);
        self.metrics.interval(interval);
    }

    fn ops(&mut self, ops: &[OpEntry]) {
        self.list_damaged(ops);
        let Some(log) = self.log.as_mut().filter(|_| !self.full && self.failed.is_none()) else { return };
        self.lines.clear();
        for op in ops {
            record(op).write_line(&mut self.lines);
        }
        if let Err(error) = log.append(&self.lines) {
            self.lost(error);
        }
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        if self.full || self.failed.is_some() {
            control.stop(now, StopReason::ResultsFull);
        }
        self.interrupts.handle("operations", control, now);
        self.progress.tick(now);
        self.metrics.report_problem();
    }
}

/// Returns the reason for the end of a level that a decision ended.
pub fn stopped_early(decision: Decision) -> EndReason {
    match decision {
        Decision::Missed(missed) => EndReason::StoppedEarly { first_missed: Some(missed.to_string()) },
        Decision::Met => EndReason::StoppedEarly { first_missed: None },
    }
}

/// Returns the interval with the secrets removed from its example URLs.
fn redacted(interval: &Interval) -> Cow<'_, Interval> {
    if interval.stats.examples.is_empty() {
        return Cow::Borrowed(interval);
    }
    let mut shown = interval.clone();
    for example in &mut shown.stats.examples {
        example.url = redact::url_text(&example.url);
    }
    Cow::Owned(shown)
}

fn record(op: &OpEntry) -> OpRecord {
    OpRecord {
        op: op.number,
        kind: op.kind,
        url: match op.subject {
            Subject::Target(index) | Subject::Fresh(index) => index,
            Subject::Container => 0,
        },
        intended: op.intended,
        started: op.started,
        sent: op.sent,
        first_byte: op.first_byte,
        end: op.end,
        attempts: u32::from(op.attempts),
        status: op.status,
        class: op.outcome.class,
        cause: op.outcome.cause,
        body_bytes: op.body_bytes,
        bytes: op.received_bytes,
        range: op.range.map(|range| Slice { first: range.first(), last: range.last() }),
        connect_nanos: op.connect_nanos,
        handshake_nanos: op.handshake_nanos,
        slot: op.slot,
        hops: op.chain.iter().take(HOPS_KEPT_MAX).map(hop).collect(),
    }
}

fn hop(hop: &HopEntry) -> HopRecord {
    HopRecord {
        host: hop.host.value().unwrap_or("other").to_owned(),
        sent: hop.sent,
        end: hop.end,
        status: hop.status,
        bytes: hop.bytes,
    }
}
