//! The section with metrics by kind of operation, if there are several kinds.

use crate::number::{bytes, count, time};
use crate::percentile::{self, Percentile};
use crate::text::blocks::Table;
use crate::text::page::Page;
use measure::Enumerated;
use measure::objective::Timed;
use store::SavedRun;

pub fn write(page: &mut Page, run: &SavedRun) {
    let kinds = &run.summary().stats.kinds;
    if kinds.len() < 2 {
        return;
    }
    page.heading("By kind of operation");
    let mut table = Table::new();
    table.head(["", "ok", "not ok", "body", "response p50", "p99", "service p50", "p99"]);
    for (kind, stats) in kinds {
        let at = |timed: Timed, q: f64| match percentile::timed(stats, timed, q) {
            Percentile::Value(nanos) => time(nanos as f64),
            Percentile::Between(low, high) => percentile::range(low, high),
            Percentile::TooFew { needed } => format!("n/a (needs {})", count(needed)),
            _ => "–".into(),
        };
        table.row([
            kind.name().to_owned(),
            count(stats.ok),
            count(stats.failed.saturating_add(stats.unfinished)),
            bytes(stats.ok_bytes),
            at(Timed::Response, 0.5),
            at(Timed::Response, 0.99),
            at(Timed::Service, 0.5),
            at(Timed::Service, 0.99),
        ]);
    }
    page.table(table);
}
