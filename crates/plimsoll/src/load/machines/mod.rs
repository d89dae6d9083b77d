//! The flags of a run on several hosts. The module `hosts` makes the run.

pub mod bus;

use super::{count, positive_span};
use crate::failure::Failure;
use bus::HEADING;
use fleet::hosts::{AGENTS_MAX, parse_hosts};
use std::num::NonZeroUsize;
use std::time::Duration;

/// The flags of a run on several hosts.
#[derive(clap::Args, Clone, Debug)]
#[group(skip)]
pub struct Args {
    /// Generate the load on these hosts instead of this one, e.g. a,b or client-{1...6}. They are started over ssh.
    /// Rate, concurrency, operations and bytes are totals over all hosts. See docs/fleet.md.
    #[arg(
        long,
        value_name = "HOSTS",
        value_parser = parse_host_list,
        group = "machines",
        help_heading = HEADING,
        hide_short_help = true
    )]
    pub hosts: Option<Hosts>,
    /// The message bus.
    #[command(flatten)]
    pub bus: bus::Args,
    /// Number of agents that make the load together.
    #[arg(
        long,
        value_name = "N",
        value_parser = agents,
        requires = "fleet",
        help_heading = HEADING,
        hide_short_help = true
    )]
    pub agents: Option<NonZeroUsize>,
    /// Maximum time to wait until enough agents are free [default: 30s].
    #[arg(
        long,
        value_name = "TIME",
        value_parser = positive_span,
        requires = "fleet",
        help_heading = HEADING,
        hide_short_help = true
    )]
    pub agents_wait: Option<Duration>,
    /// Command that connects to a host, in place of ssh. It must accept the options of ssh [default: the environment
    /// variable PLIMSOLL_SSH, or ssh].
    #[arg(long, value_name = "COMMAND", requires = "hosts", help_heading = HEADING, hide_short_help = true)]
    pub ssh: Option<String>,
    /// Give each host its own server: host number i uses only URL number i.
    #[arg(long, requires = "machines", help_heading = HEADING, hide_short_help = true)]
    pub pair: bool,
    /// Before the run, let the first host make its part alone. The report then compares the rate of all hosts with this
    /// rate.
    #[arg(long, requires = "machines", help_heading = HEADING, hide_short_help = true)]
    pub scaling: bool,
    /// Number of hosts that may be lost after the start, for example by a crash. If more are lost, the result is
    /// PARTIAL.
    #[arg(
        long,
        value_name = "N",
        value_parser = count::<usize>,
        requires = "machines",
        help_heading = HEADING,
        hide_short_help = true
    )]
    pub tolerate_lost: Option<usize>,
    /// Maximum time between the starts of the first and the last agent [default: 5ms].
    #[arg(
        long,
        value_name = "TIME",
        value_parser = positive_span,
        requires = "machines",
        help_heading = HEADING,
        hide_short_help = true
    )]
    pub start_spread: Option<Duration>,
    /// Path of this version of plimsoll on each host [default: ~/.cache/plimsoll, where it is copied if it is missing].
    #[arg(
        long,
        value_name = "PATH",
        value_parser = remote_path,
        requires = "hosts",
        help_heading = HEADING,
        hide_short_help = true
    )]
    pub agent_program: Option<String>,
}

/// Hides the flags of a run on several hosts from the help text of a command that does not support them.
pub fn hide(flag: clap::Arg) -> clap::Arg {
    let is_of_hosts = flag.get_help_heading() == Some(HEADING);
    if is_of_hosts { flag.hide(true) } else { flag }
}

/// Refuses these flags, for commands that do not support them.
pub fn refuse(args: &super::Args) -> Result<(), Failure> {
    args.fleet.machines().map_or(Ok(()), |machines| Err(unsupported(&machines)))
}

/// Returns the failure for a command that does not support these machines.
fn unsupported(machines: &Machines) -> Failure {
    Failure::usage(format!("{} works with get, put, mix, line and fill", machines.flag()))
}

/// The machines that make a load together.
pub enum Machines {
    /// Hosts on which ssh starts agents.
    Hosts(Hosts),
    /// Agents that wait on a message bus.
    Bus(fleet::transport::nats::BusOptions),
}

impl Machines {
    /// Returns the flag that names machines of this kind.
    pub fn flag(&self) -> &'static str {
        match self {
            Self::Hosts(_) => "--hosts",
            Self::Bus(_) => "--fleet",
        }
    }
}

impl Args {
    /// Returns the machines, if a flag names them.
    pub fn machines(&self) -> Option<Machines> {
        let hosts = self.hosts.clone().map(Machines::Hosts);
        hosts.or_else(|| self.bus.options().map(Machines::Bus))
    }
}

fn agents(text: &str) -> Result<NonZeroUsize, String> {
    let number: NonZeroUsize = count(text)?;
    if number.get() <= AGENTS_MAX { Ok(number) } else { Err(format!("at most {AGENTS_MAX} agents make a run")) }
}

/// Names of hosts, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hosts(pub Vec<String>);

/// Parses the names of hosts.
pub fn parse_host_list(text: &str) -> Result<Hosts, String> {
    parse_hosts(text).map(Hosts).map_err(|error| error.to_string())
}

/// Parses a path on a host. It becomes part of a command of a shell, so it has only harmless characters.
pub fn remote_path(text: &str) -> Result<String, String> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+~".contains(&byte);
    let is_path = text.starts_with(['/', '~']) && text.bytes().all(allowed);
    if is_path {
        Ok(text.to_owned())
    } else {
        Err("use an absolute path of letters, digits and / . _ - + ~".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_remote_path_cannot_be_a_command() {
        assert!(remote_path("/opt/plimsoll-1.0/plimsoll").is_ok() && remote_path("~/bin/plimsoll").is_ok());
        for text in ["", "plimsoll", "/a b", "/a;b", "/$(a)", "/a'b", "-x", "/a\nb"] {
            assert!(remote_path(text).is_err(), "{text}");
        }
    }
}
