//! `cargo xtask bench pace`: who sets the pace of transfers over an emulated path, in runs with planted causes. The server is
//! nginx.

use crate::console;
use crate::failure::{Context, Result, failure};
use crate::goal::GoalResult;
use crate::host;
use crate::nginx;
use crate::plimsoll::ProgramArgs;
use crate::process::{Affinity, Running, start};
use crate::shuffle::Shuffler;
use clap::ValueEnum;
use serde_json::Value;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tempfile::TempDir;

/// Goal: share of runs of each cause with the right answer.
const RIGHT_MIN: f64 = 0.95;
/// Time for the start of nginx.
const START: Duration = Duration::from_millis(300);
/// Time limit of a run, including the measurement of the path.
const RUN_MAX: Duration = Duration::from_secs(60);
/// Address of the far end.
const FAR: &str = "198.18.0.2";

/// A planted cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Cause {
    /// Several streams fill the path.
    FullPath,
    /// The path loses packets.
    Loss,
    /// The receive window of the client is small.
    ReceiveWindow,
    /// The send buffer of the server is small.
    SendBuffer,
    /// The server limits the rate of each response.
    RateLimit,
    /// The client is stopped most of the time.
    SlowClient,
}

impl Cause {
    /// Returns who sets the pace.
    fn planted(self) -> &'static str {
        match self {
            Self::FullPath | Self::Loss | Self::ReceiveWindow => "network",
            Self::SendBuffer | Self::RateLimit => "server",
            Self::SlowClient => "client",
        }
    }

    fn down(self) -> &'static str {
        match self {
            Self::Loss => "200Mbit/s,20ms,loss=1%",
            _ => "200Mbit/s,20ms",
        }
    }

    /// Returns the options of nginx.
    fn options(self) -> (&'static str, &'static str) {
        match self {
            Self::SendBuffer => (" sndbuf=32k", "sendfile off;"),
            Self::RateLimit => ("", "limit_rate 400k;"),
            _ => ("", ""),
        }
    }

    /// Returns the range of the number of slots.
    fn slots(self) -> (u64, u64) {
        match self {
            Self::FullPath | Self::SlowClient => (8, 32),
            Self::Loss | Self::ReceiveWindow | Self::SendBuffer | Self::RateLimit => (2, 12),
        }
    }
}

/// Causes, number and duration of runs, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Plant only these causes.
    #[arg(long, value_enum, value_delimiter = ',', value_name = "CAUSE")]
    only: Vec<Cause>,
    /// Number of runs of each cause.
    #[arg(long, value_name = "N", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=500))]
    repeats: u32,
    /// Duration of each run.
    #[arg(long, value_name = "S", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Seed of the numbers of slots and of the sizes [default: taken from the clock].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    host::print_machine();
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_secs() % 1_000_000);
    let seed = args.seed.unwrap_or(clock);
    console::line(format_args!("seed      {seed}"));
    let causes = if args.only.is_empty() { Cause::value_variants() } else { &args.only };
    let mut random = Shuffler::new(seed);
    let mut all_right = true;
    for &cause in causes {
        let link = Link::up(&program, cause)?;
        let answers = Answers::of_runs(&link, cause, args, &mut random)?;
        all_right &= answers.share() >= RIGHT_MIN;
        answers.print(cause);
    }
    console::line(format_args!("right in at least 95 % of the runs of each cause: {}", GoalResult::from(all_right)));
    Ok(())
}

/// Answers of the runs with one cause.
#[derive(Clone, Copy, Debug, Default)]
struct Answers {
    right: u32,
    wrong: u32,
    /// Runs in which the emulator did not get enough CPU time. They have a second cause besides the planted one, so
    /// they are repeated.
    disturbed: u32,
}

impl Answers {
    /// Makes the runs in which `cause` sets the pace. Stops early if too many runs are disturbed.
    fn of_runs(link: &Link<'_>, cause: Cause, args: &Args, random: &mut Shuffler) -> Result<Self> {
        let mut answers = Self::default();
        while answers.counted() < args.repeats && answers.disturbed <= args.repeats {
            let (from, to) = cause.slots();
            let slots = from + random.number() % (to - from + 1);
            let size = ["1m", "4m", "16m"][(random.number() % 3) as usize];
            let report = link.run(cause, slots, size, args.seconds)?;
            let found = report["pace_set_by"].as_str().unwrap_or("not known");
            if report["limited_by"] == "emulator" {
                answers.disturbed += 1;
            } else if found == cause.planted() {
                answers.right += 1;
            } else {
                answers.wrong += 1;
                let why = report["pace_reason"].as_str().unwrap_or_default();
                console::line(format_args!(
                    "  {cause:?} -c {slots} {size}: {found}; {why}; limited by {}",
                    report["limited_by"]
                ));
            }
        }
        Ok(answers)
    }

    fn counted(self) -> u32 {
        self.right + self.wrong
    }

    /// Returns the share of right answers. Without answers, it is 0.
    fn share(self) -> f64 {
        f64::from(self.right) / f64::from(self.counted().max(1))
    }

    fn print(self, cause: Cause) {
        let (name, planted) = (format!("{cause:?}"), cause.planted());
        let Self { right, disturbed, .. } = self;
        console::line(format_args!(
            "  {name:<16} {planted:<8} {right:>3} of {} right, {disturbed} disturbed",
            self.counted()
        ));
    }
}

/// A link with nginx at its far end.
struct Link<'p> {
    program: &'p Path,
    number: String,
    // Rust drops fields in order, so nginx ends before its directory is removed.
    _nginx: Running,
    directory: TempDir,
}

impl<'p> Link<'p> {
    fn up(program: &'p Path, cause: Cause) -> Result<Self> {
        let words = ["link", "up", "--down", cause.down(), "--up", "20ms", "--congestion", "cubic"];
        let output = Command::new(program).args(words).output().cannot("start plimsoll")?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let number = text.strip_prefix("link ").and_then(|rest| rest.split(':').next()).ok_or_else(|| {
            failure(format_args!("`plimsoll link up` failed: {}", String::from_utf8_lossy(&output.stderr).trim()))
        })?;
        let number = number.to_owned();
        let directory = tempfile::Builder::new().prefix("plimsoll-pace-").tempdir_in("/dev/shm");
        let directory = directory.cannot("make a directory in /dev/shm")?;
        let nginx = match nginx_at_far_end(program, &number, cause, directory.path()) {
            Ok(nginx) => nginx,
            Err(error) => {
                down(program, &number);
                return Err(error);
            }
        };
        let link = Self { program, number, _nginx: nginx, directory };
        if cause == Cause::ReceiveWindow {
            link.exec(&["sh", "-c", "echo 4096 32768 65536 > /proc/sys/net/ipv4/tcp_rmem"])?;
        }
        Ok(link)
    }

    fn exec(&self, words: &[&str]) -> Result<()> {
        let mut command = Command::new(self.program);
        command.args(["link", "exec", "--link", &self.number, "--"]).args(words);
        let status = command.status().cannot("start plimsoll")?;
        if status.success() { Ok(()) } else { Err(failure(format_args!("{words:?} failed with {status}"))) }
    }

    /// Makes a run, and returns its report.
    fn run(&self, cause: Cause, slots: u64, size: &str, seconds: u64) -> Result<Value> {
        let path = self.directory.path().join("report.json");
        let out = self.directory.path().join("run");
        let _ = fs::remove_dir_all(&out);
        let mut command = Command::new(self.program);
        command
            .arg("get")
            .arg(format!("--link={}", self.number))
            .args(["--json", "--quiet", "--drain", "1s", "--out"])
            .arg(out);
        command.arg(format!("-c{slots}")).arg(format!("-d{seconds}s")).arg(format!("http://{FAR}:8080/{size}"));
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command.stdout(File::create(&path).cannot("create a file")?);
        let client = start(&mut command, Affinity::AllCores)?;
        let stopper = match cause {
            Cause::SlowClient => Some(stop_most_of_the_time(client.id())?),
            _ => None,
        };
        client.finish(RUN_MAX)?;
        drop(stopper);
        let text = fs::read_to_string(&path).cannot("read the report")?;
        serde_json::from_str(&text).map_err(|error| failure(format_args!("no report: {error}")))
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        down(self.program, &self.number);
    }
}

fn down(program: &Path, number: &str) {
    let _ = Command::new(program).args(["link", "down", number]).stdout(Stdio::null()).status();
}

/// Starts a shell that stops a process for 450 ms of every 500 ms, as long as the process exists. Receive buffers of the kernel
/// would hide shorter stops.
fn stop_most_of_the_time(process: u32) -> Result<Running> {
    let script = format!(
        "while kill -STOP {process} 2>/dev/null; do sleep 0.45; kill -CONT {process} 2>/dev/null; sleep 0.05; done"
    );
    start(Command::new("sh").args(["-c", &script]).stderr(Stdio::null()), Affinity::AllCores)
}

fn nginx_at_far_end(program: &Path, number: &str, cause: Cause, directory: &Path) -> Result<Running> {
    for (name, megabytes) in [("1m", 1), ("4m", 4), ("16m", 16)] {
        fs::write(directory.join(name), vec![0x5a; megabytes << 20]).cannot("write a file for nginx")?;
    }
    let (listen, server) = cause.options();
    let root = directory.display();
    let text = format!(
        "daemon off; worker_processes 1; user root; pid {root}/pid; error_log {root}/error.log;\n\
         events {{ worker_connections 1000; }}\n\
         http {{ access_log off; sendfile on; client_body_temp_path {root}/b; proxy_temp_path {root}/p;\n\
         fastcgi_temp_path {root}/f; scgi_temp_path {root}/s; uwsgi_temp_path {root}/u;\n\
         server {{ listen {FAR}:8080{listen}; root {root}; {server} }} }}\n"
    );
    let path: PathBuf = directory.join("nginx.conf");
    fs::write(&path, text).cannot("write the configuration of nginx")?;
    let mut command = Command::new(program);
    command.args(["link", "exec", "--link", number, "--far", "--", nginx::program()?]);
    command.arg("-p").arg(directory).arg("-c").arg(&path).args(["-e", "error.log"]);
    let mut running = start(command.stdin(Stdio::null()).stderr(Stdio::null()), Affinity::AllCores)?;
    match running.wait_until(running.age() + START)? {
        None => Ok(running),
        Some(_) => Err(failure(format_args!(
            "nginx did not start: {}",
            fs::read_to_string(directory.join("error.log")).unwrap_or_default().trim()
        ))),
    }
}
