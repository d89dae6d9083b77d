//! The path section: the requested and the measured properties of the emulated path, and its traffic.

use crate::escape::escape;
use crate::number::{bit_rate, bytes, count, share, time};
use crate::path_use;
use crate::text::page::Page;
use measure::path::{DirectionTraffic, EmulatedPath, Emulation, EmulatorHealth};
use measure::units::DataRate;
use store::SavedRun;

/// Parts per million in a share.
const MILLION: f64 = 1e6;

pub fn write(page: &mut Page, run: &SavedRun) {
    let Some(path) = &run.begin.path else { return };
    page.heading("Path");
    page.item("emulated by", emulation(path));
    page.item("asked for", &format!("{} down, {} up", escape(&path.down), escape(&path.up)));
    page.item("measured", &measured(path));
    if let Some(name) = &path.congestion {
        let buffers = if path.larger_buffers { ", with TCP buffers that fit the path" } else { "" };
        page.item("congestion", &format!("{}{buffers}", escape(name)));
    }
    if let Some(used) = path_use::of(run) {
        page.item("used", &format!("{} of the rate", share(used.share)));
        if let (Some(fair), Some(multiple)) = (used.fair, used.multiple) {
            let fair = time(fair.as_nanos() as f64);
            page.item(
                "fair share",
                &format!("{fair} per operation; the median response took {multiple:.2} times as long"),
            );
        }
    }
    let Some(traffic) = run.end.as_ref().and_then(|end| end.path) else { return };
    for (name, direction) in [("down", traffic.down), ("up", traffic.up)] {
        page.item(name, &carried(&direction));
    }
}

fn emulation(path: &EmulatedPath) -> &'static str {
    match path.emulation {
        Emulation::Packets => "packets between two network namespaces of this host",
        Emulation::Relay => {
            "a TCP relay, which does not reproduce slow start, loss, the time to connect and congestion control"
        }
    }
}

fn measured(path: &EmulatedPath) -> String {
    let Some(measured) = path.measured else { return "nothing, because the link had not been measured yet".to_owned() };
    let direction = |name: &str, rate: Option<DataRate>, lost: Option<u32>| {
        let rate = rate.map(|rate| format!("{} {name}", bit_rate(rate.as_bits() as f64 / 8.0)));
        let lost = lost.map(|ppm| format!("{} of packets lost {name}", share(f64::from(ppm) / MILLION)));
        rate.into_iter().chain(lost)
    };
    let round_trip = format!("round trip {}", time(measured.round_trip.as_nanos() as f64));
    let down = direction("down", measured.down, measured.down_lost_ppm);
    let up = direction("up", measured.up, measured.up_lost_ppm);
    std::iter::once(round_trip).chain(down).chain(up).collect::<Vec<_>>().join(", ")
}

/// Returns the traffic of a direction during the run, and whether the emulator kept up.
fn carried(direction: &DirectionTraffic) -> String {
    let mut parts = vec![bytes(direction.bytes)];
    if direction.queue_drops > 0 {
        parts.push(format!("{} packets dropped by the full queue", count(direction.queue_drops)));
    }
    if direction.lost > 0 {
        parts.push(format!("{} packets lost", count(direction.lost)));
    }
    parts.push(format!("emulator {} of one core", share(direction.busy_share)));
    match direction.emulator {
        EmulatorHealth::Good => {}
        EmulatorHealth::CpuTooSlow => parts.push("late for lack of CPU time".to_owned()),
        EmulatorHealth::MemoryTooSmall => parts.push("out of memory".to_owned()),
    }
    parts.join(", ")
}
