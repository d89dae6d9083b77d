//! The vertical axis of a metric, and the bounds that objectives set on it.

use crate::html::script_data::{Bound, Unit};
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

/// Returns whether an axis is logarithmic. Axes of times are logarithmic, because times in a failing run may be a
/// hundred times longer than in a good run.
pub fn is_log(unit: Unit) -> bool {
    unit == Unit::Time
}

/// Returns the bound that an objective sets in the chart of a metric. Returns `None` if the objective has another
/// metric, or applies to one kind of operation only. Charts show all kinds together.
pub fn bound(objective: &Objective, metric: Metric) -> Option<Bound> {
    let drawn = objective.metric() == metric && objective.kind().is_none();
    drawn.then(|| Bound { label: objective.to_string(), value: objective.bound() })
}
