//! The sections with breakdowns: metrics by host, by body size, by value of a response header, and by
//! first and repeated access.

use crate::escape::escape;
use crate::label::OTHER;
use crate::number::{bytes, count, time};
use crate::percentile::{self, Percentile};
use crate::text::blocks::{Table, columns};
use crate::text::page::Page;
use measure::Label;
use measure::stats::{Dimension, Group};
use store::SavedRun;

/// Maximum number of rows of a breakdown.
const ROWS_MAX: usize = 20;
/// Maximum width of the numbers next to a label, in characters.
const NUMBERS_WIDTH: usize = 62;

pub fn write(page: &mut Page, run: &SavedRun) {
    let groups = &run.summary().stats.groups;
    let of = |dimension| groups.iter().filter(|group| group.dimension == dimension).collect::<Vec<&Group>>();
    let (mut hosts, mut sizes, mut values) = (of(Dimension::Host), of(Dimension::Size), of(Dimension::Header));
    let most_first = |group: &&Group| std::cmp::Reverse(group.stats.ok.saturating_add(group.stats.failed));
    hosts.sort_by_key(most_first);
    values.sort_by_key(most_first);
    sizes.sort_by_key(|group| group.stats.ok_bytes / group.stats.ok.max(1));
    if hosts.len() > 1 {
        breakdown(page, "By host of the URL", &hosts);
    }
    if sizes.len() > 1 {
        breakdown(page, "By size of the body", &sizes);
    }
    if !values.is_empty() {
        let name = run.begin.header.as_deref().map_or_else(|| "a response header".into(), escape);
        breakdown(page, &format!("By {name}"), &values);
    }
    let accesses = of(Dimension::Access);
    if accesses.len() > 1 {
        breakdown(page, "By access of the object", &accesses);
    }
}

fn breakdown(page: &mut Page, title: &str, groups: &[&Group]) {
    page.heading(title);
    let mut table = Table::new();
    table.head(["", "ok", "not ok", "body", "response p50", "p99"]);
    for group in groups.iter().take(ROWS_MAX) {
        let stats = &group.stats;
        let at = |q: f64| match percentile::of(&stats.response, q) {
            Percentile::Value(nanos) => time(nanos as f64),
            Percentile::TooFew { needed } => format!("n/a (needs {})", count(needed)),
            _ => "–".into(),
        };
        let (ok, failed, body) = (count(stats.ok), count(stats.failed), bytes(stats.ok_bytes));
        table.row([label(&group.label, page.width()), ok, failed, body, at(0.5), at(0.99)]);
    }
    page.table(table);
    if groups.len() > ROWS_MAX {
        page.line(&format!("and {} more", groups.len() - ROWS_MAX));
    }
}

/// Formats the label of a row. A value that begins with a parenthesis or a quote is quoted, so that it differs from the
/// labels `(absent)` and `(other)`.
fn label(label: &Label, width: usize) -> String {
    let limit = width.saturating_sub(NUMBERS_WIDTH).max(16);
    let shown = match label {
        Label::Value(value) if value.starts_with(['(', '"']) => format!("\"{}\"", escape(value)),
        Label::Value(value) => escape(value),
        Label::Absent => "(absent)".into(),
        Label::Other => OTHER.into(),
    };
    if columns(&shown) > limit { shown.chars().take(limit - 1).chain(['…']).collect() } else { shown }
}
