//! A run: threads that generate load, and one thread that gathers the measurements of all these threads.
//!
//! Each load thread has its own loop and sends finished intervals to the calling thread. The calling thread merges the
//! intervals of the same second, adds observations of the host, and passes the result to the [`Observer`] in order. The
//! calling thread also calls the observer at regular times, because the observer can control the run.

use crate::control::{Control, TURN_MAX};
use crate::epoll::EpollNetwork;
use crate::network::NameError;
use crate::plan::Plan;
use crate::resolver::Resolver;
use crate::run_loop::{CreatedUpload, FirstResponse, Handover, Left, OpEntry, RunLoop, Sent, Share, budget};
use crate::watch::HostWatch;
use measure::interval::IntervalBuilder;
use measure::{Clock, Instant, Interval, Model, MonotonicClock, Summary};
use std::collections::VecDeque;
use std::io;
use std::num::NonZeroU64;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use wire::sigv4::Timestamp;

/// Maximum number of messages that wait for the gathering thread. If operations are logged faster than they can be
/// written, the load threads wait until there is space. If so, the report shows that the client was busy.
const MESSAGES_MAX: usize = 256;

/// Pause of the gathering thread between two steps of its work.
const PAUSE: Duration = Duration::from_micros(200);

/// Pauses, so that a load thread on the same core can run. The gathering thread calls this function between the steps
/// of storing an interval. Each step takes a fraction of a millisecond, so a load thread waits no longer than that. The
/// log of operations is written without pauses. Its entries arrive all the time, and the load threads would have to
/// wait if they were written too slowly (`MESSAGES_MAX`).
pub fn give_way() {
    std::thread::sleep(PAUSE);
}

/// Receiver of a run's results. An observer may also control the run.
pub trait Observer {
    /// Called once, after all load threads have started. The last of them started at `at`.
    fn started(&mut self, _at: Instant) {}
    /// Called at the end of a slice, for plans with slices. The slice combines all threads. The same data is later
    /// passed on again, as part of an interval.
    fn slice(&mut self, _slice: &Interval, _control: &Control, _now: Instant) {}
    /// Called at the end of an interval. The interval combines all threads.
    fn interval(&mut self, interval: &Interval, control: &Control, now: Instant);
    /// Called with operations that have ended. If the plan logs operations, every operation is passed. If the plan does
    /// not log operations, `ops` contains only operations that found damaged objects.
    fn ops(&mut self, ops: &[OpEntry]);
    /// Called with multipart uploads that the server has created, for plans with retries. A later run can continue
    /// these uploads (see [`crate::plan::ResumedUpload`]). For each upload, this call precedes the call of
    /// [`Self::ops`] with the operation that completes the upload.
    fn uploads_created(&mut self, _uploads: &[CreatedUpload]) {}
    /// Called after [`Self::ops`] with the attempts of all operations in flight, for plans with retries. Each attempt
    /// is counted once: in this sum, or in an entry that was passed to [`Self::ops`].
    fn in_flight(&mut self, _sent: Sent) {}
    /// Called about every 50 ms.
    fn tick(&mut self, control: &Control, now: Instant);
}

/// End of a run.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// Time from the start of the run to its end.
    pub at: Instant,
    /// Properties of the server, taken from the first successful response.
    pub first_response: Option<FirstResponse>,
    /// Objects and uploads that remain at the server after the run.
    pub left: Left,
}

/// A run that failed before its end.
#[derive(Debug, thiserror::Error)]
#[error("{why}")]
pub struct RunError {
    why: Why,
    /// Objects and uploads that remain at the server. If a thread failed, its uploads in progress are not included.
    pub left: Left,
    /// `true` if `left` covers all threads. A thread that ended because of a defect is not covered.
    pub left_is_all: bool,
}

/// Reason why a run failed.
#[derive(Debug, thiserror::Error)]
enum Why {
    /// The kernel did not create an epoll descriptor, or polling failed.
    #[error("waiting for sockets failed: {0}")]
    Poller(io::Error),
    /// A thread ended because of a defect of this program.
    #[error("a thread of the run loop failed because of a defect of this program")]
    ThreadLost,
}

/// A message from a load thread to the gathering thread.
enum Message {
    Started { at: Instant },
    Results { thread: usize, results: Handover },
    Done { thread: usize, first_response: Option<FirstResponse>, left: Box<Left> },
}

/// Result of a thread: its first successful response, the objects and uploads that remain at the server, and its error.
type ThreadResult = (Option<FirstResponse>, Left, io::Result<()>);

/// Carries out a plan.
///
/// # Errors
/// Fails if the kernel denies resources that every run needs. Failures of the target are results, not errors.
pub fn run(plan: &Plan, control: &Control, observer: &mut dyn Observer) -> Result<Ending, RunError> {
    run_from(MonotonicClock::start(), plan, control, observer)
}

/// Carries out a plan from the instant 0 of `clock` on, which may be in the future. Until then, the load threads wait,
/// and the observer can end the run.
///
/// # Errors
/// Fails like [`run`].
pub fn run_from(
    clock: MonotonicClock,
    plan: &Plan,
    control: &Control,
    observer: &mut dyn Observer,
) -> Result<Ending, RunError> {
    let threads = plan.threads_used();
    let budget = budget(&plan.stop, &plan.load, threads);
    let resolver = Resolver::start();
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default() + clock.until_zero();
    let wall = Timestamp::from_unix_seconds(since_1970.as_secs());
    let work = |share, sender: &SyncSender<Message>| {
        make_load(plan, control, share, budget.clone(), (clock, wall), Arc::clone(&resolver), sender)
    };
    let watch = HostWatch::start(plan.operations_of_descriptors(), plan.nic_speed);
    let gatherer = Gatherer::new(threads as usize, watch, plan.slices.is_some());
    carry_out(threads, control, &clock, gatherer, observer, &work)
}

/// Carries out a plan and returns a summary of its measured window.
///
/// # Errors
/// Fails like [`run`].
pub fn run_to_summary(plan: &Plan) -> Result<Summary, RunError> {
    struct Fold(Model, Summary);
    impl Observer for Fold {
        fn interval(&mut self, interval: &Interval, _: &Control, _: Instant) {
            self.1.add(&self.0, interval);
        }

        fn ops(&mut self, _: &[OpEntry]) {}

        fn tick(&mut self, _: &Control, _: Instant) {}
    }
    let mut fold = Fold(plan.load.model(), Summary::default());
    run(plan, &Control::new(plan.stop.bytes.map(NonZeroU64::get)), &mut fold)?;
    let mut summary = fold.1;
    summary.all = summary.stats.all_kinds();
    Ok(summary)
}

/// Runs `work` in `threads` threads, and gathers their measurements. If a thread fails, the other threads end
/// immediately.
fn carry_out(
    threads: u32,
    control: &Control,
    clock: &MonotonicClock,
    mut gatherer: Gatherer,
    observer: &mut dyn Observer,
    work: &(impl Fn(Share, &SyncSender<Message>) -> ThreadResult + Sync),
) -> Result<Ending, RunError> {
    let (sender, messages) = sync_channel(MESSAGES_MAX);
    // If gathering panics, the receiver of the messages is dropped with this closure, before the threads are joined.
    // The load threads then fail to send, instead of waiting forever.
    std::thread::scope(move |scope| {
        let spawn = |thread| {
            let sender = sender.clone();
            scope.spawn(move || {
                let mut done =
                    SendDone { thread: thread as usize, first_response: None, left: Left::default(), sender: &sender };
                let mut lost = EndsIfLost(Some((control, clock)));
                let (first_response, left, ended) = work(Share { thread, threads }, &sender);
                (done.first_response, done.left) = (first_response, left);
                if ended.is_ok() {
                    lost.0 = None;
                }
                ended
            })
        };
        let handles: Vec<_> = (0..threads).map(spawn).collect();
        drop(sender);
        let mut lost = EndsIfLost(Some((control, clock)));
        // Load threads must keep their schedule, so they take precedence over the gathering thread. Gathering can wait
        // until `MESSAGES_MAX` messages are queued.
        let (first_response, left) =
            sys::scheduling::behind_others(|| gatherer.gather(&messages, clock, control, observer));
        lost.0 = None;
        // All threads are joined before an error is returned.
        let ends: Vec<_> = handles.into_iter().map(std::thread::ScopedJoinHandle::join).collect();
        let left_is_all = ends.iter().all(Result::is_ok);
        let failed = ends.into_iter().find_map(|end| match end {
            Ok(ended) => ended.err().map(Why::Poller),
            Err(_) => Some(Why::ThreadLost),
        });
        match failed {
            None => Ok(Ending { at: clock.now(), first_response, left }),
            Some(why) => Err(RunError { why, left, left_is_all }),
        }
    })
}

/// Guard that ends the run when a thread fails. On drop, it ends the run if it still contains the value. A thread that
/// succeeds removes the value first.
struct EndsIfLost<'c>(Option<(&'c Control, &'c MonotonicClock)>);

impl Drop for EndsIfLost<'_> {
    fn drop(&mut self) {
        if let Some((control, clock)) = self.0 {
            control.thread_lost(clock.now());
        }
    }
}

fn make_load(
    plan: &Plan,
    control: &Control,
    share: Share,
    budget: Option<Arc<crate::schedule::Budget>>,
    (clock, wall): (MonotonicClock, Timestamp),
    resolver: Arc<Resolver>,
    sender: &SyncSender<Message>,
) -> ThreadResult {
    let from = Arc::clone(&plan.connections.from);
    let net = EpollNetwork::new(clock, from, resolver, plan.load.pacing(), plan.arrival_times);
    let mut net = match net {
        Ok(net) => net,
        Err(error) => return (None, Left::default(), Err(error)),
    };
    let mut run_loop = RunLoop::new(plan, control, share, budget, (Instant::ZERO, wall));
    if !wait_for_start(&clock, control) {
        return (None, Left::default(), Ok(()));
    }
    let _ = sender.send(Message::Started { at: clock.now() });
    let ended = run_loop.drive(&mut net, |results| {
        let _ = sender.send(Message::Results { thread: share.thread as usize, results });
    });
    (run_loop.first_response().cloned(), run_loop.left(), ended)
}

/// Waits until the clock reaches 0. Returns `false` if the run is stopped before.
fn wait_for_start(clock: &MonotonicClock, control: &Control) -> bool {
    loop {
        let left = clock.until_zero();
        if left.is_zero() {
            return true;
        }
        if control.stop_at() != Instant::NEVER {
            return false;
        }
        std::thread::sleep(left.min(TURN_MAX));
    }
}

/// Guard that reports the end of a thread when the guard is dropped. The gathering thread therefore does not wait for
/// intervals of a thread that failed.
struct SendDone<'s> {
    thread: usize,
    first_response: Option<FirstResponse>,
    left: Left,
    sender: &'s SyncSender<Message>,
}

impl Drop for SendDone<'_> {
    fn drop(&mut self) {
        let (first_response, left) = (self.first_response.take(), Box::new(std::mem::take(&mut self.left)));
        let _ = self.sender.send(Message::Done { thread: self.thread, first_response, left });
    }
}

/// Merges the intervals that different threads have measured in the same second.
struct Gatherer {
    queues: Vec<VecDeque<Interval>>,
    done: Vec<bool>,
    watch: HostWatch,
    sliced: bool,
    whole: IntervalBuilder,
    /// Number of threads that have not started yet, and the start of the thread that started last.
    starting: (usize, Instant),
    /// Attempts of the operations in flight, by thread.
    in_flight: Vec<Sent>,
}

impl Gatherer {
    fn new(threads: usize, watch: HostWatch, sliced: bool) -> Self {
        let queues = (0..threads).map(|_| VecDeque::new()).collect();
        let (done, in_flight) = (vec![false; threads], vec![Sent::default(); threads]);
        let starting = (threads, Instant::ZERO);
        Self { queues, done, watch, sliced, whole: IntervalBuilder::default(), starting, in_flight }
    }

    fn gather(
        &mut self,
        messages: &Receiver<Message>,
        clock: &MonotonicClock,
        control: &Control,
        observer: &mut dyn Observer,
    ) -> (Option<FirstResponse>, Left) {
        let (mut first, mut all) = (None, Left::default());
        loop {
            match messages.recv_timeout(TURN_MAX) {
                Ok(Message::Started { at }) => self.note_start(at, observer),
                Ok(Message::Results { thread, results: Handover { intervals, ops, uploads, in_flight } }) => {
                    if !uploads.is_empty() {
                        observer.uploads_created(&uploads);
                    }
                    if !ops.is_empty() {
                        observer.ops(&ops);
                    }
                    self.in_flight[thread] = in_flight;
                    observer.in_flight(self.in_flight.iter().copied().sum());
                    self.queues[thread].extend(intervals);
                }
                Ok(Message::Done { thread, first_response, left }) => {
                    self.done[thread] = true;
                    all.merge(*left);
                    first = first.or(first_response);
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    // A thread that failed has not closed its intervals, but the measurements of the other threads
                    // still count.
                    self.done.fill(true);
                    self.hand_out(clock, control, observer);
                    if let Some(mut rest) = self.whole.rest() {
                        self.watch.stamp(&mut rest);
                        observer.interval(&rest, control, clock.now());
                    }
                    return (first, all);
                }
            }
            self.hand_out(clock, control, observer);
            observer.tick(control, clock.now());
        }
    }

    /// Records that a thread started at `at`.
    fn note_start(&mut self, at: Instant, observer: &mut dyn Observer) {
        let (left, last) = &mut self.starting;
        (*left, *last) = (left.saturating_sub(1), at.max(*last));
        if *left == 0 {
            // Only the use of the host after the start counts.
            self.watch.forget_past();
            observer.started(self.starting.1);
        }
    }

    /// Passes the intervals that are complete in all threads to the observer.
    fn hand_out(&mut self, clock: &MonotonicClock, control: &Control, observer: &mut dyn Observer) {
        while let Some(slice) = self.next() {
            if self.sliced {
                observer.slice(&slice, control, clock.now());
            }
            let watch = &mut self.watch;
            self.whole.add(slice, |mut interval| {
                watch.stamp(&mut interval);
                give_way();
                observer.interval(&interval, control, clock.now());
            });
        }
    }

    fn next(&mut self) -> Option<Interval> {
        let waits = self.queues.iter().zip(&self.done).any(|(queue, done)| queue.is_empty() && !done);
        let first = self.queues.iter().filter_map(VecDeque::front).map(|interval| (interval.start, interval.stage));
        let (start, stage) = first.min_by_key(|(start, _)| *start).filter(|_| !waits)?;
        let mut merged: Option<Interval> = None;
        for queue in &mut self.queues {
            if queue.front().is_some_and(|front| front.start == start && front.stage == stage)
                && let Some(part) = queue.pop_front()
            {
                match &mut merged {
                    Some(whole) => whole.merge(&part),
                    None => merged = Some(part),
                }
            }
        }
        merged
    }
}

/// Looks up the addresses of every origin of a plan before the run, so that a wrong name is reported immediately.
///
/// # Errors
/// Fails with the first host that has no addresses, and the reason.
pub fn resolve_all(plan: &mut Plan) -> Result<(), (String, NameError)> {
    for origin in plan.targets.origins() {
        let Some((host, port)) = crate::run_loop::connects_to(plan, origin) else { continue };
        if plan.connections.known.contains_key(&(host.clone(), port)) {
            continue;
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let addresses = match bare.parse() {
            Ok(address) => vec![std::net::SocketAddr::new(address, port)],
            Err(_) => sys::resolve::resolve(&host, port).map_err(|error| {
                let kind = match error {
                    sys::resolve::ResolveError::NotFound => NameError::NotFound,
                    _ => NameError::NoAnswer,
                };
                (host.clone(), kind)
            })?,
        };
        plan.connections.known.insert((host, port), Arc::from(addresses));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_loop::OpenUploads;

    struct Nobody;

    impl Observer for Nobody {
        fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}
        fn ops(&mut self, _: &[OpEntry]) {}
        fn tick(&mut self, _: &Control, _: Instant) {}
    }

    fn left(fresh_below: u64, unknown: u64) -> Left {
        let uploads = OpenUploads { unknown, ..OpenUploads::default() };
        Left { uploads, fresh_below, ..Left::default() }
    }

    /// Carries out a run of two threads. The first thread runs `first`. The second thread runs until it is stopped, or
    /// for 10 s.
    fn with_first(first: impl Fn() -> ThreadResult + Sync) -> (RunError, bool) {
        let (control, clock) = (Control::default(), MonotonicClock::start());
        let abandoned = std::sync::atomic::AtomicBool::new(false);
        let work = |share: Share, _: &SyncSender<Message>| {
            if share.thread == 0 {
                return first();
            }
            for _ in 0..1000 {
                if control.is_abandoned() {
                    abandoned.store(true, std::sync::atomic::Ordering::Relaxed);
                    break;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            (None, left(7, 2), Ok(()))
        };
        let gatherer = Gatherer::new(2, HostWatch::start(u64::MAX, None), false);
        let ending = carry_out(2, &control, &clock, gatherer, &mut Nobody, &work);
        (ending.expect_err("a thread failed"), abandoned.into_inner())
    }

    #[test]
    fn a_thread_that_fails_ends_the_run_and_all_report_what_they_leave() {
        let (error, abandoned) = with_first(|| (None, left(9, 1), Err(io::ErrorKind::OutOfMemory.into())));
        assert!(matches!(error.why, Why::Poller(_)) && abandoned);
        assert_eq!((error.left, error.left_is_all), (left(9, 3), true));
        let (error, abandoned) = with_first(|| panic!("on purpose"));
        assert!(matches!(error.why, Why::ThreadLost) && abandoned);
        assert_eq!((error.left, error.left_is_all), (left(7, 2), false));
    }
}
