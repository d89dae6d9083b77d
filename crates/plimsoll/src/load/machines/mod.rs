//! The flags of a run on several hosts. The module `hosts` makes the run.

pub mod bus;

use super::{count, positive_span};
use crate::failure::Failure;
pub use bus::HEADING;
use fleet::hosts::{AGENTS_MAX, parse_hosts};
use measure::units::format_span;
use std::num::NonZeroUsize;
use std::path::PathBuf;
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
    Failure::usage(format!("{} works with get, put, mix, line, fill and run", machines.flag()))
}

/// The machines that make a load together.
pub enum Machines {
    /// Hosts on which ssh starts agents.
    Hosts(Hosts),
    /// Agents that wait on a message bus.
    Bus(fleet::transport::nats::BusOptions),
}

impl Machines {
    /// Returns the failure for another flag that several machines do not support yet.
    pub fn refusal(&self, other: &str) -> Failure {
        Failure::usage(format!("{} does not support {other} yet: leave one of them out", self.flag()))
    }

    /// Returns the flag that names machines of this kind.
    pub fn flag(&self) -> &'static str {
        match self {
            Self::Hosts(_) => "--hosts",
            Self::Bus(_) => "--fleet",
        }
    }
}

impl Args {
    /// Returns the number of machines, if it is known.
    pub fn count(&self) -> Option<NonZeroUsize> {
        self.hosts.as_ref().and_then(|hosts| NonZeroUsize::new(hosts.0.len())).or(self.agents)
    }

    /// Returns these flags with at most this number of machines, which are the first ones.
    pub fn first(mut self, count: NonZeroUsize) -> Self {
        self.hosts.iter_mut().for_each(|hosts| hosts.0.truncate(count.get()));
        self.agents = self.agents.map(|agents| agents.min(count));
        self
    }

    /// Returns the words of a command line with these flags.
    pub fn words(&self) -> Vec<String> {
        let Self { hosts, bus, agents, agents_wait, ssh, pair, scaling, tolerate_lost, start_spread, agent_program } =
            self;
        let bus::Args { fleet, fleet_creds, fleet_ca } = bus;
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        let flag = |(name, value): (&str, Option<String>)| value.map(|value| format!("--{name}={value}"));
        let with_values = [
            ("hosts", hosts.as_ref().map(|hosts| hosts.0.join(","))),
            ("ssh", ssh.clone()),
            ("agent-program", agent_program.clone()),
            ("fleet", fleet.clone()),
            ("fleet-creds", path(fleet_creds)),
            ("fleet-ca", path(fleet_ca)),
            ("agents", agents.map(|agents| agents.to_string())),
            ("agents-wait", agents_wait.map(format_span)),
            ("tolerate-lost", tolerate_lost.map(|lost| lost.to_string())),
            ("start-spread", start_spread.map(format_span)),
        ];
        let switches = [("pair", *pair), ("scaling", *scaling)];
        let switches = switches.into_iter().filter(|(_, is_on)| *is_on).map(|(name, _)| format!("--{name}"));
        with_values.into_iter().filter_map(flag).chain(switches).collect()
    }

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
    use clap::Parser;

    #[derive(Parser, Debug)]
    struct Flags {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn the_words_of_flags_are_parsed_as_the_same_flags() {
        let parsed = |words: Vec<String>| {
            Flags::try_parse_from(std::iter::once("plimsoll".to_owned()).chain(words)).expect("valid flags").args
        };
        let of = |text: &str| parsed(text.split(' ').map(str::to_owned).collect());
        let hosts =
            of("--hosts=c-{1...3} --ssh=s --agent-program=/p --pair --scaling --tolerate-lost=1 --start-spread=1.5ms");
        let bus = of("--fleet=nats://b:1 --fleet-creds=/c --fleet-ca=/a --agents=3 --agents-wait=1m30s");
        for (flags, shown) in [
            (
                hosts.clone(),
                "--hosts=c-1,c-2,c-3 --ssh=s --agent-program=/p --tolerate-lost=1 --start-spread=1.5ms --pair --scaling",
            ),
            (
                hosts.first(NonZeroUsize::MIN),
                "--hosts=c-1 --ssh=s --agent-program=/p --tolerate-lost=1 --start-spread=1.5ms --pair --scaling",
            ),
            (bus, "--fleet=nats://b:1 --fleet-creds=/c --fleet-ca=/a --agents=3 --agents-wait=1m30s"),
        ] {
            assert_eq!(flags.words().join(" "), shown);
            assert_eq!(parsed(flags.words()).words().join(" "), shown);
        }
    }

    #[test]
    fn a_remote_path_cannot_be_a_command() {
        assert!(remote_path("/opt/plimsoll-1.0/plimsoll").is_ok() && remote_path("~/bin/plimsoll").is_ok());
        for text in ["", "plimsoll", "/a b", "/a;b", "/$(a)", "/a'b", "-x", "/a\nb"] {
            assert!(remote_path(text).is_err(), "{text}");
        }
    }
}
