//! `plimsoll link`: emulated paths with a given rate and delay between a client and a target.

mod guard;
mod hold;
mod show;

use crate::console;
use crate::emulated_link::{self, LinkName};
use crate::failure::{Exit, Failure};
use hold::RelayArgs;
use link::state::{Record, Side};
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};
use sys::process::Handle;

pub use hold::{Held, Holder, PathArgs};

/// The flags of `link`.
#[derive(clap::Args, Debug)]
#[command(disable_help_subcommand = true, after_help = AFTER)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

const AFTER: &str = "  plimsoll link run --down 1Gbit/s,40ms -- plimsoll serve --listen 198.18.0.2:8080
  plimsoll get --link http://198.18.0.2:8080/blackhole/100MiB         (in another terminal)

A link is measured before it can be used. It never touches the interfaces of this host. docs/link.md explains what is
emulated, and how to shape the path to a real remote server.";

/// An action on links.
#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Makes a link, and runs a server at its far end until the server ends or is interrupted.
    Run(RunArgs),
    /// Makes a link that stays until `link down`.
    Up(PathArgs),
    /// Makes a relay to a target, with rate and delay. Needs no permission, and works with remote targets.
    Relay(RelayArgs),
    /// Removes links.
    Down(DownArgs),
    /// Lists links with their description, measurement and traffic.
    Status(StatusArgs),
    /// Runs a command, such as curl or wrk, at the near end of a link.
    Exec(ExecArgs),
    /// Holds a link for another process of this program.
    #[command(hide = true)]
    Hold(PathArgs),
    /// Cleans up after a link if its owner is killed.
    #[command(hide = true)]
    Guard,
}

#[derive(clap::Args, Debug)]
struct RunArgs {
    #[command(flatten)]
    path: PathArgs,
    /// Command of the server, after `--`. It must listen on 198.18.0.2 or on all addresses.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<std::ffi::OsString>,
}

#[derive(clap::Args, Debug)]
struct DownArgs {
    /// Numbers of the links [default: the only one].
    #[arg(value_name = "NUMBER")]
    links: Vec<u32>,
    /// Remove all links of this user.
    #[arg(long, conflicts_with = "links")]
    all: bool,
}

#[derive(clap::Args, Debug)]
struct StatusArgs {
    /// Print as JSON.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args, Debug)]
struct ExecArgs {
    /// Number of the link [default: the only one].
    #[arg(long, value_name = "NUMBER", default_value = LinkName::ONLY, hide_default_value = true)]
    link: LinkName,
    /// Run the command at the far end.
    #[arg(long)]
    far: bool,
    /// The command, after `--`.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<std::ffi::OsString>,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    match &args.action {
        Action::Run(args) => hold::run_server(&args.path, &args.command),
        Action::Up(args) => up(args),
        Action::Relay(args) => hold::relay(args),
        Action::Down(args) => down(args),
        Action::Status(args) => status(args),
        Action::Exec(args) => exec(args),
        Action::Hold(args) => hold::hold(args),
        Action::Guard => guard::run(),
    }
}

/// Creates a link that outlives this process.
fn up(args: &PathArgs) -> Result<ExitCode, Failure> {
    let held = Holder::start(args, Held::UntilDown)?;
    console::print(&show::ready(held.record(), None))?;
    held.leave();
    Ok(ExitCode::SUCCESS)
}

fn status(args: &StatusArgs) -> Result<ExitCode, Failure> {
    let failed = |error| Failure::could_not_run(format!("cannot read the records of links: {error}"));
    let registry = emulated_link::registry()?;
    report_cleaned(&registry.clean().map_err(failed)?);
    let running = registry.running().map_err(failed)?;
    if args.json {
        let json = serde_json::to_string_pretty(&running).map_err(|error| Failure::could_not_run(error.to_string()))?;
        console::print(&format!("{json}\n"))?;
    } else if running.is_empty() {
        console::print("no links\n")?;
    } else {
        console::print(&running.iter().map(show::status).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a message about links that killed processes had left behind and that were now removed.
fn report_cleaned(cleaned: &[link::state::Cleaned]) {
    for link in cleaned {
        console::eprintln(&show::cleaned(link));
    }
}

/// Maximum wait for the owner of a link to end by itself.
const END_MAX: Duration = Duration::from_secs(10);
/// Interval at which the records are read again.
const LOOK: Duration = Duration::from_millis(20);

fn down(args: &DownArgs) -> Result<ExitCode, Failure> {
    let failed = |error| Failure::could_not_run(format!("cannot read the records of links: {error}"));
    let registry = emulated_link::registry()?;
    report_cleaned(&registry.clean().map_err(failed)?);
    let links = match (args.all, args.links.as_slice()) {
        (true, _) => registry.running().map_err(failed)?,
        (false, []) => vec![emulated_link::find(LinkName::Only)?],
        (false, numbers) => {
            numbers.iter().map(|number| emulated_link::find(LinkName::Of(*number))).collect::<Result<_, _>>()?
        }
    };
    for link in &links {
        end(link)?;
        console::print(&format!("removed link {}\n", link.owner.process))?;
    }
    if links.is_empty() {
        console::print("no links\n")?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Ends the owner of a link, and waits until the link is gone.
fn end(link: &Record) -> Result<(), Failure> {
    let process = link.owner.process;
    let failed = |error: std::io::Error| Failure::could_not_run(format!("cannot end link {process}: {error}"));
    // If the owner has just ended, there is nothing to do.
    let Ok(owner) = Handle::open(process) else { return Ok(()) };
    if link.state() == link::state::LinkState::Abandoned {
        return Ok(());
    }
    owner.ask_to_end().map_err(failed)?;
    let begun = Instant::now();
    while link.state() == link::state::LinkState::Running {
        if begun.elapsed() > END_MAX {
            return owner.kill().map_err(failed);
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Replaces this process with the command, which then runs at an end of the link.
fn exec(args: &ExecArgs) -> Result<ExitCode, Failure> {
    let record = emulated_link::find(args.link)?;
    let failed = |error: &dyn std::fmt::Display| Failure::could_not_run(format!("link exec: {error}"));
    record.prepare_to_enter().map_err(|error| failed(&error))?;
    let side = if args.far { Side::Far } else { Side::Near };
    let Some(network) = record.network(side).map_err(|error| failed(&error))? else {
        return Err(Failure::usage(
            "a relay has no ends: send load to its address, which `plimsoll link status` shows",
        ));
    };
    network.enter().map_err(|error| failed(&error))?;
    let mut words = args.command.iter();
    let program = words.next().map(std::ffi::OsString::as_os_str).unwrap_or_default();
    let mut command = Command::new(program);
    let error = command.args(words).exec();
    let program = program.to_string_lossy();
    Err(Failure::Message(Exit::CouldNotRun, format!("cannot run `{program}`: {error}")))
}
