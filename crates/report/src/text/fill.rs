//! The text report of a fill.

use super::blocks::{Block, Table};
use super::ledger;
use super::page::{Page, paint};
use super::style::Style;
use crate::escape::escape;
use crate::fill::Costs;
use crate::fill::{LedgerReport, Pace, Stored, end_text, result, sent_again, sum_text};
use crate::number::{bit_rate, bytes, count, plural, share};
use cost::Component;
use cost::bill::Offer;
use measure::units::format_span;
use std::time::Duration;
use store::journal::{EventKind, Session, Totals};
use store::{SavedFill, Utc};

/// Maximum number of rows of a table. If there are more, the newest rows are shown.
const ROWS_MAX: usize = 20;
/// Columns of the sessions that may be left out, the least important one first: objects, active, started, stored,
/// bandwidth.
const OPTIONAL: [usize; 5] = [3, 2, 1, 4, 5];

/// Returns the report of a fill, with its costs if there are price sheets. The report can be printed while the fill
/// runs.
#[must_use]
pub fn fill_text(fill: &SavedFill, prices: &Costs, style: &Style) -> String {
    let mut page = Page::new(*style);
    let result = result(fill);
    let pieces = std::iter::once(result.word.text().to_owned()).chain(Stored::of(fill).pieces());
    page.first_line(paint(result.word), pieces.collect());
    result.reasons.iter().for_each(|reason| page.line(&escape(reason)));
    page.gap();
    details(&mut page, fill, prices);
    page.finish()
}

/// Returns the report without its first line, for a format with its own layout.
pub(crate) fn fill_blocks(fill: &SavedFill, prices: &Costs) -> Vec<Block> {
    super::blocks(|page| {
        page.heading("Fill");
        details(page, fill, prices);
    })
}

fn details(page: &mut Page, fill: &SavedFill, prices: &Costs) {
    page.item("target", &escape(&fill.identity.target));
    let goal = format!("{}, {}", plural(fill.identity.objects, "object"), bytes(fill.identity.object_bytes));
    page.item("dataset", &goal);
    times(page, fill);
    uploads(page, fill);
    checks(page, fill);
    costs(page, &fill.state.totals, prices);
    if let Some(report) = LedgerReport::of(fill, prices) {
        ledger::ledger(page, &report, fill.state.totals.file_bytes);
    }
    sessions(page, &fill.state.sessions);
    events(page, fill);
}

/// Returns the estimate of a fill in which every request is made once. `dataset` describes its objects.
#[must_use]
pub fn fill_estimate(dataset: &str, planned: &Totals, prices: &Costs, style: &Style) -> String {
    let mut page = Page::new(*style);
    page.line(&format!("{dataset}, {}; nothing was sent", plural(planned.attempts, "request")));
    costs(&mut page, planned, prices);
    page.finish()
}

/// Writes the costs by component and price sheet.
pub(super) fn costs(page: &mut Page, totals: &Totals, prices: &Costs) {
    let offers = prices.of(totals);
    if offers.is_empty() {
        return;
    }
    page.heading("Costs");
    let mut rest = offers.as_slice();
    while !rest.is_empty() {
        // Many price sheets need several tables.
        let fits = |number: &usize| costs_table(&rest[..*number]).width() <= page.width();
        let number = (1..=rest.len()).rev().find(fits).unwrap_or(1);
        let (shown, further) = rest.split_at(number);
        let mut table = costs_table(shown);
        if table.width() > page.width() {
            // Only the name of a price sheet can be that long.
            page.line(&escape(&shown[0].bill.name));
            table = table.without_head();
        }
        page.fitted_table(table, &[]);
        rest = further;
    }
    page.line(&format!(
        "for all attempts, and for keeping what is stored for {}; reading back is not included",
        prices.keep
    ));
    for sheet in &prices.sheets {
        page.line(&format!("{}: prices of {}", escape(&sheet.name), sheet.date));
    }
}

/// Returns a table of costs by component, with a column for each bill.
fn costs_table(offers: &[Offer]) -> Table {
    let mut table = Table::new();
    table.head([String::new()].into_iter().chain(offers.iter().map(|offer| escape(&offer.bill.name))));
    for component in Component::ALL {
        if offers.iter().any(|offer| offer.bill.charges.contains_key(&component)) {
            let amount =
                |offer: &Offer| offer.bill.amount(component).map_or("no price".to_owned(), |it| it.to_string());
            table.row([component.name().to_owned()].into_iter().chain(offers.iter().map(amount)));
        }
    }
    table.row(["sum".to_owned()].into_iter().chain(offers.iter().map(sum_text)));
    let rate = |offer: &Offer| offer.per_tb_month.as_ref().map_or("n/a".to_owned(), ToString::to_string);
    table.row(["per TB and month".to_owned()].into_iter().chain(offers.iter().map(rate)));
    table
}

fn times(page: &mut Page, fill: &SavedFill) {
    let pace = Pace::of(fill);
    let sessions = plural(fill.state.sessions.len() as u64 + fill.state.more_sessions, "session");
    let gaps = pace.wall.saturating_sub(pace.active);
    let gaps = if gaps < Duration::from_secs(1) { String::new() } else { format!(", {} between them", span(gaps)) };
    let uploading = span(pace.uploading);
    page.item("time", &format!("{} in {sessions}{gaps}, {uploading} of it uploading", span(pace.active)));
    if let (Some(uploading), Some(wall)) = (pace.uploading_bytes_per_second, pace.wall_bytes_per_second) {
        page.item("bandwidth", &format!("{} while uploading, {} with the gaps", bit_rate(uploading), bit_rate(wall)));
    }
}

fn uploads(page: &mut Page, fill: &SavedFill) {
    let (state, totals) = (&fill.state, &fill.state.totals);
    let again = sent_again(fill);
    let part = if totals.sent_bytes > 0 { again as f64 / totals.sent_bytes as f64 } else { 0.0 };
    page.item(
        "sent",
        &format!(
            "{} in {}, of which {} ({}) were sent again",
            bytes(totals.sent_bytes),
            plural(totals.attempts, "attempt"),
            bytes(again),
            share(part)
        ),
    );
    if totals.found_on_resume > 0 {
        let found = plural(totals.found_on_resume, "object");
        page.item("recovered", &format!("{found} were found at the target after an interruption"));
    }
    if !state.failed.is_empty() {
        page.item("failed", &plural(state.failed.len(), "object"));
    }
    let kinds = state
        .failures
        .iter()
        .map(|((class, cause), number)| format!("{} × {} ({})", count(*number), escape(class), escape(cause)));
    let kinds: Vec<String> = kinds.collect();
    if !kinds.is_empty() {
        page.item("failures", &format!("{} (uploads that failed in all attempts)", kinds.join(", ")));
    }
}

fn checks(page: &mut Page, fill: &SavedFill) {
    let verified = &fill.state.verified;
    if !verified.is_empty() {
        let mut text = format!("{}: {} good", plural(verified.len(), "object"), count(verified.good.len()));
        let others = [
            (verified.missing.len(), "missing"),
            (verified.damaged.len(), "damaged"),
            (verified.changed_source.len(), "not compared, because their files have changed"),
            (verified.unknown.len(), "not read, because the target refused it or all attempts failed"),
        ];
        for (number, what) in others.iter().filter(|(number, _)| *number > 0) {
            text += &format!(", {} {what}", count(*number));
        }
        if let Some((number, offset)) = verified.offsets.iter().next() {
            text += &format!(" (the first is object {number}, at byte {})", count(*offset));
        }
        page.item("read back", &text);
    }
    let (deleted, not_deleted) = (fill.state.deleted.len(), fill.state.not_deleted.len());
    if deleted + not_deleted > 0 {
        let rest =
            if not_deleted > 0 { format!(", {} could not be deleted", count(not_deleted)) } else { String::new() };
        page.item("deleted", &format!("{}{rest}", plural(deleted, "object")));
    }
}

fn sessions(page: &mut Page, sessions: &[Session]) {
    page.heading("Sessions");
    let mut table = Table::with_text_from(6);
    table.head(["session", "started (UTC)", "active", "objects", "stored", "bandwidth", "end"]);
    for session in sessions.iter().skip(sessions.len().saturating_sub(ROWS_MAX)) {
        let active = session.active.get();
        let rate = session.totals.file_bytes as f64 / active.as_secs_f64();
        table.row([
            session.number.to_string(),
            Utc::from_unix_ms(session.started_unix_ms).to_string().trim_end_matches(" UTC").to_owned(),
            span(active),
            count(session.totals.objects),
            bytes(session.totals.file_bytes),
            if active.is_zero() { "-".to_owned() } else { bit_rate(rate) },
            escape(&end_text(session.end.as_ref())),
        ]);
    }
    page.fitted_table(table, &OPTIONAL);
    if sessions.len() > ROWS_MAX {
        page.line(&format!("the last {ROWS_MAX} of {}", plural(sessions.len() as u64, "session")));
    }
}

fn events(page: &mut Page, fill: &SavedFill) {
    let events = &fill.state.events;
    if events.is_empty() {
        return;
    }
    page.heading("Events");
    let mut table = Table::with_text_from(1);
    for event in events.iter().skip(events.len().saturating_sub(ROWS_MAX)) {
        let kind = match event.kind {
            EventKind::RuleChanged => "rules: ",
            EventKind::Other => "",
        };
        table.row([Utc::from_unix_ms(event.unix_ms).to_string(), format!("{kind}{}", escape(&event.text))]);
    }
    page.fitted_table(table, &[]);
}

/// Formats a time, in whole seconds if it is at least a second.
pub(super) fn span(time: Duration) -> String {
    let time = if time < Duration::from_secs(1) { time } else { Duration::from_secs(time.as_secs()) };
    format_span(time)
}
