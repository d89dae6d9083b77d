//! The journal of an upload run. It records reserved objects before their upload, confirmed and failed uploads, and
//! attempts without a result, so that a kill does not lose their count. The observer that writes the journal also
//! checks the stop rules.

use super::budget::Budget;
use super::objects::Objects;
use super::session::Session;
use super::stuck::Stuck;
use super::tree::SourceDirectory;
use super::unsettled::UnsettledUploads;
use crate::console;
use crate::live_metrics::LiveMetrics;
use crate::progress::Progress;
use crate::progress::state::Fill;
use crate::progress::state::fill::Phase;
use cost::{Cap, Money};
use engine::plan::Targets;
use engine::{Control, CreatedUpload, Observer, OpEntry, Sent, StopReason};
use fill::reservation::Reservation;
use fill::stop_rule::StopRule;
use fill::stop_watch::{Reached, StopWatch, Stopped};
use fill::streaks::{Hopeless, IN_A_ROW_MAX, Streaks};
use fill::trailing::Trailing;
use measure::units::{ByteSize, DataRate, format_span};
use measure::{AttemptClass, AttemptOutcome, Cause, Enumerated, Instant, Interval};
use report::number::{bit_rate, count};
use std::time::Duration;
use store::StoreError;
use store::journal::{AckedObject, Evidence, FailedObject, Record, SessionEnd, Totals};

/// Length of the time over which the bandwidth in the live view is averaged.
const SHOWN_WINDOW: Duration = Duration::from_secs(60);

/// Decimals of an amount in live metrics. Costs of small objects are far below a cent.
const METRIC_DECIMALS: u32 = 12;

/// The observer of an upload run that writes the journal. Only uploads in the journal count as stored.
pub struct UploadJournal<'a> {
    session: &'a mut Session,
    budget: &'a Budget,
    targets: &'a Targets,
    reservation: Reservation,
    /// Number of operations in the run for objects that were reserved before the run.
    chosen: u64,
    /// Number of the first object that no earlier session reserved.
    from: u64,
    shown: Shown<'a>,
    streaks: Streaks,
    /// The directory of the local files, if there are any.
    source: Option<&'a SourceDirectory>,
    /// The message and the reason for the end of the session, if this directory is gone.
    source_gone: Option<(String, SessionEnd)>,
    stuck: Stuck,
    unsettled: UnsettledUploads,
    /// Number of uploads of this run that the target has to confirm again.
    unconfirmed: u64,
    /// The end of the session, if a stop rule, the limit on spending or refusals ended the run.
    stopped: Option<SessionEnd>,
    /// The failure to write the journal, if it ended the run.
    failed: Option<StoreError>,
}

/// The whole fill as the user sees it.
struct Shown<'a> {
    progress: &'a Progress,
    /// URLs of the place to which objects are uploaded.
    location: String,
    /// Bytes that this session has stored.
    trailing: Trailing,
    /// Bytes that earlier sessions have stored.
    bytes_before: u64,
    /// Number of objects of the fill.
    objects: u64,
    /// Total size of these objects in bytes.
    bytes: u64,
}

impl<'a> UploadJournal<'a> {
    /// Returns the observer of a run that uploads `targets`. The first `chosen` targets are reserved already. All
    /// objects from number `from` follow.
    pub fn new(
        session: &'a mut Session,
        (objects, budget): (&'a Objects, &'a Budget),
        (targets, chosen, from): (&'a Targets, u64, u64),
        progress: &'a Progress,
    ) -> Self {
        let in_flight_max = objects.upload.load.in_flight_max();
        let bytes_before = session.state.totals.file_bytes;
        let unsettled = UnsettledUploads::after(session.state.unsettled);
        let mut journal = Self {
            reservation: Reservation::new(objects.set.count(), from, in_flight_max),
            session,
            budget,
            targets,
            chosen,
            from,
            shown: Shown {
                progress,
                location: objects.target(),
                trailing: Trailing::new(SHOWN_WINDOW),
                bytes_before,
                objects: objects.set.count(),
                bytes: objects.bytes(),
            },
            streaks: Streaks::default(),
            source: objects.source.as_ref(),
            source_gone: None,
            stuck: Stuck::default(),
            unsettled,
            unconfirmed: 0,
            stopped: None,
            failed: None,
        };
        journal.show(Duration::ZERO);
        journal
    }

    /// Reserves the first objects. Operations with numbers below the returned number may start.
    pub fn reserve_first(&mut self) -> Result<u64, StoreError> {
        self.reserve(Duration::ZERO, 0).map(|bound| bound.unwrap_or(self.chosen))
    }

    /// Returns the number of uploads that the target has to confirm again, and the reason for the end of the run if this
    /// observer ended it.
    pub fn end(self) -> Result<(u64, Option<SessionEnd>), StoreError> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        Ok((self.unconfirmed, self.stopped))
    }

    /// Reserves the next objects if a reservation is due. Operations with numbers below the returned number may start
    /// now. Operations with the number `started` or a higher number have not started yet.
    fn reserve(&mut self, at: Duration, started: u64) -> Result<Option<u64>, StoreError> {
        let next = self.from.saturating_add(started.saturating_sub(self.chosen));
        let Some(range) = self.reservation.due(at, next) else { return Ok(None) };
        self.session.note(&Record::Intend { first: range.start, end: range.end })?;
        self.session.sync()?;
        Ok(Some(self.chosen + self.reservation.promised(&range) - self.from))
    }

    /// Adds ended operations to the journal.
    fn add(&mut self, ops: &[OpEntry]) -> Result<(), StoreError> {
        let (mut acked, mut failed) = (Vec::new(), Vec::new());
        let is_local = |op: &OpEntry| op.outcome.class == AttemptClass::LocalFile;
        let gone = self.source.filter(|source| ops.iter().any(is_local) && source.is_gone());
        if let Some(source) = gone {
            self.source_gone = Some((source.about_gone(), SessionEnd::Failed));
        }
        for op in ops {
            let (attempts, sent_bytes) = (u32::from(op.attempts), op.uploaded_bytes);
            // An upload that the end of the session cut off stays in doubt, because it is neither stored nor failed.
            // The same applies to an upload if its file cannot be reached.
            if is_cut_off(op) || gone.is_some() && is_local(op) {
                self.unsettled.add(op);
                continue;
            }
            note_streak(&mut self.streaks, op);
            let Some(number) = self.targets.object_number(op.subject) else { continue };
            if op.outcome == AttemptOutcome::OK && op.completed_again {
                self.unconfirmed += 1;
                self.unsettled.add(op);
            } else if op.outcome == AttemptOutcome::OK {
                let file_bytes = self.targets.size(op.subject).unwrap_or(0);
                let evidence = Evidence::Response;
                acked.push(AckedObject { number, attempts, sent_bytes, file_bytes, evidence });
            } else {
                let (class, cause) = (op.outcome.class.name().to_owned(), op.outcome.cause.name().to_owned());
                failed.push(FailedObject { number, attempts, sent_bytes, class, cause });
            }
        }
        self.unsettled.note_ended();
        // If an object has several uploads, the upload that was created last is the completed one.
        for object in &acked {
            if let Some(upload_id) = self.session.state.uploads.of(object.number).last().cloned() {
                self.session.note(&Record::UploadGone { number: object.number, upload_id })?;
            }
        }
        if !acked.is_empty() {
            self.session.note(&Record::Acked(acked))?;
        }
        if !failed.is_empty() {
            self.session.note(&Record::Failed(failed))?;
        }
        Ok(())
    }

    fn add_uploads(&mut self, uploads: &[CreatedUpload]) -> Result<(), StoreError> {
        for upload in uploads {
            let (number, upload_id) = (upload.object, upload.upload_id.to_string());
            self.session.note(&Record::UploadCreated { number, upload_id })?;
        }
        Ok(())
    }

    /// Keeps the first failure of the journal.
    fn keep(&mut self, result: Result<(), StoreError>) {
        if let Err(error) = result {
            self.failed.get_or_insert(error);
        }
    }

    /// Shows the fill, `elapsed` after the start of the run.
    fn show(&mut self, elapsed: Duration) {
        let totals = &self.session.state.totals;
        let shown = &mut self.shown;
        shown.trailing.note(elapsed, totals.file_bytes - shown.bytes_before);
        let bandwidth = shown.trailing.so_far().map(|(bytes, time)| bytes as f64 / time.as_secs_f64());
        let spent = self.budget.spent(totals);
        LiveMetrics::published().change_fill(|fill| {
            *fill = telemetry::Fill {
                phase: Phase::Upload,
                stored_objects: totals.objects,
                objects: shown.objects,
                stored_bytes: totals.file_bytes,
                bytes: shown.bytes,
                failed_uploads: totals.failed_uploads,
                bandwidth,
                spent: spent.as_ref().and_then(number),
                unpacked_bytes: self.budget.waiting_bytes(),
            };
        });
        let fill = Fill {
            phase: Phase::Upload,
            location: shown.location.clone(),
            elapsed,
            objects: (totals.objects, shown.objects),
            bytes: (totals.file_bytes, shown.bytes),
            failed: totals.failed_uploads,
            bandwidth,
            spent: spent.map(|spent| spent.to_string()),
            waiting: self.budget.waiting_bytes(),
            cap: self.budget.cap().map(ToString::to_string),
            rules: rules_so_far(&self.session.watch, self.session.active(), totals, |_| true),
        };
        shown.progress.update(|state| state.fill = Some(fill));
    }
}

/// Returns an amount as a currency and a number, for live metrics. Reports have the exact amount.
fn number(money: &Money) -> Option<(String, f64)> {
    Some((money.currency.to_string(), money.amount.to_decimal(METRIC_DECIMALS).parse().ok()?))
}

/// Returns the text and the current value of each stop rule for which `applies` returns `true`.
pub fn rules_so_far(
    watch: &StopWatch,
    active: Duration,
    totals: &Totals,
    applies: impl Fn(&StopRule) -> bool,
) -> Vec<(String, Option<String>)> {
    let value = |(rule, bandwidth): (StopRule, Option<DataRate>)| {
        let now = match rule {
            StopRule::TrailingBandwidth { .. } => {
                bandwidth.map(|rate| format!("now {}", bit_rate(rate.as_bits() as f64 / 8.0)))
            }
            StopRule::Time(_) => Some(format!("now {}", format_span(Duration::from_secs(active.as_secs())))),
            StopRule::Bytes(_) => Some(format!("now {}", ByteSize(totals.file_bytes).human())),
            StopRule::Files(_) => Some(format!("now {}", count(totals.objects))),
            StopRule::Gone(_) => {
                let silent = watch.silent(active);
                Some(format!("no contact for {}", format_span(Duration::from_secs(silent.as_secs()))))
            }
        };
        (rule.to_string(), now)
    };
    watch.so_far().filter(|(rule, _)| applies(rule)).map(value).collect()
}

/// Returns the end of a session that a stop rule ended.
pub fn session_end(stopped: Stopped) -> SessionEnd {
    match stopped.rule {
        StopRule::Gone(_) => SessionEnd::TargetGone,
        rule => SessionEnd::StopRule { text: rule.to_string() },
    }
}

/// Returns the end of a session that reached the limit on spending.
pub fn end_by_cap(cap: &Cap) -> SessionEnd {
    SessionEnd::StopRule { text: format!("spending >= {cap}") }
}

/// Returns whether the end of the session cut off an operation.
pub fn is_cut_off(op: &OpEntry) -> bool {
    matches!(op.outcome.class, AttemptClass::InflightAtEnd | AttemptClass::Interrupted)
}

/// Returns whether the client sent bytes to the target or received bytes in an interval.
pub fn in_touch(interval: &Interval) -> bool {
    let traffic = &interval.stats.traffic;
    traffic.sent + traffic.body + traffic.overhead > 0
}

/// Returns whether the run is already ending, so that stop rules no longer apply.
pub fn is_over(control: &Control) -> bool {
    control.reason().is_some() || sys::signals::interrupts().count > 0
}

/// Counts consecutive failures. A failed operation increases the count, and a success resets it.
pub fn note_streak(streaks: &mut Streaks, op: &OpEntry) {
    match (op.outcome, op.status) {
        (AttemptOutcome { class: AttemptClass::Ok, .. }, _) => streaks.note_success(),
        (AttemptOutcome { cause: Cause::BodyUnreadable, .. }, _) => streaks.note_failure(Hopeless::Unreadable),
        (AttemptOutcome { class: AttemptClass::Auth, .. }, _) | (_, Some(401 | 403)) => {
            streaks.note_failure(Hopeless::Refused);
        }
        _ => {}
    }
}

/// Returns a message, and the end of the session, for consecutive failures that ended the session.
pub fn end_by_streak(kind: Hopeless) -> (String, SessionEnd) {
    let (what, end) = match kind {
        Hopeless::Refused => (
            format!("the target refused {IN_A_ROW_MAX} objects in a row: check keys and permissions"),
            SessionEnd::Refused,
        ),
        Hopeless::Unreadable => {
            (format!("{IN_A_ROW_MAX} local files in a row could not be read: check the disk"), SessionEnd::Failed)
        }
    };
    (format!("{what}; no further object is started"), end)
}

/// Returns a message about a stop rule that holds.
pub fn about(stopped: &Stopped) -> String {
    let measured = stopped.bandwidth.map(|rate| format!(", measured {rate}")).unwrap_or_default();
    format!("the stop rule `{}` holds{measured}", stopped.rule)
}

/// Returns a message and the end of the uploads, if a stop rule or the limit on spending holds.
pub fn must_stop(
    watch: &mut StopWatch,
    budget: &Budget,
    reached: Reached,
    totals: &Totals,
) -> Option<(String, SessionEnd)> {
    let by_rule = watch.note(reached).map(|stopped| (about(&stopped), session_end(stopped)));
    by_rule.or_else(|| {
        let cap = budget.reached(totals)?;
        Some((format!("the limit of {cap} is reached"), end_by_cap(cap)))
    })
}

impl Observer for UploadJournal<'_> {
    fn interval(&mut self, interval: &Interval, control: &Control, now: Instant) {
        if self.failed.is_none() {
            let synced = self.session.sync();
            self.keep(synced);
        }
        // Only durable totals may be shown, and only they may stop the fill.
        if self.failed.is_some() {
            return;
        }
        let reached = Reached {
            active: self.session.active(),
            files: self.session.state.totals.objects,
            file_bytes: self.session.state.totals.file_bytes,
            in_touch: in_touch(interval),
        };
        // The watch must see every interval, even if its decision is not used.
        let totals = &self.session.state.totals;
        let stopped = must_stop(&mut self.session.watch, self.budget, reached, totals);
        let is_complete = totals.objects == self.shown.objects;
        if let Some(about) = self.stuck.note(reached.active, totals.objects, &interval.stats) {
            console::eprintln(&about);
        }
        if self.stopped.is_none()
            && !is_complete
            && !is_over(control)
            && let Some((about, end)) = stopped
        {
            self.stopped = Some(end);
            console::eprintln(&format!("{about}; waiting for uploads in flight"));
            let noted = self.session.note_event(&about);
            self.keep(noted);
            control.stop(now, StopReason::Decided);
        }
        self.show(Duration::from_nanos(interval.end.as_nanos()));
    }

    fn ops(&mut self, ops: &[OpEntry]) {
        if self.failed.is_none() {
            let added = self.add(ops);
            self.keep(added);
        }
    }

    fn in_flight(&mut self, sent: Sent) {
        if self.failed.is_none() {
            let due = self.unsettled.due(sent);
            let noted = due.map_or(Ok(()), |unsettled| self.session.note(&Record::Unsettled(unsettled)));
            self.keep(noted);
        }
    }

    fn uploads_created(&mut self, uploads: &[CreatedUpload]) {
        if self.failed.is_none() {
            let added = self.add_uploads(uploads);
            self.keep(added);
        }
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        if self.failed.is_none() && control.reason().is_none() {
            match self.reserve(Duration::from_nanos(now.as_nanos()), control.started_below()) {
                Ok(Some(bound)) => control.let_start_below(bound),
                Ok(None) => {}
                Err(error) => self.failed = Some(error),
            }
        }
        let hopeless = self.streaks.too_long().map(end_by_streak).or_else(|| self.source_gone.take());
        if let Some((about, end)) = hopeless
            && self.stopped.is_none()
            && !is_over(control)
        {
            console::eprintln(&about);
            self.stopped = Some(end);
            control.stop(now, StopReason::Decided);
        }
        if self.failed.is_some() {
            control.stop(now, StopReason::ResultsFull);
        }
    }
}
