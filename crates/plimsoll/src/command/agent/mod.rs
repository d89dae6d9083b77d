//! `plimsoll agent`: makes a part of a run on several hosts. A coordinator starts it over ssh and talks to it over
//! standard input and output. With `--fleet`, the agent waits on a message bus, and takes part in one run after the other.
//!
//! This thread exchanges messages ([`session`]). Another thread prepares and makes the run ([`work`]). The run
//! directory stays on this host.

mod policy;
mod session;
mod work;

use crate::failure::{Exit, Failure};
use crate::hosts::bus;
use crate::hosts::clock::ProcessClock;
use crate::hosts::program::Program;
use crate::{console, execute, progress};
use fleet::agent::StopReason;
use fleet::message::Hash;
use fleet::transport::PipeToCoordinator;
use fleet::transport::nats::{AgentName, BusOptions, NatsAgent};
use policy::Policy;
use session::Session;
use std::io::{stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use sys::signals;

/// The flags of `agent`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// The message bus on which the agent waits for runs.
    #[command(flatten)]
    bus: bus::Args,
    /// End after one run.
    #[arg(long, requires = "fleet")]
    once: bool,
    /// YAML file with the loads that this host may make: targets, rate, concurrency, duration, verbs. See
    /// docs/fleet.md.
    #[arg(long, value_name = "FILE")]
    policy: Option<PathBuf>,
}

/// Time between two looks at interrupts while the agent waits for a run.
const TICK: Duration = Duration::from_millis(100);

/// The parts of an agent that all of its runs share.
pub struct Shared {
    /// The clock of the agent.
    clock: ProcessClock,
    /// The hash of this program.
    build: Hash,
    /// The loads that this host may make.
    policy: Arc<Policy>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let policy = Arc::new(args.policy.as_deref().map_or_else(|| Ok(Policy::default()), Policy::read)?);
    execute::prepare_process();
    let shared = Shared { clock: ProcessClock::start(), build: Program::of_this_process()?.hash(), policy };
    match args.bus.options() {
        Some(options) => wait_for_runs(&shared, &options, args.once),
        None => {
            let pipe = PipeToCoordinator::new(stdin(), stdout());
            exit_code(Session::new(&shared, Box::new(pipe)).run())
        }
    }
}

/// Takes part in the runs of coordinators on the bus, until an interrupt.
fn wait_for_runs(shared: &Shared, options: &BusOptions, once: bool) -> Result<ExitCode, Failure> {
    let name = AgentName::on_host(&execute::host_name(), crate::hosts::unique());
    let mut agent = NatsAgent::connect(options, name).map_err(|error| bus::unusable(&error))?;
    console::eprintln(&format!("agent {} waits for runs at {}", agent.name().as_str(), options.url));
    loop {
        if let Some(connection) = agent.next_run(TICK) {
            let run = connection.run().as_str().to_owned();
            let reason = Session::new(shared, Box::new(connection)).run();
            signals::forget_ordered();
            if once {
                return exit_code(reason);
            }
            console::eprintln(&format!("run {run}: {}", about(reason)));
        }
        if signals::arrived() > 0 {
            return Ok(progress::exit_of_interrupt().into());
        }
    }
}

/// Describes the end of a run.
fn about(reason: Option<StopReason>) -> String {
    match reason {
        Some(StopReason::Done) => "done".to_owned(),
        Some(StopReason::Refused(refusal)) => {
            format!("this agent refused to take part: the coordinator sent: {refusal}")
        }
        Some(StopReason::Aborted) => "the coordinator ended the run".to_owned(),
        Some(StopReason::LeaseLost) => "the coordinator was silent for too long, so the load was stopped".to_owned(),
        Some(StopReason::StartMissed) => "the order to start arrived too late".to_owned(),
        Some(StopReason::Failed) => "this agent could not make its part".to_owned(),
        None => "the connection to the coordinator ended, so the load was stopped".to_owned(),
    }
}

/// Returns the exit code of an agent that took part in one run.
fn exit_code(reason: Option<StopReason>) -> Result<ExitCode, Failure> {
    match reason {
        Some(StopReason::Done) => Ok(ExitCode::SUCCESS),
        None | Some(StopReason::LeaseLost) => Err(Failure::could_not_run(about(reason))),
        Some(_) => Ok(Exit::CouldNotRun.into()),
    }
}
