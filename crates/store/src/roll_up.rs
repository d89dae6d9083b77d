//! The roll-up of a run in progress: old intervals are joined to form longer intervals, and the snapshot is updated.
//!
//! A thread of the lowest priority does this work, so that neither the load nor new intervals have to wait for it. The
//! thread replaces files as a whole. The new content has the same sum as the old content. If the thread fails or is
//! killed at any moment, the files only stay larger than necessary.

use crate::error::StoreErrorKind;
use crate::record::{Begin, Record, RecordRef, Segment};
use crate::record_reader::Progress;
use crate::saved_run::Point;
use crate::segments::{self, Replacement};
use crate::snapshot::Snapshot;
use measure::{Instant, Interval, IntervalJoiner};
use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// A rule for joining intervals that have reached a certain age.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Minimum time between the end of a file and the newest interval.
    pub age: Duration,
    /// Length of the joined intervals.
    pub length: Duration,
}

/// Rules for rolling up a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RollUpRules {
    /// Duration of the part of a run that one file contains.
    pub file: Duration,
    /// The steps, in ascending order of age and length.
    pub steps: [Step; 2],
}

impl RollUpRules {
    /// Rules that keep every interval as it was measured.
    pub const NEVER: Self = Self { file: Duration::MAX, ..Self::DEFAULT };
    /// The rules of real runs. When intervals have reached the age of the first step, the columns of a heat map are
    /// already longer than the joined intervals of this step.
    pub const DEFAULT: Self = Self {
        file: Duration::from_secs(900),
        steps: [
            Step { age: Duration::from_secs(3600), length: Duration::from_secs(10) },
            Step { age: Duration::from_secs(6 * 3600), length: Duration::from_secs(60) },
        ],
    };
    /// The rules of the parts of a run of several hosts, on each host. Joined intervals of different hosts cannot be merged,
    /// so a part keeps its intervals for as long as another coordinator may collect it.
    pub const PARTS: Self = Self {
        steps: [
            Step { age: Duration::from_secs(24 * 3600), length: Duration::from_secs(10) },
            Step { age: Duration::from_secs(30 * 3600), length: Duration::from_secs(60) },
        ],
        ..Self::DEFAULT
    };
}

/// State that the writer and the thread share.
#[derive(Default)]
struct Shared {
    /// Number of files that are complete.
    complete: AtomicU32,
    /// Number of complete files that the thread has handled.
    handled: AtomicU32,
    stop: AtomicBool,
}

/// The thread that rolls up a run. Dropping this value stops the thread soon, even in the middle of its work.
pub(crate) struct RollUp {
    shared: Arc<Shared>,
    wake: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl RollUp {
    pub(crate) fn start(dir: PathBuf, begin: Begin, rules: RollUpRules) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let (wake, woken) = sync_channel(1);
        let worker = Worker { dir, begin, rules, shared: Arc::clone(&shared), steps: Vec::new() };
        let thread = thread::Builder::new().name("roll-up".into()).spawn(move || worker.run(&woken))?;
        Ok(Self { shared, wake: Some(wake), thread: Some(thread) })
    }

    /// Notifies the thread that a file is complete. Never waits.
    pub(crate) fn completed(&self, number: u32) {
        self.shared.complete.store(number, Ordering::Release);
        if let Some(wake) = &self.wake {
            // If the channel is full, the thread has not received the last message yet. When it does, it reads the new
            // number.
            let _ = wake.try_send(());
        }
    }

    /// Waits until all complete files have been handled.
    pub(crate) fn settle(&self) {
        let is_behind = || self.shared.handled.load(Ordering::Acquire) < self.shared.complete.load(Ordering::Acquire);
        while is_behind() && self.thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for RollUp {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        self.wake = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    dir: PathBuf,
    begin: Begin,
    rules: RollUpRules,
    shared: Arc<Shared>,
    /// Number of steps that were applied to each file.
    steps: Vec<usize>,
}

impl Worker {
    fn run(mut self, woken: &Receiver<()>) {
        // If the system refuses the low priority, the thread runs with normal priority.
        let _ = sys::scheduling::only_when_idle();
        while woken.recv().is_ok() && !self.shared.stop.load(Ordering::Acquire) {
            let complete = self.shared.complete.load(Ordering::Acquire);
            // After an error, such as a full disk, the next attempt follows when the next file is complete.
            let _ = self.handle(complete);
            self.shared.handled.store(complete, Ordering::Release);
        }
    }

    fn handle(&mut self, complete: u32) -> Result<(), StoreErrorKind> {
        let saved = Snapshot::read(&self.dir, &self.begin).filter(|snapshot| snapshot.segments() <= complete);
        let mut snapshot = saved.unwrap_or_else(|| Snapshot::new(self.begin.clone()));
        for number in snapshot.segments() + 1..=complete {
            snapshot.fold(self.input(number)?)?;
        }
        // Roll up the files first, because the points of the snapshot must not be coarser than the records.
        let rolled = self.roll_all(&mut snapshot);
        snapshot.write(&self.dir)?;
        rolled
    }

    /// Joins the intervals of all files that are old enough.
    fn roll_all(&mut self, snapshot: &mut Snapshot) -> Result<(), StoreErrorKind> {
        let ends: Vec<Option<Instant>> =
            snapshot.points_of_segments().map(|points| points.last().map(|point| point.end)).collect();
        self.steps.resize(ends.len().max(self.steps.len()), 0);
        let newest = ends.iter().flatten().max().copied().unwrap_or(Instant::ZERO);
        for (number, end) in (1..).zip(ends) {
            let age = newest.since(end.unwrap_or(newest));
            let due = self.rules.steps.iter().filter(|step| age >= step.age).count();
            let done = self.steps[number as usize - 1];
            if due > done {
                let points = self.roll(number, self.rules.steps[due - 1].length)?;
                snapshot.replace_points(number, points);
                self.steps[number as usize - 1] = due;
            }
        }
        Ok(())
    }

    /// Joins the intervals of a file. Returns their points.
    fn roll(&self, number: u32, length: Duration) -> Result<Vec<Point>, StoreErrorKind> {
        let path = segments::path(&self.dir, number);
        let mut file = Replacement::of(&path)?;
        match number {
            1 => file.line(&RecordRef::Begin(&self.begin))?,
            _ => file.line(&RecordRef::Segment(&Segment { number }))?,
        }
        // The first record has its own frame, so that readers can read it alone.
        file.end_frame()?;
        let mut joiner = IntervalJoiner::new(self.begin.model, length);
        let mut points = Vec::new();
        let mut write = |interval: Interval| {
            points.push(Point::of_interval(&interval));
            file.line(&RecordRef::Interval(&interval))
        };
        let mut written = Ok(());
        let tail = Progress::at_segment(number, 0).read(self.input(number)?, &mut |record| {
            if let Record::Interval(interval) = record
                && written.is_ok()
                && let Some(joined) = joiner.add(*interval)
            {
                written = write(joined);
            }
        })?;
        written?;
        joiner.rest().map_or(Ok(()), &mut write)?;
        if tail.torn_bytes > 0 || tail.damage.is_some() {
            return Err(io::Error::from(io::ErrorKind::InvalidData).into());
        }
        file.finish()?;
        Ok(points)
    }

    /// Opens a file, and waits until its content is on the disk.
    fn input(&self, number: u32) -> Result<UntilStopped, StoreErrorKind> {
        let file = File::open(segments::path(&self.dir, number))?;
        file.sync_all()?;
        Ok(UntilStopped { file, shared: Arc::clone(&self.shared) })
    }
}

/// A file whose reads fail as soon as the thread has to stop.
struct UntilStopped {
    file: File,
    shared: Arc<Shared>,
}

/// Error number of a canceled operation (`ECANCELED`).
const CANCELED: i32 = 125;

impl Read for UntilStopped {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        match self.shared.stop.load(Ordering::Acquire) {
            // The reader of frames treats errors without an error number as damage.
            true => Err(io::Error::from_raw_os_error(CANCELED)),
            false => self.file.read(buf),
        }
    }
}
