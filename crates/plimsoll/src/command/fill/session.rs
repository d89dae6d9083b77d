//! A session of a fill: one start of the command, with the locked directory and the journal.

use super::Args;
use super::objects::Objects;
use super::share;
use crate::console;
use crate::failure::Failure;
use crate::saved::unix_ms;
use fill::stop_watch::{Reached, StopWatch, Stopped};
use report::JsonFill;
use report::fill::is_about_the_target;
use report::number::plural;
use sia::snapshot::Snapshot;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use store::fill_directory::{FillDirectory, FillError, Origin, Reservation};
use store::journal::{
    ALIVE_EVERY, ActiveTime, Entry, FillState, JournalWriter, PENDING_BYTES_MAX, Record, SessionEnd, Totals,
};
use store::{SavedFill, StoreError, StoreErrorKind};

/// A session of a fill.
pub struct Session {
    journal: JournalWriter,
    /// The state of the fill, including records that are not durable yet.
    pub state: FillState,
    /// The stop rules, with their state after the earlier sessions.
    pub watch: StopWatch,
    /// Time during which earlier sessions ran.
    active_before: Duration,
    started: Instant,
    /// Time of the last `Alive` record. These records show how long the session ran, even if it is killed.
    alive: Instant,
    /// Number of the session.
    number: u32,
    /// Directory with the runs of the session.
    runs: PathBuf,
    directory: FillDirectory,
    /// The newest report of the fill, if another thread reads it. It contains only records that are on the disk.
    published: Option<Arc<Mutex<JsonFill>>>,
}

/// Time between two attempts to lock a directory that another process uses.
const LOCK_EVERY: Duration = Duration::from_millis(200);

impl Session {
    /// Opens or creates the fill in this directory, and starts a session. If another process uses the directory, waits
    /// for it for up to `wait`.
    pub fn open(args: &Args, objects: &Objects, path: &Path, wait: Duration) -> Result<Self, Failure> {
        let started = take(path, wait).and_then(|reservation| {
            let identity = objects.identity(&reservation)?;
            reservation.start(&identity)
        });
        let (directory, origin) = started.map_err(|error| cannot_open(&error))?;
        let watch = StopWatch::new(&args.stop_when);
        let mut recalled = Recalled { watch, before: Duration::ZERO, session: ActiveTime::default(), bytes: 0 };
        let opened = JournalWriter::open_visiting(&directory, &[], |entry| recalled.add(entry));
        let (journal, replay) = opened.map_err(|error| cannot_open(&error))?;
        let active_before = recalled.active();
        let watch = recalled.watch;
        let state = replay.state;
        let (number, runs) = directory.next_session(&state).map_err(|error| cannot_open(&error))?;
        if origin == Origin::Resumed {
            let stored = plural(state.completed.len(), "object");
            console::eprintln(&format!(
                "resuming {}: {stored} of {} stored, session {number}",
                path.display(),
                report::number::count(objects.set.count()),
            ));
        }
        let (started, alive) = (Instant::now(), Instant::now());
        let published = None;
        let mut session =
            Self { journal, state, watch, active_before, started, alive, number, runs, directory, published };
        let started = Record::SessionStarted { session: number, unix_ms: unix_ms() };
        let noted = session.note(&started).and_then(|()| session.note_rules(args)).and_then(|()| session.sync());
        noted.map_err(|error| cannot_write(&error))?;
        Ok(session)
    }

    /// Writes a record to the journal, and adds it to the state. The record is durable after [`Self::sync`].
    pub fn note(&mut self, record: &Record) -> Result<(), StoreError> {
        if self.journal.pending_bytes() > PENDING_BYTES_MAX / 2 {
            self.sync()?;
        }
        self.journal.append(record)?;
        self.state.apply(record, unix_ms());
        Ok(())
    }

    /// Waits until all records are on the disk.
    ///
    /// If writing fails, writes the records to the next segment.
    pub fn sync(&mut self) -> Result<(), StoreError> {
        if self.alive.elapsed() >= ALIVE_EVERY {
            self.note_alive()?;
        }
        if let Err(error) = self.journal.sync(unix_ms()) {
            self.journal.open_next_segment(None)?;
            self.journal.sync(unix_ms())?;
            console::eprintln(&format!("the journal could not be written: {error}; it continues in another file"));
        }
        self.publish();
        Ok(())
    }

    /// Returns the report of the fill, which every [`Self::sync`] renews from now on.
    pub fn published(&mut self) -> Arc<Mutex<JsonFill>> {
        let published = Arc::new(Mutex::new(self.report()));
        self.published = Some(Arc::clone(&published));
        published
    }

    fn publish(&mut self) {
        let Some(published) = self.published.clone() else { return };
        let report = self.report();
        *published.lock().unwrap_or_else(PoisonError::into_inner) = report;
    }

    /// Returns the report of the fill so far, without costs.
    fn report(&mut self) -> JsonFill {
        // Lend the state to the report, because it can be large.
        let (identity, state) = (self.directory.identity().clone(), std::mem::take(&mut self.state));
        let fill = SavedFill { identity, state, sessions: Vec::new(), snapshots: Vec::new() };
        let report = share::report_to_send(&fill);
        self.state = fill.state;
        report
    }

    /// Writes the duration of the session so far to the journal.
    fn note_alive(&mut self) -> Result<(), StoreError> {
        self.alive = Instant::now();
        let active_ms = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let record = Record::Alive { active_ms };
        self.journal.append(&record)?;
        self.state.apply(&record, unix_ms());
        Ok(())
    }

    /// Returns the total duration of this session and earlier sessions.
    pub fn active(&self) -> Duration {
        self.active_before + self.started.elapsed()
    }

    /// Writes a notable event to the journal.
    pub fn note_event(&mut self, text: &str) -> Result<(), StoreError> {
        self.note(&Record::Event { unix_ms: unix_ms(), text: text.to_owned() })
    }

    /// Returns the stop rule that is already met before the session uploads an object, if there is one.
    pub fn stopped_already(&mut self) -> Option<Stopped> {
        let Totals { objects: files, file_bytes, .. } = self.state.totals;
        self.watch.note(Reached { active: self.active(), files, file_bytes, in_touch: true })
    }

    /// Returns the directory of the fill.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a snapshot of the target's ledger, with the number of this session in its name.
    pub fn write_snapshot(&self, moment: &str, snapshot: &Snapshot) -> Result<(), StoreError> {
        let json = serde_json::to_vec_pretty(snapshot)
            .map_err(|error| StoreError { path: self.directory.path().to_owned(), kind: error.into() })?;
        self.directory.write_snapshot(&format!("{moment}-{:04}", self.number), &json).map(|_| ())
    }

    /// Returns the directory of a run of this session.
    pub fn run_directory(&self, phase: &str) -> PathBuf {
        self.runs.join(phase)
    }

    /// Ends the session. Returns the directory of the fill, and the reason for the end.
    pub fn close(mut self, result: &Result<SessionEnd, Failure>) -> Result<(PathBuf, SessionEnd), Failure> {
        let interrupted = sys::signals::interrupts().count > 0;
        let reason = match result {
            Ok(reason) => reason.clone(),
            Err(_) if interrupted => SessionEnd::Interrupted,
            Err(_) => SessionEnd::Failed,
        };
        let path = self.directory.path().to_owned();
        let end = Record::SessionEnded { session: self.number, unix_ms: unix_ms(), reason: reason.clone() };
        // If the disk is full, the journal gets no record of the end. The next session handles this.
        let noted = self.note_alive().and_then(|()| self.note(&end)).and_then(|()| self.sync());
        let noted = noted.and_then(|()| self.journal.close(unix_ms()));
        match noted {
            Err(error) if !matches!(reason, SessionEnd::DiskFull | SessionEnd::Failed) => Err(cannot_write(&error)),
            _ => Ok((path, reason)),
        }
    }

    /// Writes the stop rules and the limit on spending to the journal, if they have changed since the previous session.
    fn note_rules(&mut self, args: &Args) -> Result<(), StoreError> {
        let cap = args.cap.iter().map(|cap| format!("spending >= {cap}"));
        let rules: Vec<String> = args.stop_when.iter().map(ToString::to_string).chain(cap).collect();
        let text = if rules.is_empty() { "no stop rule".to_owned() } else { rules.join(", ") };
        let is_rule = |event: &&store::journal::Event| event.kind == store::journal::EventKind::RuleChanged;
        let last = self.state.events.iter().rfind(is_rule).map(|event| event.text.as_str());
        if last == Some(text.as_str()) || (last.is_none() && rules.is_empty()) {
            return Ok(());
        }
        self.note(&Record::RuleChanged { unix_ms: unix_ms(), text })
    }
}

/// State of the stop rules while the journal of earlier sessions is read.
struct Recalled {
    watch: StopWatch,
    /// Total duration of the sessions before the session that is being read.
    before: Duration,
    /// Duration of the session that is being read.
    session: ActiveTime,
    /// Bytes of stored objects so far.
    bytes: u64,
}

impl Recalled {
    /// Returns the total duration of the sessions so far.
    fn active(&self) -> Duration {
        self.before + self.session.get()
    }

    /// Adds the next entry of the journal.
    fn add(&mut self, entry: &Entry) {
        match &entry.record {
            Record::SessionStarted { .. } => {
                self.before = self.active();
                self.session = ActiveTime::starting(entry.unix_ms);
            }
            Record::Alive { active_ms } => self.session.record(*active_ms, entry.unix_ms),
            _ => self.session.saw(entry.unix_ms),
        }
        if let Record::Acked(batch) = &entry.record {
            self.bytes += batch.iter().map(|object| object.file_bytes).sum::<u64>();
        }
        let (active, bytes) = (self.active(), self.bytes);
        match &entry.record {
            // Earlier values do not count any more, because the user continues the fill although the target was too
            // slow or gone.
            Record::SessionEnded { reason, .. } if is_about_the_target(reason) => self.watch.restart(active, bytes),
            // Reading back and deleting also count as progress.
            Record::Verified(_) | Record::Deleted(_) | Record::NotDeleted(_) => self.watch.restart(active, bytes),
            _ => self.watch.recall(active, bytes),
        }
    }
}

/// Locks a directory. If another process uses it, waits for it for up to `wait`.
fn take(path: &Path, wait: Duration) -> Result<Reservation, StoreError> {
    let begun = Instant::now();
    loop {
        let taken = Reservation::take(path);
        let is_used =
            matches!(&taken, Err(error) if matches!(error.kind, StoreErrorKind::Fill(FillError::InUse { .. })));
        if !is_used || begun.elapsed() >= wait || sys::signals::interrupts().count > 0 {
            return taken;
        }
        thread::sleep(LOCK_EVERY);
    }
}

/// Returns the failure for the directory of a fill that cannot be opened.
fn cannot_open(error: &StoreError) -> Failure {
    let message = error.to_string();
    match error.kind {
        StoreErrorKind::Fill(_) => Failure::usage(message),
        _ if error.is_full() => Failure::could_not_run(format!("{message}; free some space")),
        _ => Failure::could_not_run(format!("{message}; name another directory with --out")),
    }
}

/// Returns the failure for a journal that cannot be written.
pub fn cannot_write(error: &StoreError) -> Failure {
    let advice = if error.is_full() { "free some space" } else { "check the disk" };
    Failure::could_not_run(format!(
        "the fill stops, because its journal cannot be written: {error}; {advice}, then run the same command again"
    ))
}
