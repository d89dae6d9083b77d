//! The metrics by which two cells of a study are subtracted.

use crate::compare::{ComparisonMetric, counts, is_usable};
use measure::statistics::shares::Share;
use store::SavedRun;

/// Metrics by which two cells are subtracted, in order.
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

/// The values of a trial that are subtracted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TrialValues {
    /// Values of [`SUBTRACTED`], in its order; infinite for a time that lies among failures.
    pub metrics: Vec<Option<f64>>,
    /// Operations that succeeded, of those that are judged.
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

    /// Returns whether operations were judged and none succeeded.
    pub(super) fn nothing_succeeded(&self) -> bool {
        self.share.ok == 0.0 && self.share.of > 0.0
    }
}
