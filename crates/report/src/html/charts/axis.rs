//! The axis of a metric, and the objectives that bound it.

use crate::html::model::{Bound, Unit};
use measure::Objective;
use measure::objective::Metric;

/// Returns the unit of a metric's axis.
pub fn unit(metric: Metric) -> Unit {
    match metric {
        Metric::Success => Unit::Share,
        Metric::Time(..) => Unit::Time,
        Metric::Rate => Unit::Rate,
        Metric::Goodput | Metric::Speed(_) => Unit::Bytes,
    }
}

/// Returns whether an axis is logarithmic. Times of a failing run may be a hundred times those of a good one.
pub fn is_log(unit: Unit) -> bool {
    unit == Unit::Time
}

/// Returns the bound of an objective in a chart of a metric; `None` for other metrics, and for objectives on one kind of operations,
/// since charts show all kinds.
pub fn bound(objective: &Objective, metric: Metric) -> Option<Bound> {
    let drawn = objective.metric() == metric && objective.kind().is_none();
    drawn.then(|| Bound { label: objective.to_string(), value: objective.bound() })
}
