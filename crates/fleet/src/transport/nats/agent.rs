//! An agent's end of the bus: it waits for runs, and takes part in one run at a time.

use super::bus::{Arrived, Bus, BusOptions, NatsError};
use super::frame::{AgentName, Frame, Head};
use super::link::{Link, QueueLimits};
use super::{CALL, agent_subject, run_subject};
use crate::agent::LEASE;
use crate::away::Away;
use crate::clock::nanos;
use crate::lines;
use crate::message::{FromAgent, Refusal, RunId, ToAgent};
use crate::transport::{AgentTransport, QUEUE_MAX, Received, SEND_WAIT, SendError};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Limits of the messages that wait while the bus is away: records of more than [`crate::away::AWAY_MAX`], with two
/// further messages per second in a search.
const SPOOL: QueueLimits = QueueLimits { messages: 1024, bytes: 32 << 20 };
/// Time between two looks at the bus while an agent that has finished sends the rest.
const TICK: Duration = Duration::from_millis(100);

/// An agent that is connected to the bus.
pub struct NatsAgent {
    bus: Bus,
    name: AgentName,
    /// The last run in which this agent took part. Late messages of that run must not start it again.
    last: Option<RunId>,
}

/// The connection of an agent to the coordinator of a run. Dropping it leaves the run. The coordinator may then lack the
/// last messages ([`AgentTransport::finish`]).
pub struct NatsToCoordinator<'a> {
    agent: &'a mut NatsAgent,
    run: RunId,
    link: Link,
    lines: VecDeque<Vec<u8>>,
    /// The last time at which the coordinator was heard, or could not be heard because the bus was away.
    heard: Instant,
    /// The first message of the coordinator, from which `away` counts.
    begun: Instant,
    away: Away,
    closed: Option<String>,
}

impl NatsAgent {
    /// Connects to the bus.
    ///
    /// # Errors
    /// Fails if no server can be reached, or if the options are unusable.
    pub fn connect(options: &BusOptions, name: AgentName) -> Result<Self, NatsError> {
        let bus = Bus::connect(options, vec![CALL.to_owned(), agent_subject(&name)])?;
        Ok(Self { bus, name, last: None })
    }

    /// Returns the name of this agent.
    #[must_use]
    pub fn name(&self) -> &AgentName {
        &self.name
    }

    /// Checks that the credentials are those of an agent.
    ///
    /// # Errors
    /// [`NatsError::NotPermitted`] if the server has refused a subject.
    pub fn check_permissions(&self) -> Result<(), NatsError> {
        self.bus.check_permissions()
    }

    /// Waits for the first message of a run. Returns `None` if none arrives for `wait`.
    pub fn next_run(&mut self, wait: Duration) -> Option<NatsToCoordinator<'_>> {
        let until = Instant::now() + wait;
        let first = loop {
            let arrived = self.bus.receive(until.saturating_duration_since(Instant::now()))?;
            let Arrived::Frame(_, frame) = arrived else { continue };
            match frame.head {
                Head::Call => self.send(&Frame::new(&frame.run, Head::Offer { busy: false })),
                Head::Piece { number: 0, .. } if self.last.as_ref() != Some(&frame.run) => break frame,
                // The agent has left this run, or was started after the run began.
                Head::Piece { .. } => self.send(&Frame::new(&frame.run, Head::Bye)),
                Head::Offer { .. } | Head::Received { .. } | Head::Bye => {}
            }
        };
        let run = first.run.clone();
        self.last = Some(run.clone());
        let link = Link::new(self.bus.piece_max(), SPOOL);
        let (heard, lines) = (Instant::now(), VecDeque::new());
        let mut session = NatsToCoordinator {
            agent: self,
            run,
            link,
            lines,
            heard,
            begun: heard,
            away: Away::default(),
            closed: None,
        };
        session.take(&first);
        Some(session)
    }

    fn send(&self, frame: &Frame) {
        self.bus.send(run_subject(&frame.run, &self.name), frame);
    }

    /// Refuses another run.
    fn refuse(&self, run: &RunId) {
        if let Ok(body) = lines::encode(&FromAgent::Refused { refusal: Refusal::Busy }) {
            self.send(&Frame::new(run, Head::Received { next: 1 }));
            self.send(&Frame { run: run.clone(), head: Head::Piece { number: 0, last: true }, body });
        }
    }
}

impl NatsToCoordinator<'_> {
    /// Returns the run.
    #[must_use]
    pub fn run(&self) -> &RunId {
        &self.run
    }

    /// Sends the messages that are due. If the bus is not connected, they wait.
    fn send_due(&mut self) {
        if !self.agent.bus.is_connected() {
            return;
        }
        while let Some((head, body)) = self.link.next_to_send(Instant::now()) {
            self.agent.send(&Frame { run: self.run.clone(), head, body });
        }
    }

    fn take(&mut self, frame: &Frame) {
        if frame.run != self.run {
            match frame.head {
                Head::Call => self.agent.send(&Frame::new(&frame.run, Head::Offer { busy: true })),
                Head::Piece { number: 0, .. } => self.agent.refuse(&frame.run),
                _ => {}
            }
            return;
        }
        self.heard = Instant::now();
        match frame.head {
            // If there is no space, do not acknowledge the piece, so that it is sent again.
            Head::Piece { number, last } if self.lines.len() < QUEUE_MAX => {
                match self.link.on_piece(number, last, &frame.body) {
                    Ok(line) => self.lines.extend(line),
                    Err(_) => self.close(lines::LineError::TooLong.to_string()),
                }
            }
            Head::Received { next } => self.link.on_received(self.heard, next),
            Head::Bye => self.close("the coordinator has left the run".to_owned()),
            Head::Piece { .. } | Head::Call | Head::Offer { .. } => {}
        }
    }

    /// Does not count the silence of the coordinator while the bus is away.
    fn look_at_bus(&mut self) {
        let now = Instant::now();
        if self.away.excuses(nanos(now - self.begun), !self.agent.bus.is_connected()) {
            self.heard = now;
        }
    }

    fn close(&mut self, reason: String) {
        self.closed.get_or_insert(reason);
    }

    /// Sends due messages and receives messages until `done` returns `true`, or for `wait`. Returns whether `done`
    /// returned `true`.
    fn exchange(&mut self, wait: Duration, done: impl Fn(&Self) -> bool) -> bool {
        let until = Instant::now() + wait;
        loop {
            self.send_due();
            self.look_at_bus();
            if done(self) {
                return true;
            }
            let now = Instant::now();
            if now >= until {
                return false;
            }
            // Ignore an overdue repetition, which is due until the bus is connected again. Otherwise this loop would
            // spin.
            let repeat = self.link.repeat_at().filter(|at| *at > now).unwrap_or(until);
            if let Some(Arrived::Frame(_, frame)) = self.agent.bus.receive(until.min(repeat) - now) {
                self.take(&frame);
            }
        }
    }
}

impl AgentTransport for NatsToCoordinator<'_> {
    fn send(&mut self, message: &FromAgent) -> Result<(), SendError> {
        let line = lines::encode(message)?;
        if self.closed.is_some() {
            return Err(SendError::Closed);
        }
        if !self.link.is_full() {
            self.link.push(&line)?;
            self.send_due();
            return Ok(());
        }
        self.exchange(SEND_WAIT, |own| !own.link.is_full() || own.closed.is_some());
        self.link.push(&line)
    }

    fn receive(&mut self, wait: Duration) -> Option<Received<ToAgent>> {
        self.exchange(wait, |own| !own.lines.is_empty() || own.closed.is_some());
        if let Some(line) = self.lines.pop_front() {
            return Some(Received::of_line(&line));
        }
        self.closed.clone().map(Received::Closed)
    }

    fn is_away(&self) -> bool {
        !self.agent.bus.is_connected()
    }

    fn finish(&mut self, goes_on: &mut dyn FnMut() -> bool) {
        let is_done = |own: &Self| own.link.is_empty() || own.closed.is_some();
        while !self.exchange(TICK, is_done) && self.heard.elapsed() < LEASE && goes_on() {}
    }
}

impl Drop for NatsToCoordinator<'_> {
    fn drop(&mut self) {
        self.agent.send(&Frame::new(&self.run, Head::Bye));
    }
}
