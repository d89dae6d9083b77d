//! The coordinator: passes messages, time and interrupts to the rules in [`fleet::coordinator`], and carries out their
//! decisions.

use super::Agents;
use super::clock::ProcessClock;
use crate::console;
use crate::failure::Failure;
use crate::saved;
use fleet::clock::CoordinatorTime;
use fleet::coordinator::{Action, Coordinator, Outcome, Settings};
use fleet::message::ToAgent;
use fleet::transport;
use std::collections::VecDeque;
use std::time::Duration;

/// Maximum time between two looks at interrupts and progress.
const TICK: Duration = Duration::from_millis(50);

/// The receiver of what agents send.
pub trait TakeRecords {
    /// Takes a record of an agent. `started_unix_ms` is the wall time of T0 at the coordinator, in milliseconds since 1970.
    /// Returns what is wrong with the record, if the agent must not be trusted any more.
    ///
    /// # Errors
    /// Fails if the record cannot be saved.
    fn take(&mut self, from: usize, record: &str, started_unix_ms: u64) -> Result<Option<&'static str>, Failure>;

    /// Remembers that an agent is lost.
    fn lost(&mut self, from: usize);

    /// Returns whether the agents must end their load early.
    fn is_decided(&self) -> bool;

    /// Draws the live view, and does what is due on this host. `nanos` is the time since T0: `None` before the start is
    /// ordered, and 0 until T0.
    ///
    /// # Errors
    /// Fails if a file cannot be written.
    fn tick(&mut self, nanos: Option<u64>) -> Result<(), Failure>;
}

/// A run on several hosts.
pub struct Fleet<'a, R> {
    clock: ProcessClock,
    coordinator: Coordinator,
    due: VecDeque<Action>,
    agents: &'a mut Agents,
    /// Number of agents that make the load. The others wait.
    active: usize,
    received: R,
    interrupts: usize,
    /// `true` if the agents were ordered to end their load early, because the outcome is decided.
    is_ended_early: bool,
}

impl<'a, R: TakeRecords> Fleet<'a, R> {
    /// Begins a run on the first of the connected agents: those with these names.
    pub fn new(settings: Settings, names: Vec<String>, agents: &'a mut Agents, received: R) -> Self {
        let clock = ProcessClock::start();
        let active = names.len();
        let (coordinator, due) = Coordinator::begin(settings, names, CoordinatorTime(clock.nanos()), saved::unix_ms());
        Self { clock, coordinator, due: due.into(), agents, active, received, interrupts: 0, is_ended_early: false }
    }

    /// Carries out the run. Returns its outcome, and what the agents sent.
    ///
    /// # Errors
    /// Fails if the records cannot be saved on this host.
    pub fn run(mut self) -> Result<(Outcome, R), Failure> {
        loop {
            if let Some(outcome) = self.carry_out()? {
                return Ok((outcome, self.received));
            }
            let now = self.now();
            self.coordinator.on_bus(now, self.agents.transport.is_away());
            let left = self.coordinator.deadline().map_or(TICK, |at| Duration::from_nanos(at.0.saturating_sub(now.0)));
            let actions = match self.agents.receive(left.min(TICK)) {
                Some((from, transport::Received::Message(message))) => {
                    let now = self.now();
                    self.coordinator.on_message(now, from, message)
                }
                // An agent that waits is not part of this load. Its next load reports that it is gone.
                Some((from, transport::Received::Closed(reason))) if from < self.active => self.closed(from, &reason),
                Some((_, transport::Received::Closed(_))) => Vec::new(),
                None => Vec::new(),
            };
            self.due.extend(actions);
            let now = self.now();
            self.due.extend(self.coordinator.on_time(now));
            self.agents.renew_leases();
            self.handle_interrupts()?;
            let since_start = self.coordinator.start().map(|start| now.0.saturating_sub(start.0));
            self.received.tick(since_start)?;
        }
    }

    fn now(&self) -> CoordinatorTime {
        CoordinatorTime(self.clock.nanos())
    }

    /// Carries out all actions. Returns the outcome of a run that is over.
    fn carry_out(&mut self) -> Result<Option<Outcome>, Failure> {
        while let Some(action) = self.due.pop_front() {
            match action {
                Action::Send(to, message) => {
                    if message == ToAgent::Abort {
                        self.received.lost(to);
                    }
                    if let Err(error) = self.agents.send(to, &message) {
                        let actions = self.closed(to, &error.to_string());
                        self.due.extend(actions);
                    }
                }
                Action::Record(from, record) => {
                    let started_unix_ms = self.coordinator.started_unix_ms().unwrap_or_else(saved::unix_ms);
                    if let Some(why) = self.received.take(from, &record, started_unix_ms)? {
                        let actions = self.coordinator.on_closed(from, why.to_owned());
                        self.due.extend(actions);
                    }
                    if !self.is_ended_early && self.received.is_decided() {
                        self.is_ended_early = true;
                        self.due.extend(self.coordinator.end_early());
                    }
                }
                Action::Finish(outcome) => return Ok(Some(outcome)),
            }
        }
        Ok(None)
    }

    /// Handles the end of a connection. Adds the last error message of the host, which explains the end best.
    fn closed(&mut self, from: usize, reason: &str) -> Vec<Action> {
        self.received.lost(from);
        let last = self.agents.last_error(from);
        let reason = last.map_or_else(|| reason.to_owned(), |last| format!("{reason}; its last message was: {last}"));
        self.coordinator.on_closed(from, reason)
    }

    /// Handles interrupts. The first interrupt ends the load. A second interrupt ends the command without a merged run.
    fn handle_interrupts(&mut self) -> Result<(), Failure> {
        let seen = sys::signals::interrupts().count;
        if seen <= self.interrupts {
            return Ok(());
        }
        self.interrupts = seen;
        if seen > 1 {
            return Err(crate::progress::requests_interrupted(
                "interrupted again, so the results of the agents were not merged; each host keeps its own results",
            ));
        }
        console::eprintln("interrupted: waiting for operations in flight; interrupt again to leave at once");
        self.due.extend(self.coordinator.on_interrupt());
        Ok(())
    }
}
