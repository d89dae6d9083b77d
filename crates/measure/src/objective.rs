//! Objectives: bounds on a metric that a run must meet.

use crate::summary::Summary;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A bound on a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Share of operations that end well, in 0..=1 ([`Summary::success`]).
    SuccessAtLeast(f64),
}

/// Whether an objective was met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// It was met.
    Met,
    /// It was not.
    Broken,
    /// Nothing ended that could decide it.
    NotJudged,
}

impl Objective {
    /// What every run is held to unless told otherwise.
    pub const DEFAULT: Self = Self::SuccessAtLeast(0.99);

    /// Judges a run.
    #[must_use]
    pub fn judge(&self, summary: &Summary) -> Judgement {
        match (self, summary.success()) {
            (Self::SuccessAtLeast(bound), Some(success)) if success >= *bound => Judgement::Met,
            (Self::SuccessAtLeast(_), Some(_)) => Judgement::Broken,
            (Self::SuccessAtLeast(_), None) => Judgement::NotJudged,
        }
    }
}

impl fmt::Display for Objective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SuccessAtLeast(bound) => write!(f, "success >= {}%", bound * 100.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_and_failures_break_success_and_unfinished_ones_do_not() {
        let mut summary = Summary::default();
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::NotJudged);
        summary.stats.measured.unfinished = 50;
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::NotJudged);
        summary.stats.measured.unanswered = 1;
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::Broken, "a target that never answers fails");
        summary.stats.measured.unanswered = 0;
        summary.stats.measured.ok = 99;
        summary.stats.measured.failed = 1;
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::Met);
        summary.stats.measured.dropped = 1;
        assert_eq!(Objective::DEFAULT.judge(&summary), Judgement::Broken);
    }
}
