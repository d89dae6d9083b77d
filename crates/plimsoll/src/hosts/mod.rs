//! Runs on several hosts (`--hosts`, `--fleet`): agents on the hosts make parts of one load, and this process
//! coordinates them.
//!
//! The crate [`fleet`] has the protocol and its rules, and the message bus ([`machines`] has the flags). This module starts
//! agents over ssh ([`remote`]), or calls those that wait on the bus. It carries out the decisions of the coordinator
//! ([`coordinate`]), saves what the agents send ([`received`]) and merges it into one run ([`result`]). A search for the
//! load line makes several such runs on the same agents ([`search`]), and watches their objectives ([`watch`]). Before a
//! run, the first agent can make its part alone ([`alone`]), which shows how the load scales. A fill is divided into
//! shares, whose journals stay with the agents ([`fill`]). If a coordinator is killed, another one collects the run
//! ([`collect`]). The other end is `command/agent`.

mod alone;
pub mod clock;
pub mod collect;
mod coordinate;
mod fill;
pub mod plan_text;
pub mod program;
mod received;
mod remote;
mod result;
mod search;
mod watch;

pub use watch::SentSlices;

use crate::command::line::{self, MonitorOfLevel};
use crate::command::load_command::LoadCommand;
use crate::console;
use crate::execute;
use crate::failure::{Exit, Failure};
use crate::load;
use crate::load::machines::{self, Machines, bus};
use crate::progress::{self, Progress};
use crate::saved::{self, html_file};
use coordinate::Fleet;
use fleet::coordinator::{Abort, Ended, LEASE_EVERY, Outcome, Settings};
use fleet::message::{RunId, ToAgent};
use fleet::transport::nats::{BusOptions, CallError, NatsToAgents};
use fleet::transport::{CoordinatorTransport, PipesToAgents};
use plan_text::PlanText;
use program::Program;
use received::Received;
use remote::{Launcher, Remote};
use report::escape::bounded;
use report::number::{bytes, plural};
use std::ffi::OsString;
use std::num::{NonZeroU64, NonZeroUsize};
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

/// Agents that are connected, and the values that all of their runs share. Dropping it ends the connections.
pub struct Agents {
    names: Vec<String>,
    // Dropped before `remotes`, which waits for the agents: an agent that ssh started ends when its pipes are closed.
    transport: Box<dyn CoordinatorTransport>,
    /// The processes that keep the connections.
    remotes: Vec<Remote>,
    /// The settings of a run of the command on these agents.
    settings: Settings,
    plan: PlanText,
    /// Number of loads of a search that were made.
    made: u32,
    /// Time of the last message that renewed the agents' leases between two loads.
    leased: Instant,
}

impl Agents {
    /// Connects to agents for the command of this process.
    pub fn connect(args: &machines::Args, machines: Machines, count: NonZeroUsize) -> Result<Self, Failure> {
        let plan = PlanText { words: words()?, search: None, fill: None };
        let text = plan.write()?;
        execute::prepare_process();
        let program = Program::of_this_process()?;
        let settings = settings(args, &program, text, count)?;
        let (names, transport, remotes): Connections = match machines {
            Machines::Hosts(hosts) => {
                start_all(ssh(args.ssh.as_deref())?, args.agent_program.clone(), hosts.0, &program)?
            }
            Machines::Bus(options) => call_all(args, count, &options, &settings.run)?,
        };
        Ok(Self { names, transport, remotes, settings, plan, made: 0, leased: Instant::now() })
    }

    /// Makes one load on the first `count` agents, which send their records to `directory`. Returns the outcome, and what
    /// the agents sent. The other agents wait.
    fn make_load<'m>(
        &mut self,
        settings: &Settings,
        count: usize,
        (directory, progress): (&Path, &Progress),
        monitor: Option<MonitorOfLevel<'m>>,
    ) -> Result<(Outcome, Received<'m>), Failure> {
        let names: Vec<String> = self.names.iter().take(count).cloned().collect();
        let received = Received::new(directory, &names, progress.clone(), monitor);
        Fleet::new(settings.clone(), names, self, received).run()
    }

    /// Returns the name of one of several runs of these agents.
    fn run_id(&self, part: impl std::fmt::Display) -> Result<RunId, Failure> {
        RunId::try_from(format!("{}-{part}", self.settings.run.as_str())).map_err(Failure::could_not_run)
    }

    /// Renews the leases of the agents from this number on, which wait for their next load.
    fn renew_leases(&mut self, first: usize) {
        // While the bus is away, leases do not run out, and messages would only fill the queues.
        if self.leased.elapsed() < LEASE_EVERY || self.transport.is_away() {
            return;
        }
        self.leased = Instant::now();
        for agent in first..self.names.len() {
            // Ignore a failure, because the next load reports an agent that is gone.
            let _ = self.transport.send(agent, &ToAgent::Lease);
        }
    }
}

/// The names of agents, the connections to them, and the processes that keep these connections.
type Connections = (Vec<String>, Box<dyn CoordinatorTransport>, Vec<Remote>);

/// Makes the load of a command on these machines, and shows the result.
pub fn run(mut command: LoadCommand, machines: Machines) -> Result<ExitCode, Failure> {
    let count = check(&mut command, &machines)?;
    match command {
        LoadCommand::Line(args) => {
            line::run_with(&args, NonZeroU64::try_from(count).unwrap_or(NonZeroU64::MIN), |base| {
                check_unused(base)?;
                Agents::connect(&args.common().0.fleet, machines, count)
            })
        }
        LoadCommand::Fill(args) => fill::run(&args, machines, count),
        mut other => run_once(&mut other, machines, count),
    }
}

fn run_once(command: &mut LoadCommand, machines: Machines, count: NonZeroUsize) -> Result<ExitCode, Failure> {
    let directory = directory(command)?;
    let common = command.common();
    common.output.check_files()?;
    let mut agents = Agents::connect(&common.fleet, machines, count)?;
    let (settings, options) = (agents.settings.clone(), load::run_options(common));
    console::eprintln(&format!("run {} on {}", settings.run.as_str(), plural(count.get() as u64, "agent")));
    let alone = if common.fleet.scaling { Some(alone::measure(&mut agents, &directory, &options)?) } else { None };
    let all = agents.names.len();
    let (outcome, received) = agents.make_load(&settings, all, (&directory, &options.progress), None)?;
    drop(agents);
    let ended = ended(outcome)?;
    let run = result::merge(&settings, &ended, &received, alone, &directory)?;
    saved::print_run(&run, options.format)?;
    let exit = interrupted().unwrap_or(Exit::Good).or_worse(saved::conclude(&run)).or_worse(all_lost(&ended));
    console::eprintln(&saved::saved_in(&directory, options.format));
    common.output.ci.write(&directory)?;
    if let Some(file) = &common.output.html {
        html_file::write_page(&report::html(&run), &directory, file.as_deref())?;
    }
    Ok(exit.into())
}

/// Refuses flags that several hosts do not support yet, and mistakes that can be found without an agent. Returns the
/// number of machines.
fn check(command: &mut LoadCommand, machines: &Machines) -> Result<NonZeroUsize, Failure> {
    if let Machines::Bus(options) = machines {
        options.check().map_err(|error| bus::unusable(&error))?;
    }
    let (flag, fleet) = (machines.flag(), &command.common().fleet);
    let count = match machines {
        Machines::Hosts(hosts) => NonZeroUsize::new(hosts.0.len()).unwrap_or(NonZeroUsize::MIN),
        Machines::Bus(_) => fleet
            .agents
            .ok_or_else(|| Failure::usage("--fleet needs the number of agents that make the load: add --agents N"))?,
    };
    let mut urls = command.urls_mut().clone();
    plan_text::refuse_standard_input(command)?;
    let common = command.common();
    let output = &common.output;
    let refused = [
        ("--repeat", output.repeat.get() > 1),
        ("--probe", common.load.probe.is_some()),
        ("--abort-when", !common.checks.abort_when.is_empty()),
        ("--collect", !output.collect.is_empty()),
        ("--metrics", output.live_metrics.metrics.is_some()),
        ("--otlp", output.live_metrics.otlp.is_some()),
        ("--link", common.connections.link.is_some()),
    ];
    if let Some((other, _)) = refused.into_iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!("{flag} does not support {other} yet: leave one of them out")));
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

fn settings(args: &machines::Args, program: &Program, plan: String, count: NonZeroUsize) -> Result<Settings, Failure> {
    let name = format!("{}-{:06x}", saved::unix_ms() / 1000, unique());
    let run = RunId::try_from(name).map_err(Failure::could_not_run)?;
    Ok(Settings {
        build: program.hash(),
        run,
        plan,
        spread_max: args.start_spread.unwrap_or(SPREAD_MAX),
        silence_max: SILENCE_MAX,
        prepare_max: PREPARE_MAX,
        tolerate_lost: args.tolerate_lost.unwrap_or(0),
        // At most `AGENTS_MAX`.
        parts: u32::try_from(count.get()).unwrap_or(u32::MAX),
    })
}

/// Returns a number that distinguishes a run from other runs of the same second, and an agent from other agents of the
/// same host.
pub fn unique() -> u32 {
    let nanos = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default().subsec_nanos();
    (std::process::id().wrapping_mul(0x9E37_79B9) ^ nanos) & 0x00FF_FFFF
}

/// Returns the run directory of the merged run, which must not contain a run yet.
fn directory(command: &mut LoadCommand) -> Result<PathBuf, Failure> {
    let first = command.urls_mut().first().cloned().unwrap_or_default();
    let directory = command.common().output.out.clone().unwrap_or_else(|| saved::default_directory(&first));
    check_unused(&directory)?;
    Ok(directory)
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

/// Fails if an agent was lost. `what` needs all agents, for example because the levels of a search must all have the same
/// agents.
fn refuse_losses(ended: &Ended, what: &str) -> Result<(), Failure> {
    let lost = ended.agents.iter().find_map(|agent| Some((&agent.name, agent.loss.as_ref()?)));
    lost.map_or(Ok(()), |(name, loss)| {
        let loss = bounded(&loss.to_string(), LOSS_MAX);
        Err(Failure::could_not_run(format!("{name} was lost, and {what} needs all of its hosts: {loss}")))
    })
}

/// Returns the exit code for a run in which no agent reached its end, and prints why. Returns [`Exit::Good`] for other
/// runs.
fn all_lost(ended: &Ended) -> Exit {
    let losses: Option<Vec<_>> = ended.agents.iter().map(|agent| Some((&agent.name, agent.loss.as_ref()?))).collect();
    match losses.as_deref() {
        Some([(name, loss), ..]) => {
            let loss = bounded(&loss.to_string(), LOSS_MAX);
            console::eprintln(&format!("plimsoll: all agents were lost; {name}: {loss} (exit code 4)"));
            Exit::CouldNotRun
        }
        _ => Exit::Good,
    }
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
