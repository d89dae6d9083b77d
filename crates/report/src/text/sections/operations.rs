//! The operations section: operations, attempts, and objectives.

use crate::number::{count, rate, share};
use crate::result;
use crate::text::blocks::Table;
use crate::text::page::Page;
use store::SavedRun;

pub fn write(page: &mut Page, run: &SavedRun) {
    let summary = run.summary();
    let tally = &summary.stats.measured;
    page.heading("Operations");
    let mut table = Table::with_text_from(3);
    let mut with_rate = |label: &str, value: u64, for_rate: u64, about: &str| {
        let per_second = summary.per_second(for_rate).map_or_else(|| "–".into(), rate);
        table.row([label.to_owned(), count(value), per_second, about.to_owned()]);
    };
    let (ok, failed) = (summary.window_ok, summary.window_failed);
    with_rate("offered", tally.scheduled, tally.scheduled, "by the load model");
    with_rate("started", tally.started, tally.started, "");
    // The count includes operations that ended in the drain. The rate includes only those that ended in the window.
    with_rate("completed", tally.completed(), ok.saturating_add(failed), "the rate is that of the window only");
    with_rate("  ok", tally.ok, ok, "");
    with_rate("  failed", tally.failed, failed, "");
    let mut row = |label: &str, value: u64, about: &str| with_rate(label, value, value, about);
    row("dropped", tally.dropped, "offered and never started");
    row("unfinished", tally.unfinished, "still in flight at the end of the drain");
    if run.end.is_none() && summary.open_operations() > 0 {
        row("in flight", summary.open_operations(), "in the last record of a run that did not end");
    }
    row("attempts", tally.attempts, "operations, redirect hops and resends");
    row("  hops", tally.hops, "");
    if tally.steps > 0 {
        row("  further", tally.steps, "requests of an operation after its first one");
    }
    row("  resends", tally.resends, "e.g. after a kept-alive connection was closed");
    if tally.retries > 0 {
        row("  retries", tally.retries, "of failed requests, after a pause");
    }
    page.table(table);
    let statuses = tally.statuses.sorted();
    if !statuses.is_empty() {
        let shown: Vec<_> = statuses.iter().map(|(status, number)| format!("{status} × {}", count(*number))).collect();
        page.item("status codes", &shown.join(" · "));
    }
    if let Some(success) = summary.success() {
        page.item("success", &format!("{} of operations completed, dropped or unanswered", share(success)));
    }
    if let Some(mean) = summary.mean_in_flight() {
        let peak = summary.in_flight_peak;
        // Earlier versions recorded the number only at the end of each second, and may have missed the true peak. A
        // peak below the mean is certainly wrong, so omit it.
        let most = if peak as f64 >= mean { format!(", {} at most", count(peak)) } else { String::new() };
        page.item("in flight", &format!("{mean:.1} on average{most}"));
    }
    for judged in &result::of(run).objectives {
        page.item("objective", &format!("{}: {}", judged.objective, result::objective_outcome_text(judged)));
    }
}
