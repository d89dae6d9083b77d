//! CPU, memory, disks and network cards of a host.

use super::host_text::{self, MARK, section};
use super::{Place, Reading};
use engine::host_counters::{Ticks, card_bytes};
use measure::series::{Column, ColumnKind, ColumnUnit, FailureClass, Number, PollFailure};
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// Files below `/proc` that are read.
const FILES: [&str; 4] = ["stat", "meminfo", "diskstats", "net/dev"];
/// Minimum number of ticks that are needed to compute shares. Shares of fewer ticks are too inaccurate.
const TICKS_MIN: u64 = 4;
/// Maximum number of network cards that get columns.
const CARDS_MAX: usize = 16;
/// Command that prints the same sections on a remote host. The command does not change the remote host.
const COMMAND: &str =
    "for f in stat meminfo diskstats net/dev; do echo \"@@ $f\"; cat /proc/$f; done; echo \"@@ df\"; df -Pk /";

/// A host whose state is polled.
#[derive(Debug)]
pub struct HostSource {
    place: Place,
    /// A path on the file system whose free space is reported. On a remote host, the path is `/`.
    disk: PathBuf,
    cards: Vec<String>,
    columns: Vec<Column>,
    before: Ticks,
}

impl HostSource {
    /// Creates a source, and reads the host once to find its network cards. The names of columns begin with `prefix`.
    ///
    /// # Errors
    /// Returns an error if the host cannot be read.
    pub fn start(place: Place, prefix: &str, disk: PathBuf, bound: Duration) -> Result<Self, PollFailure> {
        let mut source = Self { place, disk, cards: Vec::new(), columns: Vec::new(), before: Ticks::default() };
        let text = source.text(bound)?;
        let unreadable = || PollFailure::new(FailureClass::NotUnderstood, "/proc/stat has another form than on Linux");
        source.before = Ticks::parse(section(&text, "stat")).ok_or_else(unreadable)?;
        let cards = card_bytes(section(&text, "net/dev")).into_keys();
        source.cards = cards.filter(|card| Column::is_name(card)).take(CARDS_MAX).collect();
        source.columns = columns(prefix, &source.cards);
        Ok(source)
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(super) fn name(&self) -> String {
        match &self.place {
            Place::Here => "this host".to_owned(),
            Place::Ssh(host) => format!("host {host}"),
        }
    }

    pub(super) fn read(&mut self, bound: Duration) -> Reading {
        match self.text(bound) {
            Ok(text) => self.values(&text),
            Err(failure) => Reading::failed(self.columns.len(), failure),
        }
    }

    /// Returns the text of all sections.
    fn text(&self, bound: Duration) -> Result<String, PollFailure> {
        if let Place::Ssh(host) = &self.place {
            return host.output(COMMAND, bound);
        }
        let mut text = String::new();
        for name in FILES {
            let content = match fs::read_to_string(format!("/proc/{name}")) {
                Ok(content) => content,
                // In a container, the other files may be missing.
                Err(_) if name != FILES[0] => String::new(),
                Err(error) => {
                    return Err(PollFailure::new(FailureClass::Unreadable, &format!("/proc/{name}: {error}")));
                }
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{MARK}{name}\n{content}");
        }
        Ok(text)
    }

    fn values(&mut self, text: &str) -> Reading {
        let ticks = Ticks::parse(section(text, "stat"));
        let shares = ticks.and_then(|now| shares(std::mem::replace(&mut self.before, now), now));
        let share = |pick: fn(&Shares) -> f64| shares.as_ref().and_then(|shares| Number::of_f64(rounded(pick(shares))));
        let memory = section(text, "meminfo");
        let total = host_text::memory_bytes(memory, "MemTotal");
        let available = host_text::memory_bytes(memory, "MemAvailable");
        let used = total.zip(available).map(|(total, available)| total.saturating_sub(available));
        let disks = host_text::disk_bytes(section(text, "diskstats"));
        let free = match &self.place {
            Place::Here => sys::file::disk_space(&self.disk).ok().map(|space| space.available_bytes),
            Place::Ssh(_) => host_text::available_bytes(section(text, "df")),
        };
        let mut values =
            vec![share(|shares| shares.busy), share(|shares| shares.waiting), share(|shares| shares.stolen)];
        let counts = [used, available, disks.map(|(read, _)| read), disks.map(|(_, written)| written), free];
        values.extend(counts.map(|count| count.map(Number::from)));
        let cards = card_bytes(section(text, "net/dev"));
        for card in &self.cards {
            let bytes = cards.get(card);
            values.push(bytes.map(|(received, _)| Number::from(*received)));
            values.push(bytes.map(|(_, sent)| Number::from(*sent)));
        }
        let failure = values.iter().all(Option::is_none).then(|| {
            PollFailure::new(FailureClass::NotUnderstood, "the host's files in /proc have another form than on Linux")
        });
        Reading { failure, ..Reading::known(values) }
    }
}

/// Shares of the time of all cores since the last poll.
struct Shares {
    busy: f64,
    waiting: f64,
    stolen: f64,
}

/// Returns the shares since `before`. Returns `None` if too little time has passed, because the kernel counts in ticks
/// of 10 ms.
fn shares(before: Ticks, now: Ticks) -> Option<Shares> {
    let all = now.all.saturating_sub(before.all);
    let share = |now: u64, before: u64| (now.saturating_sub(before) as f64 / all as f64).min(1.0);
    (all >= TICKS_MIN).then(|| {
        let (idle, waiting) = (share(now.idle, before.idle), share(now.waiting, before.waiting));
        Shares { busy: (1.0 - idle - waiting).max(0.0), waiting, stolen: share(now.stolen, before.stolen) }
    })
}

/// Rounds a share to four decimals. The kernel's ticks are no more precise.
fn rounded(share: f64) -> f64 {
    (share * 1e4).round() / 1e4
}

fn columns(prefix: &str, cards: &[String]) -> Vec<Column> {
    use ColumnKind::{Counter, Gauge};
    use ColumnUnit::{Bytes, Share};
    let fixed = [
        ("cpu_busy", Gauge, Share),
        ("cpu_iowait", Gauge, Share),
        ("cpu_steal", Gauge, Share),
        ("memory_used", Gauge, Bytes),
        ("memory_available", Gauge, Bytes),
        ("disk_read", Counter, Bytes),
        ("disk_written", Counter, Bytes),
        ("disk_free", Gauge, Bytes),
    ];
    let column = |name: &str, kind, unit| Column { name: format!("{prefix}_{name}"), kind, unit };
    let mut columns: Vec<Column> = fixed.map(|(name, kind, unit)| column(name, kind, unit)).into();
    for card in cards {
        columns.push(column(&format!("{card}_received"), Counter, Bytes));
        columns.push(column(&format!("{card}_sent"), Counter, Bytes));
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    #[test]
    fn this_host_is_read() {
        let mut source = HostSource::start(Place::Here, "host", "/".into(), PATIENCE).unwrap();
        let until = std::time::Instant::now() + Duration::from_millis(60);
        while std::time::Instant::now() < until {
            std::hint::spin_loop();
        }
        let reading = source.read(PATIENCE);
        assert_eq!((reading.failure, reading.values.len()), (None, source.columns().len()));
        let value = |name: &str| {
            let index = source.columns().iter().position(|column| column.name == name).unwrap();
            reading.values[index].as_ref().map(Number::as_f64)
        };
        assert!(value("host_cpu_busy").is_some_and(|busy| (0.0..=1.0).contains(&busy)));
        assert!(value("host_memory_used").is_some_and(|bytes| bytes > 1e6));
        assert!(value("host_disk_free").is_some_and(|bytes| bytes > 0.0));
        assert_eq!(value("host_lo_received"), value("host_lo_sent"), "loopback receives what it sends");
    }

    #[test]
    fn shares_are_those_since_the_last_poll() {
        let before = Ticks { idle: 1000, waiting: 0, stolen: 0, all: 2000 };
        let now = Ticks { idle: 1060, waiting: 10, stolen: 5, all: 2100 };
        let found = shares(before, now).unwrap();
        assert_eq!([found.busy, found.waiting, found.stolen].map(rounded), [0.3, 0.1, 0.05]);
        assert!(shares(now, now).is_none(), "no time has passed");
        assert!(shares(now, before).is_none(), "counters went back");
    }

    #[test]
    fn the_remote_command_prints_the_same_files() {
        for name in FILES {
            assert!(COMMAND.contains(name), "{name}");
        }
    }
}
