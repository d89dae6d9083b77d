//! The record of a renter's ledger during a session: snapshots before and after the session, and a table of samples.

use super::super::session::Session;
use super::Renter;
use crate::console;
use crate::failure::Failure;
use crate::redact;
use collect::csv::{CsvWriter, Latency, row};
use collect::poll::{AtEnd, Poller};
use collect::schedule::Schedule;
use collect::source::{Endpoint, RenterdSource, SiadSource, Source};
use cost::{Ledger, Money};
use engine::plan::{Mix, Plan, Subject};
use measure::MonotonicClock;
use measure::series::Poll;
use sia::snapshot::{Snapshot, System};
use sia::{renterd, siad};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// The record of a renter's ledger. A background thread adds samples.
pub struct LedgerRecord {
    renter: Renter,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    spending: Option<ActualSpending>,
}

/// The money that the target has spent since the first snapshot of the fill, and the data that it still has to pack.
#[derive(Clone, Debug)]
pub struct ActualSpending {
    start: Ledger,
    latest: Arc<Mutex<Latest>>,
}

/// Values of the newest sample.
#[derive(Clone, Debug)]
struct Latest {
    ledger: Ledger,
    waiting_bytes: Option<u64>,
}

impl ActualSpending {
    /// Returns the sum of the spending.
    pub fn spent(&self) -> Option<Money> {
        self.start.spent_until(&self.latest().ledger, "").ok().map(|bill| bill.total().money)
    }

    /// Returns the number of bytes that the target still has to pack, if it reports this number.
    pub fn waiting_bytes(&self) -> Option<u64> {
        self.latest().waiting_bytes
    }

    fn latest(&self) -> MutexGuard<'_, Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LedgerRecord {
    /// Takes the snapshot before the phases of a session. Then starts to add samples to the table in the directory of
    /// the fill.
    pub fn begin(renter: Renter, session: &Session, every: Duration) -> Result<Self, Failure> {
        let now = renter.save_snapshot(session, Moment::Before);
        let earlier = store::fill_directory::snapshots(session.directory()).unwrap_or_default();
        let start = report::fill::first_ledger(&earlier);
        let waiting_bytes = now.renterd_sample().and_then(|sample| sample.waiting_bytes);
        let latest = report::fill::ledger(&now).or_else(|| start.clone());
        let latest = latest.map(|ledger| Arc::new(Mutex::new(Latest { ledger, waiting_bytes })));
        let over = Arc::<AtomicBool>::default();
        let table = session.directory().join(store::fill_directory::LEDGER_FILE);
        let thread = renter.poll(&table, every, (Arc::clone(&over), latest.clone()))?;
        let spending = start.zip(latest).map(|(start, latest)| ActualSpending { start, latest });
        Ok(Self { renter, over, thread: Some(thread), spending })
    }

    /// Returns the renter.
    pub fn renter(&self) -> &Renter {
        &self.renter
    }

    /// Returns the spending since the first snapshot, or `None` if the target does not report spending.
    pub fn spending(&self) -> Option<ActualSpending> {
        self.spending.clone()
    }

    /// Takes the snapshot after the uploads, before objects are deleted.
    pub fn note_uploaded(&self, session: &Session) {
        self.renter.save_snapshot(session, Moment::Uploaded);
    }

    /// Takes the snapshot after the phases of a session.
    pub fn end(mut self, session: &Session) {
        self.stop();
        self.renter.save_snapshot(session, Moment::After);
    }

    fn stop(&mut self) {
        self.over.store(true, Ordering::Release);
        if self.thread.take().is_some_and(|thread| thread.join().is_err()) {
            console::eprintln("plimsoll: the samples of the ledger ended because of a defect in this program");
        }
    }
}

impl Drop for LedgerRecord {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}

/// The moment of a snapshot in a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moment {
    Before,
    /// After the uploads, before objects are deleted.
    Uploaded,
    After,
}

impl Moment {
    /// Returns the start of a snapshot's file name.
    fn name(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Uploaded => "uploaded",
            Self::After => "after",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Before => "before the session",
            Self::Uploaded => "after the uploads",
            Self::After => "after the session",
        }
    }
}

/// The flag that ends the thread, and the values of the newest sample if they are needed.
type Shared = (Arc<AtomicBool>, Option<Arc<Mutex<Latest>>>);

impl Renter {
    /// Takes a snapshot and writes it to the directory of the fill. If writing fails, prints a message, and the session
    /// continues.
    fn save_snapshot(&self, session: &Session, moment: Moment) -> Snapshot {
        let snapshot = self.snapshot(self.system.documents());
        if let Some((document, why)) = snapshot.missing.iter().next() {
            let number = snapshot.missing.len();
            console::eprintln(&format!(
                "the snapshot {} lacks {number} of {} documents of {}; for example, {document} failed: {why}",
                moment.text(),
                self.system.documents().len(),
                self.system.name()
            ));
        }
        if let Err(error) = session.write_snapshot(moment.name(), &snapshot) {
            console::eprintln(&format!("a snapshot of {} cannot be written: {error}", self.system.name()));
        }
        snapshot
    }

    /// Starts the thread that adds samples to a table.
    fn poll(&self, table: &Path, every: Duration, (over, latest): Shared) -> Result<JoinHandle<()>, Failure> {
        let refused = |why: &dyn std::fmt::Display| {
            Failure::could_not_run(format!("cannot add samples to {}: {why}; move the file away", table.display()))
        };
        let source = match self.system {
            System::Siad => Source::Siad(Box::new(SiadSource::new(SiadSource::PATHS.map(|path| self.endpoint(path))))),
            System::Renterd => {
                let endpoints = RenterdSource::PATHS.map(|path| self.endpoint(path));
                Source::Renterd(Box::new(RenterdSource::new(endpoints)))
            }
        };
        let poller = Poller::new(vec![source], MonotonicClock::start(), every);
        let mut poller = poller.map_err(|error| refused(&error))?;
        let mut csv = CsvWriter::open(table, poller.columns(), Latency::Shown).map_err(|error| refused(&error))?;
        let system = self.system;
        Ok(std::thread::spawn(move || {
            let stop = || over.load(Ordering::Acquire);
            poller.run(Schedule::new(every), AtEnd::PollOnceMore, &stop, &mut |poll| {
                if let (Some(latest), Some(now)) = (&latest, latest_of(system, &poll)) {
                    *latest.lock().unwrap_or_else(PoisonError::into_inner) = now;
                }
                if let Err(error) = csv.append(&poll) {
                    console::eprintln(&format!("plimsoll: cannot add a sample of the ledger: {error}"));
                    return ControlFlow::Break(());
                }
                ControlFlow::Continue(())
            });
        }))
    }

    fn endpoint(&self, path: &str) -> Endpoint {
        let plan = Plan { mix: Mix::one(self.request_for(path)), ..self.plan.clone() };
        let url = self.plan.targets.url(Subject::Container);
        Endpoint::new(plan, redact::url_text(&url))
    }
}

/// Returns the values of a poll, or `None` if a request failed.
fn latest_of(system: System, poll: &Poll) -> Option<Latest> {
    let row = row(poll, Latency::Shown);
    let (ledger, waiting_bytes) = match system {
        System::Siad => (Ledger::of_siad(&siad::Sample::parse_row(&row).ok()?)?, None),
        System::Renterd => {
            let sample = renterd::Sample::parse_row(&row).ok()?;
            (Ledger::of_renterd(&sample)?, sample.waiting_bytes)
        }
    };
    Some(Latest { ledger, waiting_bytes })
}
