//! The rules that decide what limited a run.

use super::client_impact::{AFFECTED_MAX, ClientImpact};
use super::failures::{has_many_failures, mostly_fails};
use super::offered_load::{MISSED_MAX, growth, misses_offered_rate, not_sustained};
use super::queueing::{Queueing, queueing_odds};
use super::{LimitedBy, MOST, OPERATIONS_MIN};
use crate::path::EmulatorHealth;
use crate::sample::outcome::AttemptClass;
use crate::stats::Dimension;
use crate::summary::client_limits::offered_too_much;
use crate::summary::{Model, Summary};

/// If the client uses at most this share of the run or of the service time, it is not reported as the limit.
const CLIENT_MAX: f64 = 0.1;
/// Minimum number of body bytes per attempt at which waiting data means that the link is full. Smaller responses fit
/// into the initial window of a connection (RFC 6928). The data of such a response arrives together with the
/// acknowledgement of the request, so the round-trip times show nothing about the link.
const LINK_BYTES: u64 = 14_600;
/// If other processes keep a slow client off the cores for a smaller share of the run, they are not reported as the
/// limit.
const TAKEN_MIN: f64 = 0.05;
/// An emulated path counts as full if the run uses at least this share of its rate.
pub(super) const PATH_FULL: f64 = 0.9;
/// The target counts as slower if the service time with all slots in use exceeds this multiple of the service time with
/// few operations in flight.
const SLOWER_MAX: f64 = 1.5;
/// Minimum share of the slots that have an operation in flight, on average. If fewer slots have one, most slots wait
/// for their next operation and not for the target.
const IDLE_SHARE: f64 = 0.25;

/// Returns what limited a run.
#[must_use]
pub fn limited_by(summary: &Summary, model: &Model) -> LimitedBy {
    limited_by_given(summary, model, ClientImpact::of(summary))
}

/// Returns what limited a run. `impact` is the time that the client added to operations.
pub(super) fn limited_by_given(summary: &Summary, model: &Model, impact: ClientImpact) -> LimitedBy {
    let (limits, tally) = (&summary.limits, &summary.stats.measured);
    // An overloaded emulator delays or drops packets, so nothing else can be concluded.
    if summary.path.emulator != EmulatorHealth::Good {
        return LimitedBy::Emulator;
    }
    if limits.share(limits.nic) > CLIENT_MAX {
        return LimitedBy::ClientNic;
    }
    let missed = model.is_open() && misses_offered_rate(summary);
    let refused = tally.classes.get(AttemptClass::ClientResource) as f64;
    if refused > MISSED_MAX * tally.attempts as f64 || (missed && lacks_resources(summary, model)) {
        return LimitedBy::ClientResources;
    }
    let fails = || has_many_failures(summary, model);
    match *model {
        Model::Open { in_flight_max } if missed => cause_of_missed_operations(summary, in_flight_max, impact),
        Model::Open { .. } if impact.affected_share > AFFECTED_MAX => client_or_host(summary),
        Model::Open { .. } if fails() && summary.client_stood_still() => client_or_host(summary),
        Model::Open { .. } if fails() => LimitedBy::Target,
        Model::Open { .. } if fills_link(summary) => LimitedBy::Link,
        Model::Open { .. } => LimitedBy::Rate,
        // If most operations fail, a faster client would mainly make more failures.
        Model::Closed { .. } if mostly_fails(summary) && !summary.client_stood_still() => LimitedBy::Target,
        Model::Closed { .. } if is_slowed_by_client(summary, impact) => client_or_host(summary),
        Model::Closed { .. } if fails() => LimitedBy::Target,
        Model::Closed { .. } if fills_link(summary) => LimitedBy::Link,
        Model::Closed { concurrency } => target_or_concurrency(summary, concurrency),
    }
}

/// Returns the number of due operations that the client failed to start. If the client limited an open run, every
/// dropped operation counts. The slots were then occupied by operations whose responses the client had no time to read.
#[must_use]
pub fn missed_by_client(summary: &Summary, model: &Model) -> u64 {
    let tally = &summary.stats.measured;
    if model.is_open() && limited_by(summary, model).is_client() { tally.dropped } else { tally.missed_by_client }
}

/// Returns whether too few descriptors or local ports limited an open run, for example because they restricted the
/// number of slots. Too few descriptors or ports are the limit only if the target is as fast with all slots in use as
/// with few slots in use. A target that hangs, or makes operations wait, fills any number of slots.
fn lacks_resources(summary: &Summary, model: &Model) -> bool {
    let Model::Open { in_flight_max } = *model else { return false };
    let (limits, slots_full) = (&summary.limits, summary.in_flight_peak >= in_flight_max);
    limits.share(limits.resources) > CLIENT_MAX && !(slots_full && slows_down(summary, in_flight_max))
}

/// Returns whether operations take much longer with `in_flight` operations in flight than with few in flight.
fn slows_down(summary: &Summary, in_flight: u64) -> bool {
    let opening = &summary.evidence.edges.opening;
    let sum: u128 = opening.iter().map(|op| u128::from(op.end.nanos_since(op.sent))).sum();
    let first = (!opening.is_empty()).then(|| sum as f64 / opening.len() as f64);
    // A cold start may have slowed the first operations, so the median is used if it is shorter.
    let usual = summary.all.service.quantile(0.5).map(|nanos| nanos as f64);
    let unloaded = first.into_iter().chain(usual).reduce(f64::min).unwrap_or(0.0);
    let loaded = in_flight as f64 * 1e9 / summary.completed_rate().unwrap_or_default();
    loaded > SLOWER_MAX * unloaded
}

/// Returns the reason why operations of an open run did not end in time.
fn cause_of_missed_operations(summary: &Summary, in_flight_max: u64, impact: ClientImpact) -> LimitedBy {
    let (limits, tally) = (&summary.limits, &summary.stats.measured);
    // If the offered load was too high for a thread, the thread could not have generated it even with its own core, so
    // other processes are not the cause.
    if offered_too_much(limits.mean_busy(), tally) {
        return LimitedBy::ClientCpu;
    }
    let growth = growth(summary).unwrap_or_default();
    let late = growth.response > 0.0 && growth.lateness > MOST * growth.response;
    // If operations are due and slots are free, but no operation starts, the operations wait for the client.
    let slots_full = summary.all.slot_wait.count() > 0 || summary.in_flight_peak >= in_flight_max;
    let not_started = !slots_full && tally.dropped as f64 > MOST * not_sustained(summary) as f64;
    let unread = impact.reads_late() || (impact.service_share.is_none() && limits.share(limits.cpu) > MOST);
    let stopped = summary.client_stood_still() || waits_for_cores(summary);
    match (late || not_started || unread || stopped, fills_link(summary)) {
        (true, _) => client_or_host(summary),
        (false, true) => LimitedBy::Link,
        (false, false) => LimitedBy::Target,
    }
}

/// Returns the share of an emulated path's rate that the run used in its measured window; `None` without such a path.
pub(super) fn used_path_share(summary: &Summary) -> Option<f64> {
    let traffic = &summary.measured.traffic;
    let received = traffic.body.saturating_add(traffic.overhead);
    summary.path.used_share(received, summary.left_in_window(traffic.sent), summary.measured.seconds)
}

/// Returns whether body data waited in the network between client and target, or was lost in this network. An emulated
/// path is also full if the run used most of its rate.
fn fills_link(summary: &Summary) -> bool {
    if used_path_share(summary).is_some_and(|share| share >= PATH_FULL) {
        return true;
    }
    let stats = &summary.stats;
    // Traffic is counted from the start of the run, so attempts outside the measured window must also be counted.
    let attempts = stats.measured.attempts.saturating_add(stats.outside.attempts).max(1);
    stats.traffic.moved() / attempts >= LINK_BYTES && summary.evidence.network_paths.are_full()
}

/// Returns the reason why a client was too slow. Either the client itself needed more CPU time, or other processes on
/// its host used too much of it.
fn client_or_host(summary: &Summary) -> LimitedBy {
    let limits = &summary.limits;
    if limits.share(limits.host_delay) > TAKEN_MIN && limits.host_delay > limits.throttled {
        return LimitedBy::SharedHost;
    }
    let full = limits.share(limits.cpu) > CLIENT_MAX || limits.share(limits.throttled) > TAKEN_MIN;
    // If a thread was not fully busy but still started operations late, other processes kept it from its core.
    if full { LimitedBy::ClientCpu } else { LimitedBy::SharedHost }
}

/// Returns whether threads wait for a core most of the time on a host that client and target share. The target then also
/// waits for cores.
fn waits_for_cores(summary: &Summary) -> bool {
    summary.shares_host && summary.limits.share(summary.limits.host_delay) > MOST
}

/// Returns whether the client of a closed run delayed its slots so much that they made clearly fewer operations.
fn is_slowed_by_client(summary: &Summary, impact: ClientImpact) -> bool {
    let limits = &summary.limits;
    if waits_for_cores(summary) {
        return true;
    }
    let sends = summary.measured.traffic.sent_body > summary.measured.traffic.body;
    let stopped = limits.share(limits.frozen.max(limits.throttled)).max(impact.stalled_share);
    // A client that does not upload delays operations only while their responses wait unread. If this wait was
    // measured, it contains the client's whole delay. The time in which the client was busy or had no core is then not
    // added.
    let counted = impact.service_share.is_none() || sends;
    let seen = if counted { limits.share(limits.cpu.max(limits.taken)) } else { 0.0 };
    impact.service_share.unwrap_or_default().max(seen).max(stopped) > CLIENT_MAX
}

/// Returns whether think time kept the slots idle for most of the time, so that no requests queued.
fn is_idle(summary: &Summary, concurrency: u64) -> bool {
    summary.mean_in_flight().is_some_and(|mean| mean < IDLE_SHARE * concurrency as f64)
}

/// Returns the number of servers, if several slots sent requests to several servers. A single slot never waits for
/// another one.
pub(super) fn mixed_servers(summary: &Summary, concurrency: u64) -> Option<u64> {
    let servers = summary.stats.groups.iter().filter(|group| group.dimension == Dimension::Host).count() as u64;
    (servers > 1 && concurrency > 1).then_some(servers)
}

/// Returns the limit of a closed run that the client did not limit. Either requests queue at the target, or there are
/// too few concurrent requests.
fn target_or_concurrency(summary: &Summary, concurrency: u64) -> LimitedBy {
    if summary.all.service.count() < OPERATIONS_MIN {
        return LimitedBy::Unknown;
    }
    if is_idle(summary, concurrency) {
        return LimitedBy::Concurrency;
    }
    let own = summary.ok_rate().unwrap_or_default();
    match summary.probes.and_then(|probes| probes.more_is_faster(concurrency, own)) {
        Some(true) => return LimitedBy::Concurrency,
        Some(false) => return LimitedBy::Target,
        None => {}
    }
    match queueing_odds(summary).conclusion() {
        Queueing::Queued => LimitedBy::Target,
        // Operations overtake those of another, slower server, even if the operations of each server wait in a queue.
        Queueing::Independent if mixed_servers(summary, concurrency).is_some() => LimitedBy::NotDetermined,
        // Without an idle core on the client's host, more slots would not raise the rate. Neither the client nor a
        // target on the same host has CPU time left.
        Queueing::Independent if summary.limits.share(summary.limits.host_full) > MOST => LimitedBy::NotDetermined,
        Queueing::Independent => LimitedBy::Concurrency,
        Queueing::Unknown => LimitedBy::NotDetermined,
    }
}
