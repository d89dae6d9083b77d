//! Checks of the host: limits, ports, buffers, clocks and processor.

use super::Finding;
use measure::Distribution;
use measure::units::ByteSize;
use report::number::plural;
use std::fs;
use std::time::{Duration, Instant};

/// Recommended number of file descriptors: enough for a concurrency of 10,000, plus a reserve.
const DESCRIPTORS_WANTED: u64 = 10_240;
const PORTS_WANTED: u64 = 28_000;
const BACKLOG_WANTED: u64 = 1024;
/// Recommended limit for the size of a socket buffer, in bytes. If the limit is lower, the check gives a warning.
/// Buffers of this size allow 3.4 Gbit/s per connection at a round-trip time of 40 ms.
const BUFFER_WANTED: u64 = 16 << 20;
const LATENESS_MAX: Duration = Duration::from_micros(200);
const STEAL_MAX: f64 = 0.02;

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn numbers(path: &str) -> Option<Vec<u64>> {
    read(path)?.split_whitespace().map(|word| word.parse().ok()).collect()
}

/// Checks limits and settings of the kernel.
pub fn settings() -> Vec<Finding> {
    vec![
        descriptors(),
        ports(),
        time_wait(),
        backlog(),
        buffer("receive buffer", "tcp_rmem"),
        buffer("send buffer", "tcp_wmem"),
        congestion(),
    ]
}

fn descriptors() -> Finding {
    match sys::limits::descriptor_limits() {
        Ok(limits) => Finding::when(
            limits.hard >= DESCRIPTORS_WANTED,
            "file descriptors",
            format!("{} (up to {} without root): one per connection", limits.soft, limits.hard),
            format!("ulimit -Hn {DESCRIPTORS_WANTED} as root, or LimitNOFILE= in a systemd unit"),
        ),
        Err(error) => Finding::unknown("file descriptors", error.to_string()),
    }
}

fn ports() -> Finding {
    let Some(range) = numbers("/proc/sys/net/ipv4/ip_local_port_range").filter(|range| range.len() == 2) else {
        return Finding::unknown("local ports", "cannot read ip_local_port_range");
    };
    let count = range[1].saturating_sub(range[0]) + 1;
    Finding::when(
        count >= PORTS_WANTED,
        "local ports",
        format!("{count} ({} to {}) per target address", range[0], range[1]),
        "sysctl -w net.ipv4.ip_local_port_range='10240 65535'",
    )
}

fn time_wait() -> Finding {
    let text = read("/proc/net/sockstat").unwrap_or_default();
    let Some(line) = text.lines().find(|line| line.starts_with("TCP:")) else {
        return Finding::unknown("TIME_WAIT", "cannot read sockstat");
    };
    let words: Vec<&str> = line.split_whitespace().collect();
    let waiting = words.iter().position(|word| *word == "tw").and_then(|at| words.get(at + 1)?.parse::<u64>().ok());
    let reuse = read("/proc/sys/net/ipv4/tcp_tw_reuse").unwrap_or_default();
    let reuse = match reuse.as_str() {
        "0" => "not reused",
        "1" => "reused",
        "2" => "reused on loopback only",
        _ => "reuse unknown",
    };
    match waiting {
        Some(waiting) => Finding::when(
            waiting < PORTS_WANTED / 2,
            "TIME_WAIT",
            format!("{} in use for 60 s after closing ({reuse})", plural(waiting, "port")),
            "wait a minute, keep connections alive, or sysctl -w net.ipv4.tcp_tw_reuse=1",
        ),
        None => Finding::unknown("TIME_WAIT", "sockstat does not contain it"),
    }
}

fn backlog() -> Finding {
    let Some(most) = numbers("/proc/sys/net/core/somaxconn").and_then(|values| values.first().copied()) else {
        return Finding::unknown("somaxconn", "cannot read it");
    };
    Finding::when(
        most >= BACKLOG_WANTED,
        "somaxconn",
        format!("a server on this host queues up to {}", plural(most, "new connection")),
        format!("sysctl -w net.core.somaxconn={BACKLOG_WANTED} (on the target's host as well)"),
    )
}

fn buffer(subject: &'static str, name: &str) -> Finding {
    let values = numbers(&format!("/proc/sys/net/ipv4/{name}")).filter(|values| values.len() == 3);
    let Some(most) = values.and_then(|values| values.last().copied()) else {
        return Finding::unknown(subject, format!("cannot read {name}"));
    };
    // Highest speed of one connection at a round-trip time of 40 ms, in Gbit/s.
    let gigabits = most as f64 * 8.0 / 0.040 / 1e9;
    Finding::when(
        most >= BUFFER_WANTED,
        subject,
        format!("up to {}: {gigabits:.2} Gbit/s per connection at a round-trip time of 40 ms", ByteSize(most).human()),
        format!("sysctl -w net.ipv4.{name}='4096 131072 {}' (needed only over long distances)", 4 * BUFFER_WANTED),
    )
}

fn congestion() -> Finding {
    match read("/proc/sys/net/ipv4/tcp_congestion_control") {
        Some(name) => Finding::fact("congestion control", name),
        None => Finding::unknown("congestion control", "cannot read it"),
    }
}

/// Checks the clock, the CPU frequency, and the CPU time that other processes and machines use.
pub fn processor() -> Vec<Finding> {
    vec![clock_source(), frequency(), steal(), cores(), quota()]
}

fn clock_source() -> Finding {
    let Some(name) = read("/sys/devices/system/clocksource/clocksource0/current_clocksource") else {
        return Finding::unknown("clock source", "cannot read it");
    };
    Finding::when(
        matches!(name.as_str(), "tsc" | "kvm-clock" | "arch_sys_counter" | "hyperv_clocksource_tsc_page"),
        "clock source",
        format!("{name}, {} per reading", nanos(reading_cost())),
        "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if the kernel offers it",
    )
}

/// Returns the average time to read the clock.
fn reading_cost() -> Duration {
    const READINGS: u32 = 100_000;
    let start = Instant::now();
    for _ in 0..READINGS {
        std::hint::black_box(Instant::now());
    }
    start.elapsed() / READINGS
}

fn nanos(span: Duration) -> String {
    if span < Duration::from_micros(10) {
        format!("{} ns", span.as_nanos())
    } else {
        format!("{} µs", span.as_micros())
    }
}

fn frequency() -> Finding {
    match read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor") {
        Some(governor) => Finding::when(
            governor == "performance",
            "CPU frequency",
            format!("governor {governor}"),
            "cpupower frequency-set -g performance",
        ),
        None => Finding::fact("CPU frequency", "controlled by the hypervisor or the firmware"),
    }
}

fn ticks() -> Option<(u64, u64)> {
    let text = read("/proc/stat")?;
    let values: Vec<u64> =
        text.lines().next()?.split_whitespace().skip(1).filter_map(|word| word.parse().ok()).collect();
    Some((*values.get(7)?, values.iter().take(8).sum()))
}

/// Keeps a core busy for half a second, and measures the share of CPU time that the hypervisor gave to other machines.
fn steal() -> Finding {
    let before = ticks();
    let until = Instant::now() + Duration::from_millis(500);
    while Instant::now() < until {
        std::hint::spin_loop();
    }
    let (Some((stolen_before, all_before)), Some((stolen, all))) = (before, ticks()) else {
        return Finding::unknown("CPU steal", "cannot read /proc/stat");
    };
    let share = (stolen - stolen_before) as f64 / (all - all_before).max(1) as f64;
    Finding::when(
        share <= STEAL_MAX,
        "CPU steal",
        format!("{:.1} % of the time went to other virtual machines on this host", share * 100.0),
        "use a machine with dedicated cores",
    )
}

fn cores() -> Finding {
    let cores = sys::limits::available_cores();
    let load =
        read("/proc/loadavg").and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok()).unwrap_or(0.0);
    Finding::when(
        load < cores as f64 * 0.5,
        "cores",
        format!("{cores} for this process; others used {load:.2} on average during the last minute"),
        "stop other work on this host during measurements",
    )
}

/// Checks the CPU quota of this process's control group.
fn quota() -> Finding {
    match engine::cgroup::CpuQuota::of_this_process().cores() {
        None => Finding::fact("CPU quota", "none"),
        Some(cores) => Finding::when(
            cores >= sys::limits::available_cores() as f64,
            "CPU quota",
            format!("{cores:.2} cores, set by the control group (cpu.max or cpu.cfs_quota_us)"),
            "remove the container's CPU limit, or lower the load: a client at its quota starts operations late",
        ),
    }
}

/// Measures the delay of timers.
pub fn timers() -> Vec<Finding> {
    const TIMERS: u64 = 1000;
    let _ = sys::clock::set_timer_slack(Duration::from_nanos(1));
    let mut lateness = Distribution::default();
    for _ in 0..TIMERS {
        let due = sys::clock::monotonic() + Duration::from_micros(500);
        sys::clock::sleep_until(due);
        lateness.record((sys::clock::monotonic() - due).as_nanos() as u64);
    }
    let at = |q| Duration::from_nanos(lateness.quantile(q).unwrap_or(0));
    vec![Finding::when(
        at(0.99) <= LATENESS_MAX,
        "timer lateness",
        format!("p50 {}, p99 {}, max {} of {TIMERS} timers", nanos(at(0.5)), nanos(at(0.99)), nanos(at(1.0))),
        "stop other work on this host; give a virtual machine dedicated cores",
    )]
}
