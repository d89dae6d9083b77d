//! Helpers of the tests: create paths, run other programs, and skip tests.

use link::spec::Direction;
use link::tun::{End, Path, Settings};
use link::{LinkError, LinkSpec};
use std::io::Write;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use sys::process::Process;

/// Time limit for each step of a test.
pub const PATIENCE: Duration = Duration::from_secs(60);

static SKIPPED: AtomicU64 = AtomicU64::new(0);
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// A path, and exclusive use of the cores.
pub struct Bench {
    pub path: Path,
    pub spec: LinkSpec,
    started: CoreTime,
    _alone: MutexGuard<'static, ()>,
}

/// Waits until no other test measures.
pub fn alone() -> MutexGuard<'static, ()> {
    ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner)
}

pub fn spec(down: &str, up: &str) -> LinkSpec {
    LinkSpec { down: down.parse().unwrap(), up: up.parse().unwrap() }
}

/// Makes a path. If a permission is missing, skips the test and returns `None`.
pub fn bench(down: &str, up: &str) -> Option<Bench> {
    bench_with(down, up, &Settings { seed: 1, ..Settings::default() })
}

pub fn bench_with(down: &str, up: &str, settings: &Settings) -> Option<Bench> {
    let alone = alone();
    let spec = spec(down, up);
    match Path::open(&spec, settings) {
        Ok(path) => Some(Bench { path, spec, started: core_time(), _alone: alone }),
        Err(LinkError::Permission(missing)) => {
            skip(&missing.to_string());
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Reports that this test is skipped.
pub fn skip(reason: &str) {
    let number = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    let test = std::thread::current().name().unwrap_or("a test").to_owned();
    // Write directly to the file descriptor, because the test harness hides the output of successful tests.
    let _ = writeln!(std::io::stderr(), "skipped ({number} so far): {test}: {reason}");
}

/// Returns whether a program is installed. Otherwise, the test is skipped, or fails with `REQUIRE_PEERS=1`.
pub fn has(program: &str, version_flag: &str) -> bool {
    let found = Command::new(program).arg(version_flag).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
    if !found {
        let required = std::env::var_os("REQUIRE_PEERS").is_some_and(|value| value == "1");
        assert!(!required, "{program} is not installed, and REQUIRE_PEERS=1");
        skip(&format!("{program} is not installed"));
    }
    found
}

/// Runs a program at an end and returns its output.
pub fn run(end: &End, program: &str, arguments: &[&str]) -> Output {
    let mut command = Command::new(program);
    end.host(command.args(arguments).stdin(Stdio::null())).unwrap();
    command.output().unwrap()
}

/// Starts a program at an end. The program is killed when the returned value is dropped.
pub fn start(end: &End, program: &str, arguments: &[&str]) -> Process {
    let mut command = Command::new(program);
    end.host(command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null())).unwrap();
    Process::spawn(&mut command).unwrap()
}

/// Total time of all cores since the boot of the system, in ticks.
#[derive(Clone, Copy)]
pub struct CoreTime {
    idle: u64,
    /// Time during which a hypervisor gave the cores to other machines.
    stolen: u64,
    all: u64,
}

/// Parses the first line of `/proc/stat`: user, nice, system, idle, waiting for disks, interrupts, soft interrupts,
/// stolen.
pub fn core_time() -> CoreTime {
    let text = std::fs::read_to_string("/proc/stat").unwrap();
    let line = text.lines().next().unwrap();
    let ticks: Vec<u64> = line.split_whitespace().skip(1).map(|ticks| ticks.parse().unwrap()).collect();
    CoreTime { idle: ticks[3] + ticks[4], stolen: ticks[7], all: ticks[..8].iter().sum() }
}

impl CoreTime {
    /// Returns two shares of the time since `start`: the idle time of all cores, and the stolen time of one core.
    fn shares_since(self, start: Self) -> (f64, f64) {
        let all = (self.all - start.all).max(1) as f64;
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        ((self.idle - start.idle) as f64 / all, (self.stolen - start.stolen) as f64 * cores / all)
    }
}

/// If at least this share of the time of the cores was idle, a late emulator is a defect, unless its core was stolen.
const IDLE_SHARE: f64 = 0.7;

/// Maximum lateness that stolen time can explain, as a multiple of the stolen time. After a gap, frames are also late
/// if they arrive while the emulator catches up. In 12 runs of 12.8 s on a host that stole 0.7 to 2.4 % of a core, 0.8
/// to 2 % of the bytes were late.
const LATE_PER_STOLEN_MAX: f64 = 3.0;

/// Returns whether the emulator had enough CPU time. If it did not, skips the rest of the test, because other processes
/// or other machines used the cores.
///
/// # Panics
/// Panics if the emulator was late although the cores were free.
pub fn had_cpu(bench: &Bench) -> bool {
    had_cpu_since(&bench.path, bench.started)
}

/// Like [`had_cpu`], but for a path that was created when `start` was read.
pub fn had_cpu_since(path: &Path, start: CoreTime) -> bool {
    let counts = [Direction::Down, Direction::Up].map(|direction| path.counts(direction));
    if counts.iter().all(|counts| counts.health() == link::tun::Health::Good) {
        return true;
    }
    let (idle, stolen) = core_time().shares_since(start);
    let is_stolen = counts.iter().all(|counts| {
        let late = counts.late_bytes as f64 / counts.wire.passed_bytes.max(1) as f64;
        counts.device_drops == 0 && late <= LATE_PER_STOLEN_MAX * stolen
    });
    assert!(
        idle < IDLE_SHARE || is_stolen,
        "the emulator was late although the cores were idle ({idle:.2}, {stolen:.4} stolen): {counts:?}"
    );
    let (idle, stolen) = (idle * 100.0, stolen * 100.0);
    skip(&format!("others took the cores (idle {idle:.0} %, {stolen:.1} % of one stolen): {counts:?}"));
    false
}
