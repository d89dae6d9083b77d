//! What happens while a run goes on: every interval is saved and shown, every interrupt obeyed.

use super::Output;
use super::damaged;
use super::interrupts::Interrupts;
use super::live::LiveLine;
use crate::redact;
use engine::plan::{Plan, StopAfter, Subject, Targets};
use engine::{Control, Observer, StopReason};
use engine::{HopEntry, OpEntry};
use measure::{Instant, Interval};
use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use store::{
    DamagedWriter, End, EndReason, HOPS_KEPT_MAX, HopRecord, OpLogWriter, OpRecord, RunWriter, Slice, StoreError,
};
use study::decision::{Decided, Decision, Missed};

/// Saves and shows a run.
pub struct Recording {
    writer: RunWriter,
    log: Option<OpLogWriter>,
    damaged: DamagedWriter,
    targets: Arc<Targets>,
    lines: Vec<u8>,
    live: LiveLine,
    stop: StopAfter,
    warmup: Duration,
    full: bool,
    failed: Option<StoreError>,
    interrupts: Interrupts,
    /// What ends the run when it is known.
    decision: Option<Decision>,
    abort: Decision,
    /// Why the run was ended by one of these.
    ended: Option<EndReason>,
}

/// How often a run may be aborted that does not deserve it.
const ABORTED_WRONGLY: f64 = 0.01;

impl Recording {
    /// A recording into the run directory that the writers belong to.
    pub fn new(
        plan: &Plan,
        output: &Output,
        directory: &Path,
        (writer, log): (RunWriter, Option<OpLogWriter>),
        live: LiveLine,
    ) -> Self {
        Self {
            writer,
            log,
            damaged: DamagedWriter::new(directory),
            targets: Arc::clone(&plan.targets),
            lines: Vec::new(),
            live,
            stop: plan.stop,
            warmup: plan.warmup,
            full: false,
            failed: None,
            // None is left of an earlier repeat, which it ended.
            interrupts: Interrupts::default(),
            decision: output.decision.clone(),
            abort: Decision::new(&output.abort, ABORTED_WRONGLY),
            ended: None,
        }
    }

    /// Whether there was no room for all that was measured.
    pub fn is_full(&self) -> bool {
        self.full
    }

    /// Number of the signal that interrupted the run.
    pub fn signal(&self) -> i32 {
        self.interrupts.signal()
    }

    /// Why the run was ended, when a controller did.
    pub fn ended(&self) -> Option<&EndReason> {
        self.ended.as_ref()
    }

    /// What the decision has seen, when the run is over.
    pub fn take_decision(&mut self) -> Option<Decision> {
        self.decision.take()
    }

    /// Writes the end of the run. Its own records come first: whatever becomes of the log, the run has its end.
    ///
    /// # Errors
    /// Everything that could not be saved, the first one first.
    pub fn end(mut self, mut end: End) -> Result<(), Vec<StoreError>> {
        self.live.clear();
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

    /// What was logged of the second that is over is with the system too, whatever becomes of this process.
    fn flush_log(&mut self) {
        if let Err(error) = self.damaged.flush() {
            self.lost(error);
        }
        let Some(log) = self.log.as_mut().filter(|_| !self.full && self.failed.is_none()) else { return };
        if let Err(error) = log.flush() {
            self.lost(error);
        }
    }

    /// Lists the damaged objects that operations found.
    fn list_damaged(&mut self, ops: &[OpEntry]) {
        let found: Vec<_> = ops.iter().filter_map(|op| damaged::found_by(op, &self.targets)).collect();
        for damage in found {
            if !self.full
                && self.failed.is_none()
                && let Err(error) = self.damaged.add(damage)
            {
                self.lost(error);
            }
        }
    }

    /// Something could not be written, and nothing more can be kept.
    fn lost(&mut self, error: StoreError) {
        if error.is_full() {
            self.full = true;
        } else {
            self.failed.get_or_insert(error);
        }
    }

    /// A record could not be written: nothing more is measured.
    fn broken(&mut self, error: StoreError, control: &Control, now: Instant) {
        self.lost(error);
        control.stop(now, StopReason::ResultsFull);
    }
}

impl Observer for Recording {
    fn slice(&mut self, slice: &Interval, control: &Control, now: Instant) {
        let aborted = self.abort.slice(slice).and_then(|decided| match decided {
            Decided::Broken(Missed::Objective(objective)) => {
                Some(EndReason::Aborted { condition: objective.condition() })
            }
            Decided::Broken(Missed::Backlog) | Decided::Met => None,
        });
        let decided = self.decision.as_mut().and_then(|decision| decision.slice(slice)).map(|decided| match decided {
            Decided::Broken(missed) => EndReason::Decided { broke: Some(missed.to_string()) },
            Decided::Met => EndReason::Decided { broke: None },
        });
        if let Some(reason) = aborted.or(decided).filter(|_| self.ended.is_none()) {
            self.ended = Some(reason);
            control.stop(now, StopReason::Decided);
        }
    }

    fn interval(&mut self, interval: &Interval, control: &Control, now: Instant) {
        let shown = redacted(interval);
        if !self.full
            && let Err(error) = self.writer.interval(&shown)
        {
            self.broken(error, control, now);
        }
        self.flush_log();
        self.live.interval(interval, &self.stop, self.warmup);
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
        self.interrupts.obey("operations", &self.live, control, now);
    }
}

/// The interval without the secrets that the URLs of its examples may hold.
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
