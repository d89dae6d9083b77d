//! The order of trials in tables that have a row for each trial.

use super::rows::Order;

/// A trial with its place in the matrix.
pub(crate) trait Placed {
    /// Returns the name of the cell, the name of the target, and the number of the repeat, from 1.
    fn place(&self) -> (&str, &str, u32);
}

/// Returns the trials, sorted by cell, repeat and target.
pub(crate) fn sorted<'s, T: Placed>(trials: &'s [T], order: &Order<'s>) -> Vec<&'s T> {
    let order = order.with(trials.iter().map(|trial| {
        let (cell, target, _) = trial.place();
        (cell, target)
    }));
    let position = |names: &[&str], name: &str| names.iter().position(|known| *known == name);
    let mut sorted: Vec<&T> = trials.iter().collect();
    sorted.sort_by_key(|trial| {
        let (cell, target, repeat) = trial.place();
        (position(&order.cells, cell), repeat, position(&order.targets, target))
    });
    sorted
}

/// Returns the name of a trial in its cell. The name is the target, with the number of the repeat if trials were
/// repeated.
pub(crate) fn name_in_cell<T: Placed>(trial: &T, all: &[T]) -> String {
    let (cell, target, repeat) = trial.place();
    let is_again = |other: &T| matches!(other.place(), (other, _, 2..) if other == cell);
    if all.iter().any(is_again) { format!("{target}, repeat {repeat}") } else { target.to_owned() }
}
