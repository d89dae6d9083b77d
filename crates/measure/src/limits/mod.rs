//! What set the limit: the target, this client, its host, or what was asked for.
//!
//! A limit is named for its effect: the part of the missing operations, or of the time, that it explains
//! (docs/measurement.md). Where a run leaves two explanations, none is named.

use crate::evidence::queueing::{Load, Odds, Queueing};
use crate::evidence::{Growth, Sort, order};
use crate::sample::outcome::AttemptClass;
use crate::stats::Dimension;
use crate::stats::quantile_range::{QuantileRange, Timed};
use crate::stats::size_class::size_label;
use crate::summary::client_limits::offered_too_much;
use crate::summary::{Model, Summary};
use crate::{Distribution, Label};
use serde::{Deserialize, Serialize};
use std::fmt;

/// What set the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LimitedBy {
    /// The target responded as fast as it could.
    Target,
    /// The network between client and target was full.
    Link,
    /// A thread of this client had no time left.
    ClientCpu,
    /// This client's network card was full.
    ClientNic,
    /// This client had too few descriptors or local ports.
    ClientResources,
    /// Client and others compete for this host's cores.
    SharedHost,
    /// Operations did not wait for each other: more concurrency reaches a higher rate.
    Concurrency,
    /// The target sustained all that was offered.
    Rate,
    /// One closed level does not show whether the target or the concurrency set the limit.
    NotDetermined,
    /// Too few operations ended.
    Unknown,
}

impl LimitedBy {
    /// Whether the limit lies on the client's side, so that the rates are lower bounds.
    #[must_use]
    pub fn is_client(self) -> bool {
        matches!(self, Self::ClientCpu | Self::ClientNic | Self::ClientResources | Self::SharedHost)
    }
}

impl fmt::Display for LimitedBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Target => "target",
            Self::Link => "link",
            Self::ClientCpu => "client CPU",
            Self::ClientNic => "client NIC",
            Self::ClientResources => "client descriptors or ports",
            Self::SharedHost => "shared host",
            Self::Concurrency => "your concurrency",
            Self::Rate => "the rate asked for",
            Self::NotDetermined => "not determined",
            Self::Unknown => "unknown",
        })
    }
}

/// What is known of the client's part in the times of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClientPart {
    /// Share of service time for which responses waited unread; `None` where it was not measured, 0 where it is too short to
    /// matter.
    pub service_share: Option<f64>,
    /// Share of the operations that a stall of the client delayed, themselves or by the queue it left behind. 0 where that
    /// does not explain most of the p95.
    pub affected_share: f64,
    /// Share of the slots' time for which operations took longer than they would have without a stall.
    pub stalled_share: f64,
}

impl ClientPart {
    /// Whether most of the service time is time for which responses waited unread, as far as that was measured.
    #[must_use]
    pub fn reads_late(&self) -> bool {
        self.service_share.is_some_and(|share| share > MOST)
    }
}

/// Share of the offered operations that may be missing.
const MISSED_MAX: f64 = 0.01;
/// Fewer operations than this have not piled up.
const PILED_UP_MIN: u64 = 10;
/// Part of the time, or of a time, that the client may take before it is named.
const CLIENT_MAX: f64 = 0.1;
/// Share of the operations of an open run that stalls may affect before the client is named.
const AFFECTED_MAX: f64 = 0.05;
/// Time that responses wait unread whatever the client does, in nanoseconds: it takes as long to wake up.
const UNREAD_MIN: f64 = 200_000.0;
/// Looks that make a share.
const LOOKS_MIN: u64 = 20;
/// The percentile that shows whether the client did something to the times: that of the operations that may be affected. One
/// stall of a healthy client can be most of a p99.
const SHOWN: f64 = 1.0 - AFFECTED_MAX;
/// Body bytes of an attempt from which data that waits on the way says that the link is full. Responses below the initial
/// window of a connection (RFC 6928) are there with the acknowledgement of their request.
const LINK_BYTES: u64 = 14_600;
/// Share of what is missing that a limit has to explain.
const MOST: f64 = 0.5;
/// Share of its time for which a client that could not do its work was kept from it by others.
const TAKEN_MIN: f64 = 0.05;
/// Up to this factor of what the first operations took, a target with all slots in use is as fast as with few of them.
const SLOWER_MAX: f64 = 1.5;
/// Share of operations that may fail.
const FAILED_MAX: f64 = 0.1;
/// Share of the slots' time that may go to operations that fail, and to pauses after them.
const FAILING_MAX: f64 = 0.25;
/// Slots of which less than this share is in flight on average wait for their next operation, not for the target.
const IDLE_SHARE: f64 = 0.25;
/// Spread of service times (`evidence/order.rs`) up to which transfers are even.
const EVEN_SPREAD: f64 = 0.02;
/// Below so many operations nothing is said about queueing.
const OPERATIONS_MIN: u64 = 20;

impl Summary {
    /// What set the limit.
    #[must_use]
    pub fn limited_by(&self, model: &Model) -> LimitedBy {
        self.limited_by_given(model, self.client_part())
    }

    /// The client's part in the times of operations, as far as it was measured.
    #[must_use]
    pub fn client_part(&self) -> ClientPart {
        let all = &self.all;
        let mean_service = all.service.moments().mean().unwrap_or_default();
        let of_service = |share: f64| if share * mean_service > UNREAD_MIN { share } else { 0.0 };
        let service_share = self.client_share().filter(|share| share.samples >= LOOKS_MIN);
        let explains =
            |range: QuantileRange| range.is_wide() && (range.high - range.low) as f64 > MOST * range.high as f64;
        let (times, part) = all.timed(Timed::Response);
        let shows = QuantileRange::of(times, part, all.affected.added_max, SHOWN).is_some_and(explains);
        let ended = all.ok.saturating_add(all.failed).max(1) as f64;
        let affected = all.affected.ok.saturating_add(all.affected.failed) as f64 / ended;
        ClientPart {
            service_share: service_share.map(|share| of_service(share.share)),
            affected_share: if shows && all.ok >= OPERATIONS_MIN { affected } else { 0.0 },
            stalled_share: self.stalled_share(),
        }
    }

    /// What stalls added to the response times of the operations that they affected, as a share of all response times.
    fn stalled_share(&self) -> f64 {
        let (all, part) = self.all.timed(Timed::Response);
        let (sum, affected) = (all.moments().sum as f64, part.moments().sum as f64);
        let usual = all.without(part).moments().mean().unwrap_or_default();
        let added = (affected - part.count() as f64 * usual).max(0.0);
        if sum > 0.0 { added / sum } else { 0.0 }
    }

    /// What set the limit, given what else is known of the client.
    #[must_use]
    pub fn limited_by_given(&self, model: &Model, client: ClientPart) -> LimitedBy {
        let (limits, tally) = (&self.limits, &self.stats.measured);
        if limits.share(limits.nic) > CLIENT_MAX {
            return LimitedBy::ClientNic;
        }
        let missed = model.is_open() && self.misses();
        let refused = tally.classes.get(AttemptClass::ClientResource) as f64;
        if refused > MISSED_MAX * tally.attempts as f64 || (missed && self.lacks_resources(model)) {
            return LimitedBy::ClientResources;
        }
        match *model {
            Model::Open { in_flight_max } if missed => self.of_the_missed(in_flight_max, client),
            Model::Open { .. } if client.affected_share > AFFECTED_MAX => self.of_the_client(),
            Model::Open { .. } if self.fails(model) && self.client_stood_still() => self.of_the_client(),
            Model::Open { .. } if self.fails(model) => LimitedBy::Target,
            Model::Open { .. } if self.fills_link() => LimitedBy::Link,
            Model::Open { .. } => LimitedBy::Rate,
            // A target that serves nothing is no faster for a faster client.
            Model::Closed { .. } if tally.ok == 0 && self.fails(model) && !self.client_stood_still() => {
                LimitedBy::Target
            }
            Model::Closed { .. } if self.is_slowed(client) => self.of_the_client(),
            Model::Closed { .. } if self.fails(model) => LimitedBy::Target,
            Model::Closed { .. } if self.fills_link() => LimitedBy::Link,
            Model::Closed { concurrency } => self.queueing(concurrency),
        }
    }

    /// Measured operations that the target did not sustain: those that were dropped, and those that had piled up when the
    /// schedule ended, even if the drain still took them.
    #[must_use]
    pub fn not_carried(&self) -> u64 {
        let piled_up = self.growth().map_or(0, |growth| growth.piled_up);
        let piled_up = if piled_up < PILED_UP_MIN { 0 } else { piled_up };
        self.stats.measured.dropped.saturating_add(self.overdue().max(piled_up))
    }

    /// Operations that were due and that this client did not start. Where the client was the limit of an open run, slots were
    /// taken by operations whose responses it had no time to read, so that all that never started is its doing.
    #[must_use]
    pub fn missed_by_client(&self, model: &Model) -> u64 {
        let tally = &self.stats.measured;
        if model.is_open() && self.limited_by(model).is_client() { tally.dropped } else { tally.missed_by_client }
    }

    /// Whether so many operations of an open run were not sustained that its rate was not reached.
    #[must_use]
    pub fn misses(&self) -> bool {
        self.not_carried() as f64 > MISSED_MAX * self.stats.measured.scheduled as f64
    }

    /// How response times grew over the window; `None` when they did not, or in a closed run.
    #[must_use]
    pub fn growth(&self) -> Option<Growth> {
        Growth::of(&self.evidence.cohorts, self.schedule_seconds())
    }

    /// Unfinished operations that had waited longer than any that ends well usually takes.
    fn overdue(&self) -> u64 {
        let (overdue, _) = self.all.unfinished_wait.beyond(self.overdue_from());
        let healthy = self.all.unfinished_wait.count() - overdue;
        self.stats.measured.unfinished.saturating_sub(healthy)
    }

    /// The wait from which an unfinished operation is overdue, in nanoseconds: any where none succeeded.
    fn overdue_from(&self) -> f64 {
        self.all.response.quantile(0.99).map_or(-1.0, |usual| 2.0 * usual as f64)
    }

    /// Whether descriptors or local ports were too few for an open run. Where they allowed too few slots, these are the limit as long as
    /// the target takes no longer for its operations than with few of them: one that makes them wait, or hangs, fills any number.
    fn lacks_resources(&self, model: &Model) -> bool {
        let Model::Open { in_flight_max } = *model else { return false };
        let slots_full = self.in_flight_peak >= in_flight_max;
        self.limits.share(self.limits.resources) > CLIENT_MAX && !(slots_full && self.slows_down(in_flight_max))
    }

    /// Whether operations take longer with so many in flight than the first ones did.
    fn slows_down(&self, in_flight: u64) -> bool {
        let opening = &self.evidence.edges.opening;
        let sum: u128 = opening.iter().map(|op| u128::from(op.end.nanos_since(op.sent))).sum();
        let first = (!opening.is_empty()).then(|| sum as f64 / opening.len() as f64);
        // The first ones may have met a cold start.
        let usual = self.all.service.quantile(0.5).map(|nanos| nanos as f64);
        let unloaded = first.into_iter().chain(usual).reduce(f64::min).unwrap_or(0.0);
        let loaded = in_flight as f64 * 1e9 / self.completed_rate().unwrap_or_default();
        loaded > SLOWER_MAX * unloaded
    }

    /// Who kept operations of an open run from ending.
    fn of_the_missed(&self, in_flight_max: u64, client: ClientPart) -> LimitedBy {
        let (limits, tally) = (&self.limits, &self.stats.measured);
        // Whatever the host took: the threads' whole cores would not have done.
        if offered_too_much(limits.mean_busy(), tally) {
            return LimitedBy::ClientCpu;
        }
        let growth = self.growth().unwrap_or_default();
        let late = growth.response > 0.0 && growth.lateness > MOST * growth.response;
        // What is due and not taken, with slots to spare, waits for the client.
        let slots_full = self.all.slot_wait.count() > 0 || self.in_flight_peak >= in_flight_max;
        let not_taken = !slots_full && tally.dropped as f64 > MOST * self.not_carried() as f64;
        let unread = client.reads_late() || (client.service_share.is_none() && limits.share(limits.cpu) > MOST);
        match (late || not_taken || unread || self.client_stood_still(), self.fills_link()) {
            (true, _) => self.of_the_client(),
            (false, true) => LimitedBy::Link,
            (false, false) => LimitedBy::Target,
        }
    }

    /// Whether this client was kept from running for most of the time: it had no time to see what the target did.
    #[must_use]
    pub fn client_stood_still(&self) -> bool {
        self.limits.share(self.limits.frozen.max(self.limits.throttled)) > MOST
    }

    /// Whether bodies waited or were lost on their way between client and target.
    fn fills_link(&self) -> bool {
        // Traffic is counted from the start, attempts by the window that they belong to.
        let attempts = self.stats.measured.attempts.saturating_add(self.stats.outside.attempts).max(1);
        let moved = self.stats.traffic.moved() / attempts;
        moved >= LINK_BYTES && self.evidence.paths.are_full()
    }

    /// What kept a client from its work that it was not fast enough for.
    fn of_the_client(&self) -> LimitedBy {
        let limits = &self.limits;
        if limits.share(limits.host_delay) > TAKEN_MIN && limits.host_delay > limits.throttled {
            return LimitedBy::SharedHost;
        }
        let full = limits.share(limits.cpu) > CLIENT_MAX || limits.share(limits.throttled) > TAKEN_MIN;
        // A thread that had time to spare and started late was kept from its core.
        if full { LimitedBy::ClientCpu } else { LimitedBy::SharedHost }
    }

    /// Whether the client took so much of a closed run's time that the slots did less.
    fn is_slowed(&self, client: ClientPart) -> bool {
        let limits = &self.limits;
        // Where client and target share a host on which threads wait for a core most of the time, the target waits as well.
        if self.shares_host && limits.share(limits.host_delay) > MOST {
            return true;
        }
        let sends = self.measured.traffic.sent_body > self.measured.traffic.body;
        let stopped = limits.share(limits.frozen.max(limits.throttled)).max(client.stalled_share);
        // Where only responses move, the time for which they wait unread is all that the client can add.
        let counted = client.service_share.is_none() || sends;
        let seen = if counted { limits.share(limits.cpu.max(limits.taken)) } else { 0.0 };
        client.service_share.unwrap_or_default().max(seen).max(stopped) > CLIENT_MAX
    }

    /// Whether operations that fail take much of the run: a dead endpoint among others sets the limit, whatever the others
    /// do. Slots of a closed run that wait for such operations, or pause after them, do nothing else.
    #[must_use]
    pub fn fails(&self, model: &Model) -> bool {
        let tally = &self.stats.measured;
        let failed = tally.failed.saturating_add(self.overdue());
        let ended = tally.completed().saturating_add(self.overdue());
        let slots_fail = failed > 0 && self.failing_share(model) > FAILING_MAX;
        failed as f64 > FAILED_MAX * ended as f64 || slots_fail
    }

    /// Share of the slots' time that went to operations which failed or were overdue, and to pauses after them; 0 in an open run.
    #[must_use]
    pub fn failing_share(&self, model: &Model) -> f64 {
        let Model::Closed { concurrency } = *model else { return 0.0 };
        let overdue = self.all.unfinished_wait.sum_beyond(self.overdue_from());
        let failing = [self.all.failed_response.moments().sum, overdue, self.stats.back_off_nanos.into()];
        let time = failing.into_iter().fold(0, u128::saturating_add);
        let slots = concurrency as f64 * self.measured.seconds * 1e9;
        if slots > 0.0 { (time as f64 / slots).min(1.0) } else { 0.0 }
    }

    /// Whether the slots paused for most of the time, as they were asked to: then nothing queued.
    fn is_idle(&self, concurrency: u64) -> bool {
        self.mean_in_flight().is_some_and(|mean| mean < IDLE_SHARE * concurrency as f64)
    }

    /// With slots to spare on the client's side, either the target makes requests queue, or there are too few of them.
    fn queueing(&self, concurrency: u64) -> LimitedBy {
        if self.all.service.count() < OPERATIONS_MIN {
            return LimitedBy::Unknown;
        }
        if self.is_idle(concurrency) {
            return LimitedBy::Concurrency;
        }
        let own = self.ok_rate().unwrap_or_default();
        match self.probes.and_then(|probes| probes.more_is_faster(concurrency, own)) {
            Some(true) => return LimitedBy::Concurrency,
            Some(false) => return LimitedBy::Target,
            None => {}
        }
        match self.queueing_odds().conclusion() {
            Queueing::Queued => LimitedBy::Target,
            // More slots find no core on a host that has none left, be it for the client or for a target that shares it.
            Queueing::Independent if self.limits.share(self.limits.host_full) > MOST => LimitedBy::NotDetermined,
            Queueing::Independent => LimitedBy::Concurrency,
            Queueing::Unknown => LimitedBy::NotDetermined,
        }
    }

    /// How likely it is that operations of a closed run waited for each other.
    #[must_use]
    pub fn queueing_odds(&self) -> Odds {
        let total = |of: &Distribution| of.moments().sum as f64;
        let moved = total(&self.all.transfer).max(total(&self.all.sending));
        let load = Load {
            in_flight: self.mean_in_flight().unwrap_or_default(),
            per_second: self.completed_rate().unwrap_or_default(),
            // Connections that share a link are never as even as those of which each has its own speed.
            transfers: moved > MOST * total(&self.all.service)
                && order::spread(&self.all.service).is_none_or(|spread| spread > EVEN_SPREAD),
            overtaking: self.overtaking_expected,
            pauses_are_rare: self.pauses_are_rare(),
        };
        Odds::of(&self.evidence, &load, |sort| self.law(sort))
    }

    /// Times of operations like those: of the same class of sizes where there are several, else of the same kind.
    fn law(&self, sort: Sort) -> Option<Distribution> {
        let sizes = self.stats.groups.iter().filter(|group| group.dimension == Dimension::Size && group.stats.ok > 0);
        if sizes.clone().count() > 1 {
            let label = size_label(sort.size)?;
            let mut same = sizes.filter(|group| matches!(&group.label, Label::Value(value) if value == label));
            return same.next().map(|group| group.stats.response.clone());
        }
        let mut kinds = self.stats.kinds.iter().filter(|(kind, _)| *kind == sort.kind);
        let service = kinds.next().map(|(_, stats)| &stats.service)?;
        let one_kind = self.stats.kinds.len() == 1;
        Some(if one_kind && self.pauses_are_rare() { service.without(&self.evidence.paused) } else { service.clone() })
    }

    /// Whether few operations were in flight while the target paused.
    fn pauses_are_rare(&self) -> bool {
        (self.evidence.paused.count() as f64) < MOST * self.all.service.count() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{EdgeOp, PathSample};
    use crate::interval::{ClientLoad, Interval};
    use crate::sample::OpKind;
    use crate::sample::ReadSample;
    use crate::time::Instant;
    use crate::time::Stage;
    use std::time::Duration;

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
        run_delay_sum: 0.0,
        steal: 0.0,
        throttled: 0.0,
        nic: 0.0,
        descriptors: 0.0,
        ports: 0.0,
        frozen: 0.0,
        host_busy: 0.0,
        cpu_nanos: 0,
    };

    /// A run of so many seconds in which nothing but the client's load tells anything.
    fn loaded(client: ClientLoad) -> LimitedBy {
        judge(CLOSED, &seconds(10, client, |interval| answers(interval, 110_000)))
    }

    #[test]
    fn a_busy_thread_is_the_limit_only_while_responses_wait() {
        assert_eq!(loaded(SATURATED), LimitedBy::ClientCpu);
        assert_eq!(loaded(ClientLoad { unread: 0.1, ..SATURATED }), LimitedBy::NotDetermined);
        let sends = |interval: &mut Interval| {
            answers(interval, 110_000);
            interval.stats.traffic.sent_body = 1_000_000;
        };
        let prompt = ClientLoad { unread: 0.1, ..SATURATED };
        assert_eq!(judge(CLOSED, &seconds(10, prompt, sends)), LimitedBy::ClientCpu, "sends have nothing to read");
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
        assert_eq!((slots(2.6), slots(10.0)), (LimitedBy::NotDetermined, LimitedBy::NotDetermined));
    }

    #[test]
    fn the_client_is_named_for_more_than_a_tenth_of_the_time_however_short_the_run() {
        for (length, flagged, named) in [(10, 1, false), (10, 2, true), (1, 1, true), (100, 10, false), (100, 11, true)]
        {
            let mut run = seconds(length, ClientLoad::default(), |i| answers(i, 110_000));
            run.iter_mut().take(flagged).for_each(|interval| interval.client = SATURATED);
            assert_eq!(judge(CLOSED, &run) == LimitedBy::ClientCpu, named, "{flagged} of {length}");
        }
    }

    #[test]
    fn a_part_of_the_client_that_is_measured_is_taken_instead() {
        let run = seconds(10, SATURATED, |i| answers(i, 110_000));
        let summary = Summary::of(&CLOSED, &run);
        let given = |share| {
            summary.limited_by_given(&CLOSED, ClientPart { service_share: Some(share), ..ClientPart::default() })
        };
        assert_eq!((given(0.05), given(0.2)), (LimitedBy::NotDetermined, LimitedBy::ClientCpu));
    }

    /// So many of 100 operations a second are affected by a stall.
    fn affected(of_100: u64) -> impl Fn(&mut Interval) {
        move |interval: &mut Interval| {
            let kind = interval.stats.kind_mut(OpKind::Get);
            for number in 0..100 {
                let nanos = if number < of_100 { 5_200_000 } else { 200_000 };
                kind.ok += 1;
                kind.response.record(nanos);
                kind.service.record(nanos);
                if number < of_100 {
                    kind.affected.ok += 1;
                    kind.affected.added_max = 10_000_000;
                    kind.affected.response.record(nanos);
                }
            }
        }
    }

    #[test]
    fn stalls_limit_an_open_run_when_they_change_its_percentiles() {
        assert_eq!(judge(OPEN, &seconds(5, SATURATED, affected(90))), LimitedBy::ClientCpu);
        assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), affected(6))), LimitedBy::SharedHost);
        assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), affected(4))), LimitedBy::Rate);
    }

    #[test]
    fn stalls_limit_a_closed_run_for_the_time_that_they_add() {
        // 5 of 100 operations took 1.3 of 21 ms in all, or of 45 ms.
        let judged = |of_100| judge(CLOSED, &seconds(5, ClientLoad::default(), affected(of_100)));
        assert_eq!((judged(0), judged(1)), (LimitedBy::Concurrency, LimitedBy::SharedHost));
    }

    #[test]
    fn data_that_waits_on_its_way_is_the_links_limit() {
        let carried = |bytes: u64, client: ClientLoad| {
            let run = seconds(5, client, |interval| {
                answers(interval, 110_000);
                interval.stats.measured.attempts = 10;
                interval.stats.traffic.body = 10 * bytes;
                let waiting = PathSample { round_trip: 80_000_000, shortest: 10_000, ..PathSample::default() };
                interval.evidence.paths.add(&waiting);
            });
            judge(CLOSED, &run)
        };
        assert_eq!(carried(100_000, ClientLoad::default()), LimitedBy::Link);
        assert_eq!(carried(100_000, SATURATED), LimitedBy::ClientCpu, "unread responses fill the window, not the link");
        assert_ne!(carried(1000, ClientLoad::default()), LimitedBy::Link);
    }

    #[test]
    fn an_open_run_is_limited_by_what_is_missing_not_by_slot_wait() {
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
        assert_eq!(
            judge(OPEN, &seconds(5, crowded, waiting)),
            LimitedBy::Target,
            "slots were full, the host idle for us"
        );
    }

    #[test]
    fn a_busy_host_that_delayed_nothing_is_no_limit() {
        let busy = ClientLoad { run_delay: 0.3, steal: 0.05, ..ClientLoad::default() };
        let run = seconds(12, busy, |interval| {
            let kind = interval.stats.kind_mut(OpKind::Get);
            for _ in 0..500 {
                kind.service.record(3_440_000);
                kind.response.record(3_470_000);
                kind.lateness.record(1_200_000);
            }
            let tally = &mut interval.stats.measured;
            (tally.scheduled, tally.started, tally.ok) = (500, 500, 500);
        });
        assert_eq!(judge(OPEN, &run), LimitedBy::Rate);
    }

    #[test]
    fn a_quota_is_a_shortage_of_the_clients_cpu() {
        let throttled = ClientLoad { busy: 0.2, run_delay: 0.8, throttled: 0.8, unread: 0.9, ..ClientLoad::default() };
        assert_eq!(loaded(throttled), LimitedBy::ClientCpu);
        assert_eq!(loaded(ClientLoad { throttled: 0.0, ..throttled }), LimitedBy::SharedHost);
        // Nothing came back yet, and it never had the time to look.
        let nothing = |interval: &mut Interval| {
            (interval.stats.measured.scheduled, interval.stats.measured.dropped) = (100, 100);
            interval.stats.kind_mut(OpKind::Get).slot_wait.record(1_000_000);
        };
        let stopped = ClientLoad { busy: 0.04, throttled: 0.96, ..ClientLoad::default() };
        assert_eq!(judge(OPEN, &seconds(3, stopped, nothing)), LimitedBy::ClientCpu);
        assert_eq!(judge(OPEN, &seconds(3, ClientLoad::default(), nothing)), LimitedBy::Target);
        // All was started, and timed out while it did not look.
        let timed_out = |interval: &mut Interval| {
            let tally = &mut interval.stats.measured;
            (tally.scheduled, tally.started, tally.failed) = (100, 100, 100);
        };
        assert_eq!(judge(OPEN, &seconds(3, stopped, timed_out)), LimitedBy::ClientCpu);
        assert_eq!(judge(OPEN, &seconds(3, ClientLoad::default(), timed_out)), LimitedBy::Target);
    }

    #[test]
    fn operations_that_fail_or_hang_are_the_targets_limit() {
        let failing = |failed: u64| {
            let run = seconds(10, ClientLoad::default(), |interval| {
                answers(interval, 110_000);
                (interval.stats.measured.ok, interval.stats.measured.failed) = (100 - failed, failed);
            });
            judge(CLOSED, &run)
        };
        assert_eq!((failing(5), failing(50)), (LimitedBy::NotDetermined, LimitedBy::Target));
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
    fn too_few_descriptors_or_ports_are_the_clients_fault() {
        let full = ClientLoad { ports: 0.97, ..ClientLoad::default() };
        assert_eq!(judge(OPEN, &seconds(5, full, |i| answers(i, 110_000))), LimitedBy::Rate, "nothing was refused");
        let dropped = |interval: &mut Interval| {
            (interval.stats.measured.scheduled, interval.stats.measured.dropped) = (100, 50);
        };
        assert_eq!(judge(OPEN, &seconds(5, full, dropped)), LimitedBy::ClientResources);
        // All 100 slots are taken: 1,000/s at a target that takes 100 ms for each, and at one that takes 10 ms for one at a time.
        let few = ClientLoad { descriptors: 1.0, ..ClientLoad::default() };
        let slots = |service_ms: u64, first_ms: u64| {
            let run = seconds(5, few, |interval| {
                dropped(interval);
                interval.in_flight_peak = 100;
                interval.stats.measured.ok = 100_000 / service_ms;
                interval.stats.kind_mut(OpKind::Get).service.record_many(service_ms * 1_000_000, 100);
                let (sent, end) = (interval.start, interval.start + Duration::from_millis(first_ms));
                interval.evidence.edges.opening = vec![EdgeOp { sent, end, sort: Sort { kind: OpKind::Get, size: 0 } }];
            });
            judge(OPEN, &run)
        };
        assert_eq!((slots(100, 100), slots(1000, 10)), (LimitedBy::ClientResources, LimitedBy::Target));
        let hangs = seconds(5, few, |interval| {
            dropped(interval);
            interval.in_flight_peak = 100;
        });
        assert_eq!(judge(OPEN, &hangs), LimitedBy::Target);
        let refused = |interval: &mut Interval| {
            interval.stats.measured.attempts = 100;
            for _ in 0..2 {
                interval.stats.measured.classes.add(AttemptClass::ClientResource);
            }
        };
        assert_eq!(judge(CLOSED, &seconds(5, ClientLoad::default(), refused)), LimitedBy::ClientResources);
        assert_eq!(judge(OPEN, &seconds(5, ClientLoad::default(), refused)), LimitedBy::ClientResources);
    }

    /// Its slots pause for 5 s of 6, after 20 refused connections.
    #[test]
    fn slots_that_pause_after_failures_do_not_wait_for_more_concurrency() {
        let mut run = seconds(6, ClientLoad::default(), |_| ());
        answers(&mut run[0], 110_000);
        (run[0].stats.measured.ok, run[0].stats.measured.started) = (40_000, 40_000);
        for interval in &mut run[1..] {
            interval.stats.back_off_nanos = 9_900_000_000;
            (interval.stats.measured.failed, interval.stats.measured.started) = (4, 4);
        }
        assert_eq!(judge(CLOSED, &run), LimitedBy::Target);
    }

    /// Ten slots that pause for 1 s between operations of 10 ms; one runs into a timeout of 30 s. And downloads that the end cuts off.
    #[test]
    fn failures_are_counted_on_the_time_of_all_slots() {
        let mut run = seconds(60, ClientLoad::default(), |interval| answers(interval, 10_000_000));
        run[40].stats.measured.failed = 1;
        run[40].stats.kind_mut(OpKind::Get).failed_response.record(30_000_000_000);
        let share = |run: &[Interval]| Summary::of(&CLOSED, run).failing_share(&CLOSED);
        assert_eq!((share(&run) * 1000.0).round(), 50.0);
        run[59].stats.kind_mut(OpKind::Get).unfinished_wait.record_many(15_000_000, 8);
        assert_eq!((share(&run) * 1000.0).round(), 50.0, "cut off in good health");
        run[59].stats.kind_mut(OpKind::Get).unfinished_wait.record_many(30_000_000_000, 2);
        assert_eq!((share(&run) * 1000.0).round(), 150.0, "overdue");
    }

    /// It refuses everything at once, and its client was busy with that.
    #[test]
    fn a_target_that_serves_nothing_is_the_limit() {
        let run = seconds(5, SATURATED, |interval| {
            let tally = &mut interval.stats.measured;
            (tally.started, tally.failed) = (1000, 1000);
        });
        assert_eq!(judge(CLOSED, &run), LimitedBy::Target);
    }

    #[test]
    fn one_operation_that_hangs_is_not_the_limit_of_a_schedule() {
        let run = seconds(2, ClientLoad::default(), |interval| {
            answers(interval, 300_000);
            let tally = &mut interval.stats.measured;
            (tally.scheduled, tally.started, tally.ok, tally.unfinished) = (500, 500, 499, 1);
            interval.stats.kind_mut(OpKind::Get).unfinished_wait.record(2_000_000_000);
        });
        assert_eq!(judge(OPEN, &run), LimitedBy::Rate);
    }

    #[test]
    fn one_late_operation_does_not_make_a_host_the_limit() {
        let of = |count: u64| {
            let run = seconds(1, ClientLoad::default(), |interval| {
                let kind = interval.stats.kind_mut(OpKind::Get);
                (kind.ok, kind.affected.ok, kind.affected.added_max) = (count, count, 1_000_000);
                for _ in 0..count {
                    kind.response.record(1_200_000);
                    kind.affected.response.record(1_200_000);
                }
                let tally = &mut interval.stats.measured;
                (tally.scheduled, tally.started, tally.ok) = (count, count, count);
            });
            judge(OPEN, &run)
        };
        assert_eq!((of(1), of(100)), (LimitedBy::Rate, LimitedBy::SharedHost));
    }

    #[test]
    fn what_a_quota_takes_is_nobody_elses_doing() {
        let throttled = ClientLoad { frozen: 0.5, throttled: 0.45, run_delay: 0.5, ..ClientLoad::default() };
        let run = seconds(4, throttled, |interval| answers(interval, 300_000));
        assert_eq!(judge(CLOSED, &run), LimitedBy::ClientCpu);
    }

    /// Responses do not wait unread there, since the server waits for the same cores.
    #[test]
    fn a_client_that_waits_for_cores_most_of_the_time_has_none_to_spare() {
        let crowded = ClientLoad { busy: 0.2, run_delay: 0.7, unread: 0.1, ..ClientLoad::default() };
        let run = seconds(4, crowded, |interval| {
            answers(interval, 300_000);
            for _ in 0..30 {
                interval.stats.unread_responses.add(ReadSample::Dated { nanos: 1_000, stands_for: 1 }, 300_000, true);
            }
        });
        let at = |shares_host| Summary { shares_host, ..Summary::of(&CLOSED, &run) }.limited_by(&CLOSED);
        assert_eq!((at(true), at(false)), (LimitedBy::SharedHost, LimitedBy::NotDetermined));
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
