//! The state of a run.

use super::history::{History, Point};
use super::times::Times;
use engine::plan::StopAfter;
use measure::limits::Limit;
use measure::objective::ObjectiveResult;
use measure::path::PathLimits;
use measure::stats::Stats;
use measure::{AttemptClass, Distribution, Instant, Interval, Model, Objective, Stage, Summary};
use report::escape::escape;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::num::NonZeroU64;
use std::time::Duration;
use store::Begin;

/// Time after which the objectives and the limit are computed again. Both computations use large histograms, and take
/// more CPU time than the rest of the view. Their results change slowly.
const JUDGED_EVERY: Duration = Duration::from_millis(2500);

/// A run in progress.
#[derive(Debug)]
pub struct Run {
    /// The target, without secrets and without control characters.
    pub target: String,
    /// The load, in one line.
    pub load: String,
    /// Number of the run, and number of all runs, if there are several.
    pub number: Option<(u64, u64)>,
    /// When the run ends.
    stop: StopAfter,
    warmup: Duration,
    /// Time on the clock of the run.
    now: Instant,
    /// Number of measured operations that ended or were cut off.
    done: u64,
    /// Body bytes in both directions.
    bytes: u64,
    /// Number of measured operations that failed or were dropped.
    pub failures: u64,
    /// The last interval.
    pub last: Option<Last>,
    /// Everything that only the live view shows.
    pub details: Option<Box<Details>>,
}

/// The last interval of a run.
#[derive(Clone, Debug)]
pub struct Last {
    pub stage: Stage,
    pub end: Instant,
    /// Operations that ended per second.
    pub rate: f64,
    /// Body bytes in both directions per second.
    pub byte_rate: f64,
    /// Median response time of the operations that succeeded, in nanoseconds.
    pub p50: Option<u64>,
    /// 99th percentile of their response times.
    pub p99: Option<u64>,
    /// Number of operations in flight at the end.
    pub in_flight: u64,
}

/// Results of a run so far, as its report would show them.
#[derive(Debug)]
pub struct Details {
    objectives: Vec<Objective>,
    model: Model,
    /// The results of the run so far.
    pub summary: Summary,
    /// The course of the run.
    pub history: History,
    /// Response times of all intervals.
    pub times: Times,
    /// The objectives, judged on the results so far. Computed when they are shown, like [`Self::limit`], because some
    /// views show neither.
    judged: OnceCell<Vec<ObjectiveResult>>,
    limit: OnceCell<Limit>,
    /// End of the last interval that was included in both computations.
    judged_until: Option<Instant>,
    /// The latest failure, without secrets and without control characters.
    pub newest_failure: Option<String>,
}

impl Run {
    /// Returns the state at the start of a run. Details take more CPU time, so only the live view has them.
    pub fn new(begin: &Begin, stop: StopAfter, with_details: bool) -> Self {
        let target = begin.targets.first().map(|target| escape(target)).unwrap_or_default();
        let more = begin.urls.saturating_sub(1);
        let more = if more > 0 { format!(" and {} more", report::number::count(more)) } else { String::new() };
        Self {
            target: format!("{target}{more}"),
            load: begin.load.clone(),
            number: None,
            stop,
            warmup: Duration::from_millis(begin.warmup_ms),
            now: Instant::ZERO,
            done: 0,
            bytes: 0,
            failures: 0,
            last: None,
            details: with_details.then(|| Box::new(Details::new(begin))),
        }
    }

    /// Adds the next interval. Its examples must not contain secrets.
    pub fn add(&mut self, interval: &Interval) {
        let stats = &interval.stats;
        let tally = &stats.measured;
        self.done += tally.completed() + tally.unfinished;
        self.bytes += stats.traffic.moved();
        self.failures += tally.failed + tally.dropped;
        self.now = self.now.max(interval.end);
        let response = response_times(stats);
        // Numbers of short intervals depend on chance.
        if interval.seconds() > 0.2 {
            self.last = Some(Last {
                stage: interval.stage,
                end: interval.end,
                rate: (tally.completed() + stats.outside.completed()) as f64 / interval.seconds(),
                byte_rate: stats.traffic.moved() as f64 / interval.seconds(),
                p50: response.quantile(0.5),
                p99: response.quantile(0.99),
                in_flight: interval.in_flight,
            });
        }
        if let Some(details) = &mut self.details {
            details.add(interval, &response);
        }
    }

    /// Sets the time on the clock of the run.
    pub fn set_now(&mut self, now: Instant) {
        self.now = self.now.max(now);
    }

    /// Returns the current stage, according to the last interval and the clock.
    pub fn stage(&self) -> Stage {
        match &self.last {
            Some(last) if last.stage == Stage::Drain => Stage::Drain,
            _ if self.now.as_secs_f64() < self.warmup.as_secs_f64() => Stage::Warmup,
            _ => Stage::Measured,
        }
    }

    /// Returns the time since the start of the warm-up. After the warm-up, returns the time since its end.
    pub fn elapsed(&self) -> Duration {
        self.elapsed_at(self.now, self.stage())
    }

    /// Returns the time from the start of a stage to an instant. The drain belongs to the measured stage.
    pub fn elapsed_at(&self, at: Instant, stage: Stage) -> Duration {
        let at = Duration::from_nanos(at.as_nanos());
        match stage {
            Stage::Warmup => at,
            Stage::Measured | Stage::Drain => at.saturating_sub(self.warmup),
        }
    }

    /// Returns the planned length of the current stage, if there is one.
    pub fn planned(&self) -> Option<Duration> {
        match self.stage() {
            Stage::Warmup => Some(self.warmup),
            Stage::Measured | Stage::Drain => self.stop.time,
        }
    }

    /// Returns the planned length of the measured stage, if there is one.
    pub fn planned_window(&self) -> Option<Duration> {
        self.stop.time
    }

    /// Returns the estimated time left. The first stop condition that is expected to be met ends the run.
    pub fn left(&self) -> Option<Duration> {
        let elapsed = self.now.as_secs_f64() - self.warmup.as_secs_f64();
        let by_clock = self.stop.time.map(|time| time.as_secs_f64() - elapsed);
        let by_count = |total: u64, done: u64| {
            (done > 0 && elapsed > 0.0).then(|| total.saturating_sub(done) as f64 * elapsed / done as f64)
        };
        let by_ops = self.stop.ops.and_then(|ops| by_count(ops.get(), self.done));
        let by_bytes = self.stop.bytes.and_then(|bytes| by_count(bytes.get(), self.bytes));
        let soonest = [by_clock, by_ops, by_bytes].into_iter().flatten().fold(f64::INFINITY, f64::min);
        (soonest.is_finite() && self.stage() != Stage::Drain)
            .then(|| Duration::try_from_secs_f64(soonest.max(0.0)).unwrap_or(Duration::MAX))
    }

    /// Returns the number of measured operations that ended, and the planned number of operations.
    pub fn operations(&self) -> (u64, Option<u64>) {
        (self.done, self.stop.ops.map(NonZeroU64::get))
    }

    /// Returns how much of the run is done, in 0..=1; `None` if it is unknown.
    pub fn progress(&self) -> Option<f64> {
        if self.stage() == Stage::Drain {
            return Some(1.0);
        }
        let elapsed = self.now.as_secs_f64();
        let by_clock = self.stop.time.map(|time| elapsed / (time + self.warmup).as_secs_f64().max(1e-9));
        let by_ops = self.stop.ops.map(|ops| self.done as f64 / ops.get() as f64);
        let by_bytes = self.stop.bytes.map(|bytes| self.bytes as f64 / bytes.get() as f64);
        let all = [by_clock, by_ops, by_bytes].into_iter().flatten();
        all.reduce(f64::max).map(|done| done.clamp(0.0, 1.0))
    }

    /// Returns the end of the time that charts show, in seconds on the clock of the run. This is the planned end, or
    /// the current time if that is later.
    pub fn charted(&self) -> f64 {
        let planned = self.stop.time.map_or(0.0, |time| (time + self.warmup).as_secs_f64());
        planned.max(self.now.as_secs_f64()).max(1.0)
    }
}

impl Details {
    fn new(begin: &Begin) -> Self {
        Self {
            objectives: begin.objectives.clone(),
            model: begin.model,
            summary: Summary {
                shares_host: begin.loopback,
                path: PathLimits::of(begin.path.as_ref()),
                ..Summary::default()
            },
            history: History::default(),
            times: Times::default(),
            judged: OnceCell::new(),
            limit: OnceCell::new(),
            judged_until: None,
            newest_failure: None,
        }
    }

    fn add(&mut self, interval: &Interval, response: &Distribution) {
        let point = Point::of(interval, response);
        self.times.merge(point.times());
        self.history.add(point);
        self.summary.add(&self.model, interval);
        // Merge each interval only once. Merging all kinds again for each frame would take most of the CPU time of the
        // view, because their histograms grow with the run.
        interval.stats.kinds.iter().for_each(|(_, kind)| self.summary.all.merge(kind));
        let is_recent = self.judged_until.is_some_and(|until| interval.end.since(until) < JUDGED_EVERY);
        if !is_recent {
            self.judged_until = Some(interval.end);
            (self.judged, self.limit) = (OnceCell::new(), OnceCell::new());
        }
        let newest = interval.stats.examples.iter().max_by_key(|example| example.at);
        if let Some(example) = newest {
            self.newest_failure = Some(report::failure_line(example));
        }
    }

    /// Returns the objectives, judged on the results so far.
    pub fn judged(&self) -> &[ObjectiveResult] {
        let judge = |objective: &Objective| objective.judge(&self.summary, &self.model);
        self.judged.get_or_init(|| self.objectives.iter().map(judge).collect())
    }

    /// Returns the limit of the run so far; `None` before the first interval.
    pub fn limit(&self) -> Option<&Limit> {
        let has_begun = !self.history.points().is_empty();
        has_begun.then(|| self.limit.get_or_init(|| Limit::of(&self.summary, &self.model)))
    }

    /// Returns the responses by status code. Before the first measured response, these are the responses of the
    /// warm-up.
    pub fn statuses(&self) -> Vec<(u16, u64)> {
        self.counted().statuses.sorted()
    }

    /// Returns the classes of failed attempts with their numbers, the most frequent one first.
    pub fn failures(&self) -> Vec<(AttemptClass, u64)> {
        let mut failures: Vec<_> = report::failed_attempts(&self.counted().classes).collect();
        failures.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        failures
    }

    fn counted(&self) -> &measure::stats::Tally {
        let stats = &self.summary.stats;
        if stats.measured.attempts > 0 { &stats.measured } else { &stats.outside }
    }
}

/// Returns the response times of the operations of an interval that succeeded. Copies them only if there are several
/// kinds of operations, because a copy takes up to 400 kB.
fn response_times(stats: &Stats) -> Cow<'_, Distribution> {
    match stats.kinds.as_slice() {
        [(_, only)] => Cow::Borrowed(&only.response),
        _ => Cow::Owned(stats.of_all_kinds(|kind| &kind.response)),
    }
}
