//! Judgment of an objective, by counting operations around its bound.
//!
//! A bound on operations means that at most a share of them may exceed it: "p99 <= 10 ms" that at most 1 % take longer.
//! Operations are counted twice: all of them, and those that the client did not disturb. An objective is met if all
//! operations meet it, and missed if the undisturbed ones miss it. Where the two disagree, the run cannot decide
//! (docs/measurement.md).

use super::{Judgement, Metric, Objective, Timed};
use crate::limits::{limited_by, missed_by_client};
use crate::sample::outcome::AttemptClass;
use crate::statistics::{ALPHA, binomial, samples_needed};
use crate::stats::KindStats;
use crate::summary::{Model, Summary};
use crate::values::sum;

/// An objective, judged after a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The objective.
    pub objective: Objective,
    /// Outcome.
    pub judgement: Judgement,
    /// Measured value, in the unit of the bound; `None` if no operation has the metric, or the quantile of a time falls
    /// among operations that failed or never ended.
    pub value: Option<f64>,
    /// Number of operations that count.
    pub operations: u64,
    /// Number of operations needed to meet the objective.
    pub needed: u64,
}

/// Largest number of operations missed by the client, as a share of the operations that may exceed the bound.
const MISSED_SHARE_MAX: f64 = 0.1;
/// Differences below this are rounding: counts are whole numbers, tolerated shares are not.
const ROUNDING: f64 = 1e-9;

/// Counts of operations around a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Around {
    /// Operations that count.
    all: u64,
    /// Operations that certainly exceed the bound.
    beyond: u64,
    /// Operations that may exceed the bound: they were still in flight.
    undecided: u64,
}

impl Around {
    /// Returns the share of operations that exceed the bound.
    fn share(self) -> f64 {
        self.beyond as f64 / self.all.max(1) as f64
    }

    /// Returns the counts without those of `others`.
    fn without(self, others: Self) -> Self {
        Self {
            all: self.all.saturating_sub(others.all),
            beyond: self.beyond.saturating_sub(others.beyond),
            undecided: self.undecided.saturating_sub(others.undecided),
        }
    }
}

/// Criterion for a bound on operations.
struct Bounded {
    /// Share of operations that may exceed the bound.
    tolerated: f64,
    /// Whether exactly the tolerated share is too much. Quantiles counted from the slowest include the last operation
    /// that exceeds.
    strict: bool,
    /// Operations needed to meet the objective.
    needed: u64,
}

impl Bounded {
    fn is_exceeded(&self, beyond: u64, all: u64) -> bool {
        let (beyond, tolerated) = (beyond as f64, self.tolerated * all as f64);
        if self.strict { beyond >= tolerated - ROUNDING } else { beyond > tolerated + ROUNDING }
    }

    /// Returns whether the objective is met, even if all undecided operations exceed the bound.
    fn is_met(&self, around: Around) -> bool {
        around.all >= self.needed.max(1)
            && !self.is_exceeded(around.beyond.saturating_add(around.undecided), around.all)
    }

    /// Returns whether the objective is missed. With too few operations for the quantile, it is missed only if chance
    /// would hardly put so many beyond the bound.
    fn is_missed(&self, around: Around) -> bool {
        let certain =
            || around.all >= self.needed || binomial::at_least(around.beyond, around.all, self.tolerated) < ALPHA;
        around.all > 0 && self.is_exceeded(around.beyond, around.all) && certain()
    }
}

impl Objective {
    /// Judges a finished run.
    #[must_use]
    pub fn judge(&self, summary: &Summary, model: &Model) -> Judged {
        let around = self.around(summary);
        let needed = self.needed();
        let judgement = match self.tolerated() {
            None => self.judge_rate(summary, model),
            Some(tolerated) => {
                let strict = matches!(self.metric, Metric::Speed(_));
                self.judge_share(summary, model, &Bounded { tolerated, strict, needed }, around)
            }
        };
        Judged { objective: *self, judgement, value: self.value(summary), operations: around.all, needed }
    }

    /// Returns the number of operations needed to meet the objective: as many as its quantile needs, else one.
    #[must_use]
    pub fn needed(&self) -> u64 {
        match self.metric {
            Metric::Time(_, q) => samples_needed(q),
            Metric::Speed(q) => samples_needed(1.0 - q),
            Metric::Success | Metric::Rate | Metric::Goodput => 1,
        }
    }

    fn judge_share(&self, summary: &Summary, model: &Model, bounded: &Bounded, all: Around) -> Judgement {
        let undisturbed = self.undisturbed(summary, model, all);
        let missed_by_client = self.missed_by_client(summary, model);
        let too_many = matches!(self.metric, Metric::Time(..))
            && missed_by_client as f64 > MISSED_SHARE_MAX * bounded.tolerated * all.all as f64
            && missed_by_client > 0;
        let client_sets_speed =
            || matches!(self.metric, Metric::Speed(_)) && !model.is_open() && limited_by(summary, model).is_client();
        if bounded.is_missed(undisturbed) && !client_sets_speed() {
            Judgement::Missed
        } else if bounded.is_met(all) && !too_many {
            Judgement::Met
        } else if too_many || bounded.is_missed(all) || bounded.is_met(undisturbed) {
            Judgement::ClientLimited
        } else {
            Judgement::NotEnoughData
        }
    }

    fn judge_rate(&self, summary: &Summary, model: &Model) -> Judgement {
        let Some(value) = self.value(summary) else { return Judgement::NotEnoughData };
        // The target might have served what the client did not start or could not sustain.
        let by_client = match model {
            Model::Open { .. } if summary.client_stood_still() => f64::INFINITY,
            Model::Open { .. } => self.missed_by_client(summary, model) as f64 / summary.measured.seconds,
            Model::Closed { .. } if limited_by(summary, model).is_client() => f64::INFINITY,
            Model::Closed { .. } => 0.0,
        };
        match self.metric {
            _ if value >= self.bound => Judgement::Met,
            Metric::Rate if value + by_client >= self.bound => Judgement::ClientLimited,
            Metric::Goodput if by_client > 0.0 => Judgement::ClientLimited,
            _ => Judgement::Missed,
        }
    }

    /// Counts all operations that the objective applies to, around its bound.
    fn around(&self, summary: &Summary) -> Around {
        let (own, dropped) = self.of(summary);
        match self.metric {
            Metric::Success => around_success(&own, dropped),
            Metric::Time(timed, _) => timed.around(&own, dropped, self.bound),
            Metric::Speed(_) => {
                let all = own.speed.count();
                Around { all, beyond: own.speed.beyond(self.bound).1, undecided: 0 }
            }
            Metric::Rate | Metric::Goodput => Around { all: own.ok, ..Around::default() },
        }
    }

    /// Returns the counts of `all` without operations that the client disturbed.
    fn undisturbed(&self, summary: &Summary, model: &Model, all: Around) -> Around {
        let (own, _) = self.of(summary);
        let missed = self.missed_by_client(summary, model);
        let refused = match self.kind {
            None => summary.stats.measured.classes.get(AttemptClass::ClientResource),
            Some(_) => 0,
        };
        let lost = missed.saturating_add(refused.min(own.failed));
        let lost = Around { all: lost, beyond: lost, undecided: 0 };
        // A client that hardly ran shows nothing about the operations that it had in flight.
        let is_seen = !summary.client_stood_still();
        match self.metric {
            Metric::Success => {
                let hanging = if is_seen { 0 } else { own.hanging() };
                let failed = own.affected.failed.saturating_add(hanging);
                all.without(lost).without(Around { all: failed, beyond: failed, undecided: 0 })
            }
            Metric::Time(timed, _) => {
                let unfinished = if is_seen { Around::default() } else { timed.unfinished(&own, self.bound) };
                let all = all.without(lost).without(unfinished);
                let disturbed = timed.disturbed(&own, self.bound);
                let calm = all.without(disturbed);
                // The target is responsible for times that no stall can explain, whatever the other disturbed
                // operations would have taken.
                let explained = disturbed.beyond.saturating_sub(timed.certain(&own, self.bound));
                let at_least = Around { beyond: all.beyond.saturating_sub(explained), ..all };
                let inside = own.beyond_inside(timed, self.bound);
                let worse = if at_least.share() > calm.share() { at_least } else { calm };
                Around { beyond: worse.beyond.saturating_sub(inside), ..worse }
            }
            Metric::Speed(_) | Metric::Rate | Metric::Goodput => all,
        }
    }

    /// Returns the number of due operations that the client did not start. They have no kind.
    fn missed_by_client(&self, summary: &Summary, model: &Model) -> u64 {
        if self.kind.is_none() { missed_by_client(summary, model) } else { 0 }
    }
}

fn around_success(own: &KindStats, dropped: u64) -> Around {
    let beyond = own.failed.saturating_add(dropped).saturating_add(own.hanging());
    Around { all: own.ok.saturating_add(beyond), beyond, undecided: 0 }
}

impl Timed {
    /// Counts operations around a bound on this time. Failed and dropped ones exceed every bound, but a failed one
    /// whose first byte arrived has its TTFB. Unfinished ones exceed what they have waited.
    fn around(self, own: &KindStats, dropped: u64, bound: f64) -> Around {
        let values = own.timed(self).0;
        let mut around = Around { all: values.count(), beyond: values.beyond(bound).0, undecided: 0 };
        let mut failed = own.failed;
        if self == Self::Ttfb {
            for began in [&own.failed_ttfb, &own.unfinished_ttfb] {
                around.all = around.all.saturating_add(began.count());
                around.beyond = around.beyond.saturating_add(began.beyond(bound).0);
            }
            failed = failed.saturating_sub(own.failed_ttfb.count());
        }
        let lost = failed.saturating_add(dropped);
        let open = self.unfinished(own, bound);
        around.all = sum([around.all, lost, open.all]);
        around.beyond = sum([around.beyond, lost, open.beyond]);
        around.undecided = open.undecided;
        around
    }

    /// Counts the unfinished operations among them that do not have this time.
    fn unfinished(self, own: &KindStats, bound: f64) -> Around {
        let ended = if self == Self::Ttfb { own.unfinished_ttfb.count() } else { 0 };
        let all = own.unfinished.saturating_sub(ended);
        // The wait is used in place of service time and TTFB, which start later. An operation that waited less is undecided.
        let waits = if self == Self::Ttfb { &own.unanswered_wait } else { &own.unfinished_wait };
        let beyond = waits.beyond(bound).0.min(all);
        Around { all, beyond, undecided: all - beyond }
    }

    /// Counts the operations that a client stall affected, around the same bound.
    fn disturbed(self, own: &KindStats, bound: f64) -> Around {
        let (_, affected) = own.timed(self);
        let failed = own.affected.failed;
        let (all, slow) = (affected.count(), affected.beyond(bound).0);
        Around { all: all.saturating_add(failed), beyond: slow.saturating_add(failed), undecided: 0 }
    }

    /// Returns how many of the affected operations exceed the bound whatever the stalls added.
    fn certain(self, own: &KindStats, bound: f64) -> u64 {
        own.timed(self).1.beyond(bound + own.affected.added_max as f64).0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::OpKind;
    use crate::stats::Stats;

    const CLOSED: Model = Model::Closed { concurrency: 10 };

    fn judged(text: &str, summary: &Summary) -> Judgement {
        text.parse::<Objective>().unwrap().judge(summary, &CLOSED).judgement
    }

    /// Returns a summary of operations of one kind.
    fn summary(kind: KindStats, dropped: u64) -> Summary {
        let mut summary = Summary::default();
        let tally = &mut summary.stats.measured;
        (tally.ok, tally.failed, tally.unfinished, tally.dropped) = (kind.ok, kind.failed, kind.unfinished, dropped);
        *summary.stats.kind_mut(OpKind::Get) = kind;
        summary.all = summary.stats.all_kinds();
        summary
    }

    fn successes(values: impl IntoIterator<Item = u64>) -> KindStats {
        let mut kind = KindStats::default();
        for ms in values {
            kind.ok += 1;
            kind.response.record(ms * 1_000_000);
        }
        kind
    }

    /// An objective is missed if more operations exceed its bound than the tolerated share.
    #[test]
    fn operations_beyond_the_bound_agree_with_the_judgement() {
        let mut random = crate::values::random::Random::new(5);
        for round in 0..300 {
            let mut stats = Stats::default();
            for _ in 0..40 + random.below(400) {
                let kind = stats.kind_mut(if random.below(2) == 0 { OpKind::Get } else { OpKind::Put });
                kind.response.record(1_000_000 + random.below(30_000_000) as u64);
                kind.speed.record(1 + random.below(40_000_000) as u64);
                kind.ok += 1;
                stats.measured.ok += 1;
            }
            stats.measured.failed = random.below(30) as u64;
            stats.kind_mut(OpKind::Get).failed = stats.measured.failed;
            stats.measured.dropped = random.below(4) as u64;
            let summary = Summary { all: stats.all_kinds(), stats, ..Summary::default() };
            for text in ["success >= 95%", "response p90 <= 27ms", "p50 <= 17ms", "max <= 32ms", "speed p10 >= 4MB/s"] {
                let objective: Objective = text.parse().unwrap();
                let (beyond, all) = objective.beyond(&summary.stats);
                let tolerated = objective.tolerated().unwrap() * all as f64;
                // A rank of 10 % is rounded up, so the slowest tenth includes the operation at the share itself.
                let missed = match objective.metric {
                    Metric::Speed(_) => beyond as f64 >= tolerated - ROUNDING,
                    _ => beyond as f64 > tolerated + ROUNDING,
                };
                let wanted = if missed { Judgement::Missed } else { Judgement::Met };
                let found = objective.judge(&summary, &CLOSED).judgement;
                assert_eq!(found, wanted, "seed 5, round {round}, {text}: {beyond} of {all}");
            }
        }
    }

    #[test]
    fn drops_and_failures_lower_success_but_healthy_unfinished_operations_do_not() {
        let default = |summary: &Summary| Objective::DEFAULT.judge(summary, &CLOSED).judgement;
        assert_eq!(default(&Summary::default()), Judgement::NotEnoughData);
        let mut kind = KindStats { unfinished: 50, ..KindStats::default() };
        assert_eq!(default(&summary(kind.clone(), 0)), Judgement::NotEnoughData);
        kind.unanswered_wait.record(1_000_000);
        assert_eq!(default(&summary(kind, 0)), Judgement::Missed, "a target that never responds");
        let mut kind = successes([1; 99]);
        kind.failed = 1;
        assert_eq!(default(&summary(kind.clone(), 0)), Judgement::Met);
        assert_eq!(default(&summary(kind, 1)), Judgement::Missed);
    }

    #[test]
    fn operations_cut_off_by_the_end_of_the_run_are_not_failures() {
        let mut kind = successes([10; 50]);
        kind.unfinished = 10;
        (0..10).for_each(|_| kind.unanswered_wait.record(9_000_000));
        assert_eq!(summary(kind.clone(), 0).success(), Some(1.0));
        kind.unanswered_wait.record(2_000_000_000);
        assert_eq!(summary(kind, 0).success(), Some(50.0 / 51.0), "one hangs");
    }

    #[test]
    fn failures_and_drops_exceed_every_time() {
        assert_eq!(judged("response p99 <= 10ms", &Summary::default()), Judgement::NotEnoughData);
        let kind = successes((1..=300).map(|n| n % 100));
        assert_eq!(judged("response p50 <= 51ms", &summary(kind.clone(), 0)), Judgement::Met);
        assert_eq!(judged("response p99 <= 98.5ms", &summary(kind.clone(), 0)), Judgement::Met);
        assert_eq!(judged("response p99 <= 97ms", &summary(kind.clone(), 0)), Judgement::Missed);
        assert_eq!(judged("response max <= 100ms", &summary(kind.clone(), 0)), Judgement::Met);
        assert_eq!(judged("response max <= 100ms", &summary(kind.clone(), 1)), Judgement::Missed);
        let failed = KindStats { failed: 301, ..kind };
        assert_eq!(judged("response p50 <= 1h", &summary(failed, 0)), Judgement::Missed);
    }

    #[test]
    fn percentiles_need_their_samples() {
        assert_eq!(judged("p99.99 <= 5ms", &summary(successes([1; 5]), 0)), Judgement::NotEnoughData);
        assert_eq!(judged("p99 <= 5ms", &summary(successes([1; 298]), 0)), Judgement::NotEnoughData);
        assert_eq!(judged("p99 <= 5ms", &summary(successes([1; 299]), 0)), Judgement::Met);
        assert_eq!(judged("max <= 5ms", &summary(successes([1]), 0)), Judgement::Met);
        // One slow operation of 100 may be the one that p99 tolerates; ten are too many for chance.
        let slow = |slow: usize| summary(successes((0..100).map(|n| if n < slow { 9 } else { 1 })), 0);
        assert_eq!(judged("p99 <= 5ms", &slow(2)), Judgement::NotEnoughData);
        assert_eq!(judged("p99 <= 5ms", &slow(10)), Judgement::Missed);
    }

    #[test]
    fn objectives_may_apply_to_one_kind_of_operations() {
        let mut summary = Summary::default();
        for (kind, ms, failed) in [(OpKind::Get, 5, 0), (OpKind::Put, 80, 40)] {
            let stats = summary.stats.kind_mut(kind);
            (0..360).for_each(|_| stats.response.record(ms * 1_000_000));
            (stats.ok, stats.failed) = (360, failed);
            summary.stats.measured.ok += 360;
            summary.stats.measured.failed += failed;
        }
        summary.all = summary.stats.all_kinds();
        for (text, judgement) in [
            ("get response p99 <= 10ms", Judgement::Met),
            ("put response p90 <= 10ms", Judgement::Missed),
            ("put p50 <= 90ms", Judgement::Met),
            ("put p99 <= 90ms", Judgement::Missed),
            ("get success >= 100%", Judgement::Met),
            ("put success >= 95%", Judgement::Missed),
            ("success >= 94%", Judgement::Met),
            ("delete p50 <= 1s", Judgement::NotEnoughData),
            ("get-range success >= 1%", Judgement::NotEnoughData),
        ] {
            assert_eq!(judged(text, &summary), judgement, "{text}");
        }
        let objective: Objective = "put response p90 <= 10ms".parse().unwrap();
        assert_eq!((objective.kind(), objective.beyond(&summary.stats)), (Some(OpKind::Put), (400, 400)));
        assert_eq!(objective.condition(), "put response p90 > 10ms");
        let error = "get goodput >= 1GB/s".parse::<Objective>().unwrap_err().to_string();
        assert!(error.contains("apply to all operations"), "{error}");
    }

    #[test]
    fn unfinished_operations_count_at_their_rank() {
        let mut kind = successes([1]);
        kind.unfinished = 999;
        (0..999).for_each(|_| kind.unfinished_wait.record(50_000_000));
        assert_eq!(judged("response p99 <= 10ms", &summary(kind.clone(), 0)), Judgement::Missed);
        assert_eq!(judged("response p99 <= 60ms", &summary(kind.clone(), 0)), Judgement::NotEnoughData);
        // A few of them cannot change a median.
        let mut kind = successes([1; 1000]);
        kind.unfinished = 9;
        (0..9).for_each(|_| kind.unfinished_wait.record(5_000_000));
        assert_eq!(judged("response p50 <= 10ms", &summary(kind, 0)), Judgement::Met);
    }

    #[test]
    fn the_success_of_a_kind_counts_its_hanging_operations() {
        let mut kind = successes([1; 100]);
        kind.unfinished = 50;
        (0..50).for_each(|_| kind.unanswered_wait.record(9_000_000_000));
        let (summary, objective) = (summary(kind, 0), "get success >= 99%".parse::<Objective>().unwrap());
        assert_eq!(objective.judge(&summary, &CLOSED).judgement, Judgement::Missed);
        assert_eq!(objective.value(&summary), Some(100.0 / 150.0));
    }

    #[test]
    fn ttfb_counts_every_operation_whose_first_byte_came() {
        let mut kind = KindStats { ok: 500, failed: 500, ..KindStats::default() };
        (0..500).for_each(|_| kind.response.record(1_000_000));
        (0..500).for_each(|_| kind.ttfb.record(1_000_000));
        assert_eq!(judged("ttfb p90 <= 5ms", &summary(kind.clone(), 0)), Judgement::Missed, "no first byte came");
        (0..500).for_each(|_| kind.failed_ttfb.record(2_000_000));
        assert_eq!(judged("ttfb p90 <= 5ms", &summary(kind.clone(), 0)), Judgement::Met, "they failed after it");
        let value = "ttfb p90 <= 5ms".parse::<Objective>().unwrap().value(&summary(kind.clone(), 0)).unwrap();
        assert!((value - 2e6).abs() < 1e4, "the value includes failed operations: {value}");
        kind.unfinished = 500;
        (0..500).for_each(|_| kind.unfinished_ttfb.record(9_000_000));
        assert_eq!(judged("ttfb p90 <= 5ms", &summary(kind, 0)), Judgement::Missed);
    }

    /// Returns successes of which some were affected by a client stall, with the response times of both in
    /// milliseconds.
    fn stalled(calm: &[u64], affected: &[u64]) -> Summary {
        let mut kind = successes(calm.iter().chain(affected).copied());
        kind.affected.ok = affected.len() as u64;
        kind.affected.added_max = 60_000_000;
        affected.iter().for_each(|ms| kind.affected.response.record(ms * 1_000_000));
        summary(kind, 0)
    }

    #[test]
    fn the_client_limits_a_judgment_only_if_it_makes_a_difference() {
        let run = stalled(&[1; 1000], &[50; 1000]);
        assert_eq!(judged("p99 <= 60ms", &run), Judgement::Met, "all operations met it");
        assert_eq!(judged("p99 <= 500us", &run), Judgement::Missed, "the undisturbed operations missed it");
        assert_eq!(judged("p99 <= 10ms", &run), Judgement::ClientLimited);
        assert_eq!(judged("p50 <= 2ms", &run), Judgement::Met, "stalls do not change the median");
        // Without undisturbed operations, the target's times are unknown.
        assert_eq!(judged("p50 <= 10ms", &stalled(&[], &[50; 1000])), Judgement::ClientLimited);
        assert_eq!(judged("p50 <= 60ms", &stalled(&[], &[50; 1000])), Judgement::Met);
        // Stalls of 30 ms do not explain 100 ms.
        assert_eq!(judged("p50 <= 10ms", &stalled(&[], &[100; 1000])), Judgement::Missed);
        assert_eq!(judged("p95 <= 10ms", &stalled(&[1; 10], &[1; 990])), Judgement::Met);
        let mixed = [vec![1; 930], vec![50; 50], vec![100; 10]].concat();
        assert_eq!(judged("p95 <= 10ms", &stalled(&[1; 10], &mixed)), Judgement::ClientLimited);
    }

    #[test]
    fn responses_that_waited_unread_do_not_count_against_the_target() {
        let mut kind = successes([20; 1000]);
        assert_eq!(judged("p99 <= 10ms", &summary(kind.clone(), 0)), Judgement::Missed);
        // Half of the responses waited for 15 ms. They were ready after 5 ms, the others were not.
        (0..1000).for_each(|number| kind.timestamped.record((20_000_000, 20_000_000), 0, 15_000_000 * (number % 2), 1));
        let run = summary(kind.clone(), 0);
        assert_eq!(judged("p40 <= 10ms", &run), Judgement::ClientLimited);
        assert_eq!(judged("p99 <= 10ms", &run), Judgement::Missed);
        assert_eq!(judged("p99 <= 25ms", &run), Judgement::Met);
        kind.timestamped.record((20_000_000, 20_000_000), 0, 15_000_000, 200_000);
        let run = summary(kind, 0);
        assert_eq!(judged("p99 <= 10ms", &run), Judgement::ClientLimited);
        assert_eq!(judged("p99 <= 4ms", &run), Judgement::Missed);
    }

    /// A quota stopped the client for most of the time, so it has read nothing.
    #[test]
    fn operations_in_flight_of_a_client_that_hardly_ran_do_not_count_against_the_target() {
        let mut kind = KindStats { unfinished: 64, ..KindStats::default() };
        (0..64).for_each(|_| kind.unfinished_wait.record(4_000_000_000));
        (0..64).for_each(|_| kind.unanswered_wait.record(4_000_000_000));
        let mut run = summary(kind, 0);
        run.limits.seconds = 3.0;
        for (throttled, judgement) in [(0.3, Judgement::Missed), (2.8, Judgement::ClientLimited)] {
            run.limits.throttled = throttled;
            assert_eq!(judged("success >= 99%", &run), judgement);
            assert_eq!(judged("p50 <= 1s", &run), judgement);
        }
    }

    #[test]
    fn a_percentile_tolerates_some_operations_missed_by_the_client() {
        let missing = |missed: u64| {
            let mut run = summary(successes([1; 10_000]), missed);
            run.stats.measured.missed_by_client = missed;
            judged("p99 <= 10ms", &run)
        };
        assert_eq!((missing(0), missing(10), missing(11)), (Judgement::Met, Judgement::Met, Judgement::ClientLimited));
    }
}
