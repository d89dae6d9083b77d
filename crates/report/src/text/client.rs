//! What limited the run, with the figures that say so, and what the client itself cost.

use super::page::Page;
use crate::number::{bytes, count, four_digits, plural, seconds, share, time};
use crate::standing;
use measure::limits;
use measure::values::sum;
use store::SavedRun;

pub fn write(page: &mut Page, run: &SavedRun) {
    let summary = run.summary();
    let limits = &summary.limits;
    page.heading("Client");
    if standing::is_at_least(run) {
        page.item("", "the target may carry more than these figures say");
    }
    if limits.seconds > 0.0 {
        let busiest = format!("{} at most", share(limits.busy_max));
        page.item("busiest thread", &format!("{busiest}; waited for a core {} at most", share(limits.run_delay_max)));
        let nic =
            if limits.nic_max > 0.0 { format!("{} at most", share(limits.nic_max)) } else { "speed not known".into() };
        page.item("network card", &nic);
        let at = |value: f64| seconds((value * 10.0).round() / 10.0);
        let quota = match limits.throttled {
            ..0.1 => String::new(),
            throttled => format!(", stopped by its quota {}", at(throttled)),
        };
        page.item(
            "at a limit",
            &format!(
                "of {}: CPU {}, late {}, network card {}, shared host {}{quota}",
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
        page.item("", "with TLS every body has to be decrypted; a plain one is dropped inside the kernel for less");
    }
    if let Some(end) = &run.end {
        page.item("memory", &format!("{} at its peak", bytes(end.peak_memory_bytes)));
    }
}

/// What this client did to the numbers.
fn effects(page: &mut Page, run: &SavedRun) {
    let (summary, tally) = (run.summary(), &run.summary().stats.measured);
    let affected = sum([summary.all.affected.ok, summary.all.affected.failed]);
    if affected > 0 {
        let ended = plural(tally.completed(), "operation");
        page.item("affected", &format!("{} of {ended}, by stalls of this client", count(affected)));
    }
    let missed = limits::missed_by_client(summary, &run.begin.model);
    if missed > 0 {
        let missed = plural(missed, "operation");
        page.item("missed", &format!("{missed} were due in the window and not started by this client"));
    }
    if let Some(client) = summary.client_share() {
        let bound = if client.at_least { "at least " } else { "" };
        let samples = plural(client.samples, "sample");
        let text =
            format!("responses waited in this client for {bound}{} of service time ({samples})", share(client.share));
        page.item("unread", &text);
    }
}

/// CPU time of the client in the window, by request and by GB.
fn cpu(run: &SavedRun) -> String {
    let summary = run.summary();
    let nanos = summary.measured.cpu_nanos as f64;
    let mut pieces = vec![format!("{} in the window", time(nanos))];
    let done = summary.stats.measured.completed();
    if done > 0 {
        pieces.push(format!("{} µs a request", four_digits(nanos / 1e3 / done as f64)));
    }
    let body = summary.measured.traffic.moved();
    if body > 0 {
        pieces.push(format!("{} s a GB", four_digits(nanos / body as f64)));
    }
    pieces.join(" · ")
}
