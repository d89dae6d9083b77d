//! The part of an agent in one run: passes messages, time and events to the rules in [`fleet::agent`], and carries out
//! their decisions.

use super::Shared;
use super::kept;
use super::work::{Worker, WorkerEvent};
use crate::console;
use fleet::agent::{Action, Agent, Event, StopReason};
use fleet::clock::AgentTime;
use fleet::transport::{AgentTransport, Received, SendError};
use std::sync::Arc;
use std::time::Duration;
use store::RunRecords;
use sys::signals::{self, Signal};

/// Maximum time between two checks for events of the run.
const TICK: Duration = Duration::from_millis(20);
/// Number of kept records that are sent between two looks at messages.
const KEPT_AT_ONCE: usize = 16;

/// The part of this agent in a run.
pub struct Session<'a> {
    shared: &'a Shared,
    connection: &'a mut dyn AgentTransport,
    agent: Agent,
    worker: Option<Worker>,
    /// Records from before the start of the load. They are sent to the coordinator after the start.
    held: Vec<String>,
    has_started: bool,
    /// Records of an earlier run that a coordinator collects.
    kept: Option<RunRecords>,
    /// `true` if a coordinator has got such records.
    got_records: bool,
    reason: Option<StopReason>,
}

/// End of the part of this agent in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The coordinator left, or was silent, before it began a run.
    NoRun,
    /// The run is over for this agent.
    Run(StopReason),
    /// A coordinator has asked for an earlier run, and got records if `got_records`.
    Asked { got_records: bool },
    /// The connection ended during the run.
    ConnectionLost,
}

/// Takes part in the runs of one coordinator, one after the other, until the coordinator leaves or a run does not end
/// regularly. Returns the end of the last run.
pub fn take_part(shared: &Shared, connection: &mut dyn AgentTransport) -> SessionEnd {
    let mut last = SessionEnd::NoRun;
    loop {
        match Session::new(shared, connection).run() {
            SessionEnd::NoRun => return last,
            end => last = end,
        }
        if last != SessionEnd::Run(StopReason::Done) || signals::arrived() > 0 {
            return last;
        }
        signals::forget_ordered();
    }
}

impl<'a> Session<'a> {
    /// Begins to take part in a run.
    fn new(shared: &'a Shared, connection: &'a mut dyn AgentTransport) -> Self {
        let agent = Agent::new(shared.build, AgentTime(shared.clock.nanos()));
        Self {
            shared,
            connection,
            agent,
            worker: None,
            held: Vec::new(),
            has_started: false,
            kept: None,
            got_records: false,
            reason: None,
        }
    }

    /// Takes part in the run until it ends.
    fn run(mut self) -> SessionEnd {
        let (mut was_idle, mut was_collected) = (true, false);
        while !self.agent.is_over() {
            (was_idle, was_collected) = (self.agent.is_idle(), self.agent.is_collected());
            let now = self.now();
            self.agent.on_bus(now, self.connection.is_away());
            let left = self.agent.deadline().map_or(TICK, |at| Duration::from_nanos(at.0.saturating_sub(now.0)));
            let actions = match self.connection.receive(left.min(TICK)) {
                Some(Received::Message(message)) => {
                    let now = self.now();
                    self.agent.on_message(now, message)
                }
                Some(Received::Closed(_)) => break,
                None => {
                    let now = self.now();
                    self.agent.on_time(now)
                }
            };
            self.carry_out(actions);
            self.pass_events_on();
            self.send_kept();
            if !self.has_started && signals::arrived() > 0 {
                self.handle(Event::Failed("it was interrupted before the start".to_owned()));
            }
        }
        let Self { worker, reason, has_started, got_records, .. } = self;
        // If the run did not end regularly, stop the load. The run directory gets its last record in any case.
        if let Some(worker) = worker.filter(|_| reason != Some(StopReason::Done)) {
            signals::count_as_received(Signal::Terminate);
            if !has_started {
                // A second signal ends the preparation at once, without waiting for its requests.
                signals::count_as_received(Signal::Terminate);
            }
            worker.end();
        }
        match reason {
            None | Some(StopReason::LeaseLost) if was_idle => SessionEnd::NoRun,
            None | Some(StopReason::LeaseLost) if was_collected => SessionEnd::Asked { got_records },
            None => SessionEnd::ConnectionLost,
            Some(reason) => SessionEnd::Run(reason),
        }
    }

    fn now(&self) -> AgentTime {
        AgentTime(self.shared.clock.nanos())
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(message) => {
                    // Other errors need no handling: if the coordinator is gone, the agent's lease runs out.
                    match self.connection.send(&message) {
                        Ok(()) => {}
                        Err(SendError::Line(error)) => {
                            self.handle(Event::Failed(error.to_string()));
                        }
                        Err(error) => console::eprintln(&format!("a message could not be sent: {error}")),
                    }
                }
                Action::Prepare { plan, run, part } => {
                    self.worker = Some(Worker::start(plan, run, part, Arc::clone(&self.shared.policy)));
                }
                Action::Start { at, terms } => {
                    let at = self.shared.clock.instant(at.0);
                    if let Some(worker) = &self.worker {
                        worker.start_at(at, terms);
                    }
                }
                Action::Find { run } => {
                    let event = kept::find(&run).map(Event::Found);
                    self.handle(event.unwrap_or_else(|failure| Event::Failed(failure.into_message())));
                }
                Action::Fetch { run, index } => match kept::records(&run, index) {
                    Ok(records) => (self.kept, self.got_records) = (Some(records), true),
                    Err(failure) => self.handle(Event::Failed(failure.into_message())),
                },
                Action::Finish => signals::count_as_received(Signal::Interrupt),
                Action::Stop(reason) => self.reason = Some(reason),
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let actions = self.agent.on_event(event);
        self.carry_out(actions);
    }

    /// Sends records of an earlier run, if a coordinator collects it.
    fn send_kept(&mut self) {
        for _ in 0..KEPT_AT_ONCE {
            let Some(records) = &mut self.kept else { return };
            let event = match records.next_record().map(|record| serde_json::to_string(&record)) {
                Some(Ok(record)) => Event::Record(record),
                Some(Err(error)) => Event::Failed(error.to_string()),
                None => {
                    self.kept = None;
                    Event::Ended
                }
            };
            self.handle(event);
        }
    }

    /// Passes the events of the run on to the coordinator.
    fn pass_events_on(&mut self) {
        while !self.agent.is_over()
            && let Some(event) = self.worker.as_ref().and_then(Worker::next_event)
        {
            let events = match event {
                WorkerEvent::Prepared => vec![Event::Prepared],
                WorkerEvent::Started(start) => {
                    self.has_started = true;
                    let at = AgentTime(self.shared.clock.nanos_at(start));
                    let held = std::mem::take(&mut self.held).into_iter().map(Event::Record);
                    std::iter::once(Event::Started(at)).chain(held).collect()
                }
                WorkerEvent::Record { record, has_started: false } => {
                    self.held.push(record);
                    Vec::new()
                }
                WorkerEvent::Record { record, has_started: true } => vec![Event::Record(record)],
                WorkerEvent::Ended => vec![Event::Ended],
                WorkerEvent::Failed(why) => {
                    console::eprintln(&why);
                    vec![Event::Failed(why)]
                }
            };
            events.into_iter().for_each(|event| self.handle(event));
        }
    }
}
