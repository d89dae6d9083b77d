//! The limit in words.

use super::{HostFailures, InFlightLimit, Limit, LimitReason, ProbedRate};
use crate::escape::escape;
use crate::notes::OTHER;
use crate::number::{count, plural, rate, seconds, share, time, were};
use measure::evidence::Probes;
use measure::{Label, LimitedBy};
use std::fmt::{self, Display, Formatter};

/// Hosts that are named with their failures.
const HOSTS_SHOWN: usize = 3;

/// The limit with its reason, as every report shows it.
impl Display for Limit {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let (by, reason) = (self.by, &self.reason);
        match self.in_flight {
            Some(reached) if by == LimitedBy::Target => {
                write!(f, "limited by: {by} (in-flight limit of {} reached): {reason}", count(reached.limit))
            }
            _ => write!(f, "limited by: {by}: {reason}"),
        }
    }
}

impl Display for LimitReason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failures { failed, started, hosts } => f.write_str(&failures(*failed, *started, hosts)),
            Self::InFlight(reached) => write!(
                f,
                "{} and {} never started; the target is slower than asked",
                in_flight(*reached),
                were(reached.dropped)
            ),
            Self::Growth { seconds: growth, waiting, offered } => write!(
                f,
                "response times grew by {} over the run, and {} of {} offered were still waiting at its end",
                seconds(*growth),
                plural(*waiting, "operation"),
                count(*offered)
            ),
            Self::NotInTime { operations, offered } => {
                write!(f, "{} of {} offered did not end in time", plural(*operations, "operation"), count(*offered))
            }
            Self::Queueing { probed: Some(probed) } => {
                write!(f, "{}, so operations waited for each other at the target", probed_rate(*probed))
            }
            Self::Queueing { probed: None } => {
                f.write_str("operations waited for each other at the target; the client had time to spare")
            }
            Self::RoundTrips { loaded, unloaded } => write!(
                f,
                "data queues between client and target: round trips take {} under this load, {} without it",
                time(*loaded),
                time(*unloaded)
            ),
            Self::Loss => f.write_str("data is lost between client and target"),
            Self::Throttled { .. }
            | Self::BehindSchedule
            | Self::BusyThread
            | Self::NetworkCard
            | Self::Resources
            | Self::ClientStopped { .. }
            | Self::SharedCores => f.write_str(&client(self)),
            Self::Independent { probed: Some(probed) } => {
                write!(f, "{}, so more slots reach a higher rate", probed_rate(*probed))
            }
            Self::Independent { probed: None } => {
                f.write_str("operations did not wait for each other at the target; more slots reach a higher rate")
            }
            Self::Schedule { in_flight: None } => f.write_str("the target kept up with the schedule"),
            Self::Schedule { in_flight: Some(reached) } => {
                write!(f, "the target kept up with the schedule, but {}", in_flight(*reached))
            }
            Self::NoIdleCore => f.write_str(
                "operations did not wait for each other at the target, and this host has no idle core to serve more at once",
            ),
            Self::OneLevel { slots, probes } => f.write_str(&one_level(*slots, probes.as_ref())),
            Self::NoEvidence => f.write_str("nothing that was recorded shows it"),
            Self::TooFewOperations => f.write_str("too few operations ended"),
        }
    }
}

fn failures(failed: u64, started: u64, hosts: &[HostFailures]) -> String {
    let name = |label: &Label| match label {
        Label::Value(value) => escape(value),
        Label::Absent | Label::Other => OTHER.to_owned(),
    };
    if hosts.is_empty() {
        return format!("{} of {} failed or did not end", count(failed), plural(started, "operation"));
    }
    let one =
        |host: &HostFailures| format!("{} of {} at {}", count(host.failed), count(host.operations), name(&host.host));
    let shown: Vec<String> = hosts.iter().take(HOSTS_SHOWN).map(one).collect();
    format!("operations failed or did not end: {}", shown.join(", "))
}

fn in_flight(reached: InFlightLimit) -> String {
    let (limit, waited) = (count(reached.limit), plural(reached.waited, "operation"));
    format!("the in-flight limit of {limit} was reached: {waited} waited for one in flight to end")
}

/// Returns how the client, or its host, was the limit.
fn client(reason: &LimitReason) -> String {
    match reason {
        LimitReason::Throttled { share: part } => format!(
            "the CPU quota of its control group stopped this client for {} of the time (see `plimsoll doctor`)",
            share(*part)
        ),
        LimitReason::BehindSchedule => "this client had too little CPU time to start all operations on schedule".into(),
        LimitReason::BusyThread => "a thread of this client was busy all the time".into(),
        LimitReason::NetworkCard => "this client's network card was full".into(),
        LimitReason::Resources => {
            "this client ran out of file descriptors or local ports; `plimsoll doctor` shows how to raise the limits"
                .into()
        }
        LimitReason::ClientStopped { seconds: length } => {
            format!("this client was stopped for {}: its process, or the machine below it", seconds(*length))
        }
        _ => "this client waited for cores that others used".into(),
    }
}

fn probed_rate(ProbedRate { probe, own }: ProbedRate) -> String {
    format!("a probe with {} reached {}, this run {}", plural(probe.slots, "slot"), rate(probe.per_second), rate(own))
}

fn one_level(slots: u64, probes: Option<&Probes>) -> String {
    let (shown, more) = (plural(slots, "slot"), slots.saturating_mul(2));
    let level = format!("one level of {shown} does not show whether operations waited for each other at the target");
    match probes {
        None => {
            format!(
                "{level}; run again with `-c {more}`, or with `--probe`: a target that is the limit is no faster then"
            )
        }
        Some(probes) => format!("{level}, {}", probe_without_result(probes)),
    }
}

/// Returns why a probe did not show the limit.
fn probe_without_result(probes: &Probes) -> String {
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
