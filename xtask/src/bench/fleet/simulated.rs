//! Simulated agents. Each has a thread, a connection to the bus, and the real state machine.

use super::records::Records;
use crate::failure::{Result, failure};
use fleet::agent::{Action, Agent, Event};
use fleet::clock::AgentTime;
use fleet::message::{Hash, Part, RunId};
use fleet::transport::nats::{AgentName, BusEvent, BusOptions, NatsAgent};
use fleet::transport::{AgentTransport, Received};
use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Maximum time between two looks at messages.
const TICK: Duration = Duration::from_millis(100);
/// Stack of a thread.
const STACK_BYTES: usize = 256 << 10;

/// Running agents.
pub struct Simulated {
    threads: Vec<JoinHandle<Result<Sent>>>,
}

/// The records that agents have sent.
#[derive(Default)]
pub struct Sent {
    pub records: u64,
    pub bytes: u64,
    /// Time of the last record.
    pub last: Option<Instant>,
}

impl Simulated {
    /// Starts agents, each of which takes part in one run.
    pub fn start(url: &str, count: u32, build: Hash, records: &Records) -> Result<Self> {
        let (records, clock) = (Arc::new(records.clone()), Instant::now());
        let start = |number: u32| {
            let options =
                BusOptions { url: url.to_owned(), credentials: None, ca: None, on_event: Arc::new(|_: BusEvent| ()) };
            let (records, name) = (Arc::clone(&records), AgentName::on_host("simulated", number));
            let work = move || {
                let mut agent = NatsAgent::connect(&options, name).map_err(failure)?;
                take_part(&mut agent, build, &records, clock)
            };
            thread::Builder::new().stack_size(STACK_BYTES).spawn(work).map_err(failure)
        };
        Ok(Self { threads: (0..count).map(start).collect::<Result<_>>()? })
    }

    /// Waits for the end of all agents.
    pub fn join(self) -> Result<Sent> {
        let mut sum = Sent::default();
        for thread in self.threads {
            let sent = thread.join().map_err(|_| failure("an agent failed"))??;
            sum.records += sent.records;
            sum.bytes += sent.bytes;
            sum.last = sum.last.max(sent.last);
        }
        Ok(sum)
    }
}

/// The state of a simulated agent in its run.
struct Run<'r> {
    agent: Agent,
    records: &'r Records,
    part: Option<(RunId, Part)>,
    /// Start of the load, and number of records that are sent.
    started: Option<(AgentTime, usize)>,
    sent: Sent,
}

fn take_part(agent: &mut NatsAgent, build: Hash, records: &Records, clock: Instant) -> Result<Sent> {
    let now = || AgentTime(u64::try_from(clock.elapsed().as_nanos()).unwrap_or(u64::MAX));
    let mut connection = loop {
        // The loop ends in any case: the command fails if too few agents are free.
        if let Some(connection) = agent.next_run(TICK) {
            break connection;
        }
        if clock.elapsed() > super::EXTRA {
            return Err(failure("an agent was not called"));
        }
    };
    let machine = Agent::new(build, now());
    let mut run = Run { agent: machine, records, part: None, started: None, sent: Sent::default() };
    while !run.agent.is_over() {
        let wait = run.due().map_or(TICK, |at| Duration::from_nanos(at.0.saturating_sub(now().0)).min(TICK));
        let actions = match connection.receive(wait) {
            Some(Received::Message(message)) => run.agent.on_message(now(), message),
            Some(Received::Closed(reason)) => return Err(failure(format_args!("the coordinator left: {reason}"))),
            None => run.agent.on_time(now()),
        };
        run.carry_out(&mut connection, actions)?;
        run.send_due(&mut connection, now())?;
    }
    connection.finish(&mut || true);
    Ok(run.sent)
}

impl Run<'_> {
    /// Returns the time of the next record.
    fn due(&self) -> Option<AgentTime> {
        self.started.map(|(at, sent)| at.after(Duration::from_secs(sent as u64)))
    }

    fn carry_out(&mut self, connection: &mut dyn AgentTransport, actions: Vec<Action>) -> Result<()> {
        for action in actions {
            match action {
                Action::Send(message) => connection.send(&message).map_err(failure)?,
                Action::Prepare { run, part, .. } => {
                    self.part = Some((run, part));
                    self.handle(connection, Event::Prepared)?;
                }
                Action::Start { at, .. } => self.started = Some((at, 0)),
                Action::Finish | Action::Find { .. } | Action::Fetch { .. } => {
                    return Err(failure("the coordinator sent an order that this benchmark does not expect"));
                }
                Action::Stop(_) => {}
            }
        }
        Ok(())
    }

    fn handle(&mut self, connection: &mut dyn AgentTransport, event: Event) -> Result<()> {
        let actions = self.agent.on_event(event);
        self.carry_out(connection, actions)
    }

    /// Sends the records that are due: the first one at the start, and one at the end of each second.
    fn send_due(&mut self, connection: &mut dyn AgentTransport, now: AgentTime) -> Result<()> {
        while let Some((at, sent)) = self.started.filter(|_| self.due().is_some_and(|due| due <= now)) {
            self.started = Some((at, sent + 1));
            match sent.checked_sub(1).map(|second| self.records.seconds.get(second)) {
                None => {
                    let Some((run, part)) = &self.part else { return Err(failure("a run starts without a plan")) };
                    let begin = self.records.begin(run, *part)?;
                    self.handle(connection, Event::Started(at))?;
                    self.record(connection, begin)?;
                }
                Some(Some(second)) => self.record(connection, second.clone())?,
                Some(None) => {
                    self.started = None;
                    self.record(connection, self.records.end.clone())?;
                    self.handle(connection, Event::Ended)?;
                }
            }
        }
        Ok(())
    }

    fn record(&mut self, connection: &mut dyn AgentTransport, record: String) -> Result<()> {
        self.sent.records += 1;
        self.sent.bytes += record.len() as u64;
        self.sent.last = Some(Instant::now());
        self.handle(connection, Event::Record(record))
    }
}
