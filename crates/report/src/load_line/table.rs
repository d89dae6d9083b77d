//! The table of levels. All formats have the same columns.

use super::{Level, LoadLine};
use crate::number::{byte_rate, rate, share};
use crate::percentile;
use crate::run_metrics::MeasuredObjective;
use measure::objective::{Metric, Timed};
use measure::{Enumerated, Objective};

impl LoadLine {
    /// Returns the column titles for [`Self::row`]. One column shows the percentiles for which there are objectives, or
    /// the p99 of response time if there are none.
    pub(crate) fn columns(&self) -> [String; 10] {
        let bounded = self.bounded_title();
        let titles = ["", "level", "", "ok", "goodput", "p50", &bounded, "success", "measured", "limited by"];
        titles.map(str::to_owned)
    }

    /// Returns the title of the column for the percentiles with objectives.
    pub(super) fn bounded_title(&self) -> String {
        let bounded: Vec<String> = self.bounded().map(|measured| title(&measured.objective)).collect();
        if bounded.is_empty() { "p99".to_owned() } else { bounded.join(" · ") }
    }

    /// Returns the cells of a level, in the columns of [`Self::columns`].
    pub(crate) fn row(&self, level: &Level) -> [String; 10] {
        let dash = || "–".to_owned();
        let metrics = &level.metrics;
        let reason = level.reason.as_ref();
        [
            self.mark(level).to_owned(),
            self.shown(level.level),
            level.outcome.about().to_owned(),
            metrics.ok_per_second.map_or_else(dash, rate),
            metrics.goodput_bytes_per_second.map_or_else(dash, byte_rate),
            metrics.p50(),
            self.bounded_values(level),
            metrics.success_share.map_or_else(dash, share),
            format!("{:.1} s{}", level.seconds, if level.certain { "" } else { " ≈" }),
            reason.map_or_else(|| metrics.limited_by.clone(), |reason| format!("{} · {reason}", metrics.limited_by)),
        ]
    }

    /// Returns the mark of a level: `>` at the load line.
    pub(super) fn mark(&self, level: &Level) -> &'static str {
        if Some(level.level) == self.passed { ">" } else { "" }
    }

    /// Returns the objectives on percentiles from the first level. The median response time is excluded, because it has
    /// a separate column.
    fn bounded(&self) -> impl Iterator<Item = &MeasuredObjective> {
        let shown = |measured: &&MeasuredObjective| match measured.objective.metric() {
            Metric::Time(Timed::Response, q) => q != 0.5 || measured.objective.kind().is_some(),
            Metric::Time(..) | Metric::Speed(_) => true,
            Metric::Success | Metric::Rate | Metric::Goodput => false,
        };
        self.levels.first().into_iter().flat_map(|level| &level.metrics.objectives).filter(shown)
    }

    pub(super) fn bounded_values(&self, level: &Level) -> String {
        let values = self.bounded_cells(level).into_iter().map(|value| value.unwrap_or_else(|| "–".to_owned()));
        values.collect::<Vec<_>>().join(" · ")
    }

    /// Returns whether a level has a value for each percentile in its row.
    pub(super) fn has_bounded_values(&self, level: &Level) -> bool {
        self.bounded_cells(level).iter().all(Option::is_some)
    }

    /// Returns the percentiles in a row. A percentile is `None` if it has no value.
    fn bounded_cells(&self, level: &Level) -> Vec<Option<String>> {
        let value = |objective: &Objective| {
            let measured = level.metrics.objectives.iter().find(|measured| measured.objective == *objective)?;
            measured.value.map(|value| match objective.metric() {
                Metric::Speed(_) => byte_rate(value),
                _ => percentile::between(measured.low, value),
            })
        };
        let values: Vec<Option<String>> = self.bounded().map(|measured| value(&measured.objective)).collect();
        let has_p99 = level.metrics.response_p99_nanos.is_some();
        if values.is_empty() { vec![has_p99.then(|| level.metrics.p99())] } else { values }
    }

    /// Returns an explanation of the ranges in the table, or `None` if it has no ranges.
    pub(crate) fn about_ranges(&self) -> Option<&'static str> {
        let bounded: Vec<Objective> = self.bounded().map(|measured| measured.objective).collect();
        let has_bounded_range = |level: &Level| match bounded.is_empty() {
            true => level.metrics.p99_is_range(),
            false => level
                .metrics
                .objectives
                .iter()
                .any(|measured| bounded.contains(&measured.objective) && measured.is_range()),
        };
        let has_range = |level: &Level| level.metrics.p50_is_range() || has_bounded_range(level);
        self.levels.iter().any(has_range).then_some(percentile::ABOUT_RANGES)
    }
}

/// Returns the title for an objective's column. For the response time of all operations, the title is only the
/// percentile, such as `p99`. Otherwise, the title is the name as in the objective.
fn title(objective: &Objective) -> String {
    let metric = objective.metric().to_string();
    match (objective.kind(), metric.strip_prefix("response ")) {
        (None, Some(percentile)) => percentile.to_owned(),
        (None, None) => metric,
        (Some(kind), _) => format!("{} {metric}", kind.name()),
    }
}
