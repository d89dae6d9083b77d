//! Collected values, formatted for reports.

use crate::number::{byte_rate, bytes, four_digits, rate, share, time};
use measure::series::{Column, ColumnKind, ColumnUnit};

/// Number of hastings in a siacoin.
const HASTINGS: f64 = 1e24;

/// Conversion from the unit of a column to the unit in reports.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shown {
    /// Factor that converts a time to nanoseconds.
    Nanoseconds(f64),
    /// Factor that converts any other value to the unit in reports.
    Times(f64),
}

/// Returns the conversion for a unit.
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

/// Formats a level of a column. Charts show all levels, and text reports show the lowest and the highest one. The level
/// of a gauge is its value, and the level of a counter is its rate.
pub fn level(column: &Column, level: f64) -> String {
    match (column.kind, column.unit) {
        (ColumnKind::Gauge, unit) => value(unit, level),
        (ColumnKind::Counter, ColumnUnit::Bytes) => byte_rate(level),
        (ColumnKind::Counter, ColumnUnit::Hastings) => format!("{} SC/s", four_digits(level / HASTINGS)),
        (ColumnKind::Counter, ColumnUnit::Milliseconds) => rate(level / 1e3),
        (ColumnKind::Counter, ColumnUnit::Count | ColumnUnit::Seconds | ColumnUnit::Share) => rate(level),
    }
}
