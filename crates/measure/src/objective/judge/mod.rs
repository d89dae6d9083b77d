//! Judges objectives by counting the operations on either side of the bound.
//!
//! An objective that bounds operations limits the share of operations that may exceed the bound. For example, "p99 <=
//! 10 ms" means that at most 1 % of the operations take longer. Operations are counted twice: first all of them, and
//! then only those that the client did not disturb. An objective is met if all operations together meet it. It is
//! missed if the undisturbed operations miss it, or if the lower end of the quantile's range exceeds the bound.
//! Otherwise the run cannot decide the objective (docs/measurement.md).

use super::{Metric, Objective, ObjectiveOutcome, Timed};
use crate::limits::{limited_by, missed_by_client, misses_offered_rate};
use crate::sample::outcome::AttemptClass;
use crate::statistics::{ALPHA, binomial, samples_needed};
use crate::stats::KindStats;
use crate::summary::{Model, Summary};
use crate::values::distribution::RELATIVE_ERROR;
use crate::values::sum;

/// An objective, judged after a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ObjectiveResult {
    /// The objective.
    pub objective: Objective,
    /// Outcome of the objective.
    pub outcome: ObjectiveOutcome,
    /// Measured value, in the unit of the bound. `None` if no operation has a value of the metric. Also `None` if the
    /// metric is a time, and the quantile falls among operations that failed or never ended.
    pub value: Option<f64>,
    /// Number of operations to which the objective applies.
    pub operations: u64,
    /// Number of operations needed to meet the objective.
    pub needed: u64,
}

/// Maximum number of operations that the client may fail to start, as a share of the operations that may exceed the
/// bound.
const MISSED_SHARE_MAX: f64 = 0.1;
/// Maximum difference at which a count and a tolerated number are treated as equal. Counts are whole numbers, but
/// tolerated numbers are computed from shares and have rounding errors.
const ROUNDING: f64 = 1e-9;

/// Counts of operations on either side of a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Around {
    /// Number of operations to which the objective applies.
    all: u64,
    /// Number of operations that certainly exceed the bound.
    beyond: u64,
    /// Number of operations that may exceed the bound, because they were still in flight.
    undecided: u64,
}

impl Around {
    /// Returns the share of operations that exceed the bound.
    fn share(self) -> f64 {
        self.beyond as f64 / self.all.max(1) as f64
    }

    /// Returns the counts without the operations in `others`.
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
    /// Maximum share of operations that may exceed the bound.
    tolerated: f64,
    /// `true` if the objective is also missed when exactly the tolerated share exceeds the bound. This applies to
    /// quantiles that are counted from the slowest operation. Such a quantile is then the value of an operation that
    /// exceeds the bound.
    strict: bool,
    /// Minimum number of operations needed to meet the objective.
    needed: u64,
}

impl Bounded {
    fn is_exceeded(&self, beyond: u64, all: u64) -> bool {
        let (beyond, tolerated) = (beyond as f64, self.tolerated * all as f64);
        if self.strict { beyond >= tolerated - ROUNDING } else { beyond > tolerated + ROUNDING }
    }

    /// Returns whether the objective would be met even if all undecided operations exceeded the bound.
    fn is_met(&self, around: Around) -> bool {
        around.all >= self.needed.max(1)
            && !self.is_exceeded(around.beyond.saturating_add(around.undecided), around.all)
    }

    /// Returns whether the objective is missed. If there are too few operations for the quantile, the objective counts
    /// as missed only if chance can be ruled out.
    fn is_missed(&self, around: Around) -> bool {
        let certain =
            || around.all >= self.needed || binomial::at_least(around.beyond, around.all, self.tolerated) < ALPHA;
        around.all > 0 && self.is_exceeded(around.beyond, around.all) && certain()
    }
}

impl Objective {
    /// Judges a finished run.
    #[must_use]
    pub fn judge(&self, summary: &Summary, model: &Model) -> ObjectiveResult {
        let around = self.around(summary);
        let (needed, value) = (self.needed(), self.judged_value(summary, model));
        let outcome = match self.tolerated() {
            None => self.judge_rate(summary, model, value),
            Some(tolerated) => {
                let strict = matches!(self.metric, Metric::Speed(_));
                self.judge_share(summary, model, &Bounded { tolerated, strict, needed }, around)
            }
        };
        ObjectiveResult { objective: *self, outcome, value, operations: around.all, needed }
    }

    /// Returns the number of operations needed to meet the objective. An objective on a quantile needs enough
    /// operations for this quantile. Any other objective needs one operation.
    #[must_use]
    pub fn needed(&self) -> u64 {
        match self.metric {
            Metric::Time(_, q) => samples_needed(q),
            Metric::Speed(q) => samples_needed(1.0 - q),
            Metric::Success | Metric::Rate | Metric::Goodput => 1,
        }
    }

    fn judge_share(&self, summary: &Summary, model: &Model, bounded: &Bounded, all: Around) -> ObjectiveOutcome {
        let undisturbed = self.undisturbed(summary, model, all);
        let missed_by_client = self.missed_by_client(summary, model);
        let too_many = matches!(self.metric, Metric::Time(..))
            && missed_by_client as f64 > MISSED_SHARE_MAX * bounded.tolerated * all.all as f64
            && missed_by_client > 0;
        let client_sets_speed =
            || matches!(self.metric, Metric::Speed(_)) && !model.is_open() && limited_by(summary, model).is_client();
        let needed = bounded.needed;
        let stops_prevent_operations = || all.all < needed && summary.could_have_ended(all.all) >= needed as f64;
        let is_certainly_missed = !too_many && all.all >= needed && self.lower_end_exceeds_bound(summary);
        if is_certainly_missed || (bounded.is_missed(undisturbed) && !client_sets_speed()) {
            ObjectiveOutcome::Missed
        } else if bounded.is_met(all) && !too_many {
            ObjectiveOutcome::Met
        } else if too_many || bounded.is_missed(all) || bounded.is_met(undisturbed) || stops_prevent_operations() {
            ObjectiveOutcome::ClientLimited
        } else {
            ObjectiveOutcome::NotEnoughData
        }
    }

    /// Returns whether the lower end of the quantile's range exceeds the bound. The objective is then missed even without
    /// all delays of the client.
    fn lower_end_exceeds_bound(&self, summary: &Summary) -> bool {
        let Metric::Time(timed, q) = self.metric else { return false };
        let range = self.of(summary).0.quantile_range(timed, q);
        range.is_some_and(|range| range.low as f64 > self.bound * (1.0 + RELATIVE_ERROR))
    }

    /// Returns the measured value. If the target of an open run kept up with the schedule, the rate counts the
    /// operations that were due in the measured window. If it counted the operations that ended in the measured window
    /// instead, it would miss those that were due shortly before the end.
    fn judged_value(&self, summary: &Summary, model: &Model) -> Option<f64> {
        let seconds = summary.schedule_seconds();
        let keeps_up = model.is_open() && seconds > 0.0 && !misses_offered_rate(summary);
        match self.metric {
            Metric::Rate if keeps_up => Some(summary.stats.measured.ok as f64 / seconds),
            _ => self.value(summary),
        }
    }

    fn judge_rate(&self, summary: &Summary, model: &Model, value: Option<f64>) -> ObjectiveOutcome {
        let Some(value) = value else { return ObjectiveOutcome::NotEnoughData };
        // Include the operations that the client failed to start or to sustain, because the target might have served
        // them.
        let by_client = match model {
            Model::Open { .. } if summary.client_stood_still() => f64::INFINITY,
            Model::Open { .. } => self.missed_by_client(summary, model) as f64 / summary.measured.seconds,
            Model::Closed { .. } if limited_by(summary, model).is_client() => f64::INFINITY,
            Model::Closed { .. } => 0.0,
        };
        match self.metric {
            _ if value >= self.bound => ObjectiveOutcome::Met,
            Metric::Rate if value + by_client >= self.bound => ObjectiveOutcome::ClientLimited,
            Metric::Goodput if by_client > 0.0 => ObjectiveOutcome::ClientLimited,
            _ => ObjectiveOutcome::Missed,
        }
    }

    /// Counts the operations to which the objective applies, on either side of its bound.
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
        // If the client got little CPU time, operations in flight show nothing about the target.
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
                // If no stall can explain the time of a disturbed operation, the target is responsible for this time.
                // The other disturbed operations might have been fast without the stalls.
                let explained = disturbed.beyond.saturating_sub(timed.certain(&own, self.bound));
                let at_least = Around { beyond: all.beyond.saturating_sub(explained), ..all };
                let inside = own.beyond_inside(timed, self.bound);
                let worse = if at_least.share() > calm.share() { at_least } else { calm };
                Around { beyond: worse.beyond.saturating_sub(inside), ..worse }
            }
            Metric::Speed(_) | Metric::Rate | Metric::Goodput => all,
        }
    }

    /// Returns the number of due operations that the client did not start. The number is 0 for an objective on one
    /// kind, because operations that never started have no kind.
    fn missed_by_client(&self, summary: &Summary, model: &Model) -> u64 {
        if self.kind.is_none() { missed_by_client(summary, model) } else { 0 }
    }
}

fn around_success(own: &KindStats, dropped: u64) -> Around {
    let beyond = own.failed.saturating_add(dropped).saturating_add(own.hanging());
    Around { all: own.ok.saturating_add(beyond), beyond, undecided: 0 }
}

impl Timed {
    /// Counts operations on either side of a bound on this time. Failed and dropped operations exceed every bound. For
    /// TTFB, a failed operation whose first byte arrived counts with its TTFB. An unfinished operation exceeds a bound
    /// if it has waited for longer than the bound.
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

    /// Counts the unfinished operations without a value of this time, on either side of the bound.
    fn unfinished(self, own: &KindStats, bound: f64) -> Around {
        let ended = if self == Self::Ttfb { own.unfinished_ttfb.count() } else { 0 };
        let all = own.unfinished.saturating_sub(ended);
        // Only the wait since the intended start is known. This wait is also used for service time and TTFB, although
        // these begin later. Operations that waited for less than the bound are undecided.
        let waits = if self == Self::Ttfb { &own.unanswered_wait } else { &own.unfinished_wait };
        let beyond = waits.beyond(bound).0.min(all);
        Around { all, beyond, undecided: all - beyond }
    }

    /// Counts the operations that a client stall affected, on either side of the bound.
    fn disturbed(self, own: &KindStats, bound: f64) -> Around {
        let (_, affected) = own.timed(self);
        let failed = own.affected.failed;
        let (all, slow) = (affected.count(), affected.beyond(bound).0);
        Around { all: all.saturating_add(failed), beyond: slow.saturating_add(failed), undecided: 0 }
    }

    /// Returns the number of affected operations that exceed the bound by more time than stalls can have added.
    fn certain(self, own: &KindStats, bound: f64) -> u64 {
        own.timed(self).1.beyond(bound + own.affected.added_max as f64).0
    }
}

#[cfg(test)]
mod tests;
