//! Notes: conditions that matter for interpreting the numbers of a run.

use crate::label::OTHER;
use crate::limit;
use crate::number::{bit_rate, count, plural, seconds, share, time};
use crate::result::whole_seconds;
use measure::limits;
use measure::objective::Timed;
use measure::path::{Emulation, MeasuredPath};
use measure::statistics::steadiness::{self, Steadiness};
use measure::stats::Dimension;
use measure::stats::label::VALUES_OF_A_THREAD;
use measure::units::DataRate;
use measure::{Label, LimitedBy, Model};
use store::{Begin, Point, SavedRun};

/// A note about silent seconds is shown only if the median response time is at most this many nanoseconds. With longer
/// times, a second without a response is normal.
const QUICK_NANOS_MAX: u64 = 100_000_000;
/// A note is shown if slots spend at least this share of their time on failures.
const FAILING_SHARE_MIN: f64 = 0.05;
/// A note is shown if the possible values of a closed run's rate differ by at least this share.
const RATE_STEP_MIN: f64 = 0.1;
/// A note is shown if the client was stopped for at least this number of seconds.
const STOPPED_SECONDS_MIN: f64 = 1.0;

/// A note is shown if at least this number of operations, and at least the share below, were resent.
const RESENT_MIN: u64 = 5;
const RESENT_SHARE_MIN: f64 = 0.001;
/// Quantile above which operations of a closed run are its slowest ones.
const SLOWEST: f64 = 0.99;
/// A note is shown if the slowest operations took at least this share of the time of all operations. With exponential
/// response times, the slowest 1 % take 6 %.
const SLOWEST_SHARE_MIN: f64 = 0.15;
/// With fewer operations, no note about the slowest ones is shown.
const SLOWEST_OPERATIONS_MIN: u64 = 500;
/// With fewer requests, no note about connections that were not kept alive is shown.
const ATTEMPTS_MIN: u64 = 50;

/// A series with one value per second. A note is shown if the series was not steady.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Series {
    /// Number of successful operations.
    Rate,
    /// Median of the response times.
    Response,
}

impl Series {
    fn about(self) -> &'static str {
        match self {
            Self::Rate => "operations per second",
            Self::Response => "the median response time",
        }
    }
}

/// A condition that matters for interpreting the numbers of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note {
    /// Client and target share one host.
    Loopback,
    /// Client, target and an emulated path between them share one host.
    EmulatedPath(MeasuredPath),
    /// The client reached the target through a relay with rate and delay.
    Relay(MeasuredPath),
    /// A breakdown had too many values, so some of them share one row.
    OtherLabels {
        /// The breakdown.
        dimension: Dimension,
    },
    /// Certificates were not checked.
    Insecure,
    /// The program was built without optimization.
    DebugBuild,
    /// The window is too short to show whether the run was steady.
    ShortWindow {
        /// Length of the window.
        seconds: f64,
    },
    /// The first seconds of the window differ from the rest (MSER-5).
    Settling {
        /// The series that settled late.
        series: Series,
        /// Seconds until the series settled.
        seconds: u64,
    },
    /// A series rose or fell over the whole window (Mann-Kendall, Sen's slope).
    Drifting {
        /// The series.
        series: Series,
        /// Change from the start to the end of the window, relative to the median. Negative if the series fell.
        change: f64,
    },
    /// A series did not settle in the first half of the window.
    Unsettled {
        /// The series.
        series: Series,
    },
    /// No operation ended for much longer than most operations take.
    Silent {
        /// Number of seconds in which no operation ended.
        seconds: f64,
    },
    /// Slots of a closed run spent much of their time on failures.
    Failing {
        /// Share of the slots' time, from 0 to 1.
        share: f64,
    },
    /// Operations were sent again, because the target had closed their kept-alive connections without announcing it.
    Resent {
        /// Number of these operations.
        operations: u64,
        /// Their share of all operations, from 0 to 1.
        share: f64,
    },
    /// The slowest operations of a closed run took much of its time. In a closed run, a pause of the target delays only
    /// one operation per slot, so percentiles do not show it.
    FewSlow {
        /// Response time that the slowest operations exceed, in nanoseconds.
        above: u64,
        /// Share of the time of all operations, from 0 to 1.
        share: f64,
        /// `true` if the slowest operations spent most of their time on opening connections.
        connecting: bool,
    },
    /// The target did not keep connections open, although the client asked for this.
    NotKeptAlive {
        /// Number of connections that the client opened.
        connections: u64,
        /// Number of attempts.
        attempts: u64,
    },
    /// The window of a closed run is so short that only few operations end in it. The possible values of its rate are
    /// then far apart.
    CoarseRate {
        /// Size of a step, as a share of the rate.
        step: f64,
    },
    /// This client was stopped for some time, but too briefly to limit the run.
    ClientStopped {
        /// Seconds for which the client was stopped.
        seconds: f64,
    },
    /// In a run of several hosts, the clock of an agent drifted by more than the largest accepted difference of the starts.
    ClockDrift {
        /// The smallest drift that fits the measurement, in nanoseconds.
        nanos: u64,
    },
    /// The run ended before the measured window began.
    NoWindow,
    /// The last record is incomplete, because it was still being written.
    IncompleteRecord {
        /// Number of bytes that were written.
        bytes: u64,
    },
    /// The records are damaged and can be read only up to a certain byte.
    Damaged(store::Damage),
}

impl Note {
    /// Returns the name used in JSON.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::EmulatedPath(_) => "emulated_path",
            Self::Relay(_) => "relay",
            Self::OtherLabels { .. } => "other_labels",
            Self::Insecure => "insecure",
            Self::DebugBuild => "debug_build",
            Self::ShortWindow { .. } => "short_window",
            Self::Settling { .. } => "settling",
            Self::Drifting { .. } => "drifting",
            Self::Unsettled { .. } => "unsettled",
            Self::Silent { .. } => "silent",
            Self::Failing { .. } => "failing",
            Self::Resent { .. } => "resent",
            Self::FewSlow { .. } => "few_slow",
            Self::NotKeptAlive { .. } => "not_kept_alive",
            Self::CoarseRate { .. } => "coarse_rate",
            Self::ClientStopped { .. } => "client_stopped",
            Self::ClockDrift { .. } => "clock_drift",
            Self::NoWindow => "no_window",
            Self::IncompleteRecord { .. } => "incomplete_record",
            Self::Damaged(_) => "damaged",
        }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Loopback => f.write_str(
                "client and target share one host and compete for its cores; there is no network between them",
            ),
            Self::EmulatedPath(measured) => {
                write!(f, "client, target and the emulated path share this host's cores; {}", measured_path(measured))
            }
            Self::Relay(measured) => write!(
                f,
                "{}; the relay does not reproduce slow start, loss, the time to connect and congestion control",
                measured_path(measured)
            ),
            Self::OtherLabels { dimension } => write!(
                f,
                "in the table by {}, each thread lists at most {VALUES_OF_A_THREAD} values; it counts further values \
                 as {OTHER}, even if another thread lists them",
                dimension.about()
            ),
            Self::Insecure => f.write_str("the server's certificate was not checked"),
            Self::DebugBuild => f.write_str("debug build: the client needs several times the CPU of a release build"),
            Self::ShortWindow { seconds: length } => {
                write!(
                    f,
                    "a window of {} is too short to show whether the run was steady (needs {})",
                    seconds(*length),
                    seconds(steadiness::SECONDS_MIN)
                )
            }
            Self::Settling { series, seconds: length } => write!(
                f,
                "not steady, because {} settled after {}; use a longer --warmup",
                series.about(),
                seconds(*length as f64)
            ),
            Self::Drifting { series, change } => {
                let went = if *change < 0.0 { "fell" } else { "rose" };
                write!(f, "not steady, because {} {went} by {} over the window", series.about(), share(change.abs()))
            }
            Self::Unsettled { series } => {
                write!(f, "not steady, because {} had not settled by the middle of the window", series.about())
            }
            Self::Silent { seconds: length } => write!(
                f,
                "no operation ended for {} although operations were in flight; percentiles and rates may not show this",
                seconds(*length)
            ),
            Self::Failing { share: part } => write!(
                f,
                "slots spent {} of their time on operations that failed or were overdue, and on pauses after them",
                share(*part)
            ),
            Self::Resent { operations, share: part } => write!(
                f,
                "{} ({}) had to be sent again, because the target closed a kept-alive connection without announcing it, \
                 or reset it",
                plural(*operations, "operation"),
                share(*part)
            ),
            Self::FewSlow { above, share: part, connecting } => {
                let (above, part) = (time(*above as f64), share(*part));
                write!(f, "the slowest 1 % of the operations (above {above}) took {part} of the time")?;
                f.write_str(if *connecting {
                    ", most of it to open connections; if this takes 1 s or more, the target's queue of new connections \
                     is full"
                } else {
                    "; in a closed run, percentiles up to p99 do not show pauses of the target, so measure these with a \
                     fixed rate (-R)"
                })
            }
            Self::NotKeptAlive { connections, attempts } => write!(
                f,
                "the target does not keep connections open: the client opened {} for {}",
                plural(*connections, "connection"),
                plural(*attempts, "request")
            ),
            Self::CoarseRate { step } => write!(
                f,
                "the rate counts the operations that ended in the window; with those in flight at its end, it would be up \
                to {} higher; use a longer --duration",
                share(*step)
            ),
            Self::ClientStopped { seconds: length } => write!(
                f,
                "the process or the machine of this client was stopped for {}; operations in that time look slower \
                than they were at the target",
                seconds(*length)
            ),
            Self::ClockDrift { nanos } => write!(
                f,
                "the clock of an agent drifted by at least {} during the run; its intervals are shifted by this time \
                 against those of other agents",
                time(*nanos as f64)
            ),
            Self::NoWindow => f.write_str("the run ended before its measured window began"),
            Self::IncompleteRecord { bytes } => {
                write!(f, "the last record is incomplete, so its {} are left out", plural(*bytes, "byte"))
            }
            Self::Damaged(damage) => write!(
                f,
                "{} is damaged at byte {} ({}); the last {} are not used",
                store::segments::name(damage.file),
                count(damage.at_byte),
                damage.kind.about(),
                plural(damage.unread_bytes, "byte")
            ),
        }
    }
}

/// Returns all notes on a run, the most important first.
#[must_use]
pub fn of(run: &SavedRun) -> Vec<Note> {
    let mut notes = Vec::new();
    let window = run.summary().measured.seconds;
    let when = |applies: bool, note: Note| applies.then_some(note);
    notes.extend(run.damage.map(Note::Damaged));
    let silent = silent_seconds(run);
    notes.extend(when(silent > 0.0, Note::Silent { seconds: silent }));
    notes.extend(failing(run));
    notes.extend(resent(run));
    notes.extend(few_slow(run));
    notes.extend(not_kept_alive(run));
    let step = run.summary().rate_step().filter(|step| *step >= RATE_STEP_MIN && !run.begin.model.is_open());
    notes.extend(step.map(|step| Note::CoarseRate { step }));
    let stopped = run.summary().limits.stopped();
    let is_limit = limit::limited_by(run) == LimitedBy::SharedHost;
    notes.extend(when(stopped >= STOPPED_SECONDS_MIN && !is_limit, Note::ClientStopped { seconds: stopped }));
    notes.extend(clock_drift(run));
    notes.extend(when(run.torn_bytes > 0, Note::IncompleteRecord { bytes: run.torn_bytes }));
    notes.extend([Dimension::Host, Dimension::Header].into_iter().filter_map(|dimension| other_labels(run, dimension)));
    notes.extend(when(run.begin.debug_build, Note::DebugBuild));
    notes.extend(when(run.begin.insecure, Note::Insecure));
    notes.extend(path(&run.begin));
    notes.extend(when(window <= 0.0, Note::NoWindow));
    notes.extend(when(window > 0.0 && window < steadiness::SECONDS_MIN, Note::ShortWindow { seconds: window }));
    notes.extend(unsteady(run));
    notes
}

fn clock_drift(run: &SavedRun) -> Option<Note> {
    let fleet = run.end.as_ref()?.fleet.as_deref()?;
    let nanos = fleet.agents.iter().filter_map(|agent| Some(agent.drift?.certain_nanos())).max()?;
    (nanos > fleet.spread_limit_nanos).then_some(Note::ClockDrift { nanos })
}

/// Returns the note about the network between client and target.
fn path(begin: &Begin) -> Option<Note> {
    match &begin.path {
        Some(path) => path.measured.map(|measured| match path.emulation {
            Emulation::Packets => Note::EmulatedPath(measured),
            Emulation::Relay => Note::Relay(measured),
        }),
        None => begin.loopback.then_some(Note::Loopback),
    }
}

/// Returns the measured properties of a path, as a phrase.
fn measured_path(measured: &MeasuredPath) -> String {
    let rate = |rate: Option<DataRate>, direction| {
        rate.map(|rate| format!("{} {direction}", bit_rate(rate.as_bits() as f64 / 8.0)))
    };
    let round_trip = format!("round trip {}", time(measured.round_trip.as_nanos() as f64));
    let rates = [rate(measured.down, "down"), rate(measured.up, "up")].into_iter().flatten();
    let parts: Vec<String> = std::iter::once(round_trip).chain(rates).collect();
    format!("the path was measured before the run: {}", parts.join(", "))
}

/// Returns the number of seconds in which no operation ended, although operations were in flight and this client ran.
/// Returns 0 for a target with long response times, where such seconds are normal.
fn silent_seconds(run: &SavedRun) -> f64 {
    let median = run.summary().all.response.quantile(0.5);
    let quick = median.is_some_and(|nanos| nanos <= QUICK_NANOS_MAX);
    if quick { run.summary().seconds.silent_seconds() } else { 0.0 }
}

fn failing(run: &SavedRun) -> Option<Note> {
    let tally = &run.summary().stats.measured;
    let share =
        if tally.failed > 0 && tally.ok > 0 { limits::failing_share(run.summary(), &run.begin.model) } else { 0.0 };
    (share >= FAILING_SHARE_MIN).then_some(Note::Failing { share })
}

fn resent(run: &SavedRun) -> Option<Note> {
    let tally = &run.summary().stats.measured;
    let operations = tally.resends;
    let share = operations as f64 / tally.started.max(1) as f64;
    (operations >= RESENT_MIN && share >= RESENT_SHARE_MIN).then_some(Note::Resent { operations, share })
}

/// Returns a note if few operations of a closed run took much of its time, and client stalls do not explain this.
fn few_slow(run: &SavedRun) -> Option<Note> {
    let all = &run.summary().all;
    let (times, affected) = all.timed(Timed::Response);
    if run.begin.model.is_open() || times.count() < SLOWEST_OPERATIONS_MIN {
        return None;
    }
    let above = times.quantile(SLOWEST)?;
    let slow = times.sum_beyond(above as f64).saturating_sub(affected.sum_beyond(above as f64));
    let share = slow as f64 / times.moments().sum.max(1) as f64;
    let connecting = all.connect.sum_beyond(above as f64) > slow / 2;
    (share >= SLOWEST_SHARE_MIN).then_some(Note::FewSlow { above, share, connecting })
}

/// Returns a note if most requests needed a new connection, although the client kept its connections open.
fn not_kept_alive(run: &SavedRun) -> Option<Note> {
    let stats = &run.summary().stats;
    let connections = stats.connections.opened;
    let attempts = stats.measured.attempts.saturating_add(stats.outside.attempts);
    let keeps = run.begin.settings.iter().any(|(name, value)| name == "keep_alive" && value == "true");
    // Each slot must open a first connection. A note therefore needs more than twice as many connections.
    let (Model::Closed { concurrency: slots } | Model::Open { in_flight_max: slots }) = run.begin.model;
    let first = slots.min(run.summary().in_flight_peak).saturating_mul(2);
    let closes = attempts >= ATTEMPTS_MIN && connections > first.max(attempts / 2);
    (keeps && closes).then_some(Note::NotKeptAlive { connections, attempts })
}

/// Returns notes about the rate and the median response time if these were not steady.
fn unsteady(run: &SavedRun) -> Vec<Note> {
    let (step, spans) = equal_spans(run);
    let ended: Vec<f64> =
        spans.iter().map(|span| mean(span, |point| Some(point.ok as f64))).collect::<Option<_>>().unwrap_or_default();
    let times: Option<Vec<f64>> = spans
        .iter()
        .map(|span| mean(span, |point| Some(point.response_p50_nanos? as f64 * seconds_of(point))))
        .collect();
    let all = [(Series::Rate, Some(ended)), (Series::Response, times)];
    let judged = all.into_iter().filter_map(|(series, values)| Some((series, steadiness::judge(&values?)?)));
    judged
        .filter_map(|(series, steadiness)| match steadiness {
            Steadiness::Steady { from: 0 } => None,
            Steadiness::Steady { from } => Some(Note::Settling { series, seconds: (from as u64).saturating_mul(step) }),
            Steadiness::Drifting { change, .. } => Some(Note::Drifting { series, change }),
            Steadiness::Unsettled => Some(Note::Unsettled { series }),
        })
        .collect()
}

/// Divides the measured window into spans, and returns their length in seconds and their intervals. Each span is as
/// long as the longest interval. In a run without joined intervals, a span is one second long.
fn equal_spans(run: &SavedRun) -> (u64, Vec<Vec<&Point>>) {
    let points: Vec<&Point> = whole_seconds(run).collect();
    let step = points.iter().map(|point| seconds_of(point).round() as u64).max().unwrap_or(1).max(1);
    let mut spans: Vec<Vec<&Point>> = Vec::new();
    let mut filled = f64::INFINITY;
    for point in points {
        // Allow half a second more, because intervals are not exactly whole seconds.
        if filled + seconds_of(point) > step as f64 + 0.5 {
            spans.push(Vec::new());
            filled = 0.0;
        }
        filled += seconds_of(point);
        if let Some(last) = spans.last_mut() {
            last.push(point);
        }
    }
    // Remove the last span if it is incomplete.
    if step > 1 && filled + 0.5 < step as f64 {
        spans.pop();
    }
    (step, spans)
}

fn seconds_of(point: &Point) -> f64 {
    point.end.nanos_since(point.start) as f64 / 1e9
}

/// Returns the mean of a value over a span, per second. Returns `None` if an interval lacks the value.
fn mean(span: &[&Point], of: impl Fn(&Point) -> Option<f64>) -> Option<f64> {
    let seconds: f64 = span.iter().map(|point| seconds_of(point)).sum();
    let sum: f64 = span.iter().map(|point| of(point)).sum::<Option<f64>>()?;
    Some(sum / seconds)
}

fn other_labels(run: &SavedRun, dimension: Dimension) -> Option<Note> {
    let mut groups = run.summary().stats.groups.iter();
    let other = groups.any(|group| group.dimension == dimension && group.label == Label::Other);
    other.then_some(Note::OtherLabels { dimension })
}
