//! Collectors during a run. A background thread polls the collectors and writes their values into the run directory.

use super::{Access, Collect};
use crate::console;
use crate::failure::Failure;
use crate::live_metrics::LiveMetrics;
use crate::saved::{cannot_save, unix_ms};
use collect::poll::{AtEnd, POLL_MAX, Poller};
use collect::schedule::Schedule;
use measure::MonotonicClock;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use store::{CollectedBegin, CollectedWriter, StoreError};

/// A background thread that polls during a run. The thread stops when this value is dropped.
pub struct Collecting {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<Result<(), StoreError>>>,
}

impl Collecting {
    /// Returns a poller of all collectors of a run, or `None` if the run has no collectors. Reads each host once, so
    /// this function may take some time.
    pub fn prepare(collectors: &[Collect], every: Duration) -> Result<Option<Poller>, Failure> {
        if collectors.is_empty() {
            return Ok(None);
        }
        let access = Access::default();
        let each = collectors.iter().map(|collect| collect.sources(&access, POLL_MAX));
        let sources = each.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect();
        let poller = Poller::new(sources, MonotonicClock::start(), every);
        poller.map(Some).map_err(|error| Failure::usage(format!("--collect: {error}")))
    }

    /// Starts to poll. Saves the values in the run directory, and adds them to the live metrics. Call this function when
    /// the clock of the run starts.
    pub fn start(poller: Poller, every: Duration, directory: &Path, metrics: LiveMetrics) -> Result<Self, Failure> {
        let mut poller = poller.with_clock(MonotonicClock::start());
        let started_unix_ms = unix_ms();
        let begin = CollectedBegin::new(started_unix_ms, every, poller.sources(), poller.columns().to_vec());
        let mut writer =
            CollectedWriter::create(directory, &begin).map_err(|error| cannot_save("collected values", &error))?;
        metrics.set_columns(poller.columns());
        let over = Arc::<AtomicBool>::default();
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut failed = None;
            let stop = || is_over.load(Ordering::Acquire);
            poller.run(Schedule::new(every), AtEnd::PollOnceMore, &stop, &mut |poll| {
                metrics.set_collected(&poll);
                match writer.append(poll) {
                    Ok(()) => ControlFlow::Continue(()),
                    Err(error) => {
                        failed = Some(error);
                        ControlFlow::Break(())
                    }
                }
            });
            failed.map_or_else(|| writer.end(), Err)
        });
        Ok(Self { over, thread: Some(thread) })
    }

    /// Polls once more, and waits until all values are saved. If the values cannot be saved, prints a warning; the run
    /// itself is not affected.
    pub fn end(mut self) {
        self.over.store(true, Ordering::Release);
        match self.thread.take().map(JoinHandle::join) {
            Some(Ok(Err(error))) => console::eprintln(&format!("plimsoll: cannot save all collected values: {error}")),
            Some(Err(_)) => console::eprintln("plimsoll: the collector failed because of a defect in this program"),
            Some(Ok(Ok(()))) | None => {}
        }
    }
}

impl Drop for Collecting {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Release);
    }
}
