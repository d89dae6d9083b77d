//! Runs on several hosts (`--hosts`, `--fleet`): agents on the hosts make parts of one load, and this process
//! coordinates them.
//!
//! The crate [`fleet`] has the protocol and its rules, and the message bus ([`machines`] has the flags). This module
//! starts agents over ssh ([`remote`]), or calls those that wait on the bus. It carries out the decisions of the
//! coordinator ([`coordinate`]), saves what the agents send ([`received`]) and merges it into one run ([`result`]). A
//! search for the load line makes several such runs on the same agents ([`loads`]), and watches their objectives
//! ([`watch`]). Before a run, the first agent can make its part alone ([`alone`]), which shows how the load scales. A
//! fill is divided into shares, whose journals stay with the agents ([`fill`]). If a coordinator is killed, another one
//! collects the run ([`collect`]). The other end is `command/agent`.
//!
//! The coordinator sends the command line to the agents. Each agent parses it, makes its own plan, and takes its part
//! with `Plan::split`. An agent makes an ordinary run with two extra inputs: its part, and a clock that is 0 at T0, the
//! common start of all agents (`engine::run_from`). While the agent runs, it sends the coordinator a copy of each
//! record that it writes to its run directory (`RunWriter::copying_to`). A fleet therefore measures and describes
//! intervals in the same way as a single host. The coordinator writes these records to one run directory per agent, and
//! merges them with the code of `merge` (`saved/merged.rs`).
//!
//! `end_to_end/fleet.rs` tests with real sshds, processes with shifted clocks, and kills.

mod alone;
pub mod clock;
pub mod collect;
mod coordinate;
pub mod fill;
mod loads;
pub mod plan_text;
pub mod program;
mod received;
mod remote;
mod result;
mod watch;

pub use watch::SentSlices;

use crate::command::fill::Budget;
use crate::command::line;
use crate::command::load_command::LoadCommand;
use crate::command::put;
use crate::console;
use crate::execute::{self, RunOptions};
use crate::failure::{Exit, Failure};
use crate::load;
use crate::load::machines::{self, Machines, bus};
use crate::progress;
use crate::saved::{self, html_file};
use fleet::coordinator::{Abort, Ended, LEASE_EVERY, Outcome};
use fleet::message::{FromAgent, Hash, RunId, ToAgent};
use fleet::transport::nats::{BusOptions, CallError, NatsToAgents};
use fleet::transport::{self, CoordinatorTransport, PipesToAgents, SendError};
use loads::MadeRun;
use plan_text::PlanText;
use program::Program;
use remote::{Launcher, Remote};
use report::escape::{bounded, escape};
use report::number::{bytes, plural};
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};
use store::StoreErrorKind;

/// Default of `--start-spread`.
const SPREAD_MAX: Duration = Duration::from_millis(5);
/// Time after which a silent agent is lost. A running agent sends a record per second.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Maximum time for the preparation of an agent, which may list a bucket or log in.
const PREPARE_MAX: Duration = Duration::from_secs(600);
/// Default of `--agents-wait`.
const AGENTS_WAIT: Duration = Duration::from_secs(30);
/// A longer wait for agents is shown to the user.
const TELL_AFTER: Duration = Duration::from_secs(2);
/// Maximum length of the reason for a loss, which may be text from an agent.
const LOSS_MAX: usize = 600;
/// Environment variable with the default of `--ssh`.
const SSH_VARIABLE: &str = "PLIMSOLL_SSH";

/// Agents that are connected, and that make one load after the other. Dropping it ends the connections.
pub struct Agents {
    /// The agents that were not lost.
    members: Vec<Member>,
    /// Names of the agents that were lost.
    lost: Vec<String>,
    // Dropped before `remotes`, which waits for the agents: an agent that ssh started ends when its pipes are closed.
    transport: Box<dyn CoordinatorTransport>,
    /// The processes that keep the connections.
    remotes: Vec<Remote>,
    /// The hash of this program.
    build: Hash,
    /// Name of the runs of these agents. The name of each run has a number in addition.
    run: RunId,
    /// Number of runs so far.
    made: u32,
    /// Time of the last message that renewed the agents' leases.
    leased: Instant,
}

/// An agent.
struct Member {
    /// Its number in the transport.
    number: usize,
    name: String,
}

impl Agents {
    /// Connects to agents.
    pub fn connect(args: &machines::Args, machines: Machines, count: NonZeroUsize) -> Result<Self, Failure> {
        execute::prepare_process();
        let program = Program::of_this_process()?;
        let name = format!("{}-{:06x}", saved::unix_ms() / 1000, unique());
        let run = RunId::try_from(name).map_err(Failure::could_not_run)?;
        let (names, transport, remotes): Connections = match machines {
            Machines::Hosts(hosts) => {
                start_all(ssh(args.ssh.as_deref())?, args.agent_program.clone(), hosts.0, &program)?
            }
            Machines::Bus(options) => call_all(args, count, &options, &run)?,
        };
        let members = names.into_iter().enumerate().map(|(number, name)| Member { number, name }).collect();
        let (build, leased) = (program.hash(), Instant::now());
        Ok(Self { members, lost: Vec::new(), transport, remotes, build, run, made: 0, leased })
    }

    /// Returns the name of the next run.
    fn next_run(&mut self) -> Result<RunId, Failure> {
        self.made += 1;
        RunId::try_from(format!("{}-{}", self.run.as_str(), self.made)).map_err(Failure::could_not_run)
    }

    /// Forgets the agents that were lost in a run. Its agents are the first members.
    fn forget_lost(&mut self, ended: &Ended) {
        for (index, agent) in ended.agents.iter().enumerate().rev() {
            if agent.loss.is_some() && index < self.members.len() {
                self.lost.push(self.members.remove(index).name);
            }
        }
    }

    /// Sends a message to a member.
    fn send(&mut self, index: usize, message: &ToAgent) -> Result<(), SendError> {
        let number = self.members.get(index).map(|member| member.number).ok_or(SendError::Closed)?;
        self.transport.send(number, message)
    }

    /// Returns the next message or event of a member. Ignores those of agents that were lost.
    fn receive(&mut self, wait: Duration) -> Option<(usize, transport::Received<FromAgent>)> {
        let (number, received) = self.transport.receive(wait)?;
        let index = self.members.iter().position(|member| member.number == number)?;
        Some((index, received))
    }

    /// Returns the last error message of a member's host.
    fn last_error(&self, index: usize) -> Option<String> {
        self.members.get(index).and_then(|member| self.remotes.get(member.number)).and_then(Remote::last_error)
    }

    /// Renews the leases of all agents, if this is due. Agents that have ended a load, or that do not take part in it, wait for
    /// the next one. Call this function again and again.
    pub fn renew_leases(&mut self) {
        // While the bus is away, leases do not run out, and messages would only fill the queues.
        if self.leased.elapsed() < LEASE_EVERY || self.transport.is_away() {
            return;
        }
        self.leased = Instant::now();
        for index in 0..self.members.len() {
            // Ignore a failure, because the next load reports an agent that is gone.
            let _ = self.send(index, &ToAgent::Lease);
        }
    }
}

/// The names of agents, the connections to them, and the processes that keep these connections.
type Connections = (Vec<String>, Box<dyn CoordinatorTransport>, Vec<Remote>);

/// Makes the load of the command of this process on these machines, and shows the result.
pub fn run(mut command: LoadCommand, machines: Machines) -> Result<ExitCode, Failure> {
    let words = words()?;
    let count = check(&mut command, &machines, &words)?;
    if let LoadCommand::Fill(args) = &command {
        return fill::run(args, words, machines, count);
    }
    command.common().output.check_files()?;
    let directory = match &command {
        LoadCommand::Line(args) => line::directory(args),
        _ => directory(&mut command),
    };
    check_unused(&directory)?;
    let fleet = command.common().fleet.clone();
    let mut agents = Agents::connect(&fleet, machines, count)?;
    let mut loads = agents.assign(words, &fleet)?;
    match command {
        LoadCommand::Line(args) => {
            let options = load::run_options(args.common().0);
            line::search_with(&args, count, &directory, &options.progress, &mut loads)?;
            drop(agents);
            line::show(&args, &directory, &options)
        }
        other => {
            let options = load::run_options(other.common());
            let made = loads.make_run(&directory, &options, fleet.scaling)?;
            drop(agents);
            show(&other, &made, &directory, &options)
        }
    }
}

/// Shows the result of a run.
fn show(
    command: &LoadCommand,
    MadeRun { run, ended }: &MadeRun,
    directory: &Path,
    options: &RunOptions,
) -> Result<ExitCode, Failure> {
    let output = &command.common().output;
    saved::print_run(run, options.format)?;
    let exit = interrupted().unwrap_or(Exit::Good).or_worse(saved::conclude(run)).or_worse(all_lost(ended));
    console::eprintln(&saved::saved_in(directory, options.format));
    output.ci.write(directory)?;
    if let Some(file) = &output.html {
        html_file::write_page(&report::html(run), directory, file.as_deref())?;
    }
    Ok(exit.into())
}

/// Refuses flags that several hosts do not support yet, and mistakes that can be found without an agent. `words` is the
/// command line. Returns the number of machines.
pub fn check(command: &mut LoadCommand, machines: &Machines, words: &[String]) -> Result<NonZeroUsize, Failure> {
    if let Machines::Bus(options) = machines {
        options.check().map_err(|error| bus::unusable(&error))?;
    }
    if let LoadCommand::Fill(args) = command {
        args.check()?;
        args.check_hosts()?;
        // These need nothing from other hosts.
        Budget::of(args)?;
        put::object_set(&args.put)?;
    }
    let fleet = &command.common().fleet;
    let count = fleet
        .count()
        .ok_or_else(|| Failure::usage("--fleet needs the number of agents that make the load: add --agents N"))?;
    let mut urls = command.urls_mut().clone();
    plan_text::refuse_standard_input(command)?;
    let common = command.common();
    let output = &common.output;
    let refused = [
        ("--repeat", output.repeat.get() > 1),
        ("--probe", common.load.probe.is_some()),
        ("--abort-when", !common.checks.abort_when.is_empty()),
        ("--link", common.connections.link.is_some()),
    ];
    let refused = refused.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag));
    if let Some(other) = refused.or(output.live_metrics.given()) {
        return Err(machines.refusal(other));
    }
    if common.fleet.tolerate_lost.is_some_and(|lost| lost >= count.get()) {
        return Err(Failure::usage("--tolerate-lost: at least one host must remain"));
    }
    if matches!(command, LoadCommand::Line(_)) && common.fleet.scaling {
        return Err(Failure::usage("--scaling: a search measures no host alone, so leave it out"));
    }
    if matches!(command, LoadCommand::Line(_)) && common.fleet.tolerate_lost.is_some() {
        return Err(Failure::usage("--tolerate-lost: a search needs all of its hosts, so leave it out"));
    }
    if common.fleet.pair {
        plan_text::pair(&mut urls, 0, count.get())?;
    }
    if let LoadCommand::Line(args) = command {
        line::check_on(args, count)?;
    }
    PlanText { words: words.to_vec(), search: None, fill: None }.write()?;
    Ok(count)
}

/// Returns the words of this process's command line.
fn words() -> Result<Vec<String>, Failure> {
    let words = std::env::args_os().skip(1).map(OsString::into_string);
    let words: Result<Vec<String>, _> = std::iter::once(Ok("plimsoll".to_owned())).chain(words).collect();
    words.map_err(|word| {
        Failure::usage(format!("the argument {word:?} is not UTF-8, but a run on several hosts needs UTF-8 arguments"))
    })
}

/// Returns the words of the command that connects to a host. `flag` is the value of `--ssh`.
fn ssh(flag: Option<&str>) -> Result<Vec<String>, Failure> {
    let from_environment = || std::env::var(SSH_VARIABLE).ok().filter(|command| !command.trim().is_empty());
    let command = flag.map(str::to_owned).or_else(from_environment).unwrap_or_else(|| "ssh".to_owned());
    remote::words(&command).map_err(|_| {
        Failure::usage("--ssh: the command is empty, or a quote is not closed; use for example 'ssh -F FILE'")
    })
}

/// Returns a number that distinguishes a run from other runs of the same second, and an agent from other agents of the
/// same host.
pub fn unique() -> u32 {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    (std::process::id().wrapping_mul(0x9E37_79B9) ^ nanos) & 0x00FF_FFFF
}

/// Returns the run directory of the merged run.
fn directory(command: &mut LoadCommand) -> PathBuf {
    let first = command.urls_mut().first().cloned().unwrap_or_default();
    command.common().output.out.clone().unwrap_or_else(|| saved::default_directory(&first))
}

/// Refuses a directory that contains a run.
fn check_unused(directory: &Path) -> Result<(), Failure> {
    let is_used = [store::RECORDS_FILE, received::AGENTS, alone::DIRECTORY];
    if is_used.iter().any(|name| directory.join(name).exists()) {
        let directory = directory.display();
        return Err(Failure::could_not_run(format!("{directory} {}", StoreErrorKind::Exists)));
    }
    Ok(())
}

/// Calls the agents that wait on the bus.
fn call_all(
    args: &machines::Args,
    count: NonZeroUsize,
    options: &BusOptions,
    run: &RunId,
) -> Result<Connections, Failure> {
    let wait = args.agents_wait.unwrap_or(AGENTS_WAIT);
    let begun = Instant::now();
    let mut is_told = false;
    let goes_on = || {
        if !is_told && begun.elapsed() > TELL_AFTER {
            is_told = true;
            console::eprintln(&format!("waiting for {} at {}", plural(count.get() as u64, "free agent"), options.url));
        }
        interrupted().is_none()
    };
    let called = NatsToAgents::call(options, run, count, wait, goes_on);
    let transport = called.map_err(|error| call_failed(&error, &options.url))?;
    let names = transport.names();
    Ok((names, Box::new(transport), Vec::new()))
}

fn call_failed(error: &CallError, url: &str) -> Failure {
    match error {
        CallError::Bus(error) => bus::unusable(error),
        CallError::TooFew { .. } => Failure::could_not_run(format!(
            "no run was made: {error}; start `plimsoll agent --fleet {url}` on more hosts, or wait longer with --agents-wait"
        )),
        CallError::Interrupted => progress::requests_interrupted(error.to_string()),
    }
}

/// Starts all agents at the same time. Fails with the first host, in the order of the user, on which this fails.
fn start_all(
    ssh: Vec<String>,
    path: Option<String>,
    names: Vec<String>,
    program: &Program,
) -> Result<Connections, Failure> {
    let launcher = Launcher { ssh, program, path };
    let size = bytes(launcher.program.size());
    let start = |name: &String| {
        let copying = || console::eprintln(&format!("copying plimsoll ({size}) to {name}"));
        launcher.start(name, copying)
    };
    let started: Vec<Result<_, String>> = thread::scope(|scope| {
        let starting: Vec<_> = names.iter().map(|name| scope.spawn(|| start(name))).collect();
        let defect = || Err("starting the agent failed because of a defect of this program".to_owned());
        starting.into_iter().map(|thread| thread.join().unwrap_or_else(|_| defect())).collect()
    });
    let failed = started.iter().filter(|started| started.is_err()).count();
    let named = started.into_iter().zip(&names);
    let agents = named.map(|(started, name)| {
        started.map_err(|why| {
            let more = if failed > 1 {
                format!(" (and {} failed too)", plural(failed as u64 - 1, "other host"))
            } else {
                String::new()
            };
            Failure::could_not_run(format!(
                "cannot start an agent on {name}: {why}{more}; check that `ssh {name}` works without a password"
            ))
        })
    });
    let (remotes, pipes): (Vec<_>, Vec<_>) = agents.collect::<Result<Vec<_>, Failure>>()?.into_iter().unzip();
    Ok((names, Box::new(PipesToAgents::new(pipes)), remotes))
}

/// Returns the end of a load that was made.
fn ended(outcome: Outcome) -> Result<Ended, Failure> {
    match outcome {
        Outcome::Ended(ended) => Ok(ended),
        Outcome::Aborted(abort) => Err(aborted(&abort)),
    }
}

fn aborted(abort: &Abort) -> Failure {
    match abort {
        Abort::Interrupted => progress::requests_interrupted(abort.to_string()),
        _ => Failure::could_not_run(format!("no run was made: {abort}")),
    }
}

/// Returns the exit code for a run in which no agent reached its end, and prints why. Returns [`Exit::Good`] for other
/// runs.
fn all_lost(ended: &Ended) -> Exit {
    loss_of_all(ended).map_or(Exit::Good, |why| {
        console::eprintln(&format!("plimsoll: {why} (exit code 4)"));
        Exit::CouldNotRun
    })
}

/// Returns the reason for the loss of all agents; `None` if an agent reached its end.
fn loss_of_all(ended: &Ended) -> Option<String> {
    let losses: Option<Vec<_>> = ended.agents.iter().map(|agent| Some((&agent.name, agent.loss.as_ref()?))).collect();
    let losses = losses?;
    let (name, loss) = losses.first()?;
    Some(format!("all agents were lost; {}: {}", escape(name), bounded(&loss.to_string(), LOSS_MAX)))
}

/// Returns the exit code of an interrupt, if there was one.
fn interrupted() -> Option<Exit> {
    (sys::signals::interrupts().count > 0).then(progress::exit_of_interrupt)
}

/// Returns the directory of the records of an agent. The number makes the name unique, and keeps names such as `..`
/// harmless.
fn agent_directory(base: &Path, index: usize, name: &str) -> PathBuf {
    base.join(received::AGENTS).join(format!("{}-{name}", index + 1))
}
