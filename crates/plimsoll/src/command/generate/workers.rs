//! The threads that write a dataset, and their progress.

use super::file::{self, Ended, FileProblem, Watch};
use crate::console;
use crate::progress::LiveLine;
use content::{Content, Dataset};
use measure::units::{ByteSize, format_span};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use sys::signals::Signal;

/// Number of bytes that a thread writes or reads in one call.
const BUFFER_BYTES: usize = 256 << 10;
/// Interval at which interrupts are checked.
const LOOK: Duration = Duration::from_millis(50);
/// Interval at which the live line is rewritten.
const SHOW: Duration = Duration::from_millis(500);
/// Maximum number of objects for which the total size is calculated, to estimate the remaining time. The limit applies
/// only if sizes differ.
const ADDED_UP_MAX: u64 = 1_000_000;
/// Longest remaining time to show, in seconds. Estimates exceed this value only before the first bytes are written.
const LEFT_MAX_S: f64 = 3.2e7;

/// The work of all threads, and their progress.
pub struct Workers<'a> {
    dataset: &'a Dataset,
    directory: &'a Path,
    check: bool,
    content: Content,
    /// Index of the next object to write or check.
    next: AtomicU64,
    stopped: AtomicBool,
    written: Tally,
    present: Tally,
}

/// Numbers of complete files, and of bytes in complete and incomplete files.
#[derive(Default)]
struct Tally {
    files: AtomicU64,
    bytes: AtomicU64,
}

/// The results of all threads.
#[derive(Clone, Copy, Debug)]
pub struct Done {
    /// Number of files written.
    pub files: u64,
    /// Bytes written.
    pub bytes: ByteSize,
    /// Number of files that were already complete.
    pub present: u64,
    /// Elapsed time.
    pub elapsed: Duration,
    /// The signal that interrupted the work, or `None` if all files are complete.
    pub interrupted: Option<Signal>,
}

/// Counter of the bytes that a thread wrote or checked.
struct Counting<'a> {
    workers: &'a Workers<'a>,
    bytes: &'a AtomicU64,
}

impl Watch for Counting<'_> {
    fn passed(&self, bytes: u64) -> bool {
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        !self.workers.stopped.load(Ordering::Relaxed)
    }
}

impl<'a> Workers<'a> {
    /// Returns the workers for a dataset. [`Self::run`] starts them.
    pub fn new(dataset: &'a Dataset, directory: &'a Path, check: bool) -> Self {
        Self {
            dataset,
            directory,
            check,
            content: Content::new(dataset.description().seed),
            next: AtomicU64::new(0),
            stopped: AtomicBool::new(false),
            written: Tally::default(),
            present: Tally::default(),
        }
    }

    /// Writes the missing files with this many threads. Returns the results and the first problem.
    pub fn run(&self, threads: u64) -> (Done, Option<FileProblem>) {
        let start = Instant::now();
        let (mut interrupted, mut problem) = (None, None);
        thread::scope(|scope| {
            let (send, ends) = channel();
            for _ in 0..threads.min(self.dataset.count()) {
                let sender = send.clone();
                if let Err(error) = thread::Builder::new().spawn_scoped(scope, move || self.work(&sender)) {
                    self.give_up(&send, self.refused_thread(error));
                    break;
                }
            }
            drop(send);
            let mut progress = Progress::new(self, start);
            loop {
                match ends.recv_timeout(LOOK) {
                    Ok(problem_met) => problem = problem.take().or(Some(problem_met)),
                    Err(RecvTimeoutError::Timeout) => progress.show(),
                    Err(RecvTimeoutError::Disconnected) => break,
                }
                let seen = sys::signals::interrupts();
                if seen.count > 0 {
                    let signal = seen.last.unwrap_or(Signal::Interrupt);
                    interrupted = Some(signal);
                    self.stopped.store(true, Ordering::Relaxed);
                    if seen.count > 1 {
                        // Do not wait for the threads, because a thread may hang on a disk that does not respond. The
                        // files in progress still have temporary names.
                        progress.live.clear();
                        console::report_and_exit(super::interrupted(
                            signal,
                            &self.done(start, interrupted),
                            self.dataset,
                        ));
                    }
                }
            }
            progress.live.clear();
        });
        (self.done(start, interrupted), problem)
    }

    fn done(&self, start: Instant, interrupted: Option<Signal>) -> Done {
        Done {
            files: self.written.files.load(Ordering::Relaxed),
            bytes: ByteSize(self.written.bytes.load(Ordering::Relaxed)),
            present: self.present.files.load(Ordering::Relaxed),
            elapsed: start.elapsed(),
            // An interrupt after the last file is ignored.
            interrupted: interrupted.filter(|_| self.files() < self.dataset.count()),
        }
    }

    fn files(&self) -> u64 {
        self.written.files.load(Ordering::Relaxed) + self.present.files.load(Ordering::Relaxed)
    }

    /// Writes or checks objects one by one, until none is left or a thread has a problem.
    fn work(&self, problem: &Sender<FileProblem>) {
        let content = self.content.clone();
        let mut buffer = Vec::new();
        if buffer.try_reserve_exact(BUFFER_BYTES).is_err() {
            let error = io::ErrorKind::OutOfMemory.into();
            return self.give_up(problem, self.refused_thread(error));
        }
        buffer.resize(BUFFER_BYTES, 0);
        let mut key = String::new();
        while !self.stopped.load(Ordering::Relaxed) {
            let index = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(size) = self.dataset.read(index, &mut key) else { return };
            if let Err(problem_met) = self.one(&content, &key, size, &mut buffer) {
                self.give_up(problem, problem_met);
            }
        }
    }

    fn refused_thread(&self, error: io::Error) -> FileProblem {
        FileProblem::Refused { doing: "use this many --threads in", path: self.directory.to_owned(), error }
    }

    fn give_up(&self, problem: &Sender<FileProblem>, problem_met: FileProblem) {
        self.stopped.store(true, Ordering::Relaxed);
        // Sending cannot fail, because the receiver lives until the last thread has ended.
        let _ = problem.send(problem_met);
    }

    fn one(&self, content: &Content, key: &str, size: ByteSize, buffer: &mut [u8]) -> Result<(), FileProblem> {
        let path = self.directory.join(key);
        let object = content.object(key);
        let (tally, ended) = if file::is_done(&path, size)? {
            let watch = Counting { workers: self, bytes: &self.present.bytes };
            let ended = match self.check {
                true => file::check(&path, object, buffer, &watch)?,
                false => {
                    watch.passed(size.0);
                    Ended::Whole
                }
            };
            (&self.present, ended)
        } else {
            let watch = Counting { workers: self, bytes: &self.written.bytes };
            (&self.written, file::write(&path, object, size, buffer, &watch)?)
        };
        if ended == Ended::Whole {
            tally.files.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

/// The progress line.
struct Progress<'a> {
    workers: &'a Workers<'a>,
    start: Instant,
    shown: Instant,
    /// Total bytes of the dataset. `None` if calculating this number would take long.
    total: Option<f64>,
    live: LiveLine,
}

impl<'a> Progress<'a> {
    fn new(workers: &'a Workers<'a>, start: Instant) -> Self {
        let quick = workers.dataset.description().sizes.as_fixed().is_some() || workers.dataset.count() <= ADDED_UP_MAX;
        let total = quick.then(|| workers.dataset.total_bytes() as f64);
        Self { workers, start, shown: start, total, live: LiveLine::new() }
    }

    fn show(&mut self) {
        if self.shown.elapsed() < SHOW {
            return;
        }
        self.shown = Instant::now();
        let elapsed = self.start.elapsed();
        let text = self.line(elapsed);
        self.live.message(elapsed, &text);
    }

    fn line(&self, elapsed: Duration) -> String {
        let passed = |tally: &Tally| tally.bytes.load(Ordering::Relaxed) as f64;
        let (written, present) = (passed(&self.workers.written), passed(&self.workers.present));
        // Without --check, existing files take no time, so leave them out of the speed.
        let worked = if self.workers.check { written + present } else { written };
        let rate = worked / elapsed.as_secs_f64().max(1e-9);
        let left =
            self.total.map(|total| (total - written - present).max(0.0) / rate).filter(|left| *left < LEFT_MAX_S);
        format!(
            "{}/{} files {}{} {}/s{}",
            self.workers.files(),
            self.workers.dataset.count(),
            ByteSize((written + present) as u64).human(),
            self.total.map(|total| format!(" of {}", ByteSize(total as u64).human())).unwrap_or_default(),
            ByteSize(rate as u64).human(),
            left.map(|left| format!(" {} left", format_span(Duration::from_secs(left as u64)))).unwrap_or_default(),
        )
    }
}
