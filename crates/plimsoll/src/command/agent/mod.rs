//! `plimsoll agent`: makes a part of a run on several hosts. The coordinator starts it over ssh and talks to it over
//! standard input and output ([`fleet`]).
//!
//! This thread exchanges messages. Another thread prepares and makes the run ([`work`]). The run directory stays on this
//! host.

mod work;

use crate::failure::{Exit, Failure};
use crate::hosts::clock::ProcessClock;
use crate::hosts::program::Program;
use crate::{console, execute};
use fleet::agent::{Action, Agent, Event, StopReason};
use fleet::clock::AgentTime;
use fleet::transport::{AgentTransport, PipeToCoordinator, Received, SendError};
use std::io::{stdin, stdout};
use std::process::ExitCode;
use std::time::Duration;
use sys::signals::{self, Signal};
use work::{Worker, WorkerEvent};

/// The flags of `agent`.
#[derive(clap::Args, Debug)]
pub struct Args {}

/// Time between two looks at the events of the run.
const TICK: Duration = Duration::from_millis(20);

/// Runs the command.
pub fn run(_args: &Args) -> Result<ExitCode, Failure> {
    execute::prepare_process();
    let clock = ProcessClock::start();
    let program = Program::of_this_process()?;
    let pipe = PipeToCoordinator::new(stdin(), stdout());
    let agent = Agent::new(program.hash(), AgentTime(clock.nanos()));
    drop(program);
    Session { clock, pipe, agent, worker: None, held: Vec::new(), has_started: false, reason: None }.run()
}

/// The part of this process in a run.
struct Session {
    clock: ProcessClock,
    pipe: PipeToCoordinator,
    agent: Agent,
    worker: Option<Worker>,
    /// Records from before the start, which the coordinator gets after the start.
    held: Vec<String>,
    has_started: bool,
    reason: Option<StopReason>,
}

impl Session {
    fn run(mut self) -> Result<ExitCode, Failure> {
        while !self.agent.is_over() {
            let now = self.now();
            let left = self.agent.deadline().map_or(TICK, |at| Duration::from_nanos(at.0.saturating_sub(now.0)));
            let actions = match self.pipe.receive(left.min(TICK)) {
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
        }
        let Self { pipe, worker, reason, has_started, .. } = self;
        // Without a regular end, the load must stop. Its run directory gets its end in any case.
        if let Some(worker) = worker.filter(|_| reason != Some(StopReason::Done)) {
            signals::count_as_received(Signal::Terminate);
            if !has_started {
                // As a second signal does, leave without waiting for the requests of the preparation.
                signals::count_as_received(Signal::Terminate);
            }
            worker.end();
        }
        drop(pipe);
        match reason {
            Some(StopReason::Done) => Ok(ExitCode::SUCCESS),
            Some(StopReason::LeaseLost) => {
                Err(Failure::could_not_run("the coordinator was silent for too long, so the load was stopped"))
            }
            Some(_) => Ok(Exit::CouldNotRun.into()),
            None => Err(Failure::could_not_run("the connection to the coordinator ended, so the load was stopped")),
        }
    }

    fn now(&self) -> AgentTime {
        AgentTime(self.clock.nanos())
    }

    fn carry_out(&mut self, actions: Vec<Action>) {
        for action in actions {
            match action {
                Action::Send(message) => {
                    // If the coordinator does not read, its lease ends.
                    match self.pipe.send(&message) {
                        Ok(()) => {}
                        Err(SendError::Line(error)) => {
                            let actions = self.agent.on_event(Event::Failed(error.to_string()));
                            self.carry_out(actions);
                        }
                        Err(error) => console::eprintln(&format!("a message could not be sent: {error}")),
                    }
                }
                Action::Prepare { plan, run, part } => {
                    self.worker = Some(Worker::start(plan, run, part));
                }
                Action::Start { at } => {
                    let at = self.clock.instant(at.0);
                    if let Some(worker) = &self.worker {
                        worker.start_at(at);
                    }
                }
                Action::Finish => signals::count_as_received(Signal::Interrupt),
                Action::Stop(reason) => self.reason = Some(reason),
            }
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
                    let at = AgentTime(self.clock.nanos_at(start));
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
            for event in events {
                let actions = self.agent.on_event(event);
                self.carry_out(actions);
            }
        }
    }
}
