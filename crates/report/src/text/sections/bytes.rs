//! The bytes section: bytes by stage of the run, throughput, goodput, and the speed of operations.

use crate::limit;
use crate::number::{bit_rate, byte_rate, bytes, seconds};
use crate::percentile::{self, Percentile};
use crate::text::blocks::Table;
use crate::text::page::Page;
use store::SavedRun;

pub fn write(page: &mut Page, run: &SavedRun) {
    let summary = run.summary();
    page.heading("Bytes");
    let mut table = Table::new();
    table.head(["", "length", "body", "body and headers", "sent"]);
    for (label, stage, always) in [
        ("warm-up", &summary.warmup, false),
        ("measured window", &summary.measured, true),
        ("drain", &summary.drain, false),
    ] {
        let traffic = &stage.traffic;
        if always || stage.seconds > 0.0 || traffic.body.max(traffic.overhead).max(traffic.sent) > 0 {
            let received = traffic.body.saturating_add(traffic.overhead);
            let length = seconds((stage.seconds * 1e3).round() / 1e3);
            table.row([label.to_owned(), length, bytes(traffic.body), bytes(received), bytes(traffic.sent)]);
        }
    }
    page.table(table);
    let at_least = if limit::rates_are_lower_bounds(run) { "at least " } else { "" };
    let (received, sent) = (summary.stats.traffic.body > 0, summary.stats.traffic.sent_body > 0);
    for (label, shown, value, about) in [
        ("throughput", received || !sent, summary.throughput(), "body bytes that arrived in the window"),
        ("goodput", received || !sent, summary.goodput(), "without attempts that failed or were redirects"),
        ("upload", sent, summary.sending(), "body bytes that left the client in the window"),
        ("good upload", sent, summary.good_sending(), "without attempts that failed or were redirects"),
    ] {
        if let Some(value) = value.filter(|_| shown) {
            page.item(label, &format!("{at_least}{} · {} · {about}", byte_rate(value), bit_rate(value)));
        }
    }
    let speed = &summary.all.speed;
    if speed.count() > 0 {
        let at = |q: f64| match percentile::of(speed, q) {
            Percentile::Value(value) => format!("{} {}", percentile::label(q), byte_rate(value as f64)),
            _ => format!("{} n/a (needs {})", percentile::label(q), percentile::samples_needed(q)),
        };
        let shown = [0.05, 0.5, 0.95].map(at).join(" · ");
        page.item("speed per op", &format!("{shown} · body bytes / service time"));
    }
}
