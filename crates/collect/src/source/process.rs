//! CPU time and memory of processes, and their restarts.

use super::host_text::{MARK, section};
use super::{Place, Reading};
use measure::series::{Column, ColumnKind, ColumnUnit, FailureClass, Number, PollFailure};
use std::collections::HashMap;
use std::fs;
use std::time::Duration;

/// Maximum length of the name of a process in bytes. The kernel truncates longer names.
const NAME_BYTES: usize = 15;
/// Maximum number of processes with the same name.
const PROCESSES_MAX: usize = 10_000;
/// Command that prints the processes of a remote host. Processes that end in the meantime are not an error.
const COMMAND: &str = "echo \"@@ units\"; getconf CLK_TCK; getconf PAGESIZE; echo \"@@ processes\"; cat /proc/[0-9]*/stat 2>/dev/null; true";

/// A selection of the processes to poll.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Select {
    /// The process with this ID.
    Id(u32),
    /// All processes with this name. Their CPU times and their memory are added up.
    Name(String),
}

impl Select {
    /// Parses a process ID or a name.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        text.parse().map_or_else(|_| Self::Name(text.to_owned()), Self::Id)
    }

    fn matches(&self, process: &Process) -> bool {
        match self {
            Self::Id(id) => process.id == *id,
            Self::Name(name) => process.name.as_bytes() == &name.as_bytes()[..name.len().min(NAME_BYTES)],
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Id(id) => format!("process {id}"),
            Self::Name(name) => format!("processes named {name}"),
        }
    }
}

/// A process, from its `/proc/ID/stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Process {
    id: u32,
    name: String,
    /// CPU time in ticks, in user and kernel mode.
    ticks: u64,
    /// Time from the boot of the host to the start of the process, in ticks.
    started: u64,
    /// Resident memory in pages.
    pages: u64,
}

impl Process {
    fn parse(line: &str) -> Option<Self> {
        // The name may contain anything, even parentheses and spaces.
        let (before, after) = line.rsplit_once(") ")?;
        let (id, name) = before.split_once(" (")?;
        let fields: Vec<&str> = after.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        let zombie = matches!(fields.first(), Some(&"Z" | &"X"));
        (!zombie).then_some(Self {
            id: id.trim().parse().ok()?,
            name: name.to_owned(),
            ticks: field(14)?.saturating_add(field(15)?),
            started: field(22)?,
            pages: field(24)?,
        })
    }
}

/// Units of the kernel's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Units {
    ticks_per_second: u64,
    page_bytes: u64,
}

/// Processes whose CPU time and memory are polled.
#[derive(Debug)]
pub struct ProcessSource {
    place: Place,
    select: Select,
    columns: Vec<Column>,
    /// CPU time of each known process, by ID and start.
    known: HashMap<(u32, u64), u64>,
    /// Total CPU time of all processes so far, in ticks.
    ticks: u64,
    /// Start and ID of the process that started first, from the last poll that found processes.
    first: Option<(u64, u32)>,
    restarts: u64,
}

impl ProcessSource {
    /// Creates a source. The names of its columns begin with `prefix`.
    #[must_use]
    pub fn new(place: Place, select: Select, prefix: &str) -> Self {
        let column = |name: &str, kind, unit| Column { name: format!("{prefix}_{name}"), kind, unit };
        let columns = vec![
            column("cpu", ColumnKind::Counter, ColumnUnit::Seconds),
            column("memory", ColumnKind::Gauge, ColumnUnit::Bytes),
            column("processes", ColumnKind::Gauge, ColumnUnit::Count),
            column("restarts", ColumnKind::Gauge, ColumnUnit::Count),
        ];
        Self { place, select, columns, known: HashMap::new(), ticks: 0, first: None, restarts: 0 }
    }

    pub(super) fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub(super) fn name(&self) -> String {
        match &self.place {
            Place::Here => self.select.text(),
            Place::Ssh(host) => format!("{} on {host}", self.select.text()),
        }
    }

    pub(super) fn read(&mut self, bound: Duration) -> Reading {
        let found = match &self.place {
            Place::Here => Ok((here(&self.select), this_host())),
            Place::Ssh(host) => host.output(COMMAND, bound).map(|text| remote(&text)),
        };
        match found {
            Ok((processes, Some(units))) => self.note(processes, units),
            Ok((_, None)) => {
                let detail = "the host does not report its clock ticks and page size";
                Reading::failed(self.columns.len(), PollFailure::new(FailureClass::NotUnderstood, detail))
            }
            Err(failure) => Reading::failed(self.columns.len(), failure),
        }
    }

    fn note(&mut self, mut processes: Vec<Process>, units: Units) -> Reading {
        processes.retain(|process| self.select.matches(process));
        processes.truncate(PROCESSES_MAX);
        let Some(first) = processes.iter().map(|process| (process.started, process.id)).min() else {
            return Reading::failed(
                self.columns.len(),
                PollFailure::new(FailureClass::NotRunning, &self.select.text()),
            );
        };
        if self.first.replace(first).is_some_and(|before| before != first) {
            self.restarts += 1;
        }
        let mut known = HashMap::new();
        for process in &processes {
            let key = (process.id, process.started);
            let before = self.known.get(&key).copied().unwrap_or(0);
            self.ticks = self.ticks.saturating_add(process.ticks.saturating_sub(before));
            known.insert(key, process.ticks);
        }
        self.known = known;
        let pages = processes.iter().fold(0_u64, |sum, process| sum.saturating_add(process.pages));
        let seconds = self.ticks as f64 / units.ticks_per_second.max(1) as f64;
        Reading::known(vec![
            Number::of_f64(seconds),
            Some(Number::from(pages.saturating_mul(units.page_bytes))),
            Some(Number::from(processes.len() as u64)),
            Some(Number::from(self.restarts)),
        ])
    }
}

/// Returns the processes of this host that may be selected.
fn here(select: &Select) -> Vec<Process> {
    let read = |id: &str| Process::parse(&fs::read_to_string(format!("/proc/{id}/stat")).ok()?);
    if let Select::Id(id) = select {
        return read(&id.to_string()).into_iter().collect();
    }
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit())).filter_map(|name| read(&name)).collect()
}

fn this_host() -> Option<Units> {
    Some(Units { ticks_per_second: sys::limits::ticks_per_second(), page_bytes: sys::limits::page_bytes() })
}

/// Returns the processes and the units in the output of a remote host.
fn remote(text: &str) -> (Vec<Process>, Option<Units>) {
    debug_assert!(COMMAND.contains(MARK.trim()));
    let mut units = section(text, "units").lines().map(|line| line.trim().parse::<u64>().ok());
    let (ticks, page) = (units.next().flatten(), units.next().flatten());
    let units = ticks.zip(page).map(|(ticks_per_second, page_bytes)| Units { ticks_per_second, page_bytes });
    (section(text, "processes").lines().filter_map(Process::parse).collect(), units)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    const PATIENCE: Duration = Duration::from_secs(10);
    const UNITS: Units = Units { ticks_per_second: 100, page_bytes: 4096 };

    fn process(id: u32, name: &str, ticks: u64, started: u64) -> Process {
        Process { id, name: name.to_owned(), ticks, started, pages: 10 }
    }

    fn texts(reading: &Reading) -> Vec<String> {
        reading.values.iter().map(|value| value.as_ref().map_or_else(String::new, ToString::to_string)).collect()
    }

    #[test]
    fn a_line_is_read_whatever_the_name() {
        let line = "1234 (tmux: (a) b) S 1 1234 1234 0 -1 4194560 9 0 0 0 150 50 7 7 20 0 1 0 98765 5537792 321 18446744073709551615";
        let expected = Process { id: 1234, name: "tmux: (a) b".into(), ticks: 200, started: 98_765, pages: 321 };
        assert_eq!(Process::parse(line), Some(expected));
        assert_eq!(Process::parse(&line.replace(") S", ") Z")), None, "a zombie has no memory");
        for line in ["", "1", "1 (a) S", "x (a) S 1 1 1 0 -1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1"] {
            assert_eq!(Process::parse(line), None, "{line}");
        }
    }

    #[test]
    fn cpu_time_never_falls_and_restarts_are_counted() {
        let mut source = ProcessSource::new(Place::Here, Select::parse("nginx"), "nginx");
        let mut note = |processes: &[Process]| texts(&source.note(processes.to_vec(), UNITS));
        let (master, other) = (process(10, "nginx", 100, 5), process(3, "sshd", 999, 1));
        assert_eq!(note(&[master.clone(), other.clone()]), ["1", "40960", "1", "0"]);
        // A worker starts and uses a second.
        let worker = process(11, "nginx", 100, 9);
        assert_eq!(note(&[master.clone(), worker, other.clone()]), ["2", "81920", "2", "0"]);
        // The worker ends.
        assert_eq!(note(&[master, other.clone()]), ["2", "40960", "1", "0"]);
        assert_eq!(note(&[other]), ["", "", "", ""], "no process is left");
        // The same ID, but another start.
        assert_eq!(note(&[process(10, "nginx", 50, 77)]), ["2.5", "40960", "1", "1"]);
    }

    #[test]
    fn names_are_compared_as_the_kernel_cuts_them() {
        let select = Select::parse("a-very-long-program-name");
        assert!(select.matches(&process(1, "a-very-long-pro", 0, 0)));
        assert!(!select.matches(&process(1, "a-very-long-prx", 0, 0)));
        assert_eq!(Select::parse("42"), Select::Id(42));
    }

    #[test]
    fn a_real_process_is_polled_until_it_ends() {
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let mut source = ProcessSource::new(Place::Here, Select::Id(child.id()), "sleep");
        // A process that has just started may not have loaded its program yet.
        let begun = std::time::Instant::now();
        let mut memory = 0.0;
        while memory < 100_000.0 {
            assert!(begun.elapsed() < PATIENCE, "{memory} bytes of memory");
            let reading = source.read(PATIENCE);
            assert_eq!((reading.failure.clone(), texts(&reading)[2].as_str()), (None, "1"));
            memory = reading.values[1].as_ref().map_or(0.0, Number::as_f64);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let reading = source.read(PATIENCE);
        assert_eq!(reading.failure.map(|failure| failure.class), Some(FailureClass::NotRunning));
    }

    #[test]
    fn the_output_of_a_remote_host_is_read() {
        let text = "@@ units\n100\n65536\n@@ processes\n7 (a b) S 1 1 1 0 -1 1 1 1 1 1 10 20 1 1 20 0 1 0 55 1 9 1\n";
        let (processes, units) = remote(text);
        assert_eq!(units, Some(Units { ticks_per_second: 100, page_bytes: 65_536 }));
        assert_eq!(processes, [Process { id: 7, name: "a b".into(), ticks: 30, started: 55, pages: 9 }]);
        assert_eq!(remote("sh: syntax error").1, None);
    }
}
