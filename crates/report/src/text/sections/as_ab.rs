//! The section with ab's metrics, for comparison with ab's own output. The section uses ab's names and formulas.

use crate::number::{count, decimal, plural};
use crate::other_tools::{self, formulas};
use crate::text::blocks::Table;
use crate::text::page::Page;
use measure::{Distribution, Flag};
use store::SavedRun;

pub fn write(page: &mut Page, run: &SavedRun) {
    let summary = run.summary();
    let (all, tally) = (&summary.all, &summary.stats.measured);
    page.heading("As ab counts");
    if all.ok > 0 {
        let mut table = Table::new();
        table.head(["Connection Times (ms)", "min", "mean", "+/-sd", "median", "max"]);
        for (label, values) in [
            ("Connect", &summary.connect_of_all()),
            ("Processing (service time)", &all.service),
            ("Waiting (TTFB)", &all.ttfb),
            ("Total (response time)", &all.response),
        ] {
            table.row(std::iter::once(label.to_owned()).chain(milliseconds(values)));
        }
        page.table(table);
    }
    connections(page, run);
    page.item("non-2xx", &plural(other_tools::non_2xx(tally), "response"));
    let differing = plural(tally.flags.get(Flag::LengthDiffers), "body");
    page.item("length differs", &format!("{differing} with another length than the first"));
    let (received, seconds) = (other_tools::received(summary), summary.measured.seconds);
    page.item(
        "transferred",
        &format!(
            "{} B with headers, {} B without · {} received",
            count(received),
            count(summary.measured.traffic.body),
            with_unit(formulas::kib_per_second(received, seconds), 2, "KiB/s")
        ),
    );
    let done = tally.completed();
    page.item("requests", &with_unit(formulas::requests_per_second(done, seconds), 2, "per second, successful or not"));
    let each = formulas::time_per_request_ms(other_tools::concurrency(run), seconds, done);
    let across = formulas::time_across_all_ms(seconds, done);
    page.item(
        "time per request",
        &format!(
            "{} (mean) · {} (mean, across all concurrent requests)",
            with_unit(each, 3, "ms"),
            with_unit(across, 3, "ms")
        ),
    );
}

fn connections(page: &mut Page, run: &SavedRun) {
    let stats = &run.summary().stats;
    let connections = &stats.connections;
    let kept = count(stats.measured.flags.get(Flag::KeptAlive));
    // Attempts are those of the window. Connections are those of the whole run, because the window also uses
    // connections that were opened in the warm-up.
    let whole_run = if run.begin.warmup_ms > 0 { " in the whole run" } else { "" };
    page.item(
        "keep-alive",
        &format!(
            "{kept} of {} left the connection open · {} opened{whole_run}, {} failed",
            plural(stats.measured.attempts, "attempt"),
            plural(connections.opened, "connection"),
            count(connections.failed)
        ),
    );
    if connections.handshakes() > 0 {
        page.item(
            "TLS handshakes",
            &format!("{} full · {} resumed", count(connections.handshakes_full), count(connections.handshakes_resumed)),
        );
    }
}

fn with_unit(value: Option<f64>, decimals: usize, unit: &str) -> String {
    value.map_or_else(|| "–".into(), |value| format!("{} {unit}", decimal(value, decimals)))
}

fn milliseconds(values: &Distribution) -> [String; 5] {
    let moments = values.moments();
    let ms = |nanos: Option<f64>| nanos.map_or_else(|| "–".into(), |nanos| decimal(nanos / 1e6, 3));
    let whole = |nanos: Option<u64>| ms(nanos.map(|nanos| nanos as f64));
    [
        whole(values.min()),
        ms(moments.mean()),
        ms(moments.standard_deviation()),
        whole(values.quantile(0.5)),
        whole(values.max()),
    ]
}
