//! Processes that run on chosen cores, with a time limit. The CPU time and the memory of the processes are measured.

use crate::failure::{Context, Result, check_interrupt, failure};
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};
use sys::process::{Ended, Process};

/// Core of the server.
pub const SERVER_CORE: Affinity = Affinity::Core(0);
/// Core of the client.
pub const CLIENT_CORE: Affinity = Affinity::Core(1);

/// Interval at which a waiting task checks for Ctrl-C.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Cores on which a process may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Affinity {
    /// One core, numbered from 0.
    Core(usize),
    /// All cores that this process may use.
    AllCores,
}

/// A running process. The process is killed on drop.
pub struct Running {
    process: Process,
    started: Instant,
}

/// Cost of a process, and how the process ended.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// Time from start to end.
    pub wall: Duration,
    /// CPU time in user and kernel mode, as measured by the kernel.
    pub cpu: Duration,
    /// Largest resident memory.
    pub peak: PeakMemory,
    /// End of the process.
    pub end: ProcessEnd,
}

/// Peak resident memory of a process. The kernel never reports less than the peak of the parent process at the time
/// when it started the process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PeakMemory {
    /// The exact number of bytes.
    Bytes(u64),
    /// An upper bound in bytes. The kernel reported only the peak of this program itself. The peak of the process is
    /// unknown, but not higher.
    AtMost(u64),
}

/// End of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// The process ended with this exit code.
    Code(i32),
    /// A signal with this number ended the process.
    Signal(i32),
    /// The process was killed at its time limit.
    TimeLimit,
}

/// Starts a program.
pub fn start(command: &mut Command, place: Affinity) -> Result<Running> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A process inherits the affinity of the thread that starts it. The process is therefore started from a new thread,
    // which is the only one whose affinity changes.
    let spawned = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if let Affinity::Core(core) = place {
                sys::limits::pin_current_thread(core).cannot(format_args!("use core {core}"))?;
            }
            let started = Instant::now();
            let process = Process::spawn(command).cannot(format_args!("start {name}"))?;
            Ok(Running { process, started })
        });
        thread.join()
    });
    spawned.unwrap_or_else(|_| Err(failure(format_args!("cannot start {name}"))))
}

impl Running {
    /// Returns the process ID.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Returns the time since the process was started.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits until the process has ended or has reached this age. Returns `None` if the process is still running.
    pub fn wait_until(&mut self, age: Duration) -> Result<Option<Run>> {
        loop {
            check_interrupt()?;
            let left = age.saturating_sub(self.age());
            let ended = self.process.wait(left.min(POLL_INTERVAL)).cannot("wait for a process")?;
            if let Some(ended) = ended {
                return Ok(Some(self.account(&ended, ProcessEnd::of(ended.status))));
            }
            if left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// Waits for the process to end. Kills the process when it reaches this age.
    pub fn finish(mut self, limit: Duration) -> Result<Run> {
        if let Some(run) = self.wait_until(limit)? {
            return Ok(run);
        }
        let ended = self.process.kill().cannot("end a process")?;
        Ok(self.account(&ended, ProcessEnd::TimeLimit))
    }

    /// Sends SIGTERM. If the process is still running after `patience`, kills it.
    pub fn stop(&mut self, patience: Duration) {
        let _ = self.process.ask_to_end(sys::signals::Signal::Terminate);
        let deadline = Instant::now() + patience;
        while let Ok(None) = self.process.wait(POLL_INTERVAL) {
            if Instant::now() > deadline {
                let _ = self.process.kill();
            }
        }
    }

    fn account(&self, ended: &Ended, end: ProcessEnd) -> Run {
        let own = sys::limits::peak_memory_bytes().unwrap_or(u64::MAX);
        let bytes = ended.peak_memory_bytes;
        let peak = if bytes > own { PeakMemory::Bytes(bytes) } else { PeakMemory::AtMost(bytes) };
        Run { wall: self.age(), cpu: ended.cpu, peak, end }
    }
}

impl PeakMemory {
    /// Returns the number of bytes, which may be an upper bound.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) | Self::AtMost(bytes) => bytes,
        }
    }
}

impl ProcessEnd {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }
}

impl fmt::Display for ProcessEnd {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Code(code) => write!(formatter, "{code}"),
            Self::Signal(signal) => write!(formatter, "signal {signal}"),
            Self::TimeLimit => write!(formatter, "time limit"),
        }
    }
}

/// Memory of a running process, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    /// Resident memory (`VmRSS`).
    pub all: u64,
    /// Memory that the process allocated (`RssAnon`). Pages of the program file do not count, because the kernel may
    /// drop them.
    pub anonymous: u64,
}

/// Returns the memory of a process, or `None` if it has ended.
pub fn resident(id: u32) -> Option<Resident> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kibibytes * 1024)
    };
    Some(Resident { all: bytes("VmRSS:")?, anonymous: bytes("RssAnon:")? })
}

/// Returns the CPU time that the children of a running process have used so far. The resolution is a hundredth of a
/// second.
pub fn children_cpu(id: u32) -> Option<Duration> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let ticks = children.split_whitespace().map(|child| {
        let text = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        // The program's name is in parentheses and may contain spaces. The 12th and 13th field after the name are user
        // and kernel time.
        let (_, fields) = text.rsplit_once(')')?;
        let mut times = fields.split_whitespace().skip(11).map(str::parse::<u64>);
        Some(times.next()?.ok()? + times.next()?.ok()?)
    });
    // A tick is a hundredth of a second: USER_HZ is 100 on all platforms that Plimsoll supports.
    ticks.sum::<Option<u64>>().map(|ticks| Duration::from_millis(ticks * 10))
}

/// CPU time of the threads of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadTimes {
    /// The first thread.
    pub first: Duration,
    /// All threads that are running.
    pub all: Duration,
}

/// Returns the CPU times of the threads of a running process's only child.
pub fn thread_times_of_child(id: u32) -> Option<ThreadTimes> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let child = children.trim();
    let time = |thread: &str| {
        let text = std::fs::read_to_string(format!("/proc/{child}/task/{thread}/schedstat")).ok()?;
        text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
    };
    let threads = std::fs::read_dir(format!("/proc/{child}/task")).ok()?;
    let all = threads.map(|thread| time(thread.ok()?.file_name().to_str()?)).sum::<Option<Duration>>()?;
    Some(ThreadTimes { first: time(child)?, all })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_process_runs_on_the_chosen_core() {
        let running = start(&mut shell("test $(nproc) = 1"), SERVER_CORE).unwrap();
        assert_eq!(running.finish(Duration::from_secs(20)).unwrap().end, ProcessEnd::Code(0));
        assert!(start(&mut shell("true"), Affinity::Core(1_000_000)).is_err());
        // The affinity of this thread must be unchanged.
        assert_eq!(sys::limits::available_cores(), std::thread::available_parallelism().unwrap().get());
    }

    #[test]
    fn the_cpu_time_of_running_children_is_known() {
        // The loop in the shell has a limit, so that the shell ends even if the test fails.
        let mut outer =
            start(&mut shell("(i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done) & wait"), Affinity::AllCores)
                .unwrap();
        let mut seen = Duration::ZERO;
        while seen < Duration::from_millis(20) {
            let ended = outer.wait_until(outer.age() + Duration::from_millis(5)).unwrap();
            assert!(ended.is_none(), "ended after {seen:?}");
            seen = children_cpu(outer.id()).unwrap_or(seen);
        }
    }

    #[test]
    fn a_process_is_killed_at_its_time_limit() {
        let running = start(&mut shell("exec sleep 60"), Affinity::AllCores).unwrap();
        assert!(resident(running.id()).is_some_and(|now| now.all >= now.anonymous && now.anonymous > 0));
        let run = running.finish(Duration::from_millis(50)).unwrap();
        assert_eq!(run.end, ProcessEnd::TimeLimit);
        assert!(run.wall < Duration::from_secs(20));
    }

    #[test]
    fn a_peak_is_exact_only_above_that_of_the_parent() {
        let run = start(&mut shell("exit 3"), Affinity::AllCores).unwrap().finish(Duration::from_secs(20)).unwrap();
        assert_eq!(run.end, ProcessEnd::Code(3));
        let own = sys::limits::peak_memory_bytes().unwrap();
        assert_eq!(matches!(run.peak, PeakMemory::Bytes(_)), run.peak.bytes() > own);
    }
}
