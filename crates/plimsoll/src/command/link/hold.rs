//! The process that owns a link, and the functions with which other processes of this program start it.

use super::guard::{Guard, MESSAGE_MAX};
use super::{report_cleaned, show};
use crate::console;
use crate::emulated_link;
use crate::failure::{Exit, Failure};
use crate::load;
use link::session::Session;
use link::spec::congestion;
use link::state::Record;
use link::tun::{Buffers, Settings};
use link::{DirectionSpec, LinkError, LinkSetting, LinkSpec};
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read};
use std::net::{SocketAddr, ToSocketAddrs};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;
use sys::process::Process;
use sys::signals::{Signal, interrupts};

/// The flags that describe a path.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct PathArgs {
    /// Direction from the target to the client, e.g. 1Gbit/s,40ms,loss=0.1%; see docs/link.md.
    #[arg(long, value_name = "RATE,DELAY", required_unless_present = "up")]
    pub down: Option<DirectionSpec>,
    /// Direction from the client to the target [default: unlimited, without delay].
    #[arg(long, value_name = "RATE,DELAY")]
    pub up: Option<DirectionSpec>,
    /// Congestion control of TCP at both ends, e.g. cubic [default: that of this host].
    #[arg(long, value_name = "NAME", value_parser = congestion)]
    pub congestion: Option<String>,
    /// Keep this host's maximum sizes of TCP buffers, instead of raising them to fit the path.
    #[arg(long)]
    pub host_buffers: bool,
    /// Seed of the loss, the reordering and the jitter of packets.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1")]
    pub seed: u64,
    /// End when standard input closes, for example because the parent process ended.
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
}

impl PathArgs {
    /// Returns the flags for a link of a scenario.
    pub fn of(setting: &LinkSetting, seed: u64) -> Self {
        Self {
            down: Some(setting.spec.down),
            up: Some(setting.spec.up),
            congestion: setting.congestion.clone(),
            host_buffers: false,
            seed,
            until_stdin_closes: false,
        }
    }

    fn spec(&self) -> LinkSpec {
        LinkSpec { down: self.down.unwrap_or_default(), up: self.up.unwrap_or_default() }
    }

    fn settings(&self) -> Settings {
        let buffers = if self.host_buffers { Buffers::AsHost } else { Buffers::FitPath };
        Settings { congestion: self.congestion.clone(), buffers, seed: self.seed }
    }

    /// Returns the command-line arguments for these values.
    fn words(&self) -> Vec<String> {
        let spec = self.spec();
        let mut words = vec![format!("--down={}", spec.down), format!("--up={}", spec.up)];
        words.push(format!("--seed={}", self.seed));
        words.extend(self.congestion.as_ref().map(|name| format!("--congestion={name}")));
        words.extend(self.host_buffers.then(|| "--host-buffers".to_owned()));
        words
    }
}

/// The flags of `link relay`.
#[derive(clap::Args, Debug)]
pub struct RelayArgs {
    /// Host and port of the target.
    #[arg(value_name = "HOST:PORT")]
    pub target: String,
    /// Direction from the target to the client: rate, delay, jitter.
    #[arg(long, value_name = "RATE,DELAY", required_unless_present = "up")]
    pub down: Option<DirectionSpec>,
    /// Direction from the client to the target [default: unlimited, without delay].
    #[arg(long, value_name = "RATE,DELAY")]
    pub up: Option<DirectionSpec>,
    /// Seed of the jitter.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1")]
    pub seed: u64,
    /// End when standard input closes, for example because the parent process ended.
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
}

/// Interval at which the owner of a link writes its counts.
const PUBLISH: Duration = Duration::from_millis(200);
/// Maximum time that a server may take to end after it was asked to end.
const STOP_MAX: Duration = Duration::from_secs(10);

fn failed(error: LinkError) -> Failure {
    match error {
        LinkError::Spec(_) | LinkError::Congestion { .. } | LinkError::NeedsPackets { .. } => Failure::usage(error),
        LinkError::Permission(_) | LinkError::System { .. } => Failure::could_not_run(error),
    }
}

/// A link of this process.
struct Guarded {
    // Fields are dropped in this order, so the guard ends after the link.
    session: Session,
    guard: Guard,
}

impl Guarded {
    /// Writes the counts of the link, and starts another guard if the guard was killed.
    fn keep_up(&mut self) -> Result<(), Failure> {
        self.session.publish().map_err(failed)?;
        self.guard.renew_if_ended(self.session.record());
        Ok(())
    }
}

/// Makes a path in this process. This process must not have started threads yet.
fn open(args: &PathArgs) -> Result<Guarded, Failure> {
    args.spec().check().map_err(|error| failed(error.into()))?;
    link::permissions::gain().map_err(failed)?;
    let _ = sys::signals::catch_interrupts();
    let session = Session::tun(&args.spec(), &args.settings(), &emulated_link::registry()?).map_err(failed)?;
    report_cleaned(session.cleaned());
    let guard = Guard::start(session.record())?;
    Ok(Guarded { session, guard })
}

/// Runs a server at the far end, and returns its exit code.
pub fn run_server(args: &PathArgs, command: &[OsString]) -> Result<ExitCode, Failure> {
    let mut link = open(args)?;
    let session = &link.session;
    let words: Vec<_> = command.iter().map(|word| word.to_string_lossy()).collect();
    console::eprintln(show::ready(session.record(), Some(&words.join(" "))).trim_end());
    let mut words = command.iter();
    let program = words.next().map(OsString::as_os_str).unwrap_or_default();
    let cannot = |error: std::io::Error| {
        Failure::could_not_run(format!("cannot run `{}` at the far end: {error}", program.to_string_lossy()))
    };
    let mut server = Command::new(program);
    // Interrupts from the terminal reach only this process, which then asks the server to end.
    server.args(words).stdin(Stdio::null()).process_group(0);
    let path = session.path().ok_or_else(|| Failure::could_not_run("the link has no path"))?;
    path.far().host(&mut server).map_err(cannot)?;
    let mut server = Process::spawn(&mut server).map_err(cannot)?;
    loop {
        if let Some(ended) = server.wait(PUBLISH).map_err(cannot)? {
            let code = ended.status.code().unwrap_or_else(|| 128 + ended.status.signal().unwrap_or(0));
            return Ok(ExitCode::from(u8::try_from(code).unwrap_or(u8::MAX)));
        }
        link.keep_up()?;
        if let Some(signal) = interrupts().last {
            let _ = server.ask_group_to_end(Signal::Terminate);
            if server.wait(STOP_MAX).map_err(cannot)?.is_none() {
                let _ = server.kill_group();
            }
            return Ok(Exit::Interrupted(signal.number()).into());
        }
    }
}

/// Makes a relay, and keeps it until interrupted.
pub fn relay(args: &RelayArgs) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    let spec = LinkSpec { down: args.down.unwrap_or_default(), up: args.up.unwrap_or_default() };
    let to = resolved(&args.target)?;
    let target = (args.target.as_str(), to);
    let mut session = Session::relay(&spec, target, args.seed, &emulated_link::registry()?).map_err(failed)?;
    report_cleaned(session.cleaned());
    if args.until_stdin_closes {
        announce(&session)?;
    } else {
        console::print(&show::ready(session.record(), None))?;
    }
    keep(args.until_stdin_closes, || session.publish().map_err(failed))
}

fn resolved(target: &str) -> Result<SocketAddr, Failure> {
    let port = target.rsplit_once(':').and_then(|(_, port)| port.parse::<u16>().ok()).filter(|port| *port > 0);
    if port.is_none() {
        return Err(Failure::usage(format!("`{target}` has no port: write HOST:PORT, e.g. 10.0.0.5:9000")));
    }
    let addresses = target.to_socket_addrs().map(|mut addresses| addresses.next());
    match addresses {
        Ok(Some(address)) => Ok(address),
        Ok(None) => Err(Failure::could_not_run(format!("`{target}` has no address"))),
        Err(error) => Err(Failure::could_not_run(format!("cannot look up `{target}`: {error}"))),
    }
}

/// Holds a link for another process, which reads the record from standard output.
pub fn hold(args: &PathArgs) -> Result<ExitCode, Failure> {
    let mut link = open(args)?;
    announce(&link.session)?;
    keep(args.until_stdin_closes, || link.keep_up())
}

/// Prints the record of a link, for the process that started this one.
fn announce(session: &Session) -> Result<(), Failure> {
    let record = serde_json::to_string(session.record()).map_err(|error| Failure::could_not_run(error.to_string()))?;
    console::print(&format!("{record}\n"))
}

/// Keeps a link until interrupted, or until standard input closes. Calls `keep_up` at regular intervals.
fn keep(until_stdin_closes: bool, mut keep_up: impl FnMut() -> Result<(), Failure>) -> Result<ExitCode, Failure> {
    let is_closed = Arc::new(AtomicBool::new(false));
    if until_stdin_closes {
        let closes = Arc::clone(&is_closed);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
            closes.store(true, Relaxed);
        });
    }
    while interrupts().count == 0 && !is_closed.load(Relaxed) {
        std::thread::sleep(PUBLISH);
        keep_up()?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Lifetime of the process of a [`Holder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held {
    /// Until `link down`.
    UntilDown,
    /// Until the [`Holder`] is dropped.
    WithHolder,
}

/// Another process of this program that owns a link. Dropping it removes the link.
#[derive(Debug)]
pub struct Holder {
    process: Option<Child>,
    record: Record,
}

impl Holder {
    /// Starts a process that owns a path, and waits until the path is measured.
    pub fn start(args: &PathArgs, held: Held) -> Result<Self, Failure> {
        Self::of(&[vec!["link".to_owned(), "hold".to_owned()], args.words()].concat(), held)
    }

    /// Starts a process that owns a relay to a target, and waits until the relay is measured.
    pub fn start_relay(target: &str, spec: &LinkSpec, seed: u64) -> Result<Self, Failure> {
        let words = ["link", "relay", target].map(str::to_owned);
        let path = [format!("--down={}", spec.down), format!("--up={}", spec.up), format!("--seed={seed}")];
        Self::of(&[words, path].concat(), Held::WithHolder)
    }

    fn of(words: &[String], held: Held) -> Result<Self, Failure> {
        let cannot =
            |error: std::io::Error| Failure::could_not_run(format!("cannot start the owner of a link: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
        command.args(words).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        match held {
            Held::UntilDown => command.stdin(Stdio::null()),
            Held::WithHolder => command.arg("--until-stdin-closes").stdin(Stdio::piped()),
        };
        let mut process = command.spawn().map_err(cannot)?;
        let mut line = String::new();
        if let Some(output) = process.stdout.take() {
            let _ = BufReader::new(output.take(MESSAGE_MAX)).read_line(&mut line);
        }
        match serde_json::from_str(&line) {
            Ok(record) => Ok(Self { process: Some(process), record }),
            Err(_) => Err(Self::refused(process)),
        }
    }

    /// Returns the failure of a process that ended before it had created a link. This process then ends with the
    /// message and the exit code of that process.
    fn refused(mut process: Child) -> Failure {
        let mut told = String::new();
        if let Some(errors) = process.stderr.take() {
            let _ = errors.take(MESSAGE_MAX).read_to_string(&mut told);
        }
        let is_usage = process.wait().is_ok_and(|status| status.code() == Some(i32::from(Exit::Usage.code())));
        let message = told.trim().trim_start_matches("plimsoll: ").to_owned();
        if is_usage { Failure::usage(message) } else { Failure::could_not_run(message) }
    }

    /// Returns the record as it was when the link started.
    pub fn record(&self) -> &Record {
        &self.record
    }

    /// Leaves the link to its process, which keeps the link until `link down`.
    pub fn leave(mut self) {
        self.process = None;
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // The process ends when its standard input is closed.
        let Some(mut process) = self.process.take() else { return };
        drop(process.stdin.take());
        let _ = process.wait();
    }
}
