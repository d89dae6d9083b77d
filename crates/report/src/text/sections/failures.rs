//! The failures section: failed attempts by class and by cause, with examples, and anomalies of other attempts.

use crate::escape::escape;
use crate::number::{count, share, time};
use crate::text::blocks::Table;
use crate::text::page::Page;
use measure::values::sum;
use measure::{AttemptClass, Cause, Counts, Enumerated, Example, Flag};
use store::SavedRun;

pub fn write(page: &mut Page, run: &SavedRun) {
    failures(page, run);
    anomalies(page, run);
}

fn failures(page: &mut Page, run: &SavedRun) {
    let tally = &run.summary().stats.measured;
    let outside = &run.summary().stats.outside;
    let (failed, before): (Vec<_>, Vec<_>) = (failed(&tally.classes).collect(), failed(&outside.classes).collect());
    if failed.is_empty() && before.is_empty() {
        return;
    }
    page.heading("Failed attempts");
    if !before.is_empty() {
        let before = sum(before.iter().map(|(_, number)| *number));
        page.item("warm-up", &format!("{} failed outside the measured window and do not count here", count(before)));
    }
    let part = |count: u64| share(count as f64 / tally.attempts.max(1) as f64);
    if !failed.is_empty() {
        let mut table = Table::with_text_from(3);
        table.head(["class", "attempts", "share", ""]);
        for (class, number) in failed {
            table.row([class.name(), &count(number), &part(number), class.about()]);
        }
        page.table(table);
    }
    for (cause, number) in tally.causes.nonzero().filter(|(cause, _)| !matches!(cause, Cause::None | Cause::RunEnded)) {
        page.item(cause.name(), &format!("{} × {} ({})", count(number), cause.about(), part(number)));
        if let Some(example) = run.summary().stats.examples.iter().find(|example| example.cause() == cause) {
            page.item("", &example_line(example));
        }
    }
}

/// Returns the classes that are failures, with the number of attempts in each.
pub fn failed(classes: &Counts<AttemptClass>) -> impl Iterator<Item = (AttemptClass, u64)> {
    classes.nonzero().filter(|(class, _)| is_failure(*class))
}

/// Returns whether a class is a failure. Attempts in flight at the end of the drain are not failures, but unfinished.
fn is_failure(class: AttemptClass) -> bool {
    !matches!(class, AttemptClass::Ok | AttemptClass::InflightAtEnd)
}

/// Returns a failure in one line: the reason, the URL and the server.
#[must_use]
pub fn failure_line(example: &Example) -> String {
    let reason = if example.detail.is_empty() { example.cause().about() } else { &example.detail };
    pieces(example, Some(reason)).join(" · ")
}

/// Returns an example of a failure as a line, without the class of the failure. The caller shows the class next to it.
/// The short report cuts off the end of a long line, so the line begins with the reason.
pub fn example_line(example: &Example) -> String {
    let mut pieces = pieces(example, Some(example.detail.as_str()).filter(|detail| !detail.is_empty()));
    pieces.push(format!("{} after the start", time(example.at.as_nanos() as f64)));
    format!("e.g. {}", pieces.join(" · "))
}

fn pieces(example: &Example, reason: Option<&str>) -> Vec<String> {
    let mut pieces: Vec<String> = example.status.map(|status| format!("status {status}")).into_iter().collect();
    pieces.extend(reason.map(escape));
    pieces.push(escape(&example.url));
    pieces.extend(example.address.as_deref().map(|address| format!("at {}", escape(address))));
    pieces
}

/// Returns whether a flag marks an anomaly.
fn is_anomaly(flag: Flag) -> bool {
    !matches!(flag, Flag::KeptAlive | Flag::Persistent)
}

fn anomalies(page: &mut Page, run: &SavedRun) {
    let tally = &run.summary().stats.measured;
    let mut table = Table::with_text_from(3);
    let mut any = false;
    for (flag, number) in tally.flags.nonzero().filter(|(flag, _)| is_anomaly(*flag)) {
        let part = share(number as f64 / tally.attempts.max(1) as f64);
        table.row([flag.name(), &count(number), &part, flag.about()]);
        any = true;
    }
    if any {
        page.heading("Anomalies of attempts");
        page.table(table);
    }
}
