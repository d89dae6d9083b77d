//! Objectives: bounds on a metric that a run must meet.

use crate::summary::Summary;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// A bound on a metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Share of operations that end well, in 0..=1 ([`Summary::success`]).
    SuccessAtLeast(#[serde(deserialize_with = "share")] f64),
}

fn share<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let share = f64::deserialize(deserializer)?;
    if (0.0..=1.0).contains(&share) { Ok(share) } else { Err(D::Error::custom(format!("{share} is no share of 1"))) }
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
    fn a_bound_beyond_all_is_refused() {
        let read = |text: &str| serde_json::from_str::<Objective>(text);
        assert_eq!(read(r#"{"success_at_least":0.99}"#).unwrap(), Objective::DEFAULT);
        for text in [r#"{"success_at_least":1.1}"#, r#"{"success_at_least":1e308}"#, r#"{"success_at_least":-1}"#] {
            assert!(read(text).unwrap_err().to_string().contains("is no share of 1"), "{text}");
        }
    }

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
