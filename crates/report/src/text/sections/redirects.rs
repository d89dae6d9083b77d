//! The redirects section: the requests of redirected operations, by position and by host, and the cost of redirects.

use crate::label::host_name;
use crate::number::{bytes, count, plural, share, time};
use crate::percentile::{self, Percentile};
use crate::text::blocks::{Table, columns};
use crate::text::page::Page;
use measure::Distribution;
use measure::stats::HostConnections;
use measure::stats::redirect_chains::{HopStats, RedirectChains};
use store::SavedRun;

/// Maximum number of rows of the table, and of hosts with their connections.
const ROWS_MAX: usize = 20;
/// Maximum width of the numbers next to a label, in characters.
const NUMBERS_WIDTH: usize = 58;

pub fn write(page: &mut Page, run: &SavedRun) {
    let stats = &run.summary().stats;
    let Some(chains) = &stats.redirect_chains else { return };
    page.heading("Hops of redirected operations");
    let mut rows: Vec<&HopStats> = chains.rows.iter().collect();
    rows.sort_by(|a, b| (a.position, b.attempts, &a.host).cmp(&(b.position, a.attempts, &b.host)));
    let shown = &rows[..rows.len().min(ROWS_MAX)];
    let mut times = Table::new();
    times.head(["", "requests", "before sent", "service p50", "p99", "share"]);
    let mut counts = Table::new();
    counts.head(["", "redirects", "connections opened", "body"]);
    for row in shown {
        let label = label(row, page.width());
        let before = mean(row.until_sent_nanos, row.service.count());
        times.row(timed(&label, row.attempts, before, &row.service, chains.share(row.nanos())));
        counts.row(counted(&label, row.redirects, row.opened, row.body_bytes));
    }
    let all = format!("{} chains", count(chains.ops));
    let whole = chains.share(chains.response.moments().sum);
    times.row(timed(&all, chains.attempts, before_all(chains), &chains.service, whole));
    let sum = |of: fn(&HopStats) -> u64| measure::values::sum(rows.iter().map(|row| of(row)));
    counts.row(counted(&all, sum(|row| row.redirects), sum(|row| row.opened), sum(|row| row.body_bytes)));
    page.table(times);
    page.table(counts);
    if rows.len() > ROWS_MAX {
        page.line(&format!("and {} more", rows.len() - ROWS_MAX));
    }
    cost(page, chains);
    page.item("opened by host", &opened(&stats.connections.hosts));
}

/// Writes the time and the bytes spent on redirect responses.
fn cost(page: &mut Page, chains: &RedirectChains) {
    let of = |nanos: u64| chains.share(u128::from(nanos)).map_or_else(|| "–".into(), share);
    let both = of(chains.redirect_nanos.saturating_add(chains.reach_nanos));
    page.item(
        "redirect cost",
        &format!(
            "{both} of response time: {} for responses that were redirects, {} until the next request was sent",
            of(chains.redirect_nanos),
            of(chains.reach_nanos)
        ),
    );
    page.item(
        "",
        &format!(
            "redirects had {} of bodies and {} of headers; at most {} in a row",
            bytes(chains.redirect_body_bytes),
            bytes(chains.redirect_overhead_bytes),
            plural(chains.hops_max, "redirect")
        ),
    );
}

fn timed(label: &str, requests: u64, before: Option<f64>, service: &Distribution, part: Option<f64>) -> [String; 6] {
    let at = |q: f64| match percentile::of(service, q) {
        Percentile::Value(nanos) => time(nanos as f64),
        Percentile::TooFew { .. } => "n/a".into(),
        _ => "–".into(),
    };
    let or_none = |value: Option<f64>, show: fn(f64) -> String| value.map_or_else(|| "–".into(), show);
    [label.to_owned(), count(requests), or_none(before, time), at(0.5), at(0.99), or_none(part, share)]
}

fn counted(label: &str, redirects: u64, opened: u64, body: u64) -> [String; 4] {
    [label.to_owned(), count(redirects), count(opened), bytes(body)]
}

fn mean(nanos: u64, of: u64) -> Option<f64> {
    (of > 0).then(|| nanos as f64 / of as f64)
}

/// Returns the mean time from the intended start until the first request of a chain is sent.
fn before_all(chains: &RedirectChains) -> Option<f64> {
    Some(chains.response.moments().mean()? - chains.service.moments().mean()?)
}

fn label(row: &HopStats, width: usize) -> String {
    let limit = width.saturating_sub(NUMBERS_WIDTH).max(16);
    let shown = match row.position {
        0 => format!("first {}", host_name(&row.host)),
        hop => format!("hop {hop} {}", host_name(&row.host)),
    };
    if columns(&shown) > limit { shown.chars().take(limit - 1).chain(['…']).collect() } else { shown }
}

fn opened(hosts: &[HostConnections]) -> String {
    let mut hosts: Vec<&HostConnections> = hosts.iter().collect();
    hosts.sort_by(|a, b| (b.opened, &a.host).cmp(&(a.opened, &b.host)));
    let more = hosts.len().saturating_sub(ROWS_MAX);
    let shown = hosts.iter().take(ROWS_MAX).map(|host| format!("{} {}", host_name(&host.host), count(host.opened)));
    let shown: Vec<String> = shown.chain((more > 0).then(|| format!("and {more} more"))).collect();
    if shown.is_empty() { "not saved".into() } else { shown.join(" · ") }
}
