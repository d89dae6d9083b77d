//! What a figure is drawn by, wherever it is drawn: its axis, and the objectives that bound it, follow from its metric.

use super::data::{Bound, Unit};
use measure::Objective;
use measure::objective::Metric;

/// The unit of a metric's axis.
pub fn unit(metric: Metric) -> Unit {
    match metric {
        Metric::Success => Unit::Share,
        Metric::Time(..) => Unit::Time,
        Metric::Rate => Unit::Rate,
        Metric::Goodput | Metric::Speed(_) => Unit::Bytes,
    }
}

/// Whether an axis is logarithmic: times of a run that fails are a hundred times those of one that does not.
pub fn is_log(unit: Unit) -> bool {
    unit == Unit::Time
}

/// The bound that an objective draws in a chart of a metric; `None` for other metrics, and for objectives on one kind of
/// operations, since what is drawn is of all.
pub fn bound(objective: &Objective, metric: Metric) -> Option<Bound> {
    let drawn = objective.metric() == metric && objective.kind().is_none();
    drawn.then(|| Bound { label: objective.to_string(), value: objective.bound() })
}
