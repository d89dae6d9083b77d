//! Counts of response times in a grid of time and value, for heat maps. The number of cells in the grid is limited.
//!
//! A reader of a saved run keeps a heat map of limited size instead of the histograms of all intervals. A heat map has
//! at most [`COLUMNS_MAX`] columns of equal length. Each column has counts in rows of a quarter octave. If more columns
//! are needed, neighboring columns are merged in pairs, so each column covers twice the time. The map then loses
//! resolution, but no counts.

use crate::time::Instant;
use crate::values::Distribution;
use crate::values::bounded;
use crate::values::distribution::RESOLUTION;
use serde::{Deserialize, Serialize};

/// Maximum number of columns. A screen could hardly show more.
pub const COLUMNS_MAX: usize = 300;
/// Number of rows. The rows are quarter octaves from [`RESOLUTION`] to more than 24 h.
pub const ROWS: usize = 164;
/// Number of rows in an octave, which is a range in which values double. The lower end of each row is 19 % above the
/// lower end of the previous row.
const ROWS_PER_OCTAVE: f64 = 4.0;
/// Minimum length of a column, which is the length of an interval.
const COLUMN_NANOS_MIN: u64 = 1_000_000_000;

/// Counts of values by time and value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "SavedHeatMap", into = "SavedHeatMap")]
pub struct HeatMap {
    column_nanos: u64,
    columns: Vec<[u64; ROWS]>,
}

impl Default for HeatMap {
    fn default() -> Self {
        Self { column_nanos: COLUMN_NANOS_MIN, columns: Vec::new() }
    }
}

impl HeatMap {
    /// Adds the values of an interval to the column that contains the middle of the interval.
    pub fn add(&mut self, start: Instant, end: Instant, values: &Distribution) {
        if values.count() == 0 {
            return;
        }
        let middle = start.as_nanos().saturating_add(end.nanos_since(start) / 2);
        let column = self.column_of(middle);
        while self.columns.len() <= column {
            self.columns.push([0; ROWS]);
        }
        let counts = &mut self.columns[column];
        for (value, count) in values.recorded() {
            let cell = &mut counts[row_of(value)];
            *cell = cell.saturating_add(count);
        }
    }

    /// Returns the length of a column, in nanoseconds. The first column starts with the run.
    #[must_use]
    pub fn column_nanos(&self) -> u64 {
        self.column_nanos
    }

    /// Returns the columns. Each column contains the counts of its rows, in ascending order of values.
    pub fn columns(&self) -> impl ExactSizeIterator<Item = &[u64; ROWS]> {
        self.columns.iter()
    }

    /// Returns the index of the column that contains an instant. Merges columns first if there would be too many.
    fn column_of(&mut self, at: u64) -> usize {
        loop {
            match usize::try_from(at / self.column_nanos) {
                Ok(column) if column < COLUMNS_MAX => return column,
                _ => self.halve(),
            }
        }
    }

    fn halve(&mut self) {
        let merged = self.columns.chunks(2).map(|pair| {
            let mut sum = pair[0];
            for other in &pair[1..] {
                sum.iter_mut().zip(other.iter()).for_each(|(cell, more)| *cell = cell.saturating_add(*more));
            }
            sum
        });
        self.columns = merged.collect();
        self.column_nanos = self.column_nanos.saturating_mul(2);
    }
}

/// A heat map in a record.
#[derive(Serialize, Deserialize)]
struct SavedHeatMap {
    column_nanos: u64,
    #[serde(deserialize_with = "bounded::list::<_, _, COLUMNS_MAX>")]
    columns: Vec<SavedColumn>,
}

/// Rows of a column with a count above zero, each with its index.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
struct SavedColumn(#[serde(deserialize_with = "bounded::list::<_, _, ROWS>")] Vec<(u8, u64)>);

impl From<HeatMap> for SavedHeatMap {
    fn from(map: HeatMap) -> Self {
        let column = |rows: &[u64; ROWS]| {
            let used = (0..).zip(rows).filter(|(_, count)| **count > 0);
            SavedColumn(used.map(|(row, count)| (row, *count)).collect())
        };
        Self { column_nanos: map.column_nanos, columns: map.columns.iter().map(column).collect() }
    }
}

impl TryFrom<SavedHeatMap> for HeatMap {
    type Error = String;

    fn try_from(saved: SavedHeatMap) -> Result<Self, String> {
        let is_valid = saved.column_nanos.is_multiple_of(COLUMN_NANOS_MIN) && saved.column_nanos > 0;
        if !is_valid {
            return Err(format!("{} ns is not the length of a column", saved.column_nanos));
        }
        let mut columns = Vec::with_capacity(saved.columns.len());
        for SavedColumn(used) in saved.columns {
            let mut rows = [0; ROWS];
            for (row, count) in used {
                *rows.get_mut(usize::from(row)).ok_or_else(|| format!("there is no row {row}"))? = count;
            }
            columns.push(rows);
        }
        Ok(Self { column_nanos: saved.column_nanos, columns })
    }
}

/// Returns the index of the row that contains a value, given in nanoseconds.
fn row_of(nanos: u64) -> usize {
    let octaves = (nanos.max(RESOLUTION) as f64 / RESOLUTION as f64).log2();
    ((octaves * ROWS_PER_OCTAVE) as usize).min(ROWS - 1)
}

/// Returns the lowest value of a row, in nanoseconds; for [`ROWS`], the end of the last row.
#[must_use]
pub fn row_start(row: usize) -> f64 {
    RESOLUTION as f64 * (row as f64 / ROWS_PER_OCTAVE).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::values::distribution::of;
    use proptest::prelude::*;

    fn second(heat: &mut HeatMap, index: u64, values: &[u64]) {
        let at = |second: u64| Instant::from_nanos(second.saturating_mul(1_000_000_000));
        heat.add(at(index), at(index.saturating_add(1)), &of(values));
    }

    proptest! {
        #[test]
        fn values_lie_in_their_row(nanos in RESOLUTION..86_400_000_000_000) {
            let row = row_of(nanos);
            prop_assert!(row < ROWS - 1);
            prop_assert!(row_start(row) <= nanos as f64 * 1.000_001 && nanos as f64 <= row_start(row + 1) * 1.000_001);
        }

        #[test]
        fn every_value_is_counted_once_in_runs_of_any_length(
            seconds in prop::collection::vec((0_u64..200_000, prop::collection::vec(1_u64..10_000_000_000, 1..5)), 1..60),
        ) {
            let mut heat = HeatMap::default();
            seconds.iter().for_each(|(at, values)| second(&mut heat, *at, values));
            let wanted: usize = seconds.iter().map(|(_, values)| values.len()).sum();
            prop_assert_eq!(heat.columns().flatten().sum::<u64>(), wanted as u64);
            prop_assert!(heat.columns().len() <= COLUMNS_MAX);
            let saved = serde_json::to_string(&heat).unwrap();
            prop_assert_eq!(&serde_json::from_str::<HeatMap>(&saved).unwrap(), &heat);
            // Each column must contain the values of its time, as found by brute force.
            for (index, counts) in heat.columns().enumerate() {
                let inside = |at: u64| (at * 1_000_000_000 + 500_000_000) / heat.column_nanos() == index as u64;
                let count: usize = seconds.iter().filter(|(at, _)| inside(*at)).map(|(_, values)| values.len()).sum();
                prop_assert_eq!(counts.iter().sum::<u64>(), count as u64);
            }
        }
    }

    #[test]
    fn extreme_instants_and_values_have_a_cell() {
        let mut heat = HeatMap::default();
        second(&mut heat, 0, &[0, u64::MAX]);
        second(&mut heat, u64::MAX, &[1]);
        assert_eq!(heat.columns().flatten().sum::<u64>(), 3);
        assert!(heat.columns().len() <= COLUMNS_MAX);
    }
}
