//! The test bed, which runs the program against a target with a planted cause.

use super::cause::Cause;
use super::disturbance::Disturbances;
use super::finished_trial::FinishedTrial;
use super::report::Report;
use super::target::{Target, TargetProgram};
use super::trial::Trial;
use super::variant::{Direction, Model, Protocol};
use crate::failure::{Context, Result, check_interrupt, failure};
use crate::nginx::{Nginx, Served};
use crate::plimsoll::EXTRA;
use crate::process::{Affinity, CLIENT_CORE, SERVER_CORE, start};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// Duration of each probe with another number of slots, in seconds.
const PROBE_SECONDS: u64 = 1;
/// Number of probes of a run.
const PROBES: u64 = 2;

/// The two programs, and the directory that all runs share.
pub struct TestBed {
    program: PathBuf,
    target: TargetProgram,
    directory: TempDir,
}

impl TestBed {
    /// Builds the target.
    pub fn new(program: PathBuf) -> Result<Self> {
        let directory = tempfile::Builder::new().prefix("plimsoll-causes-").tempdir();
        let directory = directory.cannot("create a temporary directory")?;
        let target = TargetProgram::build(directory.path())?;
        Ok(Self { program, target, directory })
    }

    /// Makes a run.
    pub fn run(&self, trial: Trial) -> Result<FinishedTrial> {
        check_interrupt()?;
        if trial.cause.is_nginx() {
            let nginx = Nginx::start_http2(&[Served::Kibibyte])?;
            let url = match trial.variant.protocol {
                Protocol::Http1 => nginx.url(Served::Kibibyte),
                Protocol::Tls | Protocol::Http2 => nginx.secure_url(Served::Kibibyte),
            };
            let report = self.load(trial, &url, &mut Disturbances::default())?;
            return Ok(FinishedTrial::without_log(trial, report));
        }
        let mut disturbances = Disturbances::set_up(trial.cause)?;
        let address = disturbances.address.unwrap_or("127.0.0.1");
        let prefix: Vec<String> =
            disturbances.server_prefix.iter().cloned().chain(priority_prefix(trial.cause)).collect();
        // Start a new target, so that its log contains this run only.
        let affinity = affinity(trial.cause, SERVER_CORE);
        let target = self.target.start(trial.cause.behavior(), address, trial.seed, &prefix, affinity)?;
        let url = if trial.cause.is_signed() { endpoint(&target) } else { target.url(trial.variant.protocol) };
        let report = self.load(trial, &url, &mut disturbances)?;
        Ok(FinishedTrial::with_log(trial, report, &target.finish()?))
    }

    /// Runs the program to its end and returns its report.
    fn load(&self, trial: Trial, url: &str, disturbances: &mut Disturbances) -> Result<Report> {
        let path = |name| self.directory.path().join(name);
        let file = |name| fs::File::create(path(name)).cannot("create a file for the output of the program");
        let arguments = arguments(trial, url);
        let own = self.program.to_string_lossy();
        let prefix = disturbances.client_prefix.iter().map(String::as_str);
        let line: Vec<&str> = prefix.chain([own.as_ref()]).chain(arguments.iter().map(String::as_str)).collect();
        let (first, rest) = line.split_first().ok_or_else(|| failure("the command is empty"))?;
        let mut command = Command::new(first);
        command.args(rest).current_dir(self.directory.path()).stdin(Stdio::null());
        command.stdout(file("report.json")?).stderr(file("messages")?);
        command.env("AWS_ACCESS_KEY_ID", "causes").env("AWS_SECRET_ACCESS_KEY", "causes-secret");
        let client = start(&mut command, affinity(trial.cause, CLIENT_CORE))?;
        disturbances.disturb(trial.cause, client.id(), Duration::from_secs(trial.seconds))?;
        let end = client.finish(trial.window() + Duration::from_secs(PROBES * PROBE_SECONDS) + EXTRA)?.end;
        let text = fs::read_to_string(path("report.json")).cannot("read the report")?;
        let _ = fs::remove_dir_all(path("runs"));
        Report::parse(&text, end).map_err(|error| {
            let messages = fs::read_to_string(path("messages")).unwrap_or_default();
            failure(format_args!("{error}; {}", messages.trim()))
        })
    }
}

/// Returns the cores on which the target or the client runs. Target and client each have their own core, except for
/// causes in which both compete with other processes.
fn affinity(cause: Cause, usual: Affinity) -> Affinity {
    if is_shared_host(cause) { Affinity::AllCores } else { usual }
}

/// Returns a command prefix that raises the target's priority. With HTTP/2, the log lacks some of the target's work, so
/// other processes must not delay this work. For causes in which other processes compete for the cores on purpose, the
/// prefix is empty. It has no effect if this user may not raise priorities.
fn priority_prefix(cause: Cause) -> Vec<String> {
    let words: &[&str] = if is_shared_host(cause) { &[] } else { &["nice", "-n", "-15"] };
    words.iter().map(|&word| word.to_owned()).collect()
}

fn is_shared_host(cause: Cause) -> bool {
    matches!(cause, Cause::SharedHost | Cause::SharedHostLowRate)
}

fn endpoint(target: &Target) -> String {
    format!("--endpoint=http://{}", target.plain())
}

/// Returns the arguments of the program.
pub fn arguments(trial: Trial, url: &str) -> Vec<String> {
    let (cause, variant, amount) = (trial.cause, trial.variant, trial.cause.amount());
    let duration = format!("{}s", trial.seconds);
    let mut arguments: Vec<String> = ["--json", "--quiet", "--insecure", "-d", &duration].map(str::to_owned).into();
    if !cause.warmup().is_zero() {
        arguments.push(format!("--warmup={}s", cause.warmup().as_secs()));
    }
    if cause.is_probed(variant) {
        arguments.push(format!("--probe={PROBE_SECONDS}s"));
    }
    match variant.model {
        Model::Open => arguments.extend(["-R".to_owned(), amount.rate.to_string()]),
        Model::Closed => arguments.extend(["-c".to_owned(), amount.slots.to_string()]),
    }
    if variant.protocol == Protocol::Http2 {
        // With only one stream at a time, the log shows each request completely.
        arguments.extend(["--http2", "--streams=1"].map(str::to_owned));
    }
    if cause == Cause::Ports {
        arguments.push("--no-keepalive".to_owned());
    }
    let command = match variant.direction {
        _ if cause.is_mixed() => "mix",
        Direction::Get => "get",
        Direction::Put => "put",
    };
    if command != "get" {
        let size = cause.behavior().size.to_string();
        arguments.extend(["--count", "1000", "--size", &size].map(str::to_owned));
    }
    if cause.is_mixed() {
        arguments.extend(["--get", "90", "--put", "10"].map(str::to_owned));
    }
    if cause.is_signed() {
        arguments.extend(["--payload", "signed", "s3://bucket/objects"].map(str::to_owned));
    }
    arguments.insert(0, command.to_owned());
    arguments.push(url.to_owned());
    arguments
}
