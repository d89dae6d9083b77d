//! The phases of a fill: recover, upload, verify, delete.

use super::Args;
use super::budget::Budget;
use super::objects::Objects;
use super::recover::{self, Recovered};
use super::renter::{LedgerRecord, Renter, SiadFiles};
use super::session::{Session, cannot_write};
use super::upload_journal::{self, UploadJournal};
use crate::console;
use crate::execute::{self, RunOptions};
use crate::failure::Failure;
use crate::live_metrics::LiveMetrics;
use crate::load;
use crate::load::location_client::{LocationClient, Patience};
use crate::progress::Progress;
use crate::progress::state::fill as fill_state;
use engine::dialect::Access;
use engine::plan::{Choice, Mix, Plan, RequestPlan, StopAfter, Targets};
use engine::{Control, Observer, OpEntry, StopReason};
use fill::stop_rule::StopRule;
use fill::streaks::Streaks;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant, Interval, OpKind};
use report::number::plural;
use std::num::NonZeroU64;
use std::sync::Arc;
use store::journal::{Record, SessionEnd, Verification, VerifiedObject};
use store::{EndReason, SavedRun, StoreError};

/// Name of the directory of the run that uploads. Later rounds of a session append their number.
pub const UPLOAD_RUN: &str = "upload";
/// Maximum number of rounds of uploads in one session.
const ROUNDS_MAX: u32 = 3;

/// The uploads of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Uploads {
    /// Uploads the remaining objects.
    Make,
    /// Uploads nothing, but aborts the open multipart uploads of earlier sessions.
    AbortOpen,
    /// Leaves uploads as they are.
    Leave,
}

impl Uploads {
    /// Returns what the flags select.
    pub fn of(args: &Args) -> Self {
        if args.no_upload { Self::Leave } else { Self::Make }
    }
}

/// Carries out all phases that the flags select. Returns the reason for the end of the session. Takes a last snapshot
/// of the target's ledger even if a phase fails.
pub fn carry_out(
    (args, uploads): (&Args, Uploads),
    objects: &Objects,
    budget: &mut Budget,
    session: &mut Session,
    progress: &Progress,
) -> Result<SessionEnd, Failure> {
    let mut ledger = None;
    let end = carry_out_until_gone((args, uploads), (objects, budget), (&mut *session, progress), &mut ledger);
    if let Some(ledger) = ledger {
        ledger.end(session);
    }
    match end {
        Err(Failure::TargetGone(why)) => {
            console::eprintln(&why);
            Ok(SessionEnd::TargetGone)
        }
        end => end,
    }
}

fn carry_out_until_gone(
    (args, uploads): (&Args, Uploads),
    (objects, budget): (&Objects, &mut Budget),
    (session, progress): (&mut Session, &Progress),
    ledger: &mut Option<LedgerRecord>,
) -> Result<SessionEnd, Failure> {
    let limit = args.retry_limit();
    let client = LocationClient::new(&args.put.common, &objects.location, Patience::Repeat(limit))?;
    let client = client.following(objects.upload.follow);
    // Objects are reserved only after a response of the target, so an earlier session has reached the target.
    if session.state.intended_end > 0 {
        client.note_reached_before();
    }
    let goes_on = |end: &SessionEnd| matches!(end, SessionEnd::Finished | SessionEnd::StopRule { .. });
    let mut end = SessionEnd::Finished;
    if uploads != Uploads::Leave {
        client.check_reachable()?;
    }
    if let Some(renter) = Renter::of(args, objects) {
        renter.check_password()?;
        *ledger = Some(LedgerRecord::begin(renter, session, args.ledger_every)?);
    }
    let renter = ledger.as_ref().map(LedgerRecord::renter);
    budget.use_actual(ledger.as_ref().and_then(LedgerRecord::spending));
    if uploads == Uploads::AbortOpen {
        abort_leftovers(objects, &client, session)?;
    }
    if uploads == Uploads::Make {
        if let Some(renter) = renter {
            renter.wait_until_ready(args.ready_timeout, &|| client.check_reachable())?;
        }
        end = upload_in_rounds(args, (objects, &*budget), (&client, renter), (&mut *session, progress))?;
        if goes_on(&end) {
            abort_leftovers(objects, &client, session)?;
        }
    }
    if let Some(ledger) = ledger.as_ref().filter(|_| args.delete && goes_on(&end)) {
        ledger.note_uploaded(session);
    }
    if args.verify && goes_on(&end) {
        end = after(end, verify(args, (objects, renter), (&mut *session, progress))?);
    }
    if args.delete && goes_on(&end) {
        end = after(end, delete(args, objects, (session, progress))?);
    }
    Ok(end)
}

/// Returns the common end of two consecutive phases, which is the end of the second phase if that phase did not finish,
/// and the end of the first phase otherwise.
fn after(first: SessionEnd, second: SessionEnd) -> SessionEnd {
    if second == SessionEnd::Finished { first } else { second }
}

/// Uploads the remaining objects. If some objects failed although others were stored, another round follows. For
/// example, a server that was restarted may have lost open uploads, and refuses further parts of them. Another round
/// also follows if the target must confirm objects again.
fn upload_in_rounds(
    args: &Args,
    (objects, budget): (&Objects, &Budget),
    (client, renter): (&LocationClient<'_>, Option<&Renter>),
    (session, progress): (&mut Session, &Progress),
) -> Result<SessionEnd, Failure> {
    let mut round = 1;
    loop {
        let before = session.state.totals.objects;
        let recovered = recover::recover(args, objects, (client, renter), session)?;
        let (unconfirmed, end) = upload(args, (objects, budget), (&mut *session, progress), (round, recovered))?;
        let failed = session.state.failed.len();
        let again = failed > 0 && session.state.totals.objects > before;
        if end != SessionEnd::Finished || !(again || unconfirmed > 0) {
            return Ok(end);
        }
        if round == ROUNDS_MAX {
            return confirm(args, objects, (client, renter), session, unconfirmed);
        }
        round += 1;
        if failed > 0 {
            console::eprintln(&format!("uploading {} again after failures", plural(failed, "object")));
        }
    }
}

/// Asks the target about the unconfirmed objects of the last round. Returns the reason for the end of the session.
fn confirm(
    args: &Args,
    objects: &Objects,
    (client, renter): (&LocationClient<'_>, Option<&Renter>),
    session: &mut Session,
    unconfirmed: u64,
) -> Result<SessionEnd, Failure> {
    let failed = session.state.failed.len();
    if unconfirmed > 0 {
        recover::recover(args, objects, (client, renter), session)?;
    }
    match session.state.in_doubt_count().saturating_sub(failed) {
        0 => Ok(SessionEnd::Finished),
        left => {
            let left = format!("{} not confirmed after {ROUNDS_MAX} uploads", plural(left, "object"));
            console::eprintln(&left);
            session.note_event(&left).map_err(|error| cannot_write(&error))?;
            Ok(SessionEnd::Failed)
        }
    }
}

/// Uploads the remaining objects in the run of this round. Returns the number of uploads that the target must confirm
/// again, and the reason why the run ended.
fn upload(
    args: &Args,
    (objects, budget): (&Objects, &Budget),
    (session, progress): (&mut Session, &Progress),
    (round, recovered): (u32, Recovered),
) -> Result<(u64, SessionEnd), Failure> {
    let from = session.state.intended_end;
    let chosen = recovered.chosen.len() as u64;
    let targets = Arc::new(objects.rest(recovered.chosen, from));
    let Some(count) = NonZeroU64::new(targets.count()) else { return Ok((0, SessionEnd::Finished)) };
    if let Some(stopped) = session.stopped_already() {
        let rule = stopped.rule;
        console::eprintln(&format!("nothing is uploaded, because the stop rule `{rule}` holds already; change it"));
        return Ok((0, upload_journal::session_end(stopped)));
    }
    if let Some(cap) = budget.reached(&session.state.totals) {
        console::eprintln(&format!("nothing is uploaded, because the limit of {cap} is reached already; raise --cap"));
        return Ok((0, upload_journal::end_by_cap(cap)));
    }
    let plan = Plan {
        targets: Arc::clone(&targets),
        choice: Choice::RoundRobin,
        stop: StopAfter { ops: Some(count), ..StopAfter::default() },
        resumed_uploads: Arc::new(recovered.uploads),
        ..objects.upload.clone()
    };
    let options = RunOptions { progress: progress.clone(), ..load::run_options(&args.put.common) };
    let name = if round == 1 { UPLOAD_RUN.to_owned() } else { format!("{UPLOAD_RUN}-{round}") };
    let directory = session.run_directory(&name);
    let mut journal = UploadJournal::new(session, (objects, budget), (&targets, chosen, from), progress);
    let start_below = journal.reserve_first().map_err(|error| cannot_write(&error))?;
    let log_ops = args.put.common.output.log_ops;
    let companion = execute::Companion { start_below, log_ops, observer: &mut journal };
    let run = execute::run_with(&plan, &options, &directory, companion);
    let (unconfirmed, stopped) = journal.end().map_err(|error| cannot_write(&error))?;
    let end = match stopped {
        Some(end) => run.map(|_| end),
        None => run.map(|run| session_end(&run)),
    };
    Ok((unconfirmed, end?))
}

/// Reads back every stored object that has not been read back yet. If earlier sessions have read back all of them, reads
/// all of them back again.
fn verify(
    args: &Args,
    (objects, renter): (&Objects, Option<&Renter>),
    (session, progress): (&mut Session, &Progress),
) -> Result<SessionEnd, Failure> {
    let state = &session.state;
    let stored = || state.completed.iter().filter(|number| !state.deleted.contains(*number));
    let mut numbers: Vec<u64> = stored().filter(|number| !state.verified.good.contains(*number)).collect();
    if numbers.is_empty() {
        numbers = stored().collect();
    }
    if let Some(files) = SiadFiles::of(renter)? {
        // Find missing files in siad's list of files, because siad's response to a download does not distinguish a
        // missing file from a file that may be available later.
        let missing = files.missing(objects, &numbers);
        numbers.retain(|number| missing.binary_search(number).is_err());
        note_missing(&missing, session)?;
    }
    let phase = Phase {
        name: "verify",
        shown: fill_state::Phase::Verify,
        access: Access::Read,
        request: objects.reading_back(args)?,
        record_of: &verified,
    };
    each_stored(args, objects, (session, progress), phase, &numbers)
}

/// Writes to the journal that the target does not have these objects.
fn note_missing(missing: &[u64], session: &mut Session) -> Result<(), Failure> {
    for number in missing {
        let record = Record::Verified(vec![VerifiedObject { number: *number, result: Verification::Missing }]);
        session.note(&record).map_err(|error| cannot_write(&error))?;
    }
    session.sync().map_err(|error| cannot_write(&error))
}

/// Deletes every stored object that has not been deleted yet.
fn delete(
    args: &Args,
    objects: &Objects,
    (session, progress): (&mut Session, &Progress),
) -> Result<SessionEnd, Failure> {
    let state = &session.state;
    let numbers: Vec<u64> = state.completed.iter().filter(|number| !state.deleted.contains(*number)).collect();
    let request = objects.request(args, Access::Delete, ("DELETE", OpKind::Delete))?;
    let shown = fill_state::Phase::Delete;
    let phase = Phase { name: "delete", shown, access: Access::Delete, request, record_of: &deleted };
    each_stored(args, objects, (session, progress), phase, &numbers)
}

/// Returns the record of an object that was read back.
fn verified(number: u64, op: &OpEntry) -> Record {
    let result = match op.outcome {
        AttemptOutcome::OK => Verification::Good,
        AttemptOutcome { cause: Cause::SourceChanged, .. } => Verification::ChangedSource,
        _ if matches!(op.status, Some(404 | 410)) => Verification::Missing,
        AttemptOutcome { class: AttemptClass::Integrity, .. } => {
            Verification::Damaged { offset: op.differs_at.unwrap_or(0) }
        }
        _ => Verification::Unknown,
    };
    Record::Verified(vec![VerifiedObject { number, result }])
}

/// Returns the record of an object that was deleted. An object that does not exist counts as deleted.
fn deleted(number: u64, op: &OpEntry) -> Record {
    let is_gone = op.outcome == AttemptOutcome::OK || matches!(op.status, Some(404 | 410));
    if is_gone { Record::Deleted(vec![number]) } else { Record::NotDeleted(vec![number]) }
}

/// A function that returns the record for an object from the end of its operation.
type RecordOf = dyn Fn(u64, &OpEntry) -> Record;

/// A phase that makes a request for each stored object.
struct Phase<'a> {
    /// Name of the phase's run directory.
    name: &'static str,
    /// The phase as the user sees it.
    shown: fill_state::Phase,
    access: Access,
    request: RequestPlan,
    record_of: &'a RecordOf,
}

/// Returns the text and the current value of each stop rule that also applies after the uploads.
fn rules_after_uploads(session: &Session) -> Vec<(String, Option<String>)> {
    let (active, totals) = (session.active(), &session.state.totals);
    upload_journal::rules_so_far(&session.watch, active, totals, |rule| matches!(rule, StopRule::Gone(_)))
}

/// Makes the request of a phase for each of these objects, and writes the results to the journal.
fn each_stored(
    args: &Args,
    objects: &Objects,
    (session, progress): (&mut Session, &Progress),
    phase: Phase<'_>,
    numbers: &[u64],
) -> Result<SessionEnd, Failure> {
    let Some(count) = NonZeroU64::new(numbers.len() as u64) else { return Ok(SessionEnd::Finished) };
    let Phase { name, shown, access, request, record_of } = phase;
    let totals = &session.state.totals;
    progress.update(|state| {
        let fill = state.fill.get_or_insert_default();
        (fill.phase, fill.location) = (shown, objects.target());
        fill.objects = (totals.objects, objects.set.count());
        fill.bytes = (totals.file_bytes, objects.bytes());
        fill.rules = rules_after_uploads(session);
    });
    LiveMetrics::published().change_fill(|fill| {
        (fill.phase, fill.bandwidth) = (shown, None);
        (fill.stored_objects, fill.objects) = (totals.objects, objects.set.count());
        (fill.stored_bytes, fill.bytes) = (totals.file_bytes, objects.bytes());
        fill.failed_uploads = totals.failed_uploads;
    });
    let targets = Arc::new(objects.chosen(access, numbers));
    let plan = Plan {
        targets: Arc::clone(&targets),
        choice: Choice::RoundRobin,
        mix: Mix::one(request),
        stop: StopAfter { ops: Some(count), ..StopAfter::default() },
        ..objects.upload.clone()
    };
    let directory = session.run_directory(name);
    let streaks = Streaks::default();
    let mut journal =
        StoredJournal { session, progress, targets: &targets, record_of, streaks, stopped: None, failed: None };
    let log_ops = args.put.common.output.log_ops;
    let companion = execute::Companion { start_below: u64::MAX, log_ops, observer: &mut journal };
    let options = RunOptions { progress: progress.clone(), ..load::run_options(&args.put.common) };
    let run = execute::run_with(&plan, &options, &directory, companion);
    match (journal.failed, journal.stopped) {
        (Some(error), _) => Err(cannot_write(&error)),
        (None, Some(end)) => run.map(|_| end),
        (None, None) => run.map(|run| session_end(&run)),
    }
}

/// The observer of a run that reads back or deletes objects. This observer writes the results to the journal.
struct StoredJournal<'a> {
    session: &'a mut Session,
    progress: &'a Progress,
    targets: &'a Targets,
    record_of: &'a RecordOf,
    streaks: Streaks,
    /// The end of the session, if this observer ended the run.
    stopped: Option<SessionEnd>,
    /// The failure to write the journal, if it ended the run.
    failed: Option<StoreError>,
}

impl Observer for StoredJournal<'_> {
    fn interval(&mut self, interval: &Interval, control: &Control, now: Instant) {
        if self.failed.is_none() {
            self.failed = self.session.sync().err();
        }
        self.progress.update(|state| {
            state.fill.iter_mut().for_each(|fill| fill.rules = rules_after_uploads(self.session));
        });
        let gone = self.session.watch.note_contact(self.session.active(), upload_journal::in_touch(interval));
        if let Some(stopped) = gone
            && !upload_journal::is_over(control)
        {
            console::eprintln(&upload_journal::about(&stopped));
            self.stopped = Some(upload_journal::session_end(stopped));
            control.stop(now, StopReason::Decided);
        }
    }

    fn ops(&mut self, ops: &[OpEntry]) {
        for op in ops.iter().filter(|op| !upload_journal::is_cut_off(op)) {
            let Some(number) = self.targets.object_number(op.subject) else { continue };
            upload_journal::note_streak(&mut self.streaks, op);
            if self.failed.is_none() {
                self.failed = self.session.note(&(self.record_of)(number, op)).err();
            }
        }
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        if self.failed.is_some() {
            control.stop(now, StopReason::ResultsFull);
        }
        if let Some(kind) = self.streaks.too_long()
            && !upload_journal::is_over(control)
        {
            let (about, end) = upload_journal::end_by_streak(kind);
            console::eprintln(&about);
            self.stopped = Some(end);
            control.stop(now, StopReason::Decided);
        }
    }
}

/// Aborts all open multipart uploads of the fill's objects. The caller has ended all uploads.
fn abort_leftovers(objects: &Objects, client: &LocationClient<'_>, session: &mut Session) -> Result<(), Failure> {
    if objects.multipart().is_none() {
        return Ok(());
    }
    let open = recover::listed(objects, client, session)?;
    let open: Vec<(u64, Box<str>)> = open.into_iter().map(|(number, upload)| (number, upload.id)).collect();
    match recover::abort_uploads(objects, client, session, &open)? {
        0 => Ok(()),
        left => {
            let left = format!("{} could not be aborted", plural(left, "multipart upload"));
            console::eprintln(&format!("{left}; the same command tries again"));
            session.note_event(&left).map_err(|error| cannot_write(&error))
        }
    }
}

/// Returns the reason for the end of a phase, from its run.
fn session_end(run: &SavedRun) -> SessionEnd {
    match run.end.as_ref().map(|end| &end.reason) {
        Some(EndReason::Completed) => SessionEnd::Finished,
        Some(EndReason::Interrupted { .. }) => SessionEnd::Interrupted,
        Some(EndReason::DiskFull) => SessionEnd::DiskFull,
        Some(EndReason::Unreachable { .. }) => SessionEnd::TargetGone,
        _ => SessionEnd::Failed,
    }
}
