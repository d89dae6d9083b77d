//! The client section: the load on the client, its effect on the numbers, and its cost.

use crate::limit;
use crate::number::{bytes, count, four_digits, plural, seconds, share, time};
use crate::text::page::Page;
use measure::limits;
use measure::values::sum;
use store::SavedRun;

pub fn write(page: &mut Page, run: &SavedRun) {
    let summary = run.summary();
    let limits = &summary.limits;
    page.heading("Client");
    if limit::rates_are_lower_bounds(run) {
        page.item("", "the target may sustain more than these numbers show");
    }
    if limits.seconds > 0.0 {
        let (busy, waited) = (share(limits.busy_max), share(limits.run_delay_max));
        page.item("busiest thread", &format!("at most {busy} busy; waited for a core at most {waited}"));
        let nic = if limits.nic_max > 0.0 {
            format!("at most {} of its speed", share(limits.nic_max))
        } else {
            "speed unknown".into()
        };
        page.item("network card", &nic);
        let at = |value: f64| seconds((value * 10.0).round() / 10.0);
        let quota = match limits.throttled {
            ..0.1 => String::new(),
            throttled => format!(", stopped by its quota {}", at(throttled)),
        };
        page.item(
            "at a limit",
            &format!(
                "of {} measured: CPU {}, late starts {}, network card {}, shared host {}{quota}",
                at(limits.seconds),
                at(limits.cpu),
                at(limits.late),
                at(limits.nic),
                at(limits.host)
            ),
        );
    }
    effects(page, run);
    page.item("CPU", &cpu(run));
    if summary.stats.connections.handshakes() > 0 {
        page.item("", "with TLS, the client decrypts every body; without TLS, the kernel drops it, which costs less");
    }
    if let Some(end) = &run.end {
        page.item("memory", &format!("{} at its peak", bytes(end.peak_memory_bytes)));
    }
}

/// Writes the effects of the client on the measured numbers.
fn effects(page: &mut Page, run: &SavedRun) {
    let (summary, tally) = (run.summary(), &run.summary().stats.measured);
    let affected = sum([summary.all.affected.ok, summary.all.affected.failed]);
    if affected > 0 {
        let ended = plural(tally.completed(), "operation");
        page.item("affected", &format!("stalls of this client delayed {} of {ended}", count(affected)));
    }
    let missed = limits::missed_by_client(summary, &run.begin.model);
    if missed > 0 {
        let missed = plural(missed, "operation");
        page.item("missed", &format!("this client did not start {missed} due in the window"));
    }
    if let Some(client) = summary.client_share() {
        let bound = if client.at_least { "at least " } else { "" };
        let samples = plural(client.samples, "sample");
        let part = share(client.share);
        page.item(
            "unread",
            &format!("responses waited unread in this client for {bound}{part} of the service time ({samples})"),
        );
    }
}

/// Formats the CPU time of the client in the window: in total, per request, and per GB.
fn cpu(run: &SavedRun) -> String {
    let summary = run.summary();
    let nanos = summary.measured.cpu_nanos as f64;
    let mut pieces = vec![format!("{} in the window", time(nanos))];
    let done = summary.stats.measured.completed();
    if done > 0 {
        pieces.push(format!("{} µs per request", four_digits(nanos / 1e3 / done as f64)));
    }
    let body = summary.measured.traffic.moved();
    if body > 0 {
        pieces.push(format!("{} s per GB", four_digits(nanos / body as f64)));
    }
    pieces.join(" · ")
}
