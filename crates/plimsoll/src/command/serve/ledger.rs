//! The text of the server's ledger.

use server::{FaultCounts, Ledger};

/// Returns the text of the server's ledger, for comparison with a client's counters.
pub fn text(ledger: &Ledger) -> String {
    let statuses: Vec<String> = ledger
        .statuses
        .iter()
        .map(|(status, count)| format!("{status} × {}", count.complete + count.aborted))
        .collect();
    let handshakes = match ledger.handshakes_failed {
        0 => String::new(),
        failed => format!(", {failed} failed the TLS handshake"),
    };
    let mut text = format!(
        "connections  {} accepted, {} refused{handshakes}\nrequests     {} ({} malformed, {} cut off)\nresponses    {} complete, {} aborted\nstatus       {}\nbody bytes   {} in complete responses, {} in aborted ones\n",
        ledger.connections_accepted,
        ledger.connections_refused,
        ledger.requests(),
        ledger.requests_malformed,
        ledger.requests_cut,
        ledger.complete.count,
        ledger.aborted.count,
        statuses.join(", "),
        ledger.complete.body_bytes,
        ledger.aborted.body_bytes,
    );
    text.push_str(&faults(&ledger.faults));
    for ((operation, status), count) in &ledger.operations {
        text.push_str(&format!(
            "{operation:<24} {status}  {} complete, {} aborted, {} bytes in, {} bytes out\n",
            count.complete, count.aborted, count.received_bytes, count.sent_bytes,
        ));
    }
    text
}

/// Returns a line with the faults that were injected, or nothing if there were none.
fn faults(counts: &FaultCounts) -> String {
    let counted = [
        (counts.errors, "errors"),
        (counts.refused, "refused above the capacity"),
        (counts.slow, "slow requests"),
        (counts.broken_off, "bodies cut off"),
        (counts.wrong_bytes, "wrong bytes"),
        (counts.lost, "objects lost"),
    ];
    let counted = counted.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let counted: Vec<String> = counted.collect();
    if counted.is_empty() { String::new() } else { format!("faults       {}\n", counted.join(", ")) }
}
