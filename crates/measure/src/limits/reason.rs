//! The limit of a run with the numbers that show it.

use super::LimitedBy;
use crate::Label;
use crate::evidence::queueing::Queueing;
use crate::evidence::{Probe, Probes};
use crate::stats::Dimension;
use crate::summary::{Model, Summary};

/// Share of the time for which a CPU quota stopped the client, from which on the quota is the reason.
const THROTTLED_SHARE_MIN: f64 = 0.05;
/// Ratio of round trips with load to those without it from which on data queues on the way.
const ROUND_TRIPS_RATIO_MIN: f64 = 2.0;

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

/// Why the limit of a run is what it is, with the numbers that show it.
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

impl Summary {
    /// Returns the limit of the run, and why it is known.
    #[must_use]
    pub fn limit(&self, model: &Model) -> Limit {
        let by = self.limited_by(model);
        let in_flight = self.in_flight_limit(model);
        Limit {
            by,
            reason: self.limit_reason(model, by, in_flight),
            in_flight,
            rates_are_lower_bounds: !model.is_open() && by.is_client(),
        }
    }

    fn in_flight_limit(&self, model: &Model) -> Option<InFlightLimit> {
        let Model::Open { in_flight_max: limit } = *model else { return None };
        let (waited, dropped) = (self.all.slot_wait.count(), self.stats.measured.dropped);
        (waited > 0 || self.in_flight_peak >= limit).then_some(InFlightLimit { limit, waited, dropped })
    }

    fn limit_reason(&self, model: &Model, by: LimitedBy, in_flight: Option<InFlightLimit>) -> LimitReason {
        match by {
            LimitedBy::Target => self.target_reason(model, in_flight),
            LimitedBy::Link => match self.evidence.paths.round_trips() {
                Some((loaded, unloaded)) if loaded > ROUND_TRIPS_RATIO_MIN * unloaded => {
                    LimitReason::RoundTrips { loaded, unloaded }
                }
                _ => LimitReason::Loss,
            },
            LimitedBy::ClientCpu => self.cpu_reason(model.is_open()),
            LimitedBy::ClientNic => LimitReason::NetworkCard,
            LimitedBy::ClientResources => LimitReason::Resources,
            LimitedBy::SharedHost => {
                let seconds = self.limits.stopped();
                let most = seconds > self.limits.host_delay / 2.0;
                if most { LimitReason::ClientStopped { seconds } } else { LimitReason::SharedCores }
            }
            LimitedBy::Concurrency => LimitReason::Independent { probed: self.probed_rate() },
            LimitedBy::Rate => LimitReason::Schedule { in_flight },
            LimitedBy::NotDetermined if self.queueing_odds().conclusion() == Queueing::Independent => {
                LimitReason::NoIdleCore
            }
            LimitedBy::NotDetermined => match *model {
                Model::Closed { concurrency } => LimitReason::OneLevel { slots: concurrency, probes: self.probes },
                Model::Open { .. } => LimitReason::NoEvidence,
            },
            LimitedBy::Unknown => LimitReason::TooFewOperations,
        }
    }

    fn cpu_reason(&self, open: bool) -> LimitReason {
        let share = self.limits.share(self.limits.throttled);
        match open {
            _ if share > THROTTLED_SHARE_MIN => LimitReason::Throttled { share },
            true => LimitReason::BehindSchedule,
            false => LimitReason::BusyThread,
        }
    }

    fn target_reason(&self, model: &Model, in_flight: Option<InFlightLimit>) -> LimitReason {
        let (missing, offered) = (self.not_carried(), self.stats.measured.scheduled);
        match (model.is_open(), in_flight) {
            (true, _) if !self.misses() => self.failures(),
            (false, _) if self.fails(model) => self.failures(),
            (true, Some(reached)) => LimitReason::InFlight(reached),
            (true, None) => match self.growth() {
                Some(growth) if growth.response > 0.0 => {
                    LimitReason::Growth { seconds: growth.response, waiting: missing, offered }
                }
                _ => LimitReason::NotInTime { operations: missing, offered },
            },
            (false, _) => LimitReason::Queueing { probed: self.probed_rate() },
        }
    }

    fn probed_rate(&self) -> Option<ProbedRate> {
        let probe = self.probes.and_then(|probes| probes.higher)?;
        Some(ProbedRate { probe, own: self.ok_rate().unwrap_or_default() })
    }

    fn failures(&self) -> LimitReason {
        let tally = &self.stats.measured;
        let of_hosts = self.stats.groups.iter().filter(|group| group.dimension == Dimension::Host);
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
}
