//! The state machine of an agent.
//!
//! The caller passes in messages, local events and instants of the agent's clock, and carries out the actions in order.

use crate::away::Away;
use crate::clock::AgentTime;
use crate::message::{FoundPart, FromAgent, Hash, PROTOCOL, Part, Refusal, RunId, Terms, ToAgent};
use std::time::Duration;

/// An agent stops if it hears nothing from its coordinator for this long. The time in which the bus is away does not
/// count ([`crate::away`]).
pub const LEASE: Duration = Duration::from_secs(30);

/// An action that the caller must carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send this message.
    Send(FromAgent),
    /// Prepare this share of the plan, then report [`Event::Prepared`] or [`Event::Failed`].
    Prepare {
        /// The plan.
        plan: String,
        /// The run.
        run: RunId,
        /// The share.
        part: Part,
    },
    /// Start the load at this instant, then report [`Event::Started`].
    Start {
        /// T0.
        at: AgentTime,
        /// Facts to keep with the records of the load.
        terms: Terms,
    },
    /// Look for parts of this earlier run, then report [`Event::Found`] or [`Event::Failed`].
    Find {
        /// The run.
        run: RunId,
    },
    /// Report all records of this part of an earlier run, then [`Event::Ended`].
    Fetch {
        /// The run.
        run: RunId,
        /// Number of the part.
        index: u32,
    },
    /// End the load early, then report the remaining records and [`Event::Ended`].
    Finish,
    /// Stop the load if it runs, keep the run directory, and end.
    Stop(StopReason),
}

/// Reason why an agent ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopReason {
    /// The run is over.
    Done,
    /// The agent refused to take part.
    Refused(Refusal),
    /// The coordinator ordered the agent to stop.
    Aborted,
    /// The coordinator was silent for [`LEASE`].
    LeaseLost,
    /// The order to start arrived after T0.
    StartMissed,
    /// Something failed on this machine.
    Failed,
}

/// An event on the agent's machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The plan is prepared.
    Prepared,
    /// The load started at this instant.
    Started(AgentTime),
    /// These parts were found.
    Found(Vec<FoundPart>),
    /// A record was written to the run directory, or read from the directory of an earlier run.
    Record(String),
    /// The load has ended, as planned or after [`Action::Finish`], or all records of an earlier run were reported.
    Ended,
    /// The agent cannot go on, for this reason.
    Failed(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Joined {
        run: RunId,
        part: Part,
    },
    Preparing,
    Ready,
    Starting,
    Running {
        records: u64,
    },
    /// A coordinator collects an earlier run.
    Collected {
        run: RunId,
    },
    /// The agent sends the records of an earlier run.
    Sending {
        run: RunId,
        records: u64,
    },
    Ended,
}

/// An agent. It takes part in one run.
#[derive(Debug)]
pub struct Agent {
    build: Hash,
    state: State,
    heard: AgentTime,
    away: Away,
}

impl Agent {
    /// Creates an agent of this build. Its lease begins at `now`.
    #[must_use]
    pub fn new(build: Hash, now: AgentTime) -> Self {
        Self { build, state: State::Idle, heard: now, away: Away::default() }
    }

    /// Returns whether the agent has ended.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.state == State::Ended
    }

    /// Returns whether the agent has not joined its run yet.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.state == State::Idle
    }

    /// Returns whether a coordinator collects an earlier run from this agent.
    #[must_use]
    pub fn is_collected(&self) -> bool {
        matches!(self.state, State::Collected { .. } | State::Sending { .. })
    }

    /// Returns the latest time for the next call of [`Self::on_time`].
    #[must_use]
    pub fn deadline(&self) -> Option<AgentTime> {
        (self.state != State::Ended).then(|| self.heard.after(LEASE))
    }

    /// Handles a message that arrived at `now`.
    pub fn on_message(&mut self, now: AgentTime, message: ToAgent) -> Vec<Action> {
        // A lease that has run out stays lost, even if the caller has not called `on_time` since then.
        let late = self.on_time(now);
        if self.is_over() {
            return late;
        }
        let mut actions = late;
        actions.extend(self.obey(now, message));
        actions
    }

    fn obey(&mut self, now: AgentTime, message: ToAgent) -> Vec<Action> {
        match (message, &self.state) {
            (ToAgent::Hello { protocol, .. }, State::Idle) if protocol != PROTOCOL => self.refuse(Refusal::Protocol),
            (ToAgent::Hello { build, .. }, State::Idle) if build != self.build => self.refuse(Refusal::Build),
            (ToAgent::Hello { run, part, .. }, State::Idle) => {
                self.heard = now;
                self.state = State::Joined { run, part };
                vec![Action::Send(FromAgent::Joined)]
            }
            (ToAgent::Find { protocol, .. }, State::Idle) if protocol != PROTOCOL => self.refuse(Refusal::Protocol),
            (ToAgent::Find { build, .. }, State::Idle) if build != self.build => self.refuse(Refusal::Build),
            (ToAgent::Find { run, .. }, State::Idle) => {
                self.heard = now;
                self.state = State::Collected { run: run.clone() };
                vec![Action::Find { run }]
            }
            (ToAgent::Fetch { index }, State::Collected { run }) => {
                let run = run.clone();
                self.heard = now;
                self.state = State::Sending { run: run.clone(), records: 0 };
                vec![Action::Fetch { run, index }]
            }
            // Refuse a second coordinator. Its message neither renews the lease nor disturbs the run.
            (ToAgent::Hello { .. }, _) => vec![Action::Send(FromAgent::Refused { refusal: Refusal::Busy })],
            (ToAgent::Prepare { hash, plan }, State::Joined { run, part }) => {
                if Hash::of(plan.as_bytes()) != hash {
                    return self.refuse(Refusal::PlanHash);
                }
                let (run, part) = (run.clone(), *part);
                self.heard = now;
                self.state = State::Preparing;
                vec![Action::Prepare { plan, run, part }]
            }
            (ToAgent::Probe { number }, State::Ready | State::Starting | State::Running { .. }) => {
                self.heard = now;
                vec![Action::Send(FromAgent::Clock { number, received: now, replied: now })]
            }
            (ToAgent::StartAt { at, .. }, State::Ready) if now > at => {
                let reason = "the order to start arrived after the start".to_owned();
                self.end(StopReason::StartMissed, Some(FromAgent::Failed { reason }))
            }
            (ToAgent::StartAt { at, terms }, State::Ready) => {
                self.heard = now;
                self.state = State::Starting;
                vec![Action::Start { at, terms }]
            }
            (ToAgent::Stop, State::Starting | State::Running { .. }) => {
                self.heard = now;
                vec![Action::Finish]
            }
            // An order to stop may be sent before the coordinator receives the end of the previous run. That run is
            // already over, so ignore the order.
            (ToAgent::Lease, _) | (ToAgent::Stop, State::Idle) => {
                self.heard = now;
                Vec::new()
            }
            (ToAgent::Abort | ToAgent::Stop, _) => self.end(StopReason::Aborted, None),
            (
                ToAgent::Prepare { .. }
                | ToAgent::Probe { .. }
                | ToAgent::StartAt { .. }
                | ToAgent::Find { .. }
                | ToAgent::Fetch { .. },
                _,
            ) => self.refuse(Refusal::OutOfOrder),
        }
    }

    /// Handles an event on this machine. Ignores events after the end and events that do not fit the state.
    pub fn on_event(&mut self, event: Event) -> Vec<Action> {
        match (event, &mut self.state) {
            (Event::Prepared, State::Preparing) => {
                self.state = State::Ready;
                vec![Action::Send(FromAgent::Ready)]
            }
            (Event::Started(at), State::Starting) => {
                self.state = State::Running { records: 0 };
                vec![Action::Send(FromAgent::Started { at })]
            }
            (Event::Found(parts), State::Collected { .. }) => vec![Action::Send(FromAgent::Kept { parts })],
            (Event::Ended, State::Sending { run, records }) => {
                let records = *records;
                self.state = State::Collected { run: run.clone() };
                vec![Action::Send(FromAgent::Done { records })]
            }
            (Event::Record(record), State::Running { records } | State::Sending { records, .. }) => {
                let number = *records;
                *records += 1;
                vec![Action::Send(FromAgent::Record { number, record })]
            }
            (Event::Ended, State::Running { records }) => {
                let records = *records;
                self.end(StopReason::Done, Some(FromAgent::Done { records }))
            }
            (Event::Failed(_), State::Ended) => Vec::new(),
            (Event::Failed(reason), _) => self.end(StopReason::Failed, Some(FromAgent::Failed { reason })),
            _ => Vec::new(),
        }
    }

    /// Takes the present state of the bus. While it is away, the agent makes its load without its coordinator. A lease
    /// that has run out stays lost.
    pub fn on_bus(&mut self, now: AgentTime, is_away: bool) {
        if self.away.excuses(now.0, is_away) && now < self.heard.after(LEASE) {
            self.heard = self.heard.max(now);
        }
    }

    /// Handles the passing of time, which may end the lease.
    pub fn on_time(&mut self, now: AgentTime) -> Vec<Action> {
        if self.is_over() {
            return Vec::new();
        }
        if now >= self.heard.after(LEASE) {
            let reason = format!("its coordinator was silent for {} s", LEASE.as_secs());
            return self.end(StopReason::LeaseLost, Some(FromAgent::Failed { reason }));
        }
        Vec::new()
    }

    fn refuse(&mut self, refusal: Refusal) -> Vec<Action> {
        self.end(StopReason::Refused(refusal), Some(FromAgent::Refused { refusal }))
    }

    fn end(&mut self, reason: StopReason, last: Option<FromAgent>) -> Vec<Action> {
        self.state = State::Ended;
        last.map(Action::Send).into_iter().chain([Action::Stop(reason)]).collect()
    }
}
