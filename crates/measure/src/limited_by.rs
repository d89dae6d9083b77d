//! What set the limit: the target, this client, its host, or what was asked for.
//!
//! The client is named only when at least two seconds and more than 5 % of all show it at a limit (docs/measurement.md).

use crate::limits::{Model, offered_too_much};
use crate::outcome::AttemptClass;
use crate::summary::Summary;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What set the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The target answered as fast as it could.
    Target,
    /// A thread of this client had no time left.
    ClientCpu,
    /// This client's network card was full.
    ClientNic,
    /// This client had too few descriptors or local ports.
    ClientResources,
    /// Client and others compete for this host's cores.
    SharedHost,
    /// The target would have answered more: more concurrency would carry more.
    Concurrency,
    /// The target carried all that was offered.
    Rate,
    /// Too little ended to tell.
    Unknown,
}

impl LimitedBy {
    /// Whether the limit lies on the client's side, so that the figures say "at least".
    #[must_use]
    pub fn is_client(self) -> bool {
        matches!(self, Self::ClientCpu | Self::ClientNic | Self::ClientResources | Self::SharedHost)
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Target => "target",
            Self::ClientCpu => "client CPU",
            Self::ClientNic => "client NIC",
            Self::ClientResources => "client descriptors or ports",
            Self::SharedHost => "shared host",
            Self::Concurrency => "your concurrency",
            Self::Rate => "the rate asked for",
            Self::Unknown => "unknown",
        })
    }
}

/// Share of the offered operations that may be missing.
const MISSED_MAX: f64 = 0.01;
/// A median service time of so many times the fastest shows that requests queue.
const QUEUEING_FACTOR: f64 = 2.0;
/// Slots of which less than this share is in flight on average wait for their next operation, not for the target.
const IDLE_SHARE: f64 = 0.25;
/// Below so many operations nothing is said about queueing.
const OPERATIONS_MIN: u64 = 20;

impl Summary {
    /// What set the limit.
    #[must_use]
    pub fn limited_by(&self, model: &Model) -> LimitedBy {
        let (limits, tally) = (&self.limits, &self.stats.measured);
        let missed = self.not_carried() as f64 > MISSED_MAX * tally.scheduled as f64;
        let (cpu, nic, host) = (limits.counts(limits.cpu), limits.counts(limits.nic), limits.counts(limits.host));
        if nic {
            return LimitedBy::ClientNic;
        }
        let starved = tally.classes.get(AttemptClass::ClientResource);
        if limits.counts(limits.resources) || starved as f64 > MISSED_MAX * tally.attempts as f64 {
            return LimitedBy::ClientResources;
        }
        match model {
            // Whatever the host took: the threads' whole cores would not have done.
            Model::Open { .. } if missed && offered_too_much(limits.mean_busy(), tally) => LimitedBy::ClientCpu,
            Model::Open { .. } if limits.counts(limits.late) || (missed && (cpu || host)) => {
                // A thread that had time to spare and started late was kept from its core.
                if cpu { LimitedBy::ClientCpu } else { LimitedBy::SharedHost }
            }
            Model::Open { .. } if missed => LimitedBy::Target,
            Model::Open { .. } => LimitedBy::Rate,
            Model::Closed { .. } if cpu && !host => LimitedBy::ClientCpu,
            Model::Closed { .. } if host => LimitedBy::SharedHost,
            Model::Closed { concurrency } => self.queueing(*concurrency),
        }
    }

    /// Measured operations that the target did not carry: those that were dropped, and those that had piled up when the
    /// window ended, even if the drain still took them.
    #[must_use]
    pub fn not_carried(&self) -> u64 {
        let tally = &self.stats.measured;
        tally.dropped.saturating_add(tally.unfinished.max(self.limits.backlog.piled_up()))
    }

    /// Whether the slots paused for most of the time, as they were asked to: then nothing queued.
    fn is_idle(&self, concurrency: u64) -> bool {
        self.mean_in_flight().is_some_and(|mean| mean < IDLE_SHARE * concurrency as f64)
    }

    /// With slots to spare on the client's side, either the target makes requests queue, or there are too few of them.
    fn queueing(&self, concurrency: u64) -> LimitedBy {
        let service = &self.all.service;
        match (service.quantile(0.5), service.min()) {
            (Some(median), Some(fastest)) if service.count() >= OPERATIONS_MIN => {
                if median as f64 > QUEUEING_FACTOR * fastest as f64 && !self.is_idle(concurrency) {
                    LimitedBy::Target
                } else {
                    LimitedBy::Concurrency
                }
            }
            _ => LimitedBy::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Instant;
    use crate::interval::{ClientLoad, Interval};
    use crate::sample::OpKind;
    use crate::timeline::Stage;

    const OPEN: Model = Model::Open { in_flight_max: 100 };
    const CLOSED: Model = Model::Closed { concurrency: 10 };

    fn seconds(count: u64, client: ClientLoad, change: impl Fn(&mut Interval)) -> Vec<Interval> {
        let second = |index| Instant::from_nanos(index * 1_000_000_000);
        let make = |index| {
            let mut interval = Interval::new(Stage::Measured, second(index), second(index + 1));
            interval.client = client;
            change(&mut interval);
            interval
        };
        (0..count).map(make).collect()
    }

    fn judge(model: Model, intervals: &[Interval]) -> LimitedBy {
        Summary::of(&model, intervals).limited_by(&model)
    }

    fn answers(interval: &mut Interval, median: u64) {
        // All slots of the closed model.
        interval.stats.in_flight_nanos = 10 * interval.end.nanos_since(interval.start);
        let kind = interval.stats.kind_mut(OpKind::Get);
        kind.service.record(100_000);
        for _ in 0..30 {
            kind.service.record(median);
            kind.response.record(median);
        }
    }

    const SATURATED: ClientLoad = ClientLoad {
        busy: 0.99,
        unread: 0.9,
        run_delay: 0.0,
        steal: 0.0,
        nic: 0.0,
        descriptors: 0.0,
        ports: 0.0,
        frozen: 0.0,
        cpu_nanos: 0,
    };

    #[test]
    fn a_busy_thread_is_the_limit_only_while_answers_wait() {
        assert_eq!(judge(CLOSED, &seconds(10, SATURATED, |_| ())), LimitedBy::ClientCpu);
        let reading_promptly = ClientLoad { unread: 0.1, ..SATURATED };
        assert_eq!(judge(CLOSED, &seconds(10, reading_promptly, |i| answers(i, 900_000))), LimitedBy::Target);
    }

    #[test]
    fn slots_that_pause_are_too_few_and_nothing_queues() {
        let slots = |in_flight: f64| {
            let run = seconds(10, ClientLoad::default(), |interval| {
                answers(interval, 900_000);
                interval.stats.in_flight_nanos = (in_flight * 1e9) as _;
            });
            judge(CLOSED, &run)
        };
        assert_eq!((slots(0.1), slots(2.4)), (LimitedBy::Concurrency, LimitedBy::Concurrency));
        assert_eq!((slots(2.6), slots(10.0)), (LimitedBy::Target, LimitedBy::Target));
    }

    #[test]
    fn one_flagged_second_is_not_enough() {
        let mut run = seconds(10, ClientLoad::default(), |i| answers(i, 110_000));
        run[3].client = SATURATED;
        assert_eq!(judge(CLOSED, &run), LimitedBy::Concurrency);
        run[4].client = SATURATED;
        assert_eq!(judge(CLOSED, &run), LimitedBy::ClientCpu);
    }

    #[test]
    fn an_open_run_is_limited_by_lateness_not_by_slot_wait() {
        let late = |interval: &mut Interval| {
            answers(interval, 200_000);
            interval.stats.kind_mut(OpKind::Get).lateness.record(5_000_000);
        };
        assert_eq!(judge(OPEN, &seconds(5, SATURATED, late)), LimitedBy::ClientCpu);
        assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), late)), LimitedBy::SharedHost);
        let waiting = |interval: &mut Interval| {
            answers(interval, 200_000);
            interval.stats.kind_mut(OpKind::Get).slot_wait.record(5_000_000);
            (interval.stats.measured.scheduled, interval.stats.measured.dropped) = (100, 50);
        };
        assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), waiting)), LimitedBy::Target);
        let backlog = |interval: &mut Interval| {
            (interval.stats.measured.scheduled, interval.stats.measured.unfinished) = (100, 5);
        };
        assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), backlog)), LimitedBy::Target);
        assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), |i| answers(i, 200_000))), LimitedBy::Rate);
        // Half of what was offered was started, which took 60 % of a thread: the other half would not have fitted.
        let half_started = |interval: &mut Interval| {
            waiting(interval);
            interval.stats.measured.started = 50;
        };
        let at = |busy| ClientLoad { busy, ..ClientLoad::default() };
        assert_eq!(judge(OPEN, &seconds(5, at(0.6), half_started)), LimitedBy::ClientCpu);
        assert_eq!(judge(OPEN, &seconds(5, at(0.4), half_started)), LimitedBy::Target);
        assert_eq!(judge(OPEN, &seconds(5, SATURATED, waiting)), LimitedBy::ClientCpu);
        let crowded = ClientLoad { run_delay: 0.4, ..ClientLoad::default() };
        assert_eq!(judge(OPEN, &seconds(5, crowded, waiting)), LimitedBy::SharedHost);
    }

    #[test]
    fn more_than_the_whole_cores_is_the_clients_limit_whatever_the_host_took() {
        // So many operations of 10,000 offered in a second were started, in that share of a core; others had the rest of it.
        let judged = |started: u64, busy: f64| {
            let client = ClientLoad { busy, unread: 0.4, run_delay: 1.0 - busy, steal: 0.1, ..ClientLoad::default() };
            let run = seconds(5, client, |interval| {
                answers(interval, 200_000);
                let tally = &mut interval.stats.measured;
                (tally.scheduled, tally.started, tally.dropped) = (10_000, started, 10_000 - started);
            });
            let summary = Summary::of(&OPEN, &run);
            (summary.limited_by(&OPEN), summary.limits.cpu, summary.limits.host)
        };
        // Twice the ceiling: 174 µs each, and 100 µs of a core's time for each.
        assert_eq!(judged(5_000, 0.87), (LimitedBy::ClientCpu, 5.0, 5.0));
        assert_eq!(judged(500, 0.30), (LimitedBy::ClientCpu, 5.0, 5.0));
        // 67 µs each: with the core to itself the client would have made them all.
        assert_eq!(judged(9_000, 0.60), (LimitedBy::SharedHost, 0.0, 5.0));
        assert_eq!(judged(5_000, 0.50), (LimitedBy::SharedHost, 0.0, 5.0));
        // What waking up costs is no operation's cost, and without one nothing is known.
        assert_eq!(judged(1, 0.04), (LimitedBy::SharedHost, 0.0, 5.0));
        assert_eq!(judged(0, 0.90), (LimitedBy::SharedHost, 0.0, 5.0));
    }

    #[test]
    fn a_backlog_that_the_drain_takes_was_not_carried() {
        let in_flight = |of: fn(u64) -> u64| {
            let mut run = seconds(10, ClientLoad::default(), |i| i.stats.measured.scheduled = 1000);
            for (second, interval) in (1..).zip(&mut run) {
                interval.in_flight = of(second);
            }
            judge(OPEN, &run)
        };
        assert_eq!(in_flight(|second| 500 * second), LimitedBy::Target, "half of what was offered piles up");
        assert_eq!(in_flight(|second| 50 * second), LimitedBy::Target, "5 % of it");
        assert_eq!(in_flight(|second| 2000 + second % 3), LimitedBy::Rate, "two seconds' worth throughout");
        assert_eq!(in_flight(|second| second), LimitedBy::Rate, "a handful");
        // A ramp has more in flight as more is offered.
        let mut ramp = seconds(10, ClientLoad::default(), |_| ());
        for (second, interval) in (1..).zip(&mut ramp) {
            (interval.stats.measured.scheduled, interval.in_flight) = (100 * second, 50 * second);
        }
        assert_eq!(judge(OPEN, &ramp), LimitedBy::Rate);
    }

    #[test]
    fn too_few_descriptors_or_ports_are_the_clients_fault() {
        let full = ClientLoad { ports: 0.97, ..ClientLoad::default() };
        assert_eq!(judge(CLOSED, &seconds(5, full, |i| answers(i, 110_000))), LimitedBy::ClientResources);
        let refused = |interval: &mut Interval| {
            interval.stats.measured.attempts = 100;
            for _ in 0..2 {
                interval.stats.measured.classes.add(AttemptClass::ClientResource);
            }
        };
        assert_eq!(judge(CLOSED, &seconds(5, ClientLoad::default(), refused)), LimitedBy::ClientResources);
        assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), refused)), LimitedBy::ClientResources);
    }

    #[test]
    fn a_frozen_client_is_named() {
        let mut run = seconds(10, ClientLoad::default(), |i| answers(i, 110_000));
        for interval in &mut run[3..6] {
            interval.client.frozen = 1.0;
        }
        assert_eq!(judge(CLOSED, &run), LimitedBy::SharedHost);
    }

    #[test]
    fn cores_and_cards_shared_with_others_are_named() {
        let crowded = ClientLoad { run_delay: 0.3, ..SATURATED };
        assert_eq!(judge(CLOSED, &seconds(5, crowded, |_| ())), LimitedBy::SharedHost);
        let full = ClientLoad { nic: 0.97, ..ClientLoad::default() };
        assert_eq!(judge(CLOSED, &seconds(5, full, |_| ())), LimitedBy::ClientNic);
    }
}
