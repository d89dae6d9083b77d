//! The section of collected values, with the range and the last value of each column.

use crate::collected::{level, value};
use crate::escape::escape;
use crate::number::{count, plural};
use crate::text::blocks::Table;
use crate::text::page::Page;
use store::SavedRun;

/// Maximum number of columns to list. The HTML report draws more.
const ROWS_MAX: usize = 40;

pub fn write(page: &mut Page, run: &SavedRun) {
    let Some(collected) = &run.collected else { return };
    let series = &collected.series;
    page.heading("Collected");
    let mut table = Table::new();
    table.head(["", "min", "mean", "max", "last"]);
    let columns = series.columns.iter().zip(&series.summaries);
    for (column, summary) in columns.take(ROWS_MAX) {
        let shown = |number: Option<f64>| number.map_or_else(|| "–".to_owned(), |number| level(column, number));
        let known = summary.count > 0;
        let last = summary.last.map_or_else(|| "–".to_owned(), |last| value(column.unit, last));
        let (min, max) = (known.then_some(summary.min), known.then_some(summary.max));
        table.row([escape(&column.name), shown(min), shown(summary.mean(column.kind)), shown(max), last]);
    }
    page.table(table);
    if series.columns.len() > ROWS_MAX {
        page.line(&format!("and {} more", plural((series.columns.len() - ROWS_MAX) as u64, "column")));
    }
    let mut polls = vec![plural(series.polls, "poll")];
    if series.failed > 0 {
        polls.push(format!("{} with a failed source", count(series.failed)));
    }
    if series.missed > 0 {
        polls.push(format!("{} missed, because a poll took too long", count(series.missed)));
    }
    let resets = series.summaries.iter().fold(0_u64, |sum, summary| sum.saturating_add(summary.resets));
    if resets > 0 {
        polls.push(format!(
            "counters fell {}",
            if resets == 1 { "once".to_owned() } else { format!("{} times", count(resets)) }
        ));
    }
    page.line(&polls.join(", "));
    if let Some(damage) = &collected.damage {
        page.line(&format!("collected.zst is damaged ({}): later values are missing", damage.kind.about()));
    }
}
