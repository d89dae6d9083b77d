//! What limited a run, and the numbers that show it.
//!
//! The rules are those of [`measure::Summary::limited_by`]. Every form of a report calls [`of`] and shows what it returns.

mod text;

use measure::evidence::queueing::Queueing;
use measure::evidence::{Probe, Probes};
use measure::stats::Dimension;
use measure::summary::ClientLimits;
use measure::{Label, LimitedBy, Model, Summary};
use store::SavedRun;

/// Share of the time for which a CPU quota stopped the client, from which on the quota is the reason.
const THROTTLED_SHARE_MIN: f64 = 0.05;
/// Factor between round trips with and without load from which on data queues on the way.
const ROUND_TRIPS_MIN: f64 = 2.0;

/// The limit of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// What set it.
    pub by: LimitedBy,
    /// Why this is known.
    pub reason: LimitReason,
    /// What the limit of operations in flight did; `None` unless an open run reached it.
    pub in_flight: Option<InFlightLimit>,
    /// Whether the rates are lower bounds: the client's side limited a closed run.
    pub rates_are_lower_bounds: bool,
}

/// What the limit of operations in flight did in an open run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlightLimit {
    /// The limit, asked for or by default.
    pub limit: u64,
    /// Operations that waited for one in flight to end before they started.
    pub waited: u64,
    /// Operations that never started.
    pub dropped: u64,
}

/// Failed operations of one host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFailures {
    /// The host.
    pub host: Label,
    /// Operations that failed or did not end.
    pub failed: u64,
    /// All operations.
    pub operations: u64,
}

/// A rate at another level than that of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbedRate {
    /// The level, with more slots.
    pub probe: Probe,
    /// Successful operations per second of the run itself.
    pub own: f64,
}

/// Why the limit of a run is what it is. Its `Display` is a phrase with the numbers.
#[derive(Clone, Debug, PartialEq)]
pub enum LimitReason {
    /// Too many operations failed at the target.
    Failures {
        /// Operations that failed or did not end.
        failed: u64,
        /// Operations that started.
        started: u64,
        /// The same by host, the most failures first; empty with one host.
        hosts: Vec<HostFailures>,
    },
    /// Operations waited for the limit of operations in flight, and some never started.
    InFlight(InFlightLimit),
    /// Response times grew and operations piled up.
    Growth {
        /// By how much the response time grew, in seconds.
        seconds: f64,
        /// Operations still waiting at the end.
        waiting: u64,
        /// Operations offered.
        offered: u64,
    },
    /// Operations did not end in time.
    NotInTime {
        /// How many.
        operations: u64,
        /// Operations offered.
        offered: u64,
    },
    /// Operations waited for each other at the target.
    Queueing {
        /// A level with more slots that shows it.
        probed: Option<ProbedRate>,
    },
    /// Data queued on its way.
    RoundTrips {
        /// Mean round trip under load, in nanoseconds.
        loaded: f64,
        /// The same without load.
        unloaded: f64,
    },
    /// Data was lost on its way.
    Loss,
    /// A CPU quota stopped the client.
    Throttled {
        /// Share of the time, in 0..=1.
        share: f64,
    },
    /// The client had too little CPU time for the schedule.
    BehindSchedule,
    /// A thread of the client was busy all the time.
    BusyThread,
    /// The client's network card was full.
    NetworkCard,
    /// The client ran out of file descriptors or local ports.
    Resources,
    /// The client was stopped.
    ClientStopped {
        /// For how long.
        seconds: f64,
    },
    /// Others used the client's cores.
    SharedCores,
    /// Operations did not wait for each other at the target.
    Independent {
        /// A level with more slots that shows it.
        probed: Option<ProbedRate>,
    },
    /// The target kept up with the schedule.
    Schedule {
        /// What the limit of operations in flight did.
        in_flight: Option<InFlightLimit>,
    },
    /// Operations did not wait for each other, and the client's host has no idle core.
    NoIdleCore,
    /// One level of slots does not tell.
    OneLevel {
        /// Slots of the run.
        slots: u64,
        /// The probe that did not tell either.
        probes: Option<Probes>,
    },
    /// Nothing recorded shows what the limit was.
    NoEvidence,
    /// Too few operations ended.
    TooFewOperations,
}

/// Returns the limit of a saved run.
#[must_use]
pub fn of(run: &SavedRun) -> Limit {
    let by = limited_by(run);
    Limit {
        by,
        reason: reason(run, by),
        in_flight: in_flight_limit(run),
        rates_are_lower_bounds: rates_are_lower_bounds(run),
    }
}

/// Returns what limited a saved run.
#[must_use]
pub fn limited_by(run: &SavedRun) -> LimitedBy {
    run.summary().limited_by(&run.begin.model)
}

/// Returns whether the target may sustain more than the rates of a run show: the client's side limited a closed run.
#[must_use]
pub fn rates_are_lower_bounds(run: &SavedRun) -> bool {
    !run.begin.model.is_open() && limited_by(run).is_client()
}

/// Returns the seconds for which this client was stopped by something else than its CPU quota.
pub(crate) fn stopped_seconds(limits: &ClientLimits) -> f64 {
    (limits.frozen - limits.throttled).max(0.0)
}

fn in_flight_limit(run: &SavedRun) -> Option<InFlightLimit> {
    let Model::Open { in_flight_max: limit } = run.begin.model else { return None };
    let summary = run.summary();
    let (waited, dropped) = (summary.all.slot_wait.count(), summary.stats.measured.dropped);
    (waited > 0 || summary.in_flight_peak >= limit).then_some(InFlightLimit { limit, waited, dropped })
}

fn reason(run: &SavedRun, by: LimitedBy) -> LimitReason {
    let (open, summary) = (run.begin.model.is_open(), run.summary());
    match by {
        LimitedBy::Target => target_reason(run),
        LimitedBy::Link => match summary.evidence.paths.round_trips() {
            Some((loaded, unloaded)) if loaded > ROUND_TRIPS_MIN * unloaded => {
                LimitReason::RoundTrips { loaded, unloaded }
            }
            _ => LimitReason::Loss,
        },
        LimitedBy::ClientCpu => cpu_reason(&summary.limits, open),
        LimitedBy::ClientNic => LimitReason::NetworkCard,
        LimitedBy::ClientResources => LimitReason::Resources,
        LimitedBy::SharedHost => {
            let seconds = stopped_seconds(&summary.limits);
            let most = seconds > summary.limits.host_delay / 2.0;
            if most { LimitReason::ClientStopped { seconds } } else { LimitReason::SharedCores }
        }
        LimitedBy::Concurrency => LimitReason::Independent { probed: probed_rate(summary) },
        LimitedBy::Rate => LimitReason::Schedule { in_flight: in_flight_limit(run) },
        LimitedBy::NotDetermined if summary.queueing_odds().conclusion() == Queueing::Independent => {
            LimitReason::NoIdleCore
        }
        LimitedBy::NotDetermined => match run.begin.model {
            Model::Closed { concurrency } => LimitReason::OneLevel { slots: concurrency, probes: summary.probes },
            Model::Open { .. } => LimitReason::NoEvidence,
        },
        LimitedBy::Unknown => LimitReason::TooFewOperations,
    }
}

fn cpu_reason(limits: &ClientLimits, open: bool) -> LimitReason {
    let share = limits.share(limits.throttled);
    match open {
        _ if share > THROTTLED_SHARE_MIN => LimitReason::Throttled { share },
        true => LimitReason::BehindSchedule,
        false => LimitReason::BusyThread,
    }
}

fn target_reason(run: &SavedRun) -> LimitReason {
    let (summary, tally) = (run.summary(), &run.summary().stats.measured);
    let (missing, offered) = (summary.not_carried(), tally.scheduled);
    match (run.begin.model.is_open(), in_flight_limit(run)) {
        (true, _) if !summary.misses() => failures(summary),
        (false, _) if summary.fails(&run.begin.model) => failures(summary),
        (true, Some(reached)) => LimitReason::InFlight(reached),
        (true, None) => match summary.growth() {
            Some(growth) if growth.response > 0.0 => {
                LimitReason::Growth { seconds: growth.response, waiting: missing, offered }
            }
            _ => LimitReason::NotInTime { operations: missing, offered },
        },
        (false, _) => LimitReason::Queueing { probed: probed_rate(summary) },
    }
}

fn probed_rate(summary: &Summary) -> Option<ProbedRate> {
    let probe = summary.probes.and_then(|probes| probes.higher)?;
    Some(ProbedRate { probe, own: summary.ok_rate().unwrap_or_default() })
}

fn failures(summary: &Summary) -> LimitReason {
    let tally = &summary.stats.measured;
    let of_hosts = summary.stats.groups.iter().filter(|group| group.dimension == Dimension::Host);
    let mut hosts: Vec<HostFailures> = of_hosts
        .map(|group| HostFailures {
            host: group.label.clone(),
            failed: group.stats.failed,
            operations: group.stats.ok.saturating_add(group.stats.failed),
        })
        .collect();
    hosts.sort_by_key(|host| std::cmp::Reverse(host.failed));
    if hosts.len() < 2 {
        hosts.clear();
    }
    hosts.retain(|host| host.failed > 0);
    LimitReason::Failures { failed: tally.failed.saturating_add(tally.unfinished), started: tally.started, hosts }
}
