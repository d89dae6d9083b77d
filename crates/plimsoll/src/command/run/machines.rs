//! The machines on which a study makes its loads: other hosts, or this one. The flags of `run` and the key `machines`
//! of the scenario name them.
//!
//! The study adds the flags of its machines to the command of each trial, and connects to the agents once. The agents
//! get the commands one after the other (`Agents::assign`). Lost agents are not replaced. Everything else of a study
//! stays on this host: hooks, collectors and the servers of targets. While hooks run, this process renews the leases of
//! the agents.

use super::Planned;
use super::flag_mistakes::{flag_name, is_named, is_url};
use super::served_address::is_served;
use crate::command::load_command::LoadCommand;
use crate::failure::Failure;
use crate::hosts::{self, Agents};
use crate::input_file;
use crate::live_metrics;
use crate::load::machines::{self, HEADING, Machines};
use crate::usage_errors;
use clap::Parser;
use fleet::hosts::AGENTS_MAX;
use report::number::plural;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::num::NonZeroUsize;
use std::path::Path;
use study::matrix::TrialCommand;
use study::scenario::{AGENTS, Diagnostic, LINK, Position, Scenario, Setting};

/// The flags for machines.
#[derive(clap::Args, Clone, Debug)]
#[group(skip)]
pub struct Args {
    /// The machines, and how they make each load together.
    #[command(flatten)]
    pub machines: machines::Args,
    /// IP address of this host on which the servers of the study listen, so that other hosts reach them [default:
    /// 127.0.0.1].
    #[arg(long, value_name = "IP", value_parser = address, help_heading = HEADING, hide_short_help = true)]
    pub serve_at: Option<IpAddr>,
}

/// A parser that knows only these flags.
#[derive(Parser, Debug)]
#[command(name = "plimsoll")]
struct MachinesCli {
    #[command(flatten)]
    args: Args,
}

/// Settings that only several machines use. If this host makes the loads, they have no effect.
const LOAD_SETTINGS: [&str; 4] = ["pair", "scaling", "tolerate-lost", "start-spread"];

/// Settings of loads that have no effect in a fill, because its hosts need not start together.
const NOT_FOR_FILLS: [&str; 2] = ["scaling", "start-spread"];

/// Flags that name machines, and describe the way to them.
pub const NAMING: [&str; 7] = ["hosts", "ssh", "agent-program", "fleet", "fleet-creds", "fleet-ca", "agents-wait"];

/// The machines of a study.
pub struct StudyMachines {
    /// The flags of all machines, and their number; `None` if this host makes the loads.
    flags: Option<(machines::Args, NonZeroUsize)>,
    serve_at: Option<IpAddr>,
}

impl StudyMachines {
    /// This host, which makes the loads itself.
    pub const HERE: Self = Self { flags: None, serve_at: None };

    /// Returns the machines of a study. Flags of the command line that name machines replace those of the scenario.
    ///
    /// # Errors
    /// Returns the first mistake in the scenario.
    pub fn of(scenario: &Scenario, args: &Args) -> Result<Self, Diagnostic> {
        let Args { machines, serve_at } = of_file(&scenario.machines)?;
        let named = [&args.machines, &machines].into_iter().find(|flags| flags.machines().is_some());
        let with_count = |flags: &machines::Args| {
            let at = scenario.machines.first().map_or(Position::START, |setting| setting.at);
            let why = "`fleet` needs the number of agents that make the loads: add `agents`, or --agents N";
            flags.count().map(|count| (flags.clone(), count)).ok_or_else(|| Diagnostic::new(at, why))
        };
        Ok(Self { flags: named.map(with_count).transpose()?, serve_at: args.serve_at.or(serve_at) })
    }

    /// Returns the number of machines; `None` if this host makes the loads.
    pub fn count(&self) -> Option<NonZeroUsize> {
        self.flags.as_ref().map(|(_, count)| *count)
    }

    /// Returns the kind of machines; `None` if this host makes the loads.
    fn machines(&self) -> Option<Machines> {
        self.flags.as_ref().and_then(|(flags, _)| flags.machines())
    }

    /// Returns the IP address on which the servers of the study listen.
    pub fn serve_at(&self) -> IpAddr {
        self.serve_at.unwrap_or(Ipv4Addr::LOCALHOST.into())
    }

    /// Connects to the machines. Returns `None` if this host makes the loads.
    pub fn connect(&self) -> Result<Option<Agents>, Failure> {
        let (Some((flags, count)), Some(machines)) = (&self.flags, self.machines()) else { return Ok(None) };
        Agents::connect(flags, machines, *count).map(Some)
    }

    /// Refuses live metrics of loads that other hosts make.
    pub fn refuse(&self, live: &live_metrics::Args) -> Result<(), Failure> {
        let refused = self.machines().zip(live.given());
        refused.map_or(Ok(()), |(machines, other)| Err(machines.refusal(other)))
    }

    /// Returns a command with the flags of the machines that make its load.
    pub fn command(&self, mut command: TrialCommand) -> TrialCommand {
        let is_for_machines = |word: &String, names: &[&str]| names.iter().any(|name| is_flag(word, name));
        // Machines are no settings. Such settings are reported, with their position.
        command.arguments.retain(|word| !is_for_machines(word, &NAMING));
        let Some((flags, all)) = &self.flags else {
            command.arguments.retain(|word| !is_for_machines(word, &LOAD_SETTINGS));
            return command;
        };
        let all = *all;
        // A mistake in the number is reported, too.
        let count = command.agents.as_deref().and_then(|text| number(text, all).ok()).unwrap_or(all);
        let words = flags.clone().first(count).words();
        // Flags of the command line replace settings.
        command.arguments.retain(|word| {
            !LOAD_SETTINGS.iter().any(|name| is_flag(word, name) && words.iter().any(|other| is_flag(other, name)))
        });
        command.arguments.extend(words);
        if command.name == "fill" {
            command.arguments.retain(|word| !is_for_machines(word, &NOT_FOR_FILLS));
        }
        if !command.arguments.iter().any(|word| is_flag(word, "pair")) {
            return command;
        }
        command.arguments = command.arguments.into_iter().flat_map(with_urls).collect();
        if count < all {
            let mut urls = 0;
            command.arguments.retain(|word| {
                let is_url = flag_name(word).is_none() && is_url(word);
                urls += usize::from(is_url);
                !is_url || urls <= count.get()
            });
        }
        command
    }

    /// Returns the mistakes that only matter on several machines, each mistake only once.
    pub fn check(&self, planned: &[Planned]) -> Vec<Diagnostic> {
        let Some(count) = self.count() else { return Vec::new() };
        let mut faults: Vec<Diagnostic> = Vec::new();
        for trial in planned.iter().filter(|trial| trial.repeat == 0) {
            let fault = self.mistake(trial, count);
            faults.extend(fault.filter(|fault| !faults.contains(fault)));
        }
        faults
    }

    fn mistake(&self, trial: &Planned, count: NonZeroUsize) -> Option<Diagnostic> {
        let TrialCommand { link, agents, positions, .. } = &trial.command;
        let place = |names: &[&str]| {
            let found = positions.iter().rev().find(|(known, _)| names.contains(&known.as_str()));
            found.map_or(Position::START, |(_, at)| *at)
        };
        if link.is_some() {
            let why = "`link`: the emulated link begins at this host, but other hosts make the load; leave out `link`, or \
                       the machines";
            return Some(Diagnostic::new(place(&[LINK]), why));
        }
        if let Some(Err(why)) = agents.as_deref().map(|text| number(text, count)) {
            return Some(Diagnostic::new(place(&[AGENTS]), why));
        }
        if is_served(trial) && self.serve_at.is_none() {
            let why = format!(
                "the server of target `{}` would listen on 127.0.0.1, which other hosts cannot reach; name an address of \
                 this host with --serve-at IP, or with `serve-at` in `machines`",
                trial.target
            );
            return Some(Diagnostic::new(place(&["url", "url-file", "endpoint"]), why));
        }
        None
    }
}

/// Returns the URLs of the list that a word names. Hosts have their own files, but this host must know the URLs of a
/// pair. Returns other words unchanged, and also lists that cannot be read, which then have no URLs.
fn with_urls(word: String) -> Vec<String> {
    let Some(path) = word.strip_prefix("--url-file=") else { return vec![word] };
    let Ok(text) = input_file::read_text(Path::new(path)) else { return vec![word] };
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.take(AGENTS_MAX).map(str::to_owned).collect()
}

/// Checks the command of a trial, on the machines that it names.
pub fn check(command: &mut LoadCommand, trial: &TrialCommand) -> Result<(), Failure> {
    match command.common().fleet.machines() {
        None => command.check(),
        Some(machines) => hosts::check(command, &machines, &words(trial)).map(|_| ()),
    }
}

/// Returns the command line of a trial.
pub fn words(trial: &TrialCommand) -> Vec<String> {
    ["plimsoll".to_owned(), trial.name.clone()].into_iter().chain(trial.arguments.iter().cloned()).collect()
}

/// Returns the flags in the key `machines` of a scenario. Empty values count as not given, so that variables can leave a
/// key out.
fn of_file(settings: &[Setting]) -> Result<Args, Diagnostic> {
    let joined = |setting: &Setting| {
        let values = setting.values.iter().map(|(value, _)| value.as_str());
        let values: Vec<&str> = values.filter(|value| !value.is_empty()).collect();
        (setting.name.clone(), values.join(","))
    };
    if let Some(setting) = settings.iter().find(|setting| LOAD_SETTINGS.contains(&setting.name.as_str())) {
        let why = format!("`{}` is a setting of trials; write it in `settings`", setting.name);
        return Err(Diagnostic::new(setting.at, why));
    }
    let given = settings.iter().map(joined).filter(|(_, value)| !value.is_empty());
    let words: Vec<OsString> = std::iter::once("plimsoll".into())
        .chain(given.map(|(name, value)| OsString::from(format!("--{name}={value}"))))
        .collect();
    MachinesCli::try_parse_from(&words).map(|cli| cli.args).map_err(|error| {
        let message = usage_errors::explain::<MachinesCli>(&error, &words).into_message();
        let named = settings.iter().find(|setting| is_named(&message, &setting.name));
        let at = named.or(settings.first()).map_or(Position::START, |setting| setting.at);
        Diagnostic::new(at, message)
    })
}

/// Parses the number of agents of a trial. There are at most `all` agents.
fn number(text: &str, all: NonZeroUsize) -> Result<NonZeroUsize, String> {
    let number = text.parse().ok().filter(|number: &NonZeroUsize| *number <= all);
    number.ok_or_else(|| {
        format!(
            "`agents` must be a number from 1 to {all}, because the study has {}",
            plural(all.get() as u64, "agent")
        )
    })
}

/// Returns whether a word is a flag that names the machines of a command, or their number.
pub fn is_naming(word: &str) -> bool {
    NAMING.iter().chain(&[AGENTS]).any(|name| is_flag(word, name))
}

fn is_flag(word: &str, name: &str) -> bool {
    flag_name(word) == Some(name)
}

/// Parses the address of this host.
fn address(text: &str) -> Result<IpAddr, String> {
    let address: Option<IpAddr> = text.parse().ok();
    address
        .filter(|address| !address.is_unspecified())
        .ok_or_else(|| "use one IP address of this host, at which the other hosts reach it, e.g. 10.0.0.1".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::matrix;

    const TEXT: &str = "\
name: t
machines: {hosts: [a, 'b-{1...2}', '${more}']}
targets:
  pairs: {url: [http://a/, http://b/, http://c/], pair: true}
settings: {duration: 1s, start-spread: 20ms}
matrix: {agents: [1, 2, 3]}
";

    fn commands(more: &str, flags: &[&str]) -> Result<Vec<String>, Diagnostic> {
        let set = [("more".to_owned(), more.to_owned())];
        let scenario = Scenario::parse(TEXT, &set, &|_| None).expect("a valid scenario");
        let args = MachinesCli::try_parse_from(["plimsoll"].iter().chain(flags)).expect("valid flags").args;
        let machines = StudyMachines::of(&scenario, &args)?;
        let cells = matrix::cells(&scenario).expect("few cells");
        let command = |cell: &matrix::Cell| machines.command(cell.command(&scenario, &scenario.targets[0]));
        Ok(cells.iter().map(|cell| command(cell).arguments.join(" ")).collect())
    }

    #[test]
    fn a_trial_has_the_first_machines_and_their_urls() {
        let commands = commands("", &[]).expect("no mistakes");
        let urls = "http://a/ http://b/ http://c/";
        assert_eq!(
            commands,
            [
                "--duration=1s --start-spread=20ms --pair http://a/ --hosts=a",
                "--duration=1s --start-spread=20ms --pair http://a/ http://b/ --hosts=a,b-1",
                &format!("--duration=1s --start-spread=20ms --pair {urls} --hosts=a,b-1,b-2"),
            ]
        );
    }

    #[test]
    fn a_list_of_pairs_is_read_here() {
        let place = tempfile::tempdir().expect("can create a directory");
        let list = place.path().join("pairs");
        std::fs::write(&list, "# pairs\nhttp://a/1\n\nhttp://b/1\n").expect("can write a file");
        let word = format!("--url-file={}", list.display());
        assert_eq!(with_urls(word), ["http://a/1", "http://b/1"]);
        assert_eq!(with_urls("--url-file=/no/such/file".to_owned()), ["--url-file=/no/such/file"]);
    }

    #[test]
    fn flags_of_the_command_line_replace_settings_and_machines() {
        let flags = ["--fleet=nats://bus:1", "--agents=2", "--start-spread=1ms"];
        let commands = commands("", &flags).expect("no mistakes");
        let shown = "--duration=1s --pair http://a/ --fleet=nats://bus:1 --agents=1 --start-spread=1ms";
        assert_eq!(commands[0], shown);
    }

    #[test]
    fn one_host_ignores_settings_of_several() {
        let text = TEXT.replace("[a, 'b-{1...2}', '${more}']", "'${more}'");
        let scenario = Scenario::parse(&text, &[("more".to_owned(), String::new())], &|_| None).expect("valid");
        let args = MachinesCli::try_parse_from(["plimsoll"]).expect("no flags").args;
        let machines = StudyMachines::of(&scenario, &args).expect("no mistakes");
        let cells = matrix::cells(&scenario).expect("few cells");
        let command = machines.command(cells[0].command(&scenario, &scenario.targets[0]));
        assert_eq!(command.arguments.join(" "), "--duration=1s http://a/ http://b/ http://c/");
        assert!(machines.connect().is_ok_and(|agents| agents.is_none()) && machines.check(&[]).is_empty());
    }

    #[test]
    fn mistakes_in_the_file_have_positions() {
        let fault = commands("-x", &[]).expect_err("no host name");
        assert!(fault.to_string().starts_with("2:12: ") && fault.message.contains("host name"), "{fault}");
        for (machines, at, part) in [
            ("{pair: true}", "2:12", "write it in `settings`"),
            ("{host: a}", "2:12", "--host"),
            ("{hosts: a, serve-at: 0.0.0.0}", "2:22", "one IP address of this host"),
            ("{hosts: a, fleet: 'nats://h'}", "2:12", "exclude each other"),
        ] {
            let text = format!("name: t\nmachines: {machines}\ntargets: {{a: {{url: http://a/}}}}\n");
            let scenario = Scenario::parse(&text, &[], &|_| None).expect("valid");
            let fault = of_file(&scenario.machines).expect_err(machines);
            assert!(fault.at.to_string() == at && fault.message.contains(part), "{machines}: {fault}");
        }
        assert!(number("0", NonZeroUsize::MIN).is_err() && number("2", NonZeroUsize::MIN).is_err());
    }
}
