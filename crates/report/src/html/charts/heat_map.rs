//! The heat map of response time over time.

use crate::html::script_data::{Chart, Plot};
use crate::number::seconds;
use measure::summary::heat_map::{ROWS, row_start};
use store::SavedRun;

/// Maximum number of rows.
const ROWS_MAX: usize = 40;

/// Returns the chart; `None` if nothing succeeded.
pub fn of(run: &SavedRun) -> Option<Chart> {
    let used = |row: &usize| run.heat.columns().any(|column| column[*row] > 0);
    let (first, last) = ((0..ROWS).find(used)?, (0..ROWS).rfind(used)?);
    let together = (last - first + 1).div_ceil(ROWS_MAX);
    let begins: Vec<usize> = (first..=last).step_by(together).collect();
    let edges = begins.iter().copied().chain([begins.len() * together + first]).map(|row| row_start(row).round());
    let columns = run.heat.columns().map(|column| {
        let sum = |begin: &usize| {
            let end = (begin + together).min(ROWS);
            column[*begin..end].iter().fold(0_u64, |sum, count| sum.saturating_add(*count))
        };
        begins.iter().map(sum).collect()
    });
    let column_seconds = run.heat.column_nanos() as f64 / 1e9;
    let caption = format!(
        "Successful operations in each {} by response time. A stronger color means more operations, on a logarithmic \
         scale. Two bands mean that the target responds in two different ways.",
        seconds(run.heat.column_nanos() as f64 / 1e9)
    );
    let plot = Plot::Heat { column_seconds, edges: edges.collect(), columns: columns.collect() };
    Some(Chart { id: "heat".into(), title: "Response time over time".into(), caption, plot })
}
