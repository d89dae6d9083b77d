//! `plimsoll agent`: makes a part of a run on several hosts. A coordinator starts it over ssh and talks to it over
//! standard input and output. With `--fleet`, the agent waits on a message bus, and works for one coordinator after the
//! other. A coordinator may make several runs one after the other, such as the levels of a search.
//!
//! This thread exchanges messages ([`session`]). Another thread prepares and makes the run ([`work`]). The run
//! directory stays on this host.
//!
//! When the coordinator orders an agent to stop, the agent behaves as if it had received a signal
//! (`sys::signals::count_as_received`). An agent makes all of its runs in one process, so it forgets these orders
//! between the runs (`sys::signals::forget_ordered`).

mod fill;
mod kept;
mod policy;
mod session;
mod work;

use crate::failure::{Exit, Failure};
use crate::hosts::clock::ProcessClock;
use crate::hosts::program::Program;
use crate::load::machines::bus;
use crate::{console, execute, progress};
use fleet::agent::StopReason;
use fleet::message::Hash;
use fleet::transport::nats::{AgentName, BusOptions, NatsAgent};
use fleet::transport::{AgentTransport, PipeToCoordinator};
use policy::Policy;
use session::SessionEnd;
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
    /// End after one command.
    #[arg(long, requires = "fleet")]
    once: bool,
    /// YAML file with limits for the loads that this host makes: allowed targets and commands, highest rate,
    /// concurrency and duration. See docs/fleet.md.
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
            let mut pipe = PipeToCoordinator::new(stdin(), stdout());
            exit_code(session::take_part(&shared, &mut pipe))
        }
    }
}

/// Takes part in the runs of coordinators on the bus, until an interrupt.
fn wait_for_runs(shared: &Shared, options: &BusOptions, once: bool) -> Result<ExitCode, Failure> {
    let name = AgentName::on_host(&execute::host_name(), crate::hosts::unique());
    let mut agent = NatsAgent::connect(options, name).map_err(|error| bus::unusable(&error))?;
    console::eprintln(&format!("agent {} waits for runs at {}", agent.name().as_str(), options.url));
    loop {
        if let Some(mut connection) = agent.next_run(TICK) {
            let run = connection.run().as_str().to_owned();
            let end = session::take_part(shared, &mut connection);
            // A further interrupt ends the wait for a coordinator, or for a bus, that may never come back.
            let seen = signals::arrived();
            connection.finish(&mut || signals::arrived() == seen);
            drop(connection);
            signals::forget_ordered();
            let is_question = end == SessionEnd::Asked { got_records: false };
            if once && !is_question {
                return exit_code(end);
            }
            // A coordinator may ask every few seconds until it finds the run.
            if !is_question {
                console::eprintln(&format!("run {run}: {}", about(end)));
            }
        }
        agent.check_permissions().map_err(|error| bus::unusable(&error))?;
        if signals::arrived() > 0 {
            return Ok(progress::exit_of_interrupt().into());
        }
    }
}

/// Describes the end of a run.
fn about(end: SessionEnd) -> String {
    match end {
        SessionEnd::NoRun => "the coordinator left before the run".to_owned(),
        SessionEnd::Asked { .. } => "a coordinator has collected an earlier run".to_owned(),
        SessionEnd::ConnectionLost => "the connection to the coordinator ended, so the load was stopped".to_owned(),
        SessionEnd::Run(reason) => match reason {
            StopReason::Done => "done".to_owned(),
            StopReason::Refused(refusal) => format!("this agent refused to take part in the run: {refusal}"),
            StopReason::Aborted => "the coordinator ended the run".to_owned(),
            StopReason::LeaseLost => "the coordinator was silent for too long, so the load was stopped".to_owned(),
            StopReason::StartMissed => "the order to start arrived too late".to_owned(),
            StopReason::Failed => "this agent could not make its part".to_owned(),
        },
    }
}

/// Returns the exit code of an agent that worked for one coordinator.
fn exit_code(end: SessionEnd) -> Result<ExitCode, Failure> {
    match end {
        SessionEnd::Run(StopReason::Done) | SessionEnd::Asked { .. } => Ok(ExitCode::SUCCESS),
        SessionEnd::NoRun | SessionEnd::ConnectionLost | SessionEnd::Run(StopReason::LeaseLost) => {
            Err(Failure::could_not_run(about(end)))
        }
        SessionEnd::Run(_) => Ok(Exit::CouldNotRun.into()),
    }
}
