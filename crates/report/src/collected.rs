//! Collected values in the form in which reports show them.

use crate::number::{byte_rate, bytes, four_digits, rate, share, time};
use measure::series::{Column, ColumnKind, ColumnUnit};

/// Hastings of a siacoin.
const HASTINGS: f64 = 1e24;

/// The factor from the unit of a column to the one that is shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown {
    /// Times are shown from nanoseconds.
    Nanoseconds(f64),
    /// Everything else.
    Times(f64),
}

/// Returns how values of a unit are shown.
pub fn shown(unit: ColumnUnit) -> Shown {
    match unit {
        ColumnUnit::Seconds => Shown::Nanoseconds(1e9),
        ColumnUnit::Milliseconds => Shown::Nanoseconds(1e6),
        ColumnUnit::Hastings => Shown::Times(1.0 / HASTINGS),
        ColumnUnit::Count | ColumnUnit::Bytes | ColumnUnit::Share => Shown::Times(1.0),
    }
}

/// Formats a value of a gauge, or the total of a counter.
pub fn value(unit: ColumnUnit, value: f64) -> String {
    match unit {
        ColumnUnit::Bytes if value >= 0.0 => bytes(value as u64),
        ColumnUnit::Share => share(value),
        ColumnUnit::Seconds => time(value * 1e9),
        ColumnUnit::Milliseconds => time(value * 1e6),
        ColumnUnit::Hastings => format!("{} SC", four_digits(value / HASTINGS)),
        ColumnUnit::Count | ColumnUnit::Bytes => four_digits(value),
    }
}

/// Formats what charts and extremes show of a column: the value of a gauge, the rate of a counter.
pub fn level(column: &Column, level: f64) -> String {
    match (column.kind, column.unit) {
        (ColumnKind::Gauge, unit) => value(unit, level),
        (ColumnKind::Counter, ColumnUnit::Bytes) => byte_rate(level),
        (ColumnKind::Counter, ColumnUnit::Hastings) => format!("{} SC/s", four_digits(level / HASTINGS)),
        (ColumnKind::Counter, ColumnUnit::Milliseconds) => rate(level / 1e3),
        (ColumnKind::Counter, ColumnUnit::Count | ColumnUnit::Seconds | ColumnUnit::Share) => rate(level),
    }
}
