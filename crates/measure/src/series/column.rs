//! Columns of a series.

use crate::enumerated;
use serde::{Deserialize, Serialize};

/// Maximum number of columns of a series.
pub const COLUMNS_MAX: usize = 256;
/// Maximum length of a column's name, in bytes.
pub const COLUMN_NAME_MAX: usize = 64;

enumerated! {
    /// Meaning of a column's values over time.
    pub enum ColumnKind {
        Gauge => "gauge", "a value that may rise and fall";
        Counter => "counter", "a total that only rises, until its source restarts";
    }
}

enumerated! {
    /// Unit of a column's values.
    pub enum ColumnUnit {
        Count => "count", "a number of things";
        Bytes => "bytes", "bytes";
        Seconds => "seconds", "seconds";
        Milliseconds => "milliseconds", "milliseconds";
        Share => "share", "a fraction: 0.02 means 2 %";
        Hastings => "hastings", "hastings: 10^24 of them are a siacoin";
    }
}

/// A column of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Name, which consists of letters, digits, `_`, `-`, `.` and `:`.
    pub name: String,
    /// Kind of the column's values: a gauge may rise and fall, a counter only rises.
    pub kind: ColumnKind,
    /// Unit of the column's values.
    pub unit: ColumnUnit,
}

impl Column {
    /// Returns a column. `None` if the name is empty, too long, or has other characters than allowed.
    #[must_use]
    pub fn new(name: &str, kind: ColumnKind, unit: ColumnUnit) -> Option<Self> {
        Self::is_name(name).then(|| Self { name: name.to_owned(), kind, unit })
    }

    /// Returns whether a text can be the name of a column. Such names need no quotes in CSV.
    #[must_use]
    pub fn is_name(name: &str) -> bool {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.:".contains(&byte);
        !name.is_empty() && name.len() <= COLUMN_NAME_MAX && name.bytes().all(allowed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_need_no_quotes() {
        let long = "x".repeat(COLUMN_NAME_MAX);
        for name in ["a", "host_eth0.100_received", "probe_localhost:80", &long] {
            assert!(Column::is_name(name), "{name}");
        }
        let too_long = "x".repeat(COLUMN_NAME_MAX + 1);
        for name in ["", "a,b", "a b", "\"a\"", "a\n", "é", &too_long] {
            assert!(Column::new(name, ColumnKind::Gauge, ColumnUnit::Count).is_none(), "{name}");
        }
    }
}
