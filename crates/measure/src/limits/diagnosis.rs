//! The rules that decide what limited a run.

use super::client_impact::{AFFECTED_MAX, ClientImpact};
use super::failures::has_many_failures;
use super::offered_load::{MISSED_MAX, growth, misses_offered_rate, not_sustained};
use super::queueing::{Queueing, queueing_odds};
use super::{LimitedBy, MOST, OPERATIONS_MIN};
use crate::sample::outcome::AttemptClass;
use crate::summary::client_limits::offered_too_much;
use crate::summary::{Model, Summary};

/// Share of the time, or of a time, that the client may take before it is named.
const CLIENT_MAX: f64 = 0.1;
/// Body bytes per attempt from which data that waits on the way means that the link is full. Responses below the initial window of
/// a connection (RFC 6928) arrive with the acknowledgement of their request.
const LINK_BYTES: u64 = 14_600;
/// Share of the time for which others have to keep a slow client from running before they are named.
const TAKEN_MIN: f64 = 0.05;
/// Largest ratio of the service time with all slots in use to that of the first operations at which the target counts as equally
/// fast.
const SLOWER_MAX: f64 = 1.5;
/// Slots wait for their next operation, not for the target, if less than this share of them is in flight on average.
const IDLE_SHARE: f64 = 0.25;

/// Returns what limited a run.
#[must_use]
pub fn limited_by(summary: &Summary, model: &Model) -> LimitedBy {
    limited_by_given(summary, model, ClientImpact::of(summary))
}

/// Returns what limited a run, given the client's impact on times.
pub(super) fn limited_by_given(summary: &Summary, model: &Model, impact: ClientImpact) -> LimitedBy {
    let (limits, tally) = (&summary.limits, &summary.stats.measured);
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
        // A target that serves nothing is no faster for a faster client.
        Model::Closed { .. } if tally.ok == 0 && fails() && !summary.client_stood_still() => LimitedBy::Target,
        Model::Closed { .. } if is_slowed_by_client(summary, impact) => client_or_host(summary),
        Model::Closed { .. } if fails() => LimitedBy::Target,
        Model::Closed { .. } if fills_link(summary) => LimitedBy::Link,
        Model::Closed { concurrency } => target_or_concurrency(summary, concurrency),
    }
}

/// Returns the number of due operations that this client did not start. If the client limited an open run, operations whose
/// responses it had no time to read occupied the slots, so every dropped operation counts.
#[must_use]
pub fn missed_by_client(summary: &Summary, model: &Model) -> u64 {
    let tally = &summary.stats.measured;
    if model.is_open() && limited_by(summary, model).is_client() { tally.dropped } else { tally.missed_by_client }
}

/// Returns whether an open run had too few descriptors or local ports. If these allowed too few slots, they are the limit as long
/// as the target is as fast as with few operations in flight. A target that makes operations wait, or hangs, fills any number of
/// slots.
fn lacks_resources(summary: &Summary, model: &Model) -> bool {
    let Model::Open { in_flight_max } = *model else { return false };
    let (limits, slots_full) = (&summary.limits, summary.in_flight_peak >= in_flight_max);
    limits.share(limits.resources) > CLIENT_MAX && !(slots_full && slows_down(summary, in_flight_max))
}

/// Returns whether operations take longer with that many in flight than the first ones did.
fn slows_down(summary: &Summary, in_flight: u64) -> bool {
    let opening = &summary.evidence.edges.opening;
    let sum: u128 = opening.iter().map(|op| u128::from(op.end.nanos_since(op.sent))).sum();
    let first = (!opening.is_empty()).then(|| sum as f64 / opening.len() as f64);
    // The first operations may have met a cold start.
    let usual = summary.all.service.quantile(0.5).map(|nanos| nanos as f64);
    let unloaded = first.into_iter().chain(usual).reduce(f64::min).unwrap_or(0.0);
    let loaded = in_flight as f64 * 1e9 / summary.completed_rate().unwrap_or_default();
    loaded > SLOWER_MAX * unloaded
}

/// Returns what kept operations of an open run from ending.
fn cause_of_missed_operations(summary: &Summary, in_flight_max: u64, impact: ClientImpact) -> LimitedBy {
    let (limits, tally) = (&summary.limits, &summary.stats.measured);
    // Whatever the host took: even with all of a core, a thread could not have made the load.
    if offered_too_much(limits.mean_busy(), tally) {
        return LimitedBy::ClientCpu;
    }
    let growth = growth(summary).unwrap_or_default();
    let late = growth.response > 0.0 && growth.lateness > MOST * growth.response;
    // Operations that are due and not started, with free slots, wait for the client.
    let slots_full = summary.all.slot_wait.count() > 0 || summary.in_flight_peak >= in_flight_max;
    let not_started = !slots_full && tally.dropped as f64 > MOST * not_sustained(summary) as f64;
    let unread = impact.reads_late() || (impact.service_share.is_none() && limits.share(limits.cpu) > MOST);
    match (late || not_started || unread || summary.client_stood_still(), fills_link(summary)) {
        (true, _) => client_or_host(summary),
        (false, true) => LimitedBy::Link,
        (false, false) => LimitedBy::Target,
    }
}

/// Returns whether bodies waited or were lost on the way between client and target.
fn fills_link(summary: &Summary) -> bool {
    let stats = &summary.stats;
    // Traffic is counted from the start of the run, attempts by the window that they belong to.
    let attempts = stats.measured.attempts.saturating_add(stats.outside.attempts).max(1);
    stats.traffic.moved() / attempts >= LINK_BYTES && summary.evidence.network_paths.are_full()
}

/// Returns whether a client that was not fast enough lacked CPU time itself, or lost it to others on its host.
fn client_or_host(summary: &Summary) -> LimitedBy {
    let limits = &summary.limits;
    if limits.share(limits.host_delay) > TAKEN_MIN && limits.host_delay > limits.throttled {
        return LimitedBy::SharedHost;
    }
    let full = limits.share(limits.cpu) > CLIENT_MAX || limits.share(limits.throttled) > TAKEN_MIN;
    // A thread that had time to spare and started late was kept from its core.
    if full { LimitedBy::ClientCpu } else { LimitedBy::SharedHost }
}

/// Returns whether the client took so much of a closed run's time that the slots did less.
fn is_slowed_by_client(summary: &Summary, impact: ClientImpact) -> bool {
    let limits = &summary.limits;
    // If client and target share a host on which threads wait for a core most of the time, the target waits as well.
    if summary.shares_host && limits.share(limits.host_delay) > MOST {
        return true;
    }
    let sends = summary.measured.traffic.sent_body > summary.measured.traffic.body;
    let stopped = limits.share(limits.frozen.max(limits.throttled)).max(impact.stalled_share);
    // If only responses move, the client can add no more than the time for which they wait unread.
    let counted = impact.service_share.is_none() || sends;
    let seen = if counted { limits.share(limits.cpu.max(limits.taken)) } else { 0.0 };
    impact.service_share.unwrap_or_default().max(seen).max(stopped) > CLIENT_MAX
}

/// Returns whether the slots paused for most of the time because of think time, so that nothing queued.
fn is_idle(summary: &Summary, concurrency: u64) -> bool {
    summary.mean_in_flight().is_some_and(|mean| mean < IDLE_SHARE * concurrency as f64)
}

/// Returns the limit of a closed run that the client did not limit: either requests queue at the target, or there are too few of
/// them.
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
        // On a host without an idle core, more slots are no faster, be it for the client or for a target that shares the host.
        Queueing::Independent if summary.limits.share(summary.limits.host_full) > MOST => LimitedBy::NotDetermined,
        Queueing::Independent => LimitedBy::Concurrency,
        Queueing::Unknown => LimitedBy::NotDetermined,
    }
}
