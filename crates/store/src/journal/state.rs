//! The state of a fill, computed from the records of its journal.

use super::active_time::ActiveTime;
use super::history::{Column, History};
use super::number_set::NumberSet;
use super::record::{AckedObject, Evidence, FailedObject, Record, SessionEnd, Unsettled, Verification, VerifiedObject};
use super::uploads::OpenUploads;
use std::collections::BTreeMap;
use std::time::Duration;

/// Maximum number of sessions that are kept. Later sessions are only counted.
pub const SESSIONS_MAX: usize = 10_000;
/// Maximum number of events that are kept. Later events are only counted.
pub const EVENTS_MAX: usize = 10_000;
/// Maximum number of damaged objects whose offset is kept.
pub const DAMAGED_MAX: usize = 10_000;
/// Maximum number of pairs of class and cause. Other failures are counted without their names.
pub const FAILURE_KINDS_MAX: usize = 256;

/// The state of a fill. The memory use of the state depends on the highest object number, not on the number of records.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FillState {
    /// The number after the highest object whose upload may have started.
    pub intended_end: u64,
    /// Objects that the server has stored at some time.
    pub completed: NumberSet,
    /// Objects whose upload failed and that were not stored later.
    pub failed: NumberSet,
    /// Objects that were deleted and not stored again.
    pub deleted: NumberSet,
    /// Objects that the server did not delete despite a request.
    pub not_deleted: NumberSet,
    /// Results of reading objects back. At most one result is kept for each object, usually the last one.
    pub verified: Verified,
    /// Multipart uploads that were neither completed nor aborted.
    pub uploads: OpenUploads,
    /// Sums over all sessions.
    pub totals: Totals,
    /// Part of `totals` that belongs to the last session's uploads without a result.
    pub unsettled: Unsettled,
    /// Failed uploads by class and cause. Failed uploads of objects that were stored later are included.
    pub failures: BTreeMap<(String, String), u64>,
    /// Failed uploads beyond [`FAILURE_KINDS_MAX`].
    pub other_failures: u64,
    /// Acknowledgements of objects that were stored already. No other count includes them.
    pub duplicates: u64,
    /// Acknowledgements and failures of objects without an intent. A correct session never writes such records.
    pub unintended: u64,
    /// Sessions in their order.
    pub sessions: Vec<Session>,
    /// Sessions beyond [`SESSIONS_MAX`].
    pub more_sessions: u64,
    /// Objects and bytes that were stored over time.
    pub history: History,
    /// Events and changes of rules in their order.
    pub events: Vec<Event>,
    /// Events beyond [`EVENTS_MAX`].
    pub more_events: u64,
}

/// Sums of acknowledged and failed uploads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Stored objects.
    pub objects: u64,
    /// Size of the stored objects.
    pub file_bytes: u64,
    /// Stored objects that were found when the fill was resumed.
    pub found_on_resume: u64,
    /// Part of `file_bytes` that was found when the fill was resumed.
    pub found_bytes: u64,
    /// Attempts of all uploads.
    pub attempts: u64,
    /// Bytes of content that all attempts sent.
    pub sent_bytes: u64,
    /// Uploads that failed in all attempts.
    pub failed_uploads: u64,
}

impl Totals {
    /// Adds other sums.
    pub fn add(&mut self, other: &Self) {
        let Self { objects, file_bytes, found_on_resume, found_bytes, attempts, sent_bytes, failed_uploads } = other;
        let sums = [
            (&mut self.objects, objects),
            (&mut self.file_bytes, file_bytes),
            (&mut self.found_on_resume, found_on_resume),
            (&mut self.found_bytes, found_bytes),
            (&mut self.attempts, attempts),
            (&mut self.sent_bytes, sent_bytes),
            (&mut self.failed_uploads, failed_uploads),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(*more));
    }
}

/// Results of reading objects back. Each object is in at most one set.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Verified {
    /// Objects with the right content.
    pub good: NumberSet,
    /// Objects that do not exist.
    pub missing: NumberSet,
    /// Objects with wrong content.
    pub damaged: NumberSet,
    /// Objects whose file has changed since the upload.
    pub changed_source: NumberSet,
    /// Objects that could not be read.
    pub unknown: NumberSet,
    /// Offset of the first wrong byte of damaged objects, up to [`DAMAGED_MAX`] of them.
    pub offsets: BTreeMap<u64, u64>,
}

impl Verified {
    /// Returns the number of objects with a result.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.good.len() + self.missing.len() + self.damaged.len() + self.changed_source.len() + self.unknown.len()
    }

    /// Returns whether no object has a result.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn forget(&mut self, number: u64) {
        let Self { good, missing, damaged, changed_source, unknown, offsets: _ } = self;
        for set in [good, missing, damaged, changed_source, unknown] {
            set.remove(number);
        }
        self.offsets.remove(&number);
    }

    /// Adds a result. If an object could not be compared, an earlier result "missing" or "damaged" remains.
    fn add(&mut self, VerifiedObject { number, result }: VerifiedObject) {
        let is_lost = self.missing.contains(number) || self.damaged.contains(number);
        if is_lost && matches!(result, Verification::ChangedSource | Verification::Unknown) {
            return;
        }
        self.forget(number);
        let set = match result {
            Verification::Good => &mut self.good,
            Verification::Missing => &mut self.missing,
            Verification::Damaged { offset } => {
                if self.offsets.len() < DAMAGED_MAX {
                    self.offsets.insert(number, offset);
                }
                &mut self.damaged
            }
            Verification::ChangedSource => &mut self.changed_source,
            Verification::Unknown => &mut self.unknown,
        };
        set.insert(number);
    }
}

/// One start of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// Number of the session.
    pub number: u32,
    /// Wall time of its start in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Wall time of its last durable record in milliseconds since 1970. A killed session ended at most one sync
    /// interval later.
    pub last_unix_ms: u64,
    /// End of the session. `None` if it was killed or still runs.
    pub end: Option<SessionEnd>,
    /// Wall time in milliseconds since 1970 at which the session stored its last objects. If the session stored no
    /// objects, this is the wall time of its start.
    pub stored_unix_ms: u64,
    /// Time during which the session ran.
    pub active: ActiveTime,
    /// Active time from the start of the session until it stored its last objects.
    pub uploading: Duration,
    /// Sums over this session.
    pub totals: Totals,
}

/// The time between two sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Number of the session before the gap.
    pub after_session: u32,
    /// Wall time of the gap's beginning in milliseconds since 1970.
    pub from_unix_ms: u64,
    /// Wall time of the gap's end in milliseconds since 1970. The end is never before the beginning.
    pub to_unix_ms: u64,
}

/// A notable event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Wall time in milliseconds since 1970.
    pub unix_ms: u64,
    /// Kind of the event.
    pub kind: EventKind,
    /// Description.
    pub text: String,
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A stop rule or limit that has changed since the previous session.
    RuleChanged,
    /// Any other event.
    Other,
}

impl FillState {
    /// Adds a record. `unix_ms` is the wall time at which the record was written.
    pub fn apply(&mut self, record: &Record, unix_ms: u64) {
        let before = self.totals;
        match record {
            Record::SessionStarted { session, unix_ms } => self.start_session(*session, *unix_ms),
            Record::SessionEnded { session, unix_ms, reason } => self.end_session(*session, *unix_ms, reason),
            Record::Intend { first: _, end } => self.intended_end = self.intended_end.max(*end),
            Record::UploadCreated { number, upload_id } => self.uploads.add(*number, upload_id),
            Record::UploadGone { number, upload_id } => self.uploads.remove(*number, upload_id),
            Record::Acked(batch) => {
                batch.iter().for_each(|object| self.ack(object));
                self.add_to_history(&before, unix_ms);
                if let Some(session) = self.session() {
                    session.stored_unix_ms = session.stored_unix_ms.max(unix_ms);
                    session.active.saw(unix_ms);
                    session.uploading = session.active.get();
                }
            }
            Record::Failed(batch) => {
                batch.iter().for_each(|object| self.fail(object));
                self.add_to_history(&before, unix_ms);
            }
            Record::Verified(batch) => batch.iter().for_each(|object| self.verified.add(*object)),
            Record::Deleted(batch) => batch.iter().for_each(|number| {
                self.deleted.insert(*number);
                self.not_deleted.remove(*number);
            }),
            Record::NotDeleted(batch) => batch.iter().for_each(|number| {
                self.not_deleted.insert(*number);
            }),
            Record::Alive { active_ms } => {
                if let Some(session) = self.session() {
                    session.active.record(*active_ms, unix_ms);
                }
            }
            Record::Unsettled(unsettled) => self.replace_unsettled(*unsettled),
            Record::RuleChanged { unix_ms, text } => self.event(*unix_ms, EventKind::RuleChanged, text),
            Record::Event { unix_ms, text } => self.event(*unix_ms, EventKind::Other, text),
        }
        self.saw(unix_ms);
    }

    /// Returns the objects in doubt, in ascending order. An object is in doubt if its upload may have started, but no
    /// response has confirmed it. This includes failed objects, because their last request may have reached the server.
    pub fn in_doubt(&self) -> impl Iterator<Item = u64> {
        self.completed.absent_below(self.intended_end)
    }

    /// Returns the number of objects in doubt.
    #[must_use]
    pub fn in_doubt_count(&self) -> u64 {
        self.intended_end - self.completed.count_below(self.intended_end)
    }

    /// Returns the times between the sessions.
    pub fn gaps(&self) -> impl Iterator<Item = Gap> {
        self.sessions.windows(2).map(|pair| {
            let from_unix_ms = pair[0].last_unix_ms;
            let to_unix_ms = pair[1].started_unix_ms.max(from_unix_ms);
            Gap { after_session: pair[0].number, from_unix_ms, to_unix_ms }
        })
    }

    /// Adds the increase of the sums since `before` to the history.
    fn add_to_history(&mut self, before: &Totals, unix_ms: u64) {
        let now = &self.totals;
        let (objects, failed_uploads) = (now.objects - before.objects, now.failed_uploads - before.failed_uploads);
        let found_bytes = now.found_bytes - before.found_bytes;
        let file_bytes = (now.file_bytes - before.file_bytes).saturating_sub(found_bytes);
        self.history.add(unix_ms, &Column { objects, file_bytes, found_bytes, failed_uploads });
    }

    fn ack(&mut self, object: &AckedObject) {
        let AckedObject { number, attempts, sent_bytes, file_bytes, evidence } = *object;
        self.unintended += u64::from(number >= self.intended_end);
        self.failed.remove(number);
        let was_deleted = self.deleted.remove(number);
        self.not_deleted.remove(number);
        let upload = Totals { attempts: attempts.into(), sent_bytes, ..Totals::default() };
        if self.completed.insert(number) {
            let is_found = evidence == Evidence::FoundOnResume;
            let (found_on_resume, found_bytes) = (u64::from(is_found), if is_found { file_bytes } else { 0 });
            self.add(&Totals { objects: 1, file_bytes, found_on_resume, found_bytes, ..upload });
        } else if was_deleted {
            self.add(&upload);
        } else {
            self.duplicates += 1;
        }
    }

    fn fail(&mut self, object: &FailedObject) {
        let FailedObject { number, attempts, sent_bytes, class, cause } = object;
        self.unintended += u64::from(*number >= self.intended_end);
        if !self.completed.contains(*number) {
            self.failed.insert(*number);
        }
        let kind = (class.clone(), cause.clone());
        if self.failures.len() < FAILURE_KINDS_MAX || self.failures.contains_key(&kind) {
            *self.failures.entry(kind).or_default() += 1;
        } else {
            self.other_failures += 1;
        }
        let attempts = (*attempts).into();
        self.add(&Totals { attempts, sent_bytes: *sent_bytes, failed_uploads: 1, ..Totals::default() });
    }

    /// Replaces the attempts of the current session that have no result.
    fn replace_unsettled(&mut self, now: Unsettled) {
        let before = std::mem::replace(&mut self.unsettled, now);
        let replace = |totals: &mut Totals| {
            totals.attempts = totals.attempts.saturating_sub(before.attempts).saturating_add(now.attempts);
            totals.sent_bytes = totals.sent_bytes.saturating_sub(before.sent_bytes).saturating_add(now.sent_bytes);
        };
        replace(&mut self.totals);
        if let Some(session) = self.session() {
            replace(&mut session.totals);
        }
    }

    fn add(&mut self, more: &Totals) {
        self.totals.add(more);
        if let Some(session) = self.session() {
            session.totals.add(more);
        }
    }

    /// Returns the current session. `None` beyond [`SESSIONS_MAX`].
    fn session(&mut self) -> Option<&mut Session> {
        if self.more_sessions > 0 { None } else { self.sessions.last_mut() }
    }

    fn start_session(&mut self, number: u32, unix_ms: u64) {
        // The unsettled attempts of the previous session will never get a result, so they stay in the totals.
        self.unsettled = Unsettled::default();
        if self.sessions.len() >= SESSIONS_MAX {
            self.more_sessions += 1;
            return;
        }
        let totals = Totals::default();
        let session = Session {
            number,
            started_unix_ms: unix_ms,
            last_unix_ms: unix_ms,
            end: None,
            stored_unix_ms: unix_ms,
            active: ActiveTime::starting(unix_ms),
            uploading: Duration::ZERO,
            totals,
        };
        self.sessions.push(session);
    }

    fn end_session(&mut self, number: u32, unix_ms: u64, reason: &SessionEnd) {
        self.saw(unix_ms);
        if let Some(session) = self.session().filter(|session| session.number == number) {
            session.end = Some(reason.clone());
        }
    }

    fn saw(&mut self, unix_ms: u64) {
        self.history.reach(unix_ms);
        if let Some(session) = self.session() {
            session.last_unix_ms = session.last_unix_ms.max(unix_ms);
            session.active.saw(unix_ms);
        }
    }

    fn event(&mut self, unix_ms: u64, kind: EventKind, text: &str) {
        if self.events.len() >= EVENTS_MAX {
            self.more_events += 1;
            return;
        }
        self.events.push(Event { unix_ms, kind, text: text.to_owned() });
    }
}
