//! The machine on which a benchmark runs.

use crate::failure::{Context, Result, failure};
use crate::{console, nginx};
use std::fs;

/// Prints kernel, processor and load average.
pub fn print_machine() {
    let first_line = |path: &str| fs::read_to_string(path).map(|text| text.trim().to_owned()).unwrap_or_default();
    let kernel = first_line("/proc/sys/kernel/osrelease");
    let cores = sys::limits::available_cores();
    console::line(format_args!("machine   Linux {kernel}, {}, {cores} cores", processor()));
    let load: Vec<_> = first_line("/proc/loadavg").split(' ').take(3).map(str::to_owned).collect();
    console::line(format_args!(
        "load      {} before the start (1, 5, 15 minutes); other load affects the results",
        load.join(" ")
    ));
}

/// Prints the machine, the version of nginx, and a caution about measurements over loopback.
pub fn print() -> Result<()> {
    print_machine();
    console::line(format_args!("server    {}: one process on core 0, files in memory", nginx::version()?));
    console::line(
        "caution   Over loopback, client and server share the machine, its memory and its caches, and the kernel charges most",
    );
    console::line(
        "          of the receive work to the sender. Absolute times and rates vary by 10 to 30 % from run to run: compare only",
    );
    console::line("          ratios from one interleaved run.");
    Ok(())
}

fn processor() -> String {
    let text = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("model name"));
    let name = line.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned());
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// Returns the bytes that the loopback interface has received, including protocol headers.
pub fn loopback_bytes() -> Result<u64> {
    let text = fs::read_to_string("/proc/net/dev").cannot("read /proc/net/dev")?;
    received_bytes(&text, "lo").ok_or_else(|| failure("/proc/net/dev has no line for lo"))
}

fn received_bytes(text: &str, interface: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.trim().split_once(':'));
    let (_, counters) = lines.find(|(name, _)| *name == interface)?;
    counters.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_of_the_named_interface_is_read() {
        let text = "Inter-|   Receive    |  Transmit\n face |bytes    packets|bytes\n  eth0: 5 6\n    lo: 1234 7 0\n  lo2:99 1\n";
        assert_eq!(received_bytes(text, "lo"), Some(1234));
        assert_eq!(received_bytes(text, "lo2"), Some(99));
        assert_eq!(received_bytes(text, "wlan0"), None);
    }

    #[test]
    fn this_machine_has_a_loopback_interface() {
        let before = loopback_bytes().unwrap();
        assert!(loopback_bytes().unwrap() >= before);
    }
}
