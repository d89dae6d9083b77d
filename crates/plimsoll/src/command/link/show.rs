//! Links as text.

use link::probe::{Measured, MeasuredDirection};
use link::state::{Cleaned, Ends, Record};
use link::tun::{Buffers, Counts, Health};
use report::escape::escape;
use report::number::{bit_rate, bytes, count, plural, share, time};
use std::time::Duration;

/// Returns the information about a new link that a user needs. `server` is the command at the far end.
pub fn ready(record: &Record, server: Option<&str>) -> String {
    let number = record.owner.process;
    let mut text = about(record);
    match &record.ends {
        Ends::Tun { address, .. } => {
            if let Some(server) = server {
                text.push_str(&format!("  target    {address}, where `{}` runs\n", escape(server)));
            } else {
                text.push_str(&format!(
                    "  target    {address}; start a server there: plimsoll link exec --link {number} --far -- COMMAND\n"
                ));
            }
            text.push_str(&format!("  load it   plimsoll get --link={number} http://{address}:PORT/PATH\n"));
            text.push_str(&format!(
                "            plimsoll link exec --link {number} -- curl http://{address}:PORT/PATH\n"
            ));
        }
        Ends::Relay { address, target } => {
            text.push_str(&format!("  target    {}\n", escape(target)));
            text.push_str(&format!("  load it   plimsoll get --link={number} http://{}/PATH\n", escape(target)));
            text.push_str(&format!("            or connect any client to {address}\n"));
            for missing in link::relay::NOT_REPRODUCED {
                text.push_str(&format!("  not reproduced: {missing}\n"));
            }
        }
    }
    text
}

/// Returns the state of a link.
pub fn status(record: &Record) -> String {
    let mut text = about(record);
    match &record.ends {
        Ends::Tun { address, counts, .. } => {
            text.push_str(&format!("  target    {address}\n"));
            for (name, counts) in ["down", "up"].into_iter().zip(counts.iter()) {
                text.push_str(&format!("  {name:<9} {}\n", carried(counts)));
            }
        }
        Ends::Relay { address, target } => {
            text.push_str(&format!("  relay     {address} to {}\n", escape(target)));
        }
    }
    text
}

/// Returns lines with the requested and the measured properties.
fn about(record: &Record) -> String {
    let ends = match &record.ends {
        Ends::Tun { congestion, buffers, .. } => {
            let buffers = if *buffers == Buffers::FitPath { ", TCP buffers that fit the path" } else { "" };
            format!("; {congestion}{buffers}")
        }
        Ends::Relay { .. } => String::new(),
    };
    let mut text = format!("link {}: {} down, {} up{ends}\n", record.owner.process, record.down, record.up);
    let measured = record.measured.as_ref().map_or_else(|| "not yet".to_owned(), measured);
    text.push_str(&format!("  measured  {measured}\n"));
    for difference in &record.differences {
        text.push_str(&format!("  DIFFERS   {}; runs over this link are UNUSABLE\n", escape(difference)));
    }
    text
}

fn measured(measured: &Measured) -> String {
    let round_trip = format!("round trip {}", time(measured.round_trip.as_nanos() as f64));
    let direction = |name: &str, direction: &MeasuredDirection| {
        let rate = direction.rate.map(|rate| format!("{} {name}", bit_rate(rate.as_bits() as f64 / 8.0)));
        let lost = (direction.lost > 0)
            .then(|| format!("{} of {} lost {name}", count(direction.lost), plural(direction.sent, "packet")));
        rate.into_iter().chain(lost)
    };
    let down = direction("down", &measured.down);
    std::iter::once(round_trip).chain(down).chain(direction("up", &measured.up)).collect::<Vec<_>>().join(", ")
}

fn carried(counts: &Counts) -> String {
    let mut parts = vec![format!("{} in {}", bytes(counts.wire.passed_bytes), shortened(counts.elapsed))];
    if counts.wire.queue_drops > 0 {
        parts.push(format!("{} packets dropped by the full queue", count(counts.wire.queue_drops)));
    }
    if counts.wire.lost > 0 {
        parts.push(format!("{} packets lost", count(counts.wire.lost)));
    }
    parts.push(format!("emulator {} of one core", share(counts.busy_share())));
    match counts.health() {
        Health::Good => {}
        Health::CpuTooSlow => parts.push("LATE for lack of CPU time".to_owned()),
        Health::MemoryTooSmall => parts.push("OUT OF MEMORY".to_owned()),
    }
    parts.join(", ")
}

fn shortened(span: Duration) -> String {
    time(span.as_nanos() as f64)
}

/// Returns a message about the removed remains of a link whose owner was killed.
pub fn cleaned(cleaned: &Cleaned) -> String {
    let number = cleaned.record.owner.process;
    let killed = match cleaned.killed.len() as u64 {
        0 => String::new(),
        killed => format!(", with {} at its ends", plural(killed, "process")),
    };
    format!("removed link {number}{killed}, whose owner was killed")
}
