//! `plimsoll fleet collect`: writes the merged run of a coordinator that was killed, from the records that the agents have
//! kept on their hosts.
//!
//! Each attempt connects to all agents that can be reached, and asks them for parts of the run. If a part is missing or
//! still being made, there is another attempt. Otherwise, the parts are fetched one after the other, so that memory does not
//! grow with their number. They become a run like that of the first coordinator ([`super::result`]).

use super::coordinate::TakeRecords;
use super::program::Program;
use super::received::{self, Received};
use super::{Connections, all_lost, call_failed, check_unused, result, ssh, start_all};
use crate::failure::{Exit, Failure};
use crate::load::machines::{self, Hosts, Machines, bus};
use crate::load::positive_span;
use crate::progress::{self, Progress};
use crate::{console, execute, saved};
use fleet::agent::LEASE;
use fleet::clock::{AgentTime, CoordinatorTime};
use fleet::coordinator::{AgentResult, Ended, LEASE_EVERY, Loss, Settings};
use fleet::hosts::{AGENTS_MAX, parse_hosts};
use fleet::message::{FoundPart, FromAgent, KeptPart, PROTOCOL, RunId, ToAgent};
use fleet::transport::Received as Incoming;
use fleet::transport::nats::NatsToAgents;
use report::escape::{bounded, escape};
use report::number::plural;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};
use store::{EndReason, Record};

/// The flags of `fleet collect`.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Name of the run, as the first command printed it.
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
    /// The hosts of the run.
    #[arg(long, value_name = "HOSTS", value_parser = machines::parse_host_list, group = "machines")]
    hosts: Option<Hosts>,
    /// The message bus.
    #[command(flatten)]
    bus: bus::Args,
    /// Command that connects to a host, in place of ssh.
    #[arg(long, value_name = "COMMAND", requires = "hosts")]
    ssh: Option<String>,
    /// Path of this version of plimsoll on each host.
    #[arg(long, value_name = "PATH", value_parser = machines::remote_path, requires = "hosts")]
    agent_program: Option<String>,
    /// Directory in which to save the merged run.
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
    /// Maximum time to wait until all parts are found and complete.
    #[arg(long, value_name = "TIME", value_parser = positive_span, default_value = "90s")]
    wait: Duration,
    /// Also collect a run with missing or incomplete parts.
    #[arg(long)]
    partial: bool,
}

const AFTER: &str = "If the command that made a run on several hosts is killed, its agents keep what they have measured. This command fetches \
    it, and writes the report that the first command would have written. The agents must run the same build of plimsoll.\n\
    \n\
    \x20 plimsoll fleet collect 1795823812-0a1b2c-1 --hosts 'client-{1...6}' --out collected\n\
    \x20 plimsoll fleet collect 1795823812-0a1b2c-1 --fleet nats://bus:4222 --out collected";

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_secs(2);
/// Maximum time between two checks for interrupts.
const TICK: Duration = Duration::from_millis(100);
/// T0 in the time of the coordinator. Only differences from it matter.
const T0: u64 = 1 << 62;

fn run_id(text: &str) -> Result<RunId, String> {
    RunId::try_from(text.to_owned()).map_err(|error| error.to_string())
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let hosts = args.hosts.clone().map(Machines::Hosts);
    let machines = hosts
        .or_else(|| args.bus.options().map(Machines::Bus))
        .ok_or_else(|| Failure::usage("name the hosts with --hosts, or the message bus with --fleet"))?;
    check_unused(&args.out)?;
    execute::prepare_process();
    let program = Program::of_this_process()?;
    let until = Instant::now() + args.wait;
    let mut told = None;
    for attempt in 0_u32.. {
        let (connections, busy) = connect(args, &machines, &program, attempt)?;
        let mut collection = Collection { connections, leased: Instant::now() };
        let found = collection.find(args, &program)?;
        let missing = found.missing();
        if missing.is_none() || (Instant::now() >= until && args.partial && !found.parts.is_empty()) {
            return collection.finish(args, &program, &found);
        }
        let why = missing.unwrap_or_default();
        let busy = match busy {
            0 => String::new(),
            busy => format!("; busy with runs: {}", plural(busy as u64, "agent")),
        };
        if Instant::now() >= until {
            let fix = if found.parts.is_empty() { "check the name of the run" } else { "--partial collects the rest" };
            return Err(Failure::could_not_run(format!("run {}: {why}{busy}; {fix}", args.run.as_str())));
        }
        if told.as_ref() != Some(&why) {
            console::eprintln(&format!("waiting: {why}{busy}"));
            told = Some(why);
        }
        drop(collection);
        pause(PAUSE)?;
    }
    Err(Failure::could_not_run("there were too many attempts"))
}

/// Waits, unless there is an interrupt.
fn pause(time: Duration) -> Result<(), Failure> {
    let until = Instant::now() + time;
    while Instant::now() < until {
        check_interrupts()?;
        thread::sleep(TICK);
    }
    Ok(())
}

fn check_interrupts() -> Result<(), Failure> {
    match sys::signals::interrupts().count {
        0 => Ok(()),
        _ => {
            Err(progress::requests_interrupted("interrupted; nothing was collected, and the agents keep their records"))
        }
    }
}

/// Connects to the agents. Also returns the number of agents on the bus that are busy.
fn connect(args: &Args, machines: &Machines, program: &Program, attempt: u32) -> Result<(Connections, usize), Failure> {
    let options = match machines {
        Machines::Hosts(hosts) => {
            let (ssh, own) = (ssh(args.ssh.as_deref())?, args.agent_program.clone());
            return Ok((start_all(ssh, own, hosts.0.clone(), program)?, 0));
        }
        Machines::Bus(options) => options,
    };
    // The messages of each attempt need a name of their own. It must differ from that of the run, which its agents have left.
    let name = format!("collect-{}-{:06x}-{attempt}", saved::unix_ms() / 1000, super::unique());
    let session = RunId::try_from(name).map_err(Failure::could_not_run)?;
    let called = NatsToAgents::call_free(options, &session);
    let (transport, busy) = called.map_err(|error| call_failed(&error, &options.url))?;
    Ok(((transport.names(), Box::new(transport), Vec::new()), busy))
}

/// The parts of a run that were found, by their numbers, and the agent that has each of them.
struct Found {
    parts: BTreeMap<u32, (usize, FoundPart)>,
    /// Number of parts of the run. 0 if none was found.
    of: u32,
}

impl Found {
    /// Returns what is missing, as text; `None` if the run is complete.
    fn missing(&self) -> Option<String> {
        let numbers =
            |parts: Vec<u32>| parts.iter().map(|index| (index + 1).to_string()).collect::<Vec<_>>().join(", ");
        let missing: Vec<u32> = (0..self.of).filter(|index| !self.parts.contains_key(index)).collect();
        let open = self.parts.iter().filter(|(_, (_, part))| !part.is_over).map(|(index, _)| *index);
        let open: Vec<u32> = open.collect();
        match (self.of, missing.is_empty(), open.is_empty()) {
            (0, ..) => Some("no agent has a part of it".to_owned()),
            (of, false, _) => Some(format!("no agent has part {} of {of}", numbers(missing))),
            (of, true, false) => Some(format!(
                "incomplete, because it is still being made or its agent was killed: part {} of {of}",
                numbers(open)
            )),
            (_, true, true) => None,
        }
    }
}

/// Connections to agents that may have parts of the run.
struct Collection {
    connections: Connections,
    leased: Instant,
}

/// An event while parts are collected: a message of an agent, or the reason why the agent is gone.
type Event = (usize, Result<FromAgent, String>);

impl Collection {
    /// Asks all agents for parts of the run.
    fn find(&mut self, args: &Args, program: &Program) -> Result<Found, Failure> {
        let find = ToAgent::Find { protocol: PROTOCOL, build: program.hash(), run: args.run.clone() };
        let mut waiting: Vec<usize> = (0..self.connections.0.len()).collect();
        // If an agent is gone, its parts are missing, and there is another attempt.
        waiting.retain(|agent| self.connections.1.send(*agent, &find).is_ok());
        let mut found = Found { parts: BTreeMap::new(), of: 0 };
        let until = Instant::now() + LEASE;
        while !waiting.is_empty() && Instant::now() < until {
            let Some((from, message)) = self.next()? else { continue };
            waiting.retain(|agent| *agent != from);
            match message {
                Ok(FromAgent::Kept { parts }) => {
                    for part in parts.into_iter().take(AGENTS_MAX) {
                        found.of = self.add(from, part, &mut found.parts, found.of)?;
                    }
                }
                Ok(FromAgent::Refused { refusal }) => return Err(self.failed(from, &refusal.to_string())),
                Ok(FromAgent::Failed { reason }) => return Err(self.failed(from, &reason)),
                Ok(_) | Err(_) => {}
            }
        }
        Ok(found)
    }

    /// Adds a part that was found. Hosts that share a directory have the same parts. Returns the number of parts of the run.
    fn add(
        &self,
        from: usize,
        part: FoundPart,
        parts: &mut BTreeMap<u32, (usize, FoundPart)>,
        of: u32,
    ) -> Result<u32, Failure> {
        let found = part.kept.part;
        let fits = found.index < found.of && found.of as usize <= AGENTS_MAX && (of == 0 || of == found.of);
        // The name becomes part of a path.
        let name = &part.kept.terms.name;
        if !fits || !parse_hosts(name).is_ok_and(|names| names == [name.as_str()]) {
            return Err(self.failed(from, "its part of the run does not fit the other parts"));
        }
        let known = parts.get(&found.index);
        if known.is_none_or(|(_, known)| !known.is_over && part.is_over) {
            parts.insert(found.index, (from, part));
        }
        Ok(found.of)
    }

    /// Fetches all parts, merges them, and shows the result.
    fn finish(mut self, args: &Args, program: &Program, found: &Found) -> Result<ExitCode, Failure> {
        let Some(terms) = found.parts.values().next().map(|(_, part)| &part.kept.terms) else {
            return Err(Failure::could_not_run("no part of the run was found"));
        };
        console::eprintln(&format!(
            "collecting {} of run {}",
            plural(found.parts.len() as u64, "part"),
            args.run.as_str()
        ));
        let name = |index: u32| match found.parts.get(&index) {
            Some((_, part)) => part.kept.terms.name.clone(),
            None => format!("part-{}", index + 1),
        };
        let names: Vec<String> = (0..found.of).map(name).collect();
        let mut received = Received::new(&args.out, &names, Progress::default(), None);
        let fetched = self.fetch_all(found, &names, &mut received).inspect_err(|_| {
            // Nothing else has written to this directory.
            let _ = std::fs::remove_dir_all(args.out.join(received::AGENTS));
        });
        let agents = fetched?;
        drop(self);
        let lost = agents.iter().filter(|agent| agent.loss.is_some()).count();
        let partial = lost as u64 > terms.tolerate_lost || lost == agents.len();
        let ended = Ended { start: CoordinatorTime(T0), agents, partial };
        let settings = Settings {
            build: program.hash(),
            run: args.run.clone(),
            plan: String::new(),
            spread_max: Duration::from_nanos(terms.spread_max_nanos),
            silence_max: LEASE,
            prepare_max: LEASE,
            tolerate_lost: usize::try_from(terms.tolerate_lost).unwrap_or(usize::MAX),
            parts: found.of,
        };
        let run = result::merge(&settings, &ended, &received, None, &args.out)?;
        saved::print_run(&run, saved::OutputFormat::Text)?;
        console::eprintln(&saved::saved_in(&args.out, saved::OutputFormat::Text));
        Ok(Exit::Good.or_worse(saved::conclude(&run)).or_worse(all_lost(&ended)).into())
    }

    fn fetch_all(
        &mut self,
        found: &Found,
        names: &[String],
        received: &mut Received<'_>,
    ) -> Result<Vec<AgentResult>, Failure> {
        let mut agents = Vec::new();
        for (index, name) in (0..found.of).zip(names) {
            let agent = match found.parts.get(&index) {
                Some((from, part)) => {
                    let (records, loss) = self.fetch(*from, index, &part.kept, received)?;
                    result_of(name, &part.kept, records, loss)
                }
                None => AgentResult {
                    name: name.clone(),
                    started: AgentTime(0),
                    started_here: CoordinatorTime(T0),
                    uncertainty: Duration::ZERO,
                    drift: None,
                    records: 0,
                    loss: Some(Loss::Failed("no agent has its part of the run".to_owned())),
                },
            };
            agents.push(agent);
        }
        Ok(agents)
    }

    /// Fetches a part. Returns the number of its records, and why its agent was lost.
    fn fetch(
        &mut self,
        from: usize,
        index: u32,
        kept: &KeptPart,
        received: &mut Received<'_>,
    ) -> Result<(u64, Option<Loss>), Failure> {
        self.send(from, &ToAgent::Fetch { index })?;
        let (mut count, mut last, mut heard) = (0, String::new(), Instant::now());
        loop {
            let event = self.next()?;
            if heard.elapsed() > LEASE {
                return Err(self.failed(from, "it was silent for too long"));
            }
            let Some((_, message)) = event.filter(|(sender, _)| *sender == from) else { continue };
            heard = Instant::now();
            match message {
                Ok(FromAgent::Record { number, record }) if number == count => {
                    let slot = usize::try_from(index).unwrap_or(usize::MAX);
                    if let Some(why) = received.take(slot, &record, kept.terms.started_unix_ms)? {
                        return Err(self.failed(from, why));
                    }
                    (count, last) = (count + 1, record);
                }
                Ok(FromAgent::Done { records }) if records == count => return Ok((count, loss(&last))),
                Ok(FromAgent::Failed { reason }) | Err(reason) => return Err(self.failed(from, &reason)),
                Ok(_) => return Err(self.failed(from, &Loss::OutOfOrder.to_string())),
            }
        }
    }

    fn failed(&self, agent: usize, why: &str) -> Failure {
        let name = self.connections.0.get(agent).map_or("an agent", String::as_str);
        let why = bounded(why, super::LOSS_MAX);
        Failure::could_not_run(format!("nothing was collected: {}: {why}", escape(name)))
    }

    fn send(&mut self, agent: usize, message: &ToAgent) -> Result<(), Failure> {
        let sent = self.connections.1.send(agent, message);
        sent.map_err(|error| self.failed(agent, &error.to_string()))
    }

    /// Returns the next event, if there is one soon.
    fn next(&mut self) -> Result<Option<Event>, Failure> {
        check_interrupts()?;
        if self.leased.elapsed() >= LEASE_EVERY {
            self.leased = Instant::now();
            // Ignore a failure, because only the agents that have parts matter.
            (0..self.connections.0.len()).for_each(|agent| drop(self.connections.1.send(agent, &ToAgent::Lease)));
        }
        Ok(self.connections.1.receive(TICK).map(|(from, received)| match received {
            Incoming::Message(message) => (from, Ok(message)),
            Incoming::Closed(reason) => (from, Err(reason)),
        }))
    }
}

fn result_of(name: &str, kept: &KeptPart, records: u64, loss: Option<Loss>) -> AgentResult {
    AgentResult {
        name: name.to_owned(),
        started: AgentTime(0),
        started_here: CoordinatorTime(T0.saturating_add_signed(kept.late_nanos)),
        uncertainty: Duration::from_nanos(kept.terms.uncertainty_nanos),
        // Only the first coordinator has compared the clocks during the run.
        drift: None,
        records,
        loss,
    }
}

/// Returns why an agent counts as lost, given its last record. An agent reports the same failures to the coordinator of a
/// run.
fn loss(last: &str) -> Option<Loss> {
    let Some(Record::End(end)) = Record::parse(last.as_bytes()) else {
        return Some(Loss::Failed("its records have no end, so it was killed or is still running".to_owned()));
    };
    match end.reason {
        EndReason::DiskFull => Some(Loss::Failed("its disk is full".to_owned())),
        EndReason::Failed { detail } | EndReason::Unreachable { detail } => Some(Loss::Failed(detail)),
        _ => None,
    }
}
