//! What limited a run, and what a reader must know next to its numbers.

use crate::escape::escape;
use crate::number::{count, plural, rate, seconds, share, time, were};
use crate::result::{is_whole, whole_seconds};
use measure::limits::queueing::Queueing;
use measure::evidence::{Probe, Probes};
use measure::limits;
use measure::stats::label::VALUES_OF_A_THREAD;
use measure::summary::ClientLimits;
use measure::statistics::steadiness::{self, Steadiness};
use measure::stats::Dimension;
use measure::{Label, LimitedBy, Model, Stage};
use store::{Point, SavedRun};

/// What limited the run.
#[must_use]
pub fn limited_by(run: &SavedRun) -> LimitedBy {
    limits::limited_by(run.summary(), &run.begin.model)
}

/// Whether the target could have carried more than the rates say: a closed run that the client's side limited.
#[must_use]
pub fn is_at_least(run: &SavedRun) -> bool {
    !run.begin.model.is_open() && limited_by(run).is_client()
}

/// How the limit of operations in flight showed in an open run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlightLimit {
    /// The limit, asked for or by default.
    pub limit: u64,
    /// Operations that were started after they had waited for one in flight to end.
    pub waited: u64,
    /// Operations that were never started.
    pub dropped: u64,
}

/// What the limit of operations in flight did to an open run; `None` when it was not seen to be reached.
#[must_use]
pub fn in_flight_limit(run: &SavedRun) -> Option<InFlightLimit> {
    let Model::Open { in_flight_max: limit } = run.begin.model else { return None };
    let summary = run.summary();
    let (waited, dropped) = (summary.all.slot_wait.count(), summary.stats.measured.dropped);
    (waited > 0 || summary.in_flight_peak >= limit).then_some(InFlightLimit { limit, waited, dropped })
}

/// Why the limit is what [`limited_by`] says, as a phrase with the numbers that show it.
#[must_use]
pub fn because(run: &SavedRun) -> String {
    let (open, limits) = (run.begin.model.is_open(), &run.summary().limits);
    match limited_by(run) {
        LimitedBy::Target => because_of_the_target(run),
        LimitedBy::Link => because_of_the_link(run),
        LimitedBy::ClientCpu if limits.share(limits.throttled) > THROTTLED_SHARE_MIN => format!(
            "the CPU quota of its control group kept this client from running for {} of the time: `plimsoll doctor` shows it",
            share(limits.share(limits.throttled))
        ),
        LimitedBy::ClientCpu if open => "this client had no time to start all that was asked for in time".into(),
        LimitedBy::ClientCpu => "a thread of this client had no time left".into(),
        LimitedBy::ClientNic => "this client's network card was full".into(),
        LimitedBy::ClientResources => {
            "this client ran out of descriptors or local ports: `plimsoll doctor` shows how to raise them".into()
        }
        LimitedBy::SharedHost if frozen(limits) > limits.host_delay / 2.0 => {
            format!("this client was stopped for {}: its process, or the machine under it", seconds(frozen(limits)))
        }
        LimitedBy::SharedHost => "this client waited for cores that others used".into(),
        LimitedBy::Concurrency => match run.summary().probes.and_then(|probes| probes.higher) {
            Some(higher) => probed(run, "so more slots reach a higher rate", higher),
            None => "operations did not wait for each other at the target; more slots reach a higher rate".into(),
        },
        LimitedBy::Rate => match reached(run) {
            Some(reached) => format!("the schedule asked for no more, but {reached}"),
            None => "the schedule asked for no more".into(),
        },
        LimitedBy::NotDetermined if limits::queueing_odds(run.summary()).conclusion() == Queueing::Independent => {
            "operations did not wait for each other at the target, and this host has no core left to serve more at once"
                .into()
        }
        LimitedBy::NotDetermined => {
            let Model::Closed { concurrency } = run.begin.model else { return "nothing shows it".into() };
            let (slots, more) = (plural(concurrency, "slot"), concurrency.saturating_mul(2));
            match run.summary().probes {
                None => format!(
                    "one level of {slots} does not show whether operations waited for each other at the target; run again \
                     with `-c {more}`, or with `--probe`: a target that is the limit is no faster then"
                ),
                Some(probes) => format!(
                    "one level of {slots} does not show whether operations waited for each other at the target, {}",
                    probed_in_vain(&probes)
                ),
            }
        }
        LimitedBy::Unknown => "too few operations ended".into(),
    }
}

/// What the limit of operations in flight did, as a phrase.
fn reached(run: &SavedRun) -> Option<String> {
    let reached = in_flight_limit(run)?;
    let (limit, waited) = (count(reached.limit), plural(reached.waited, "operation"));
    Some(format!("the in-flight limit of {limit} was reached, where {waited} waited for one in flight to end"))
}

fn because_of_the_target(run: &SavedRun) -> String {
    let (summary, tally) = (run.summary(), &run.summary().stats.measured);
    let missing = limits::not_sustained(summary);
    match (run.begin.model.is_open(), reached(run)) {
        (true, _) if !limits::misses_offered_rate(summary) => failures(run),
        (false, _) if limits::has_many_failures(summary, &run.begin.model) => failures(run),
        (true, Some(reached)) => {
            format!("{reached} and {} never started; the target answers slower than asked", were(tally.dropped))
        }
        (true, None) => match limits::growth(summary) {
            Some(growth) if growth.response > 0.0 => format!(
                "response times grew by {} over the run, and {} of {} offered had piled up at its end",
                seconds(growth.response),
                plural(missing, "operation"),
                count(tally.scheduled)
            ),
            _ => {
                format!("{} of {} offered did not end in time", plural(missing, "operation"), count(tally.scheduled))
            }
        },
        (false, _) => match summary.probes.and_then(|probes| probes.higher) {
            Some(higher) => probed(run, "so operations waited for each other at the target", higher),
            None => "operations waited for each other at the target; the client had time to spare".into(),
        },
    }
}

fn because_of_the_link(run: &SavedRun) -> String {
    let paths = &run.summary().evidence.network_paths;
    match paths.round_trips() {
        Some((loaded, free)) if loaded > 2.0 * free => format!(
            "data waits on its way between client and target: round trips of {} under this load, {} without",
            time(loaded),
            time(free)
        ),
        _ => "data is lost on its way between client and target".into(),
    }
}

/// What a probe lacked to show the limit.
fn probed_in_vain(probes: &Probes) -> String {
    match (probes.higher, probes.lower) {
        (Some(higher), _) if higher.client_limited => {
            format!("and at the probe with {} this client was the limit", plural(higher.slots, "slot"))
        }
        (Some(probe), _) | (None, Some(probe)) => format!(
            "and too few operations succeeded at the probe with {} ({}): give `--probe` more time",
            plural(probe.slots, "slot"),
            count(probe.operations)
        ),
        (None, None) => "and no level of the probe could be measured".into(),
    }
}

/// The result of the probe with more slots.
fn probed(run: &SavedRun, conclusion: &str, higher: Probe) -> String {
    let own = run.summary().ok_rate().unwrap_or_default();
    format!(
        "a probe with {} reached {}, this run {}, {conclusion}",
        plural(higher.slots, "slot"),
        rate(higher.per_second),
        rate(own)
    )
}

/// Failures with the hosts that have most of them.
fn failures(run: &SavedRun) -> String {
    let summary = run.summary();
    let hosts = summary.stats.groups.iter().filter(|group| group.dimension == Dimension::Host);
    let mut hosts: Vec<(&Label, u64, u64)> = hosts
        .map(|group| (&group.label, group.stats.failed, group.stats.ok.saturating_add(group.stats.failed)))
        .collect();
    hosts.sort_by_key(|(_, failed, _)| std::cmp::Reverse(*failed));
    let name = |label: &Label| match label {
        Label::Value(value) => escape(value),
        Label::Absent | Label::Other => OTHER.to_owned(),
    };
    let shown = hosts.iter().filter(|(_, failed, _)| *failed > 0).take(HOSTS_SHOWN);
    let of_hosts: Vec<String> =
        shown.map(|(label, failed, all)| format!("{} of {} at {}", count(*failed), count(*all), name(label))).collect();
    match (hosts.len(), of_hosts.is_empty()) {
        (0 | 1, _) | (_, true) => {
            let tally = &summary.stats.measured;
            let failed = tally.failed.saturating_add(tally.unfinished);
            format!("{} failed or did not end, of {}", plural(failed, "operation"), count(tally.started))
        }
        _ => format!("operations failed or did not end: {}", of_hosts.join(", ")),
    }
}

/// Share of the time for which a quota stopped the client, from which it is the reason.
const THROTTLED_SHARE_MIN: f64 = 0.05;
/// Hosts named with their failures.
const HOSTS_SHOWN: usize = 3;

/// Whole seconds in which operations were in flight and nothing came from the target, which this client was there to see. A
/// target whose answers take long has such seconds by nature, and is not told of.
fn silence(run: &SavedRun) -> u64 {
    let median = run.summary().all.response.quantile(0.5);
    let is_silent = |point: &&Point| {
        let came = [point.ok, point.failed, point.body_bytes, point.sent_body_bytes];
        came == [0; 4] && point.in_flight > 0 && point.client.frozen == 0.0
    };
    let quick = median.is_some_and(|nanos| nanos <= QUICK_NANOS_MAX);
    // The drain too: operations of the window end in it.
    let seconds = || run.points.iter().filter(|point| point.stage != Stage::Warmup && is_whole(point));
    if quick { seconds().filter(is_silent).count() as u64 } else { 0 }
}

/// A median response time up to which every second should see answers: a tenth of one.
const QUICK_NANOS_MAX: u64 = 100_000_000;

/// Seconds for which this client stood still, and not for a quota.
fn frozen(limits: &ClientLimits) -> f64 {
    (limits.frozen - limits.throttled).max(0.0)
}

/// Share of the slots' time from which on what they spent on failures is told of.
const FAILING_SHARE_MIN: f64 = 0.05;

/// Seconds of standing still from which they are named as the reason.
const FROZEN_SECONDS_MIN: f64 = 1.0;

/// The row for what has no row of its own.
pub const OTHER: &str = "(other)";

/// What is followed from second to second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Followed {
    /// Operations that ended well.
    Rate,
    /// The median of their response times.
    Response,
}

impl Followed {
    fn about(self) -> &'static str {
        match self {
            Self::Rate => "operations per second",
            Self::Response => "the median response time",
        }
    }
}

/// Something a reader must know beside the figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Note {
    /// Client and target share one host.
    Loopback,
    /// A breakdown has a row for what has no row of its own.
    OtherLabels {
        /// What the figures are broken down by.
        dimension: Dimension,
    },
    /// Certificates were not checked.
    Insecure,
    /// The program was built without optimisation.
    DebugBuild,
    /// The window is too short to judge whether the run was steady.
    Short {
        /// Its length.
        seconds: f64,
    },
    /// The first seconds of the window were unlike the rest (MSER-5).
    Settling {
        /// In what.
        followed: Followed,
        /// How many.
        seconds: u64,
    },
    /// It rose or fell over the whole window (Mann-Kendall, Sen's slope).
    Drifting {
        /// What.
        followed: Followed,
        /// By how much from begin to end, relative to the median; below 0 when it fell.
        change: f64,
    },
    /// Nothing came from the target for a time, though most operations take far less.
    Silent {
        /// For how many seconds.
        seconds: u64,
    },
    /// Slots of a closed run spent much of their time on failures.
    Failing {
        /// What share of it.
        share: f64,
    },
    /// This client stood still for a time that is too short to be what limited the run.
    Frozen {
        /// For how long.
        seconds: f64,
    },
    /// It did not settle within half of the window.
    Unsettled {
        /// What.
        followed: Followed,
    },
    /// The measured window was never reached.
    NoWindow,
    /// A last record was still being written.
    Torn {
        /// Bytes of it.
        bytes: u64,
    },
    /// Records could not be read.
    Damaged(store::Damage),
}

impl Note {
    /// The name in records.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Loopback => "loopback",
            Self::OtherLabels { .. } => "other_labels",
            Self::Insecure => "insecure",
            Self::DebugBuild => "debug_build",
            Self::Short { .. } => "short",
            Self::Settling { .. } => "settling",
            Self::Drifting { .. } => "drifting",
            Self::Silent { .. } => "silent",
            Self::Failing { .. } => "failing",
            Self::Frozen { .. } => "frozen",
            Self::Unsettled { .. } => "unsettled",
            Self::NoWindow => "no_window",
            Self::Torn { .. } => "torn",
            Self::Damaged(_) => "damaged",
        }
    }
}

impl std::fmt::Display for Note {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Loopback => {
                f.write_str("client and target share one host, and compete for its cores; no network is in between")
            }
            Self::OtherLabels { dimension } => write!(
                f,
                "by {}: more different values than are told apart ({VALUES_OF_A_THREAD} by a thread); further ones are \
                 counted as {OTHER}, also where another thread gave them a row",
                dimension.about()
            ),
            Self::Insecure => f.write_str("the server's certificate was not checked"),
            Self::DebugBuild => {
                f.write_str("made by a debug build: the client costs several times more than it should")
            }
            Self::Short { seconds: length } => {
                write!(f, "{} is too short to judge whether the run was steady (60 s)", seconds(*length))
            }
            Self::Settling { followed, seconds: length } => write!(
                f,
                "not steady: {} settled after {}; --warmup leaves that out",
                followed.about(),
                seconds(*length as f64)
            ),
            Self::Drifting { followed, change } => {
                let went = if *change < 0.0 { "fell" } else { "rose" };
                write!(f, "not steady: {} {went} by {} over the window", followed.about(), share(change.abs()))
            }
            Self::Silent { seconds: length } => write!(
                f,
                "for {} nothing came from the target, with operations in flight: the maximum tells of it, percentiles and rates may not",
                seconds(*length as f64)
            ),
            Self::Failing { share: part } => write!(
                f,
                "slots spent {} of their time on operations that failed or were overdue, and on pauses after them",
                share(*part)
            ),
            Self::Frozen { seconds: length } => write!(
                f,
                "this client was stopped for {}, its process or the machine under it: times of operations in that span are its own",
                seconds(*length)
            ),
            Self::Unsettled { followed } => {
                write!(f, "not steady: {} had not settled by the middle of the window", followed.about())
            }
            Self::NoWindow => f.write_str("the measured window was never reached"),
            Self::Torn { bytes } => {
                write!(f, "left out: {} of a record that was still being written", plural(*bytes, "byte"))
            }
            Self::Damaged(damage) => write!(
                f,
                "records damaged at byte {}: {}; not used from there on: {}",
                count(damage.at_byte),
                damage.kind.about(),
                plural(damage.unread_bytes, "byte")
            ),
        }
    }
}

/// All notes that apply to a run.
#[must_use]
pub fn notes(run: &SavedRun) -> Vec<Note> {
    let mut notes = Vec::new();
    let seconds = run.summary().measured.seconds;
    let when = |applies: bool, note: Note| applies.then_some(note);
    notes.extend(run.damage.map(Note::Damaged));
    let (silent, frozen) = (silence(run), frozen(&run.summary().limits));
    notes.extend(when(silent > 0, Note::Silent { seconds: silent }));
    let tally = &run.summary().stats.measured;
    let fails = tally.failed > 0 && tally.ok > 0;
    let failing = if fails { limits::failing_share(run.summary(), &run.begin.model) } else { 0.0 };
    notes.extend(when(failing >= FAILING_SHARE_MIN, Note::Failing { share: failing }));
    let unsaid = frozen >= FROZEN_SECONDS_MIN && limited_by(run) != LimitedBy::SharedHost;
    notes.extend(when(unsaid, Note::Frozen { seconds: frozen }));
    notes.extend(when(run.torn_bytes > 0, Note::Torn { bytes: run.torn_bytes }));
    notes.extend([Dimension::Host, Dimension::Header].into_iter().filter_map(|dimension| other_labels(run, dimension)));
    notes.extend(when(run.begin.debug_build, Note::DebugBuild));
    notes.extend(when(run.begin.insecure, Note::Insecure));
    notes.extend(when(run.begin.loopback, Note::Loopback));
    notes.extend(when(seconds <= 0.0, Note::NoWindow));
    notes.extend(when(seconds > 0.0 && seconds < steadiness::SECONDS_MIN, Note::Short { seconds }));
    notes.extend(unsteady(run));
    notes
}

/// How the run was not steady: what ended in each second, and how long the middle one of it took.
fn unsteady(run: &SavedRun) -> Vec<Note> {
    let seconds: Vec<&Point> = whole_seconds(run).collect();
    let ended: Vec<f64> = seconds.iter().map(|point| point.ok as f64).collect();
    let times: Option<Vec<f64>> =
        seconds.iter().map(|point| point.response_p50_nanos.map(|nanos| nanos as f64)).collect();
    let series = [(Followed::Rate, Some(ended)), (Followed::Response, times)];
    let judged = series.into_iter().filter_map(|(followed, series)| Some((followed, steadiness::judge(&series?)?)));
    judged
        .filter_map(|(followed, steadiness)| match steadiness {
            Steadiness::Steady { from: 0 } => None,
            Steadiness::Steady { from } => Some(Note::Settling { followed, seconds: from as u64 }),
            Steadiness::Drifting { change, .. } => Some(Note::Drifting { followed, change }),
            Steadiness::Unsettled => Some(Note::Unsettled { followed }),
        })
        .collect()
}

fn other_labels(run: &SavedRun, dimension: Dimension) -> Option<Note> {
    let mut groups = run.summary().stats.groups.iter();
    let other = groups.any(|group| group.dimension == dimension && group.label == Label::Other);
    other.then_some(Note::OtherLabels { dimension })
}
