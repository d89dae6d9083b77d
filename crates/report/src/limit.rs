//! The limit of a run, as text. The rules are in [`measure::limits::limited_by`].

use crate::escape::escape;
use crate::label::host_name;
use crate::number::{count, plural, rate, seconds, share, time, were};
use measure::evidence::{OperationClass, Probes};
use measure::limits::{self, HostFailures, InFlightLimit, ProbedRate};
pub use measure::limits::{Limit, LimitReason};
use measure::{Enumerated, LimitedBy};
use store::SavedRun;

/// Maximum number of hosts to list with their failures.
const HOSTS_SHOWN: usize = 3;

/// Returns what limited a saved run.
#[must_use]
pub fn limited_by(run: &SavedRun) -> LimitedBy {
    limits::limited_by(run.summary(), &run.begin.model)
}

/// Returns text that names the client or its host, if one of them limited a saved run. For a run of several hosts, one
/// limited host is enough, and the text names this host.
#[must_use]
pub fn limiting_client(run: &SavedRun) -> Option<String> {
    let agents = run.end.as_ref().and_then(|end| end.fleet.as_deref()).map_or(&[][..], |fleet| &fleet.agents);
    let limited = agents.iter().find(|agent| agent.limited_by.is_client());
    let named = limited.map(|agent| format!("{} (host {})", agent.limited_by, escape(&agent.name)));
    let own = limited_by(run);
    named.or_else(|| own.is_client().then(|| own.to_string()))
}

/// Returns what limited a level of a search, as text.
#[must_use]
pub fn of_level(run: &SavedRun) -> String {
    limiting_client(run).unwrap_or_else(|| limited_by(run).to_string())
}

/// Returns the limit of a saved run, with the measurements that show the limit.
#[must_use]
pub fn of(run: &SavedRun) -> Limit {
    Limit::of(run.summary(), &run.begin.model)
}

/// Returns whether the target may sustain higher rates than a run shows, because the client or its host limited a
/// closed run.
#[must_use]
pub fn rates_are_lower_bounds(run: &SavedRun) -> bool {
    !run.begin.model.is_open() && limited_by(run).is_client()
}

/// Returns the limit and the reason, as text.
#[must_use]
pub fn text(limit: &Limit) -> String {
    let (by, reason) = (limit.by, reason_text(&limit.reason));
    match limit.in_flight {
        Some(reached) if by == LimitedBy::Target => {
            format!("limited by: {by} (in-flight limit of {} reached), because {reason}", count(reached.limit))
        }
        _ => format!("limited by: {by}, because {reason}"),
    }
}

/// Returns the class of operations as part of a phrase.
fn of_class(class: OperationClass) -> String {
    let size = class.size_label().map(|label| format!(" ({label})")).unwrap_or_default();
    format!(" of {}{size}", class.kind.name())
}

/// Returns the measurements that show a limit, as a phrase.
#[must_use]
pub fn reason_text(reason: &LimitReason) -> String {
    match reason {
        LimitReason::Failures { failed, started, hosts } => failures(*failed, *started, hosts),
        LimitReason::InFlight(reached) => {
            format!(
                "{}, and {} never started; the target is too slow for the requested rate",
                in_flight(*reached),
                were(reached.dropped)
            )
        }
        LimitReason::Growth { seconds: growth, waiting, offered, class } => format!(
            "response times{} grew by {} over the run, and {} of {} offered were still waiting at the end",
            class.map(of_class).unwrap_or_default(),
            seconds(*growth),
            plural(*waiting, "operation"),
            count(*offered)
        ),
        LimitReason::EndStall { seconds: length, waiting, offered } => format!(
            "in the last {} of the schedule, the target responded to less than half of the load, and {} of {} offered \
             were still waiting at the end",
            seconds(*length),
            plural(*waiting, "operation"),
            count(*offered)
        ),
        LimitReason::NotInTime { operations, offered } => {
            format!("{} of {} offered did not end in time", plural(*operations, "operation"), count(*offered))
        }
        LimitReason::Queueing { probed: Some(probed) } => {
            format!("{}, so operations waited for each other at the target", probed_rate(*probed))
        }
        LimitReason::Queueing { probed: None } => {
            "operations waited for each other at the target; the client had time to spare".into()
        }
        LimitReason::RoundTrips { loaded, unloaded } => format!(
            "data queues between client and target, so round trips take {} under this load and {} without load",
            time(*loaded),
            time(*unloaded)
        ),
        LimitReason::PathFull { share: used } => {
            format!("the run used {} of the rate of the emulated path", share(*used))
        }
        LimitReason::Loss => "data is lost between client and target".into(),
        LimitReason::Independent { probed: Some(probed) } => {
            format!("{}, so more slots reach a higher rate", probed_rate(*probed))
        }
        LimitReason::Independent { probed: None } => {
            "operations did not wait for each other at the target; more slots reach a higher rate".into()
        }
        LimitReason::Schedule { in_flight, unseen } => schedule(*in_flight, *unseen),
        LimitReason::NoIdleCore => {
            "operations did not wait for each other at the target, but this host has no idle core, so more slots may not \
             reach a higher rate"
                .into()
        }
        LimitReason::SeveralServers { servers } => format!(
            "operations at the same one of the {} servers may have waited for each other; measure each server alone, or \
             run again with `--probe`",
            count(*servers)
        ),
        LimitReason::OneLevel { slots, probes } => one_level(*slots, probes.as_ref()),
        LimitReason::NoEvidence => "the records do not show the limit".into(),
        LimitReason::TooFewOperations => "too few operations ended".into(),
        LimitReason::Throttled { .. }
        | LimitReason::BehindSchedule
        | LimitReason::BusyThread
        | LimitReason::NetworkCard
        | LimitReason::Resources
        | LimitReason::Emulator
        | LimitReason::ClientStopped { .. }
        | LimitReason::SharedCores => client(reason),
    }
}

fn schedule(reached: Option<InFlightLimit>, unseen: Option<f64>) -> String {
    let slots = reached.map(|reached| format!(", but {}", in_flight(reached))).unwrap_or_default();
    let hidden = unseen.map(|part| {
        let percent = (part * 100.0).ceil();
        format!("; response times vary so much that an overload of up to {percent} % could not be detected")
    });
    format!("the target kept up with the schedule{slots}{}", hidden.unwrap_or_default())
}

fn failures(failed: u64, started: u64, hosts: &[HostFailures]) -> String {
    if hosts.is_empty() {
        return format!("{} of {} failed or did not end", count(failed), plural(started, "operation"));
    }
    let one = |host: &HostFailures| {
        format!("{} of {} at {}", count(host.failed), count(host.operations), host_name(&host.host))
    };
    let shown: Vec<String> = hosts.iter().take(HOSTS_SHOWN).map(one).collect();
    format!("operations failed or did not end: {}", shown.join(", "))
}

fn in_flight(reached: InFlightLimit) -> String {
    let (limit, waited) = (count(reached.limit), plural(reached.waited, "operation"));
    format!("{waited} waited for a free slot (in-flight limit {limit})")
}

/// Returns the reason why the client or its host was the limit.
fn client(reason: &LimitReason) -> String {
    match reason {
        LimitReason::Throttled { share: part } => format!(
            "the CPU quota of a control group stopped this client for {} of the time (see `plimsoll doctor`)",
            share(*part)
        ),
        LimitReason::BehindSchedule => "this client had too little CPU time to start all operations on schedule".into(),
        LimitReason::BusyThread => "a thread of this client was busy all the time".into(),
        LimitReason::NetworkCard => "this client's network card was full".into(),
        LimitReason::Emulator => {
            "the emulator of the path did not get enough CPU time or memory; use a lower rate, fewer slots or more cores".into()
        }
        LimitReason::Resources => {
            "this client ran out of file descriptors or local ports; `plimsoll doctor` shows how to raise the limits"
                .into()
        }
        LimitReason::ClientStopped { seconds: length } => {
            format!("the process or the machine of this client was stopped for {}", seconds(*length))
        }
        _ => "this client waited for cores that other processes or virtual machines used".into(),
    }
}

fn probed_rate(ProbedRate { probe, own }: ProbedRate) -> String {
    format!(
        "a probe with {} reached {} and this run {}",
        plural(probe.slots, "slot"),
        rate(probe.per_second),
        rate(own)
    )
}

fn one_level(slots: u64, probes: Option<&Probes>) -> String {
    let (shown, more) = (plural(slots, "slot"), slots.saturating_mul(2));
    let level = format!("a run with {shown} does not show whether operations waited for each other at the target");
    match probes {
        None => {
            format!(
                "{level}; run again with `-c {more}` or with `--probe` to see whether more slots reach a higher rate"
            )
        }
        Some(probes) => format!("{level}, {}", probe_without_result(probes)),
    }
}

/// Returns the reason why a probe did not reveal the limit.
fn probe_without_result(probes: &Probes) -> String {
    match (probes.higher, probes.lower) {
        (Some(higher), _) if higher.client_limited => {
            format!("and in the probe with {}, this client was the limit", plural(higher.slots, "slot"))
        }
        (Some(probe), _) | (None, Some(probe)) => format!(
            "and too few operations succeeded in the probe with {} ({}), so give `--probe` more time",
            plural(probe.slots, "slot"),
            count(probe.operations)
        ),
        (None, None) => "and no level of the probe could be measured".into(),
    }
}
