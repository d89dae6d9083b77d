//! Tables in Markdown, to be pasted into an issue or a page: a run, the runs of a repeated one, a study, the levels of a search.
//!
//! What servers and users wrote stays text: no link, no mention, no markup, no cell that ends early. Words of plain characters stand
//! as they are; anything else stands in a code element with the characters that mean something as entities.

use crate::escape::escape;
use crate::lines;
use crate::load_line::{ESTIMATED, LoadLine};
use crate::measured::Measured;
use crate::number::{bit_rate, byte_rate, count, rate, seconds, share};
use crate::percentile;
use crate::result;
use crate::standing;
use crate::study::Study;
use crate::study::{self, Order};
use measure::objective::Timed;
use std::fmt::Write;
use store::SavedRun;

/// A run: its result, and its main numbers.
#[must_use]
pub fn run(run: &SavedRun) -> String {
    let summary = run.summary();
    let tally = &summary.stats.measured;
    let dash = || "–".to_owned();
    let mut rows = vec![["figure", "value"].map(str::to_owned)];
    let mut add = |label: &str, value: String| rows.push([label.to_owned(), value]);
    add("target", run.begin.targets.first().map_or_else(dash, |target| cell(target)));
    add("load", cell(&run.begin.load));
    add("window", seconds(summary.measured.seconds));
    add("ended well", count(tally.ok));
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
        add("objective", cell(&format!("{}: {}", judged.objective, result::judgement_text(judged))));
    }
    let mut text = format!("**{}** · limited by: {}\n", result.word.text(), standing::limited_by(run));
    for reason in &result.reasons {
        let _ = write!(text, "\n{}\n", cell(&result::text(reason)));
    }
    for note in standing::notes(run) {
        let _ = write!(text, "\nnote: {}\n", cell(&note.to_string()));
    }
    text.push('\n');
    text + &table(&rows)
}

/// Runs of the same load, one row each; each with its directory.
#[must_use]
pub fn repeats(runs: &[(String, SavedRun)]) -> String {
    let mut rows = vec![["run", "result", "ok", "goodput", "p50", "p99", "success", "limited by"].map(str::to_owned)];
    let dash = || "–".to_owned();
    for (directory, run) in runs {
        let measured = Measured::of(directory, run);
        rows.push([
            cell(directory),
            result::of(run).word.text().to_owned(),
            measured.ok_per_second.map_or_else(dash, rate),
            measured.goodput.map_or_else(dash, byte_rate),
            measured.p50(),
            measured.p99(),
            measured.success.map_or_else(dash, share),
            remark(&measured),
        ]);
    }
    table(&rows)
}

fn remark(measured: &Measured) -> String {
    let broke = measured.broke.as_ref().map(|broke| format!(" · {}", cell(broke))).unwrap_or_default();
    format!("{}{broke}", measured.limited_by)
}

/// A study: a row for each cell and target, and one for each search.
#[must_use]
pub fn study(study: &Study) -> String {
    let trials = (!study.trials.is_empty()).then(|| table(&foreign(study::shown(&study.trials, &Order::default()))));
    let lines = (!study.lines.is_empty()).then(|| table(&foreign(lines::shown(&study.lines, &Order::default()))));
    trials.into_iter().chain(lines).collect::<Vec<_>>().join("\n")
}

/// A search for the load line: where it lies, and the levels in order.
#[must_use]
pub fn line(line: &LoadLine) -> String {
    let mut levels: Vec<_> = line.levels.iter().collect();
    levels.sort_by(|one, other| one.level.total_cmp(&other.level));
    let rows = levels.into_iter().map(|level| line.row(level));
    let rows = std::iter::once(line.columns()).chain(rows).collect();
    let objectives: Vec<String> = line.objectives.iter().map(|objective| cell(objective)).collect();
    let (target, objectives) = (cell(&line.target), objectives.join(", "));
    let estimated = if line.levels.iter().all(|level| level.decided) { "" } else { ESTIMATED };
    let gap = if estimated.is_empty() { "" } else { "\n" };
    let (sentence, levels) = (cell(&line.sentence()), table(&foreign(rows)));
    format!("**{sentence}**\n\n{target}, held to {objectives}\n\n{levels}{gap}{estimated}")
}

/// Rows whose cells may hold foreign text.
fn foreign<const N: usize>(rows: Vec<[String; N]>) -> Vec<[String; N]> {
    rows.into_iter().map(|row| row.map(|text| cell(&text))).collect()
}

/// Rows of finished cells, the first of titles.
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

/// Characters that mean nothing to Markdown inside a line.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || " .,:;%/()+-–…=·×≈>≥≤".contains(c)
}

/// A foreign text that stays what it is.
fn cell(text: &str) -> String {
    let text = escape(text);
    // Hosts and addresses would become links.
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
