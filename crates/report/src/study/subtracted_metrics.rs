//! The metrics of the difference between two cells of a study.

use crate::compare::{ComparisonMetric, counts, is_usable};
use measure::statistics::shares::Share;
use store::SavedRun;

/// Metrics for the difference between two cells, in the order in which they are shown.
pub const SUBTRACTED: [ComparisonMetric; 14] = [
    ComparisonMetric::Success,
    ComparisonMetric::Rate,
    ComparisonMetric::Goodput,
    ComparisonMetric::GoodputSent,
    ComparisonMetric::TtfbP50,
    ComparisonMetric::TtfbP90,
    ComparisonMetric::TtfbP95,
    ComparisonMetric::TtfbP99,
    ComparisonMetric::TtfbP999,
    ComparisonMetric::ResponseP50,
    ComparisonMetric::ResponseP90,
    ComparisonMetric::ResponseP95,
    ComparisonMetric::ResponseP99,
    ComparisonMetric::ResponseP999,
];

/// The values of a trial from which differences are computed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialValues {
    /// Values of [`SUBTRACTED`], in the same order. If the operation at a quantile failed, the time is infinite.
    pub metrics: Vec<Option<f64>>,
    /// Successful operations, as a share of all operations that count.
    pub share: Share,
    /// Reason why the trial cannot be used.
    pub unusable: Option<String>,
}

impl TrialValues {
    /// Returns the values of the saved run of a trial.
    #[must_use]
    pub fn of(run: &SavedRun) -> Self {
        let metrics = SUBTRACTED.iter().map(|metric| metric.of(run)).collect();
        Self { metrics, share: counts(run), unusable: is_usable(run).err() }
    }

    /// Returns whether the trial has operations that count, but none of them succeeded.
    pub(super) fn nothing_succeeded(&self) -> bool {
        self.share.ok == 0.0 && self.share.of > 0.0
    }
}
