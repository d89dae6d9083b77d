//! Two sections of a fill's report: the target's own ledger, and the result table of the Sia study.

use super::blocks::Table;
use super::page::Page;
use crate::escape::escape;
use crate::fill::{LedgerReport, LedgerSpending, StoredAtTarget, hastings};
use crate::number::{bytes, count, plural, share};
use cost::study_table::Row;
use cost::{Component, Exact, Money};
use measure::units::format_span;
use std::time::Duration;
use store::Utc;

/// Column that may be left out of the spending: hastings.
const HASTINGS: [usize; 1] = [2];

/// Writes the section about the target's ledger.
pub fn ledger(page: &mut Page, report: &LedgerReport, file_bytes: u64) {
    let name = report.system.name();
    page.heading(&format!("Ledger of {name}"));
    let (first, last) = report.unix_ms;
    let span = format_span(Duration::from_secs(last.saturating_sub(first) / 1000));
    let from = Utc::from_unix_ms(first);
    page.item("snapshots", &format!("{}, from {from} on, over {span}", count(report.snapshots as u64)));
    match &report.spending {
        Some(spending) => money(page, spending),
        None => {
            page.item(
                "spending",
                "not known, because fewer than two snapshots have both contracts and wallet; see ledger.csv",
            );
        }
    }
    stored(page, &report.stored, file_bytes);
    match report.restarts {
        Some(0) => page.item("restarts", "0"),
        Some(number) => page.item("restarts", &format!("at least {}", count(number))),
        None => page.item("restarts", &format!("not known: {name} does not report when it started")),
    }
    for gap in &report.gaps {
        page.item("missing", &escape(gap));
    }
    study(page, report);
}

/// Writes the spending by component, and all violations of the ledger's rules.
fn money(page: &mut Page, LedgerSpending { bill, start, end }: &LedgerSpending) {
    let total = bill.total().money;
    let mut table = Table::new();
    table.head(["spent", "amount", "hastings"]);
    let mut row = |name: &str, money: &Money| {
        table.row([name.to_owned(), money.to_string(), hastings(money)]);
    };
    for component in Component::ALL.into_iter().filter(|component| bill.charges.contains_key(component)) {
        if let Some(money) = bill.amount(component) {
            row(component.name(), &money);
        }
    }
    row("sum", &total);
    page.fitted_table(table, &HASTINGS);
    let fees = bill.fee_share().map(|part| format!("{} of the spending", percent(&part)));
    page.item("fees", &fees.unwrap_or("n/a, because nothing was spent".to_owned()));
    if let Some(gap) = end.contract_gap().filter(|gap| !gap.amount.is_zero()) {
        page.item("gap", &format!("{gap} of the money in contracts is neither spent nor remaining"));
    }
    if let Ok(gap) = start.wealth_gap(end)
        && !gap.amount.is_zero()
    {
        page.item("gap", &format!("the sum of wallet and contracts changed by {gap}, but should not change"));
    }
    for fell in start.decreases(end).unwrap_or_default() {
        page.item("decrease", &format!("{} fell from {} to {}", escape(&fell.name), fell.before, fell.after));
    }
}

fn percent(part: &Exact) -> String {
    format!("{} %", (part * &Exact::from(100_u64)).to_decimal_or_digits(1, 2))
}

/// Writes contracts, stored bytes and redundancy.
fn stored(page: &mut Page, stored: &StoredAtTarget, file_bytes: u64) {
    let unknown = || "not known".to_owned();
    page.item("contracts", &stored.contracts.map_or_else(unknown, count));
    let absolute = stored.absolute_bytes.map(|absolute| {
        let part = file_bytes as f64 / absolute as f64;
        let efficiency = if absolute == 0 { String::new() } else { format!(", storage efficiency {}", share(part)) };
        format!("{} for {} of files{efficiency}", bytes(absolute), bytes(file_bytes))
    });
    page.item("on hosts", &absolute.unwrap_or_else(unknown));
    if let Some(waiting) = stored.waiting_bytes.filter(|waiting| *waiting > 0) {
        page.item("to pack", &format!("{} wait to be packed, and are not on hosts yet", bytes(waiting)));
    }
    let target = stored.target_redundancy.map(|target| format!(", {target:.2} by the settings")).unwrap_or_default();
    if let Some(each) = stored.redundancy {
        page.item(
            "redundancy",
            &format!(
                "{:.2} min, {:.2} median, {:.2} mean, {:.2} max{target}",
                each.min, each.median, each.mean, each.max
            ),
        );
        let above = count(each.above_target);
        page.item("", &format!("{above} of {} with more than the settings require", plural(each.files, "file")));
    } else if let Some(health) = stored.min_health {
        page.item(
            "redundancy",
            &format!("of each file not known{target}; the least healthy object has {}", share(health)),
        );
    } else {
        page.item("redundancy", &format!("of each file not known{target}"));
    }
}

/// Writes the result table of the Sia study.
fn study(page: &mut Page, report: &LedgerReport) {
    page.heading("Results as in the Sia study");
    let mut table = Table::with_text_from(1);
    for row in Row::PUBLISHED.into_iter().chain(Row::FURTHER) {
        table.row([row.name().to_owned(), report.study.cell(row).to_string()]);
    }
    page.fitted_table(table, &[]);
    report.study.footnotes().iter().for_each(|note| page.line(note));
}
