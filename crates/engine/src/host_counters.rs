//! Counters of a host, parsed from files in `/proc`. The files come from this host or from a remote host.

use std::collections::BTreeMap;

/// Ticks of all cores together, from the first line of `/proc/stat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ticks {
    /// Ticks without work, except the ticks in `waiting` and `stolen`.
    pub idle: u64,
    /// Idle ticks during which a process waited for a disk.
    pub waiting: u64,
    /// Ticks that the hypervisor gave to other virtual machines.
    pub stolen: u64,
    /// All ticks, including the ticks in `idle`, `waiting` and `stolen`.
    pub all: u64,
}

impl Ticks {
    /// Parses the text of `/proc/stat`. Returns `None` if the text does not have the format of Linux.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().next()?.strip_prefix("cpu ")?;
        let fields: Vec<u64> =
            line.split_whitespace().take(8).map(|field| field.parse().ok()).collect::<Option<_>>()?;
        // The fields are user, nice, system, idle, iowait, irq, softirq and steal. `user` and `nice` include guests.
        let &[_, _, _, idle, waiting, _, _, stolen] = fields.as_slice() else { return None };
        Some(Self { idle, waiting, stolen, all: fields.iter().fold(0, |sum: u64, field| sum.saturating_add(*field)) })
    }
}

/// Returns the bytes received and sent by each network card, from the text of `/proc/net/dev`.
#[must_use]
pub fn card_bytes(text: &str) -> BTreeMap<String, (u64, u64)> {
    let card = |line: &str| {
        let (name, counters) = line.split_once(':')?;
        let mut counters = counters.split_whitespace();
        let received = counters.next()?.parse().ok()?;
        let sent = counters.nth(7)?.parse().ok()?;
        Some((name.trim().to_owned(), (received, sent)))
    };
    text.lines().filter_map(card).collect()
}
