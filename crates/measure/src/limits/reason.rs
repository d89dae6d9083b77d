//! The limit of a run, with the numbers that show it.

use super::growth::unseen_shortfall;
use super::limited_by::{PATH_FULL, mixed_servers, used_path_share};
use super::queueing::{Queueing, queueing_odds};
use super::{LimitedBy, end_stall, growth, has_many_failures, limited_by, misses_offered_rate, not_sustained};
use crate::evidence::{OperationClass, Probe, Probes};
use crate::stats::Dimension;
use crate::stats::label::Label;
use crate::summary::{ClientLimits, Model, Summary};

/// Minimum share of the time for which a CPU quota stopped the client. With a smaller share, the quota is not the
/// reason.
const THROTTLED_SHARE_MIN: f64 = 0.05;
/// If round-trip times under load are at least this multiple of the shortest round-trip times, data counts as queued in
/// the network.
const ROUND_TRIPS_RATIO_MIN: f64 = 2.0;
/// Minimum value of `unseen` in [`LimitReason::Schedule`]. A smaller share is not reported.
const UNSEEN_MIN: f64 = 0.02;

/// Limit of a run, with the reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    /// The limit.
    pub by: LimitedBy,
    /// Facts that show the limit.
    pub reason: LimitReason,
    /// Effect of `in_flight_max` on the run. `None` for closed runs, and for open runs that did not reach
    /// `in_flight_max`.
    pub in_flight: Option<InFlightLimit>,
    /// `true` if the rates are lower bounds, because the client or its host limited a closed run.
    pub rates_are_lower_bounds: bool,
}

/// Effect of `in_flight_max` on an open run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlightLimit {
    /// Maximum number of operations in flight, set by the user or the default.
    pub limit: u64,
    /// Number of operations that could not start before another operation ended.
    pub waited: u64,
    /// Number of operations that never started.
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

/// Rate of a probe level, compared with the rate of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProbedRate {
    /// The level, with more slots.
    pub probe: Probe,
    /// Successful operations per second of the run itself.
    pub own: f64,
}

/// Facts that show the limit of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum LimitReason {
    /// Too many operations failed at the target.
    Failures {
        /// Operations that failed or did not end.
        failed: u64,
        /// Operations that started.
        started: u64,
        /// Failures by host, most failures first; empty with one host.
        hosts: Vec<HostFailures>,
    },
    /// Operations waited because too many others were in flight, and some never started.
    InFlight(InFlightLimit),
    /// Response times grew and operations piled up.
    Growth {
        /// Increase of the response time, in seconds.
        seconds: f64,
        /// Number of operations still waiting at the end.
        waiting: u64,
        /// Operations offered.
        offered: u64,
        /// The class of operations whose response times grew; `None` if the response times of all classes grew.
        class: Option<OperationClass>,
    },
    /// The target almost stopped responding before the end of the schedule.
    EndStall {
        /// Time from the start of the stall to the end of the schedule, in seconds.
        seconds: f64,
        /// Operations that waited at the end of the schedule.
        waiting: u64,
        /// Operations offered.
        offered: u64,
    },
    /// Operations did not end in time.
    NotInTime {
        /// Operations that did not end in time.
        operations: u64,
        /// Operations offered.
        offered: u64,
    },
    /// Operations waited for each other at the target.
    Queueing {
        /// Probe level with more slots that shows the queueing.
        probed: Option<ProbedRate>,
    },
    /// Data queued in the network.
    RoundTrips {
        /// Mean round-trip time under load, in nanoseconds.
        loaded: f64,
        /// Mean of the shortest round-trip times, in nanoseconds.
        unloaded: f64,
    },
    /// Data was lost in the network.
    Loss,
    /// A CPU quota stopped the client.
    Throttled {
        /// Share of the time, in 0..=1.
        share: f64,
    },
    /// The client had too little CPU time to keep up with the schedule.
    BehindSchedule,
    /// A thread of the client was busy all the time.
    BusyThread,
    /// The client's network card was full.
    NetworkCard,
    /// The run used the rate of the emulated path.
    PathFull {
        /// Share of the rate that was used.
        share: f64,
    },
    /// The emulator of the path did not get enough CPU time or memory.
    Emulator,
    /// The client ran out of file descriptors or local ports.
    Resources,
    /// The client was stopped.
    ClientStopped {
        /// Length of the stop, in seconds.
        seconds: f64,
    },
    /// Other processes or virtual machines used the client's cores.
    SharedCores,
    /// Operations did not wait for each other at the target.
    Independent {
        /// Probe level with more slots that shows the independence.
        probed: Option<ProbedRate>,
    },
    /// The target kept up with the schedule.
    Schedule {
        /// Effect of `in_flight_max`.
        in_flight: Option<InFlightLimit>,
        /// Largest share of the operations that the target may have left unserved without a visible effect. Response
        /// times vary, so they can hide a shortfall of this size. `None` if the share is too small to matter.
        unseen: Option<f64>,
    },
    /// Operations did not wait for each other, and the client's host has no idle core.
    NoIdleCore,
    /// Operations of all servers together did not wait for each other, but operations of the same server may have.
    SeveralServers {
        /// Number of servers.
        servers: u64,
    },
    /// A single number of slots does not show the limit.
    OneLevel {
        /// Number of slots of the run.
        slots: u64,
        /// Probe levels, if any. The probe levels did not show the limit either.
        probes: Option<Probes>,
    },
    /// The records do not show what the limit was.
    NoEvidence,
    /// Too few operations ended.
    TooFewOperations,
}

impl Limit {
    /// Returns the limit of a run, with its reason.
    #[must_use]
    pub fn of(summary: &Summary, model: &Model) -> Self {
        let by = limited_by(summary, model);
        let in_flight = InFlightLimit::of(summary, model);
        Self {
            by,
            reason: reason(summary, model, by, in_flight),
            in_flight,
            rates_are_lower_bounds: !model.is_open() && by.is_client(),
        }
    }
}

impl InFlightLimit {
    fn of(summary: &Summary, model: &Model) -> Option<Self> {
        let Model::Open { in_flight_max: limit } = *model else { return None };
        let (waited, dropped) = (summary.all.slot_wait.count(), summary.stats.measured.dropped);
        (waited > 0 || summary.in_flight_peak >= limit).then_some(Self { limit, waited, dropped })
    }
}

fn reason(summary: &Summary, model: &Model, by: LimitedBy, in_flight: Option<InFlightLimit>) -> LimitReason {
    match by {
        LimitedBy::Target => target_reason(summary, model, in_flight),
        LimitedBy::Link if used_path_share(summary).is_some_and(|share| share >= PATH_FULL) => {
            LimitReason::PathFull { share: used_path_share(summary).unwrap_or_default() }
        }
        LimitedBy::Link => match summary.evidence.network_paths.round_trips() {
            Some((loaded, unloaded)) if loaded > ROUND_TRIPS_RATIO_MIN * unloaded => {
                LimitReason::RoundTrips { loaded, unloaded }
            }
            _ => LimitReason::Loss,
        },
        LimitedBy::ClientCpu => cpu_reason(&summary.limits, model),
        LimitedBy::Emulator => LimitReason::Emulator,
        LimitedBy::ClientNic => LimitReason::NetworkCard,
        LimitedBy::ClientResources => LimitReason::Resources,
        LimitedBy::SharedHost => {
            let seconds = summary.limits.stopped();
            let most = seconds > summary.limits.host_delay / 2.0;
            if most { LimitReason::ClientStopped { seconds } } else { LimitReason::SharedCores }
        }
        LimitedBy::Concurrency => LimitReason::Independent { probed: ProbedRate::of(summary) },
        LimitedBy::Rate => LimitReason::Schedule { in_flight, unseen: unseen(summary) },
        LimitedBy::NotDetermined if queueing_odds(summary).conclusion() == Queueing::Independent => {
            let servers = match *model {
                Model::Closed { concurrency } => mixed_servers(summary, concurrency),
                Model::Open { .. } => None,
            };
            servers.map_or(LimitReason::NoIdleCore, |servers| LimitReason::SeveralServers { servers })
        }
        LimitedBy::NotDetermined => match *model {
            Model::Closed { concurrency } => LimitReason::OneLevel { slots: concurrency, probes: summary.probes },
            Model::Open { .. } => LimitReason::NoEvidence,
        },
        LimitedBy::Unknown => LimitReason::TooFewOperations,
    }
}

fn unseen(summary: &Summary) -> Option<f64> {
    let share = unseen_shortfall(&summary.evidence, summary.schedule_seconds())?;
    (share > UNSEEN_MIN).then_some(share)
}

fn cpu_reason(limits: &ClientLimits, model: &Model) -> LimitReason {
    let share = limits.share(limits.throttled);
    match model {
        _ if share > THROTTLED_SHARE_MIN => LimitReason::Throttled { share },
        Model::Open { .. } => LimitReason::BehindSchedule,
        Model::Closed { .. } => LimitReason::BusyThread,
    }
}

fn target_reason(summary: &Summary, model: &Model, in_flight: Option<InFlightLimit>) -> LimitReason {
    let (missing, offered) = (not_sustained(summary), summary.stats.measured.scheduled);
    match (model.is_open(), in_flight) {
        (true, _) if !misses_offered_rate(summary) => failures(summary),
        (false, _) if has_many_failures(summary, model) => failures(summary),
        (true, Some(reached)) => LimitReason::InFlight(reached),
        (true, None) => match (growth(summary), end_stall(summary)) {
            (Some(growth), _) if growth.response > 0.0 => {
                LimitReason::Growth { seconds: growth.response, waiting: missing, offered, class: growth.class }
            }
            (_, Some(stall)) => LimitReason::EndStall { seconds: stall.seconds, waiting: missing, offered },
            _ => LimitReason::NotInTime { operations: missing, offered },
        },
        (false, _) => LimitReason::Queueing { probed: ProbedRate::of(summary) },
    }
}

impl ProbedRate {
    fn of(summary: &Summary) -> Option<Self> {
        let probe = summary.probes.and_then(|probes| probes.higher)?;
        Some(Self { probe, own: summary.ok_rate().unwrap_or_default() })
    }
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
