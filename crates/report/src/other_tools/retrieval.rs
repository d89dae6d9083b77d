//! The CSV format of filecoin-project/retrieval-load-testing, the k6 kit that compared booster-http with nginx. The
//! file has the same 19 columns in the same order, so the kit's spreadsheets can read our runs.
//!
//! Some titles have unusual meanings. `Latency` is TTFB. `MB/s` is the speed of one request in MiB per second, which is
//! the length of its body divided by its time. The success rate is a fraction from 0 to 1. As in the kit, percentiles
//! are shown even if there are few samples. The last three columns stay empty, because users of the kit fill them in by
//! hand.

use super::concurrency;
use crate::export::column::{Column, count, number, text};
use crate::export::ms;
use crate::export::runs::Row;
use measure::units::ByteSize;
use measure::{Distribution, Summary};
use store::Begin;

const MIB: f64 = 1_048_576.0;

fn summary(row: &Row) -> &Summary {
    row.run.summary()
}

fn ttfb(row: &Row) -> &Distribution {
    &summary(row).all.ttfb
}

fn speed(row: &Row) -> &Distribution {
    &summary(row).all.speed
}

fn mib(bytes: Option<u64>) -> Option<f64> {
    bytes.map(|bytes| bytes as f64 / MIB)
}

/// Returns the kit's "protocol", which is the name of the target in a study, and otherwise the scheme of the URL.
fn protocol(row: &Row) -> String {
    let scheme = || {
        let first = row.run.begin.targets.first().map_or("", String::as_str);
        first.split_once("://").map_or("", |(scheme, _)| scheme).to_uppercase()
    };
    row.position.target.clone().unwrap_or_else(scheme)
}

/// Returns the kit's "scenario", which is whole objects, or ranges with a length in MiB.
fn scenario(begin: &Begin) -> String {
    match range_bytes(begin) {
        Some(bytes) => format!("range-requests {} MiB", bytes >> 20),
        None => "full-fetch".to_owned(),
    }
}

/// Returns the length of the requested ranges. The setting has a form such as `1MiB at random` or `bytes 0 to 99`.
fn range_bytes(begin: &Begin) -> Option<u64> {
    let (_, range) = begin.settings.iter().find(|(name, _)| name == "range")?;
    let words: Vec<&str> = range.split(' ').collect();
    match words.as_slice() {
        ["bytes", first, "to", last] => {
            last.parse::<u64>().ok()?.checked_sub(first.parse().ok()?).map(|span| span.saturating_add(1))
        }
        [size, ..] => size.parse::<ByteSize>().ok().map(|size| size.0),
        [] => None,
    }
}

/// The columns.
pub const COLUMNS: &[Column<Row>] = &[
    text("Protocol", |row| Some(protocol(row))),
    text("Scenario", |row| Some(scenario(&row.run.begin))),
    count("Concurrency", |row| Some(concurrency(&row.run).round() as u64)),
    number("Latency Avg (ms)", |row| ttfb(row).moments().mean().map(|nanos| nanos / 1e6)),
    number("Latency Min (ms)", |row| ms(ttfb(row).min())),
    number("Latency Med (ms)", |row| ms(ttfb(row).quantile(0.5))),
    number("Latency Max (ms)", |row| ms(ttfb(row).max())),
    number("Latency P(90) (ms)", |row| ms(ttfb(row).quantile(0.9))),
    number("Latency P(95) (ms)", |row| ms(ttfb(row).quantile(0.95))),
    number("Bandwidth (MB/s) Avg", |row| speed(row).moments().mean().map(|bytes| bytes / MIB)),
    number("Bandwidth (MB/s) Min", |row| mib(speed(row).min())),
    number("Bandwidth (MB/s) Med", |row| mib(speed(row).quantile(0.5))),
    number("Bandwidth (MB/s) Max", |row| mib(speed(row).max())),
    number("Bandwidth (MB/s) P(90)", |row| mib(speed(row).quantile(0.9))),
    number("Bandwidth (MB/s) P(95)", |row| mib(speed(row).quantile(0.95))),
    number("Success Rate", |row| summary(row).success()),
    text("Missed WindowPost", |_| None),
    text("CPU", |_| None),
    text("Memory", |_| None),
];
