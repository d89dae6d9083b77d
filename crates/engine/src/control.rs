//! Commands to a run in progress, and the state that its threads share.
//!
//! Threads share only a few atomics, which each loop reads once per step, and the number of operations that are left
//! (`schedule::Budget`). A stop takes effect 120 ms after the command (`NOTICE`). By then, all threads have learned of
//! the stop, so their windows end at the same instant.

use crate::accessed_objects::AccessedObjects;
use crate::stalls::Stalls;
use measure::sample::Access;
use measure::{AttemptOutcome, Instant};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

/// Maximum time that a thread waits before it reads the commands again.
pub const TURN_MAX: Duration = Duration::from_millis(50);
/// Time from the stop command until the measured window ends.
pub(crate) const NOTICE: Duration = Duration::from_millis(120);
/// Number of failed attempts after which the run ends, if no attempt has got a connection (docs/measurement.md).
const UNREACHED_MAX: u64 = 100;
/// If the run has had no connection for this time, [`UNREACHED_MIN`] failed attempts are enough to end it. A slot waits
/// longer after each failure, so it could take long to reach [`UNREACHED_MAX`] attempts.
const UNREACHED_FOR: Duration = Duration::from_secs(2);
/// Number of failed attempts that are enough to end the run after [`UNREACHED_FOR`].
const UNREACHED_MIN: u64 = 10;

/// Reason why a run stopped before its stop rule applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The user interrupted the run.
    Interrupted,
    /// The requested number of bytes has arrived.
    BytesReached,
    /// No attempt has reached the target.
    Unreachable,
    /// The results could no longer be saved.
    ResultsFull,
    /// A controller decided that no more data is needed.
    Decided,
    /// A thread of the run has failed.
    ThreadLost,
}

/// Commands to the threads of one run.
#[derive(Debug)]
pub struct Control {
    stop_at: AtomicU64,
    reason: AtomicU8,
    /// `true` if the run ends immediately, without a drain.
    abandon: AtomicBool,
    /// `true` if any attempt has got a connection.
    reached: AtomicBool,
    unreached: AtomicU64,
    /// Time of the first attempt that failed because it could not get a connection.
    unreached_since: AtomicU64,
    first_failure: Mutex<Option<AttemptOutcome>>,
    bytes_left: AtomicU64,
    /// Upper bound of operation numbers. An operation starts in the measured window only if its number is below this
    /// bound.
    start_below: AtomicU64,
    /// Highest number of an operation that has started in the measured window, plus 1. Updated only in a run that
    /// limits operation numbers (`start_below`).
    started_below: AtomicU64,
    first_length: OnceLock<u64>,
    accessed: OnceLock<AccessedObjects>,
    stalls: Stalls,
}

impl Default for Control {
    fn default() -> Self {
        Self::new(None)
    }
}

impl Control {
    /// Returns the control of a run. If `bytes` is given, the run stops after that many body bytes.
    #[must_use]
    pub fn new(bytes: Option<u64>) -> Self {
        Self {
            stop_at: AtomicU64::new(u64::MAX),
            reason: AtomicU8::new(0),
            abandon: AtomicBool::new(false),
            reached: AtomicBool::new(false),
            unreached: AtomicU64::new(0),
            unreached_since: AtomicU64::new(u64::MAX),
            first_failure: Mutex::new(None),
            bytes_left: AtomicU64::new(bytes.unwrap_or(u64::MAX)),
            start_below: AtomicU64::new(u64::MAX),
            started_below: AtomicU64::new(0),
            first_length: OnceLock::new(),
            accessed: OnceLock::new(),
            stalls: Stalls::default(),
        }
    }

    /// Returns the client stalls that the threads share.
    #[inline]
    pub(crate) fn stalls(&self) -> &Stalls {
        &self.stalls
    }

    /// Records an access of `object`, a number below `objects`. Returns whether this is the run's first access of the
    /// object, or `None` if there are too many objects.
    #[inline]
    pub(crate) fn access(&self, object: u64, objects: u64) -> Option<Access> {
        self.accessed.get_or_init(|| AccessedObjects::new(objects)).access(object)
    }

    /// Ends the measured window shortly after `now` and lets operations in flight drain. If the run was stopped before,
    /// the first reason is kept.
    pub fn stop(&self, now: Instant, reason: StopReason) {
        self.end_at(now + NOTICE, reason);
    }

    /// Ends the measured window at `at`. If the run was stopped before, the first reason is kept.
    fn end_at(&self, at: Instant, reason: StopReason) {
        let code = match reason {
            StopReason::Interrupted => 1,
            StopReason::BytesReached => 2,
            StopReason::Unreachable => 3,
            StopReason::ResultsFull => 4,
            StopReason::Decided => 5,
            StopReason::ThreadLost => 6,
        };
        let _ = self.reason.compare_exchange(0, code, Ordering::AcqRel, Ordering::Acquire);
        self.stop_at.fetch_min(at.as_nanos(), Ordering::AcqRel);
    }

    /// Ends the run immediately. Operations in flight remain unfinished.
    pub fn abandon(&self, now: Instant) {
        self.stop(now, StopReason::Interrupted);
        self.abandon.store(true, Ordering::Release);
    }

    /// Ends the run immediately, because a thread of the run has failed.
    pub(crate) fn thread_lost(&self, now: Instant) {
        self.stop(now, StopReason::ThreadLost);
        self.abandon.store(true, Ordering::Release);
    }

    /// Returns the body length of the run's first complete response. If there was none yet, the result is `own`, the
    /// length of this thread's response.
    pub(crate) fn first_length(&self, own: u64) -> u64 {
        *self.first_length.get_or_init(|| own)
    }

    /// Returns the instant at which a command ends the measured window; `NEVER` without such a command.
    #[must_use]
    pub fn stop_at(&self) -> Instant {
        Instant::from_nanos(self.stop_at.load(Ordering::Acquire))
    }

    /// Returns whether the drain is skipped.
    #[must_use]
    pub fn is_abandoned(&self) -> bool {
        self.abandon.load(Ordering::Acquire)
    }

    /// Returns why the run was stopped, if it was.
    #[must_use]
    pub fn reason(&self) -> Option<StopReason> {
        match self.reason.load(Ordering::Acquire) {
            1 => Some(StopReason::Interrupted),
            2 => Some(StopReason::BytesReached),
            3 => Some(StopReason::Unreachable),
            4 => Some(StopReason::ResultsFull),
            5 => Some(StopReason::Decided),
            6 => Some(StopReason::ThreadLost),
            _ => None,
        }
    }

    /// Sets an upper bound of operation numbers in the measured window of a closed run. Operations start only if their
    /// number is below `bound`. By default, there is no bound. A fill sets the bound before the run. Whenever the fill
    /// has recorded the next objects that it will write, it raises the bound. The bound must not be lowered while
    /// operations start.
    pub fn let_start_below(&self, bound: u64) {
        self.start_below.store(bound, Ordering::Release);
    }

    /// Returns the number below which operations may start.
    #[inline]
    #[must_use]
    pub fn may_start_below(&self) -> u64 {
        self.start_below.load(Ordering::Acquire)
    }

    /// Records that an operation of the measured window has started. Called only in a run with a bound.
    pub(crate) fn note_started(&self, number: u64) {
        self.started_below.fetch_max(number.saturating_add(1), Ordering::AcqRel);
    }

    /// Returns a number that is larger than the number of any operation that has started in the measured window.
    /// Returns 0 in runs without [`Self::let_start_below`].
    #[must_use]
    pub fn started_below(&self) -> u64 {
        self.started_below.load(Ordering::Acquire)
    }

    /// Records that an attempt got a connection to the target.
    pub(crate) fn note_reached(&self) {
        self.reached.store(true, Ordering::Relaxed);
    }

    /// Returns whether any attempt got a connection.
    #[must_use]
    pub fn is_reached(&self) -> bool {
        self.reached.load(Ordering::Relaxed)
    }

    /// Records that an attempt got no connection. As long as no attempt has got a connection, stops the run after
    /// [`UNREACHED_MAX`] such attempts. After [`UNREACHED_FOR`], [`UNREACHED_MIN`] such attempts are enough.
    pub(crate) fn note_unreached(&self, now: Instant, outcome: AttemptOutcome) {
        let count = self.unreached.fetch_add(1, Ordering::Relaxed) + 1;
        let since = self.unreached_since.fetch_min(now.as_nanos(), Ordering::Relaxed).min(now.as_nanos());
        if count == 1
            && let Ok(mut first) = self.first_failure.lock()
        {
            *first = Some(outcome);
        }
        let for_long = now.since(Instant::from_nanos(since)) >= UNREACHED_FOR;
        if !self.is_reached() && (count >= UNREACHED_MAX || (count >= UNREACHED_MIN && for_long)) {
            self.stop(now, StopReason::Unreachable);
        }
    }

    /// Returns the outcome of the first attempt that got no connection.
    #[must_use]
    pub fn first_unreached(&self) -> Option<AttemptOutcome> {
        self.first_failure.lock().ok().and_then(|first| *first)
    }

    /// Returns whether the requested number of bytes has arrived, so that no further operation starts.
    #[must_use]
    pub(crate) fn is_spent(&self) -> bool {
        self.bytes_left.load(Ordering::Relaxed) == 0
    }

    /// Counts body bytes. When the requested number has arrived, ends the measured window at `end`.
    pub(crate) fn note_bytes(&self, end: Instant, bytes: u64) {
        let before =
            self.bytes_left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| Some(left.saturating_sub(bytes)));
        if before.is_ok_and(|left| left <= bytes) {
            self.end_at(end, StopReason::BytesReached);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{AttemptClass, Cause, Phase};

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Returns the time at which a run stops if its attempts end at these times, in milliseconds. `reached` means that
    /// the first attempt got a connection.
    fn stops_at(attempts: impl IntoIterator<Item = u64>, reached: bool) -> Option<u64> {
        let control = Control::default();
        if reached {
            control.note_reached();
        }
        let refused = AttemptOutcome::failed(AttemptClass::ConnectRefused, Cause::Refused, Phase::Connect);
        attempts.into_iter().find(|ms| {
            control.note_unreached(at(*ms), refused);
            control.reason() == Some(StopReason::Unreachable)
        })
    }

    #[test]
    fn a_target_that_is_never_reached_is_given_up_after_100_attempts_or_2_seconds() {
        assert_eq!(stops_at(0..500, false), Some(99), "the hundredth attempt");
        assert_eq!(stops_at((0..500).map(|n| n * 160), false), Some(2080), "the first attempt after 2 s");
        assert_eq!(
            stops_at((0..500).map(|n| 60_000 + n * 160), false),
            Some(62_080),
            "2 s are counted from the first failure"
        );
        assert_eq!(stops_at((0..500).map(|n| n * 1000), false), Some(9000), "the tenth attempt");
        assert_eq!(stops_at(0..10_000, true), None, "an attempt got a connection before");
    }
}
