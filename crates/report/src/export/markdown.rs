//! Markdown tables of a run, of repeats, of a study, or of the levels of a search, and the result of a fill.
//!
//! Text from servers and users must not become a link, a mention or markup, and must not end a cell. Text of plain
//! characters is written unchanged. Any other text becomes a `<code>` element, in which special characters are written
//! as entities.

use crate::compare::Comparison;
use crate::escape::escape;
use crate::json::FillReport;
use crate::limit;
use crate::load_line::{ESTIMATED, LoadLine};
use crate::notes;
use crate::number::{bit_rate, byte_rate, count, rate, seconds, share};
use crate::percentile;
use crate::result;
use crate::run_metrics::RunMetrics;
use crate::study::{Order, Study, fills, load_lines, table_rows};
use crate::text::{comparison_notes, comparison_pieces, comparison_rows};
use measure::objective::Timed;
use std::fmt::Write;
use store::SavedRun;

/// Returns the table of a run, with its result and its main metrics.
#[must_use]
pub fn run(run: &SavedRun) -> String {
    let summary = run.summary();
    let tally = &summary.stats.measured;
    let dash = || "–".to_owned();
    let mut rows = vec![["metric", "value"].map(str::to_owned)];
    let mut add = |label: &str, value: String| rows.push([label.to_owned(), value]);
    add("target", run.begin.targets.first().map_or_else(dash, |target| cell(target)));
    add("load", cell(&run.begin.load));
    add("window", seconds(summary.measured.seconds));
    add("succeeded", count(tally.ok));
    let bad = [("failed", tally.failed), ("dropped", tally.dropped), ("unfinished", tally.unfinished)];
    bad.into_iter()
        .filter(|(_, operations)| *operations > 0)
        .for_each(|(label, operations)| add(label, count(operations)));
    add("success", summary.success().map_or_else(dash, share));
    add("rate", summary.ok_rate().map_or_else(dash, rate));
    if summary.measured.traffic.body > 0 {
        add(
            "goodput",
            summary.goodput().map_or_else(dash, |goodput| format!("{} ({})", byte_rate(goodput), bit_rate(goodput))),
        );
    }
    if summary.measured.traffic.sent_body > 0 {
        add("sent", summary.good_sending().map_or_else(dash, byte_rate));
    }
    let all = &summary.all;
    for (label, timed) in [("response time", Timed::Response), ("service time", Timed::Service), ("TTFB", Timed::Ttfb)]
    {
        let shown = [0.5, 0.99, 1.0].map(|q| percentile::text(all, timed, q));
        add(&format!("{label} p50 / p99 / max"), shown.join(" / "));
    }
    let result = result::of(run);
    for judged in &result.objectives {
        add("objective", cell(&format!("{}: {}", judged.objective, result::objective_outcome_text(judged))));
    }
    let mut text = format!("**{}** · limited by: {}\n", result.word.text(), limit::limited_by(run));
    for reason in &result.reasons {
        let _ = write!(text, "\n{}\n", cell(&result::text(reason)));
    }
    for note in notes::of(run) {
        let _ = write!(text, "\nnote: {}\n", cell(&note.to_string()));
    }
    text.push('\n');
    text + &table(&rows)
}

/// Returns the table of several runs of the same load, one row per directory.
#[must_use]
pub fn repeats(runs: &[(String, SavedRun)]) -> String {
    let mut rows = vec![["run", "result", "ok", "goodput", "p50", "p99", "success", "limited by"].map(str::to_owned)];
    let dash = || "–".to_owned();
    for (directory, run) in runs {
        let metrics = RunMetrics::of(directory, run);
        rows.push([
            cell(directory),
            result::of(run).word.text().to_owned(),
            metrics.ok_per_second.map_or_else(dash, rate),
            metrics.goodput_bytes_per_second.map_or_else(dash, byte_rate),
            metrics.p50(),
            metrics.p99(),
            metrics.success_share.map_or_else(dash, share),
            limit_and_missed(&metrics),
        ]);
    }
    table(&rows)
}

fn limit_and_missed(metrics: &RunMetrics) -> String {
    let missed = metrics.first_missed.as_ref().map(|missed| format!(" · {}", cell(missed))).unwrap_or_default();
    format!("{}{missed}", metrics.limited_by)
}

/// Returns the tables of a study. The tables have one row for each cell on each target, for each search and for each
/// fill.
#[must_use]
pub fn study(study: &Study) -> String {
    let trials = (!study.trials.is_empty()).then(|| table(&foreign(table_rows(&study.trials, &Order::default()))));
    let load_lines = (!study.load_lines.is_empty())
        .then(|| table(&foreign(load_lines::table_rows(&study.load_lines, &Order::default()))));
    let fills = (!study.fills.is_empty()).then(|| table(&foreign(fills::table_rows(&study.fills, &Order::default()))));
    let headline = format!("**{}**\n", cell(study.headline().trim_end()));
    std::iter::once(headline).chain(trials).chain(load_lines).chain(fills).collect::<Vec<_>>().join("\n")
}

/// Returns the result of a fill with its reasons.
#[must_use]
pub fn fill(report: &FillReport) -> String {
    let reasons = report.fill.reasons.iter().map(|reason| format!("\n* {}", cell(reason)));
    std::iter::once(format!("{}\n", cell(&report.first_line()))).chain(reasons).collect::<String>() + "\n"
}

/// Returns the result of a search for the load line, and a table of its levels in order.
#[must_use]
pub fn line(line: &LoadLine) -> String {
    let mut levels: Vec<_> = line.levels.iter().collect();
    levels.sort_by(|one, other| one.level.total_cmp(&other.level));
    let rows = levels.into_iter().map(|level| line.row(level));
    let rows = std::iter::once(line.columns()).chain(rows).collect();
    let objectives: Vec<String> = line.objectives.iter().map(|objective| cell(objective)).collect();
    let (target, objectives) = (cell(&line.target), objectives.join(", "));
    let estimated = if line.levels.iter().all(|level| level.certain) { "" } else { ESTIMATED };
    let gap = if estimated.is_empty() { "" } else { "\n" };
    let (sentence, levels) = (cell(&line.sentence()), table(&foreign(rows)));
    format!("**{sentence}**\n\n{target}, objectives: {objectives}\n\n{levels}{gap}{estimated}")
}

/// Returns the conclusion of a comparison, its notes, and a table of its metrics.
#[must_use]
pub fn comparison(comparison: &Comparison<'_>) -> String {
    let notes: String = comparison_notes(comparison).iter().map(|note| format!("note: {}\n\n", cell(note))).collect();
    let pieces = cell(&comparison_pieces(comparison).join(", "));
    format!("**{pieces}**\n\n{notes}{}", table(&foreign(comparison_rows(comparison))))
}

/// Escapes rows whose cells may contain text from servers or users.
fn foreign<const N: usize>(rows: Vec<[String; N]>) -> Vec<[String; N]> {
    rows.into_iter().map(|row| row.map(|text| cell(&text))).collect()
}

/// Formats a table whose cells are already escaped. The first row contains the titles.
fn table<const N: usize>(rows: &[[String; N]]) -> String {
    let mut text = String::new();
    for (index, row) in rows.iter().enumerate() {
        let _ = writeln!(text, "| {} |", row.join(" | "));
        if index == 0 {
            text.push_str(&format!("|{}\n", " --- |".repeat(N)));
        }
    }
    text
}

/// Returns whether a character has no special meaning inside a line of Markdown.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || " .,:;%/()+-–…=·×≈>≥≤".contains(c)
}

/// Returns text from a server or user as text without markup, which also fits into a cell.
#[must_use]
pub fn cell(text: &str) -> String {
    let text = escape(text);
    // GitHub would turn hosts and addresses into links.
    let linked = text.contains("://") || text.contains("www.");
    if text.chars().all(is_plain) && !linked {
        return text.replace('>', "&gt;");
    }
    let mut safe = String::from("<code>");
    for c in text.chars() {
        if c != '>' && is_plain(c) {
            safe.push(c);
        } else {
            let _ = write!(safe, "&#{};", u32::from(c));
        }
    }
    safe + "</code>"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_neither_markup_nor_a_cell() {
        assert_eq!(cell("range 1MiB, 64 slots"), "range 1MiB, 64 slots");
        assert_eq!(cell("success >= 99%"), "success &gt;= 99%");
        assert_eq!(cell("http://h/a_b"), "<code>http://h/a&#95;b</code>");
        for hostile in
            ["a|b", "`x`", "<img src=x>", "@someone", "[a](b)", "a\\|b", "*b*", "_u_", "&lt;", "#1", "~~s~~", "!x"]
        {
            let cell = cell(hostile);
            let inside = cell.strip_prefix("<code>").and_then(|rest| rest.strip_suffix("</code>")).unwrap();
            let bare: String =
                inside.split('&').map(|part| part.split_once(';').map_or(part, |(_, rest)| rest)).collect();
            assert!(
                !bare.contains(['|', '`', '<', '>', '@', '[', ']', '\\', '*', '_', '&', '~', '!']),
                "{hostile}: {cell}"
            );
        }
    }
}
