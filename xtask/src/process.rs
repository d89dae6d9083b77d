//! Runs a program on chosen cores, for a bounded time, and says what it cost.

use crate::failure::{Result, While, failure, go_on};
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};
use sys::process::{Ended, Process};

/// The core of the server.
pub const SERVER: Place = Place::Core(0);
/// The core of the client.
pub const CLIENT: Place = Place::Core(1);

/// How often a waiting task looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(100);

/// Where a process may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// On one core, numbered from 0.
    Core(usize),
    /// On all cores that this process may use.
    AllCores,
}

/// A process that has not ended; it is killed when this value goes away.
pub struct Running {
    process: Process,
    started: Instant,
}

/// What a process did, and what it cost.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// From its start to its end.
    pub wall: Duration,
    /// In user and kernel mode, as the kernel accounted at its end.
    pub cpu: Duration,
    /// The most resident memory.
    pub peak: Peak,
    /// How it ended.
    pub end: End,
}

/// The most resident memory of a process. The kernel's figure starts from what the process that started it had held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peak {
    /// So many bytes.
    Bytes(u64),
    /// At most so many bytes: this process itself has held them.
    AtMost(u64),
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It took too long, and was killed.
    TimeLimit,
}

/// Starts a program.
pub fn start(command: &mut Command, place: Place) -> Result<Running> {
    let name = command.get_program().to_string_lossy().into_owned();
    // A process runs where the thread may that started it.
    let spawned = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            if let Place::Core(core) = place {
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
    /// The kernel's number for it.
    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// How long it has been running.
    pub fn age(&self) -> Duration {
        self.started.elapsed()
    }

    /// Waits for its end until it has this age.
    pub fn wait_until(&mut self, age: Duration) -> Result<Option<Run>> {
        loop {
            go_on()?;
            let left = age.saturating_sub(self.age());
            let ended = self.process.wait(left.min(LOOK)).cannot("wait for a process")?;
            if let Some(ended) = ended {
                return Ok(Some(self.account(&ended, End::of(ended.status))));
            }
            if left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// Waits for its end; kills it at this age.
    pub fn finish(mut self, limit: Duration) -> Result<Run> {
        if let Some(run) = self.wait_until(limit)? {
            return Ok(run);
        }
        let ended = self.process.kill().cannot("end a process")?;
        Ok(self.account(&ended, End::TimeLimit))
    }

    /// Asks it to end, gives it a while, then kills it.
    pub fn stop(&mut self, patience: Duration) {
        let _ = self.process.ask_to_end(sys::signals::Signal::Terminate);
        let deadline = Instant::now() + patience;
        while let Ok(None) = self.process.wait(LOOK) {
            if Instant::now() > deadline {
                let _ = self.process.kill();
            }
        }
    }

    fn account(&self, ended: &Ended, end: End) -> Run {
        let own = sys::limits::peak_memory_bytes().unwrap_or(u64::MAX);
        let bytes = ended.peak_memory_bytes;
        let peak = if bytes > own { Peak::Bytes(bytes) } else { Peak::AtMost(bytes) };
        Run { wall: self.age(), cpu: ended.cpu, peak, end }
    }
}

impl Peak {
    /// The figure, exact or not.
    pub fn bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) | Self::AtMost(bytes) => bytes,
        }
    }
}

impl End {
    fn of(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Self::Code(code),
            (None, signal) => Self::Signal(signal.unwrap_or(0)),
        }
    }
}

impl fmt::Display for End {
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
    /// All that is resident (`VmRSS`).
    pub all: u64,
    /// Of that, what it has allocated, without the pages of its program file, which the kernel may take back (`RssAnon`).
    pub anonymous: u64,
}

/// What a process holds now; `None` when it has ended.
pub fn resident(id: u32) -> Option<Resident> {
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let bytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kibibytes: u64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kibibytes * 1024)
    };
    Some(Resident { all: bytes("VmRSS:")?, anonymous: bytes("RssAnon:")? })
}

/// CPU time that the children of a running process have used so far, to a hundredth of a second.
pub fn children_cpu(id: u32) -> Option<Duration> {
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).ok()?;
    let ticks = children.split_whitespace().map(|child| {
        let text = std::fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        // The name, in parentheses, may hold spaces; user and kernel time are the 12th and 13th field after it.
        let (_, fields) = text.rsplit_once(')')?;
        let mut times = fields.split_whitespace().skip(11).map(str::parse::<u64>);
        Some(times.next()?.ok()? + times.next()?.ok()?)
    });
    // USER_HZ is 100 on every Linux that has these files.
    ticks.sum::<Option<u64>>().map(|ticks| Duration::from_millis(ticks * 10))
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
    fn a_process_runs_where_it_is_put() {
        let running = start(&mut shell("test $(nproc) = 1"), SERVER).unwrap();
        assert_eq!(running.finish(Duration::from_secs(20)).unwrap().end, End::Code(0));
        assert!(start(&mut shell("true"), Place::Core(1_000_000)).is_err());
        // This thread's own cores are as before.
        assert_eq!(sys::limits::available_cores(), std::thread::available_parallelism().unwrap().get());
    }

    #[test]
    fn the_cpu_time_of_children_is_seen_while_they_run() {
        // It ends by itself, also when the test fails.
        let mut outer =
            start(&mut shell("(i=0; while [ $i -lt 1000000 ]; do i=$((i+1)); done) & wait"), Place::AllCores).unwrap();
        let mut seen = Duration::ZERO;
        while seen < Duration::from_millis(20) {
            let ended = outer.wait_until(outer.age() + Duration::from_millis(5)).unwrap();
            assert!(ended.is_none(), "over after {seen:?}");
            seen = children_cpu(outer.id()).unwrap_or(seen);
        }
    }

    #[test]
    fn what_takes_too_long_is_killed() {
        let running = start(&mut shell("exec sleep 60"), Place::AllCores).unwrap();
        assert!(resident(running.id()).is_some_and(|now| now.all >= now.anonymous && now.anonymous > 0));
        let run = running.finish(Duration::from_millis(50)).unwrap();
        assert_eq!(run.end, End::TimeLimit);
        assert!(run.wall < Duration::from_secs(20));
    }

    #[test]
    fn a_peak_is_exact_only_above_that_of_the_starter() {
        let run = start(&mut shell("exit 3"), Place::AllCores).unwrap().finish(Duration::from_secs(20)).unwrap();
        assert_eq!(run.end, End::Code(3));
        let own = sys::limits::peak_memory_bytes().unwrap();
        assert_eq!(matches!(run.peak, Peak::Bytes(_)), run.peak.bytes() > own);
    }
}
