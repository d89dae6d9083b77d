//! Information about the client's host, for the report.

use std::fs;
use std::net::IpAddr;
use store::Host;

/// Returns the name of this host.
pub fn name() -> String {
    first_line("/proc/sys/kernel/hostname")
}

fn first_line(path: &str) -> String {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned()).unwrap_or_default()
}

/// Collects information about this host.
pub fn facts() -> Host {
    Host {
        name: name(),
        kernel: first_line("/proc/sys/kernel/osrelease"),
        cpu: field("/proc/cpuinfo", "model name").unwrap_or_default(),
        cores: sys::limits::available_cores() as u32,
        memory_bytes: field("/proc/meminfo", "MemTotal")
            .and_then(|text| text.trim_end_matches(" kB").parse::<u64>().ok())
            .map_or(0, |kib| kib * 1024),
    }
}

fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// Returns whether one of the addresses belongs to this host.
pub fn is_local(addresses: impl IntoIterator<Item = IpAddr>) -> bool {
    let own = sys::limits::local_addresses().unwrap_or_default();
    addresses.into_iter().any(|address| address.is_loopback() || own.contains(&address))
}
