//! The state machine of the coordinator.
//!
//! The caller passes in messages, ends of connections and instants of the coordinator's clock, and carries out the
//! actions in order. An agent that is lost before all agents have started aborts the run. If an agent is lost later,
//! the other agents finish, and the run is partial unless the loss was tolerated. A lost agent is never replaced.

mod outcome;

pub use outcome::{Abort, AgentResult, Ended, Loss, Outcome};

use crate::away::Away;
use crate::clock::{AgentTime, CoordinatorTime, Drift, Offset, Probe, expected_spread, nanos};
use crate::message::{FromAgent, Hash, PROTOCOL, Part, RunId, Terms, ToAgent};
use std::cmp::Ordering;
use std::time::Duration;

/// The number of probes of each clock. The probe with the smallest round trip is used.
pub const PROBES: u32 = 16;

/// The time from the order to start until T0. The order must reach all agents within this time.
pub const START_LEAD: Duration = Duration::from_secs(1);

/// The coordinator renews the lease this often, and compares the clocks of running agents again.
pub const LEASE_EVERY: Duration = Duration::from_secs(5);

/// The limits and the content of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The hash of this program.
    pub build: Hash,
    /// The run.
    pub run: RunId,
    /// The plan, as text.
    pub plan: String,
    /// Largest acceptable difference of the starts.
    pub spread_max: Duration,
    /// An agent that must send a message, but is silent for this long, counts as lost. A running agent must send a
    /// record per second.
    pub silence_max: Duration,
    /// An agent that takes longer than this to join, or to prepare, is lost.
    pub prepare_max: Duration,
    /// The number of agents that may be lost after the start without making the run partial.
    pub tolerate_lost: usize,
    /// The number of parts of the load. If it is larger than the number of agents, only the first parts are made.
    pub parts: u32,
}

/// An action that the caller must carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Send the message to the agent of this number.
    Send(usize, ToAgent),
    /// Add this record of the agent of this number to the run.
    Record(usize, String),
    /// The run is over.
    Finish(Outcome),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Joining,
    Preparing,
    Ready,
    Probing { number: u32, sent: CoordinatorTime },
    Probed,
    Ordered,
    Running { started: AgentTime, here: CoordinatorTime },
    Done { started: AgentTime, here: CoordinatorTime, loss: Option<Loss> },
}

#[derive(Debug)]
struct Member {
    name: String,
    state: State,
    offset: Option<Offset>,
    /// The largest drift since the start that the probes of the run show.
    drift: Option<Drift>,
    /// The last probe of the run: its number, and when it was sent.
    asked: Option<(u32, CoordinatorTime)>,
    records: u64,
    heard: CoordinatorTime,
}

/// The coordinator of one run.
#[derive(Debug)]
pub struct Coordinator {
    settings: Settings,
    members: Vec<Member>,
    start: Option<CoordinatorTime>,
    /// The begin of the run, and its wall time in milliseconds since 1970.
    begun: (CoordinatorTime, u64),
    lease_due: CoordinatorTime,
    away: Away,
    over: bool,
}

impl Coordinator {
    /// Begins a run on the named agents, at least one. Agent number i makes part i of the load. `unix_ms` is the wall time
    /// of `now`, in milliseconds since 1970. Returns the first actions.
    #[must_use]
    pub fn begin(settings: Settings, names: Vec<String>, now: CoordinatorTime, unix_ms: u64) -> (Self, Vec<Action>) {
        let of = settings.parts;
        debug_assert!(of as usize >= names.len(), "every agent has a part");
        let hello = |index: u32| ToAgent::Hello {
            protocol: PROTOCOL,
            build: settings.build,
            run: settings.run.clone(),
            part: Part { index, of },
        };
        let actions = (0..of).zip(0..names.len()).map(|(index, to)| Action::Send(to, hello(index))).collect();
        let member = |name| Member {
            name,
            state: State::Joining,
            offset: None,
            drift: None,
            asked: None,
            records: 0,
            heard: now,
        };
        let members = names.into_iter().map(member).collect();
        let (begun, lease_due) = ((now, unix_ms), now.after(LEASE_EVERY));
        (Self { settings, members, start: None, begun, lease_due, away: Away::default(), over: false }, actions)
    }

    /// Returns whether the run is over.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Returns T0, or `None` before the start is ordered.
    #[must_use]
    pub fn start(&self) -> Option<CoordinatorTime> {
        self.start
    }

    /// Returns the wall time of T0 in milliseconds since 1970, on the clock of the begin of the run. Setting the wall clock
    /// during the run does not change it.
    #[must_use]
    pub fn started_unix_ms(&self) -> Option<u64> {
        let (begun, unix_ms) = self.begun;
        self.start.map(|start| unix_ms.saturating_add(start.0.saturating_sub(begun.0) / 1_000_000))
    }

    /// Returns the latest time for the next call of [`Self::on_time`].
    #[must_use]
    pub fn deadline(&self) -> Option<CoordinatorTime> {
        if self.over {
            return None;
        }
        let silences = self.members.iter().filter_map(|member| self.silent_at(member));
        silences.chain([self.lease_due]).min()
    }

    /// Handles a message of the agent of this number that arrived at `now`.
    pub fn on_message(&mut self, now: CoordinatorTime, from: usize, message: FromAgent) -> Vec<Action> {
        if self.over {
            return Vec::new();
        }
        let Some(member) = self.members.get_mut(from) else { return Vec::new() };
        if matches!(member.state, State::Done { .. }) {
            return Vec::new();
        }
        member.heard = now;
        match member.hear(from, now, message, &self.settings) {
            Ok(mut actions) => {
                actions.extend(self.advance(now));
                actions
            }
            Err(loss) => self.lose(from, loss),
        }
    }

    /// Handles the end of the connection to the agent of this number.
    pub fn on_closed(&mut self, from: usize, reason: String) -> Vec<Action> {
        self.lose(from, Loss::Closed(reason))
    }

    /// Takes the present state of the bus. While it is away, no agent can be heard, so none of them counts as silent, and
    /// none of them needs a lease.
    pub fn on_bus(&mut self, now: CoordinatorTime, is_away: bool) {
        if self.away.excuses(now.0, is_away) {
            self.members.iter_mut().for_each(|member| member.heard = member.heard.max(now));
            self.lease_due = self.lease_due.max(now.after(LEASE_EVERY));
        }
    }

    /// Handles the passing of time: gives up silent agents, and renews the leases when this is due.
    pub fn on_time(&mut self, now: CoordinatorTime) -> Vec<Action> {
        let mut actions = Vec::new();
        for index in 0..self.members.len() {
            let silent = |member: &Member| self.silent_at(member).is_some_and(|at| now >= at);
            if !self.over && self.members.get(index).is_some_and(silent) {
                let since = self.members.get(index).map_or(now, |member| member.heard);
                actions.extend(self.lose(index, Loss::Silent(Duration::from_nanos(now.0.saturating_sub(since.0)))));
            }
        }
        if !self.over && now >= self.lease_due {
            self.lease_due = now.after(LEASE_EVERY);
            let members = self.members.iter_mut().zip(0..);
            actions.extend(members.filter_map(|(member, index)| Some(Action::Send(index, member.renew(now)?))));
        }
        actions
    }

    /// Handles an interrupt by the user. If all agents have started, running agents end their load early and send the
    /// remaining records. Otherwise, the run is aborted.
    pub fn on_interrupt(&mut self) -> Vec<Action> {
        if self.over {
            return Vec::new();
        }
        if !self.members.iter().all(|member| member.state.has_started()) {
            return self.abort(Abort::Interrupted);
        }
        self.end_early()
    }

    /// Ends the load of all running agents early, because no more data is needed. The agents send the remaining
    /// records.
    pub fn end_early(&mut self) -> Vec<Action> {
        if self.over {
            return Vec::new();
        }
        let is_running = |member: &Member| matches!(member.state, State::Running { .. });
        let running = self.members.iter().zip(0..).filter(|(member, _)| is_running(member));
        running.map(|(_, index)| Action::Send(index, ToAgent::Stop)).collect()
    }

    /// Returns the time from which a member counts as silent; `None` if the member has no message to send now.
    fn silent_at(&self, member: &Member) -> Option<CoordinatorTime> {
        let since = match member.state {
            State::Ready | State::Probed | State::Done { .. } => return None,
            State::Ordered => self.start.map_or(member.heard, |start| start.max(member.heard)),
            _ => member.heard,
        };
        let max = match member.state {
            State::Joining | State::Preparing => self.settings.prepare_max,
            _ => self.settings.silence_max,
        };
        Some(since.after(max))
    }

    fn living(&self) -> impl Iterator<Item = usize> {
        let alive = |member: &&Member| !matches!(member.state, State::Done { .. });
        self.members.iter().zip(0..).filter(move |(member, _)| alive(member)).map(|(_, index)| index)
    }

    /// Takes the next step that needs all agents, if all of them are ready for it.
    fn advance(&mut self, now: CoordinatorTime) -> Vec<Action> {
        let all = |wanted: fn(&State) -> bool| self.members.iter().all(|member| wanted(&member.state));
        if all(|state| matches!(state, State::Ready)) {
            return self.members.iter_mut().zip(0..).map(|(member, index)| member.probe(index, 0, now)).collect();
        }
        if all(|state| matches!(state, State::Probed)) {
            return self.order_start(now);
        }
        if all(|state| matches!(state, State::Done { .. })) {
            return self.finish();
        }
        Vec::new()
    }

    fn order_start(&mut self, now: CoordinatorTime) -> Vec<Action> {
        let offsets: Vec<Offset> = self.members.iter().filter_map(|member| member.offset).collect();
        let (spread, max) = (expected_spread(&offsets), self.settings.spread_max);
        if spread > max {
            let worst = self.members.iter().max_by_key(|member| member.offset.map(Offset::uncertainty));
            let agent = worst.map(|member| member.name.clone()).unwrap_or_default();
            return self.abort(Abort::Spread { spread, max, agent });
        }
        let start = now.after(START_LEAD);
        self.start = Some(start);
        let started_unix_ms = self.started_unix_ms().unwrap_or(0);
        let mut actions = Vec::new();
        for index in 0..self.members.len() {
            let Some(member) = self.members.get_mut(index) else { continue };
            let Some(at) = member.offset.and_then(|offset| offset.to_agent(start)) else {
                actions.extend(self.lose(index, Loss::Clock));
                return actions;
            };
            member.state = State::Ordered;
            // While the agent waited for the others, it had nothing to send. Count its silence from now.
            member.heard = now;
            let uncertainty = member.offset.map_or(Duration::ZERO, Offset::uncertainty);
            let terms = Terms {
                name: member.name.clone(),
                started_unix_ms,
                uncertainty_nanos: nanos(uncertainty),
                spread_max_nanos: nanos(self.settings.spread_max),
                tolerate_lost: self.settings.tolerate_lost as u64,
            };
            actions.push(Action::Send(index, ToAgent::StartAt { at, terms }));
        }
        actions
    }

    fn lose(&mut self, index: usize, loss: Loss) -> Vec<Action> {
        if self.over {
            return Vec::new();
        }
        let begun = self.members.iter().all(|member| member.state.has_started());
        let Some(member) = self.members.get_mut(index) else { return Vec::new() };
        match member.state {
            State::Done { .. } => Vec::new(),
            State::Running { started, here } if begun => {
                member.state = State::Done { started, here, loss: Some(loss) };
                let over = self.living().next().is_none();
                // A lost agent that still runs must stop, because the coordinator no longer observes it.
                let mut actions = vec![Action::Send(index, ToAgent::Abort)];
                actions.extend(if over { self.finish() } else { Vec::new() });
                actions
            }
            _ => {
                let agent = member.name.clone();
                self.abort(Abort::Lost { agent, loss })
            }
        }
    }

    fn abort(&mut self, reason: Abort) -> Vec<Action> {
        self.over = true;
        let mut actions: Vec<Action> = self.living().map(|index| Action::Send(index, ToAgent::Abort)).collect();
        actions.push(Action::Finish(Outcome::Aborted(reason)));
        actions
    }

    fn finish(&mut self) -> Vec<Action> {
        self.over = true;
        let agents: Vec<AgentResult> = self.members.iter().filter_map(Member::result).collect();
        let lost = agents.iter().filter(|agent| agent.loss.is_some()).count();
        // If all agents were lost, the run is partial, whatever number of losses is tolerated.
        let partial = lost > self.settings.tolerate_lost || lost == agents.len();
        let start = self.start.unwrap_or(CoordinatorTime(0));
        vec![Action::Finish(Outcome::Ended(Ended { start, agents, partial }))]
    }
}

impl State {
    fn has_started(&self) -> bool {
        matches!(self, Self::Running { .. } | Self::Done { .. })
    }
}

impl Member {
    /// Returns the message that renews the lease; `None` if the agent is done. For a running agent, the message is a probe,
    /// because its clock may drift during a long run.
    fn renew(&mut self, now: CoordinatorTime) -> Option<ToAgent> {
        match self.state {
            State::Done { .. } => None,
            State::Running { .. } => {
                let number = self.asked.map_or(PROBES, |(number, _)| number.wrapping_add(1));
                self.asked = Some((number, now));
                Some(ToAgent::Probe { number })
            }
            _ => Some(ToAgent::Lease),
        }
    }

    fn probe(&mut self, index: usize, number: u32, now: CoordinatorTime) -> Action {
        self.state = State::Probing { number, sent: now };
        self.heard = now;
        Action::Send(index, ToAgent::Probe { number })
    }

    /// Handles a message, or returns the reason why the agent counts as lost.
    fn hear(
        &mut self,
        index: usize,
        now: CoordinatorTime,
        message: FromAgent,
        settings: &Settings,
    ) -> Result<Vec<Action>, Loss> {
        let measured =
            |sent, received, replied| Offset::of(&Probe { sent, received, replied, returned: now }).ok_or(Loss::Clock);
        match (message, &self.state) {
            (FromAgent::Refused { refusal }, _) => Err(Loss::Refused(refusal)),
            (FromAgent::Failed { reason }, _) => Err(Loss::Failed(reason)),
            (FromAgent::Joined, State::Joining) => {
                self.state = State::Preparing;
                let plan = settings.plan.clone();
                Ok(vec![Action::Send(index, ToAgent::Prepare { hash: Hash::of(plan.as_bytes()), plan })])
            }
            (FromAgent::Ready, State::Preparing) => {
                self.state = State::Ready;
                Ok(Vec::new())
            }
            (FromAgent::Clock { number, received, replied }, &State::Probing { number: asked, sent })
                if number == asked =>
            {
                let offset = measured(sent, received, replied)?;
                self.offset = Some(self.offset.map_or(offset, |best| best.better(offset)));
                if number + 1 < PROBES {
                    return Ok(vec![self.probe(index, number + 1, now)]);
                }
                self.state = State::Probed;
                Ok(Vec::new())
            }
            (FromAgent::Clock { number, received, replied }, State::Running { .. }) => {
                // The reply to an earlier probe may arrive after the next one was sent.
                let Some((_, sent)) = self.asked.filter(|(asked, _)| *asked == number) else { return Ok(Vec::new()) };
                let drift = measured(sent, received, replied)?.drift_since(self.offset.ok_or(Loss::Clock)?);
                self.drift = Some(self.drift.map_or(drift, |largest| largest.larger(drift)));
                Ok(Vec::new())
            }
            (FromAgent::Started { at }, State::Ordered) => {
                let here = self.offset.and_then(|offset| offset.to_coordinator(at)).ok_or(Loss::Clock)?;
                self.state = State::Running { started: at, here };
                Ok(Vec::new())
            }
            (FromAgent::Record { number, record }, State::Running { .. }) => self.take(index, number, record),
            (FromAgent::Done { records }, &State::Running { started, here }) => {
                match records.cmp(&self.records) {
                    Ordering::Greater => return Err(Loss::Gap(self.records)),
                    Ordering::Less => return Err(Loss::OutOfOrder),
                    Ordering::Equal => {}
                }
                self.state = State::Done { started, here, loss: None };
                Ok(Vec::new())
            }
            _ => Err(Loss::OutOfOrder),
        }
    }

    /// Accepts a record. Ignores a record that arrived before. A gap in the numbers means that the agent is lost.
    fn take(&mut self, index: usize, number: u64, record: String) -> Result<Vec<Action>, Loss> {
        if number > self.records {
            return Err(Loss::Gap(self.records));
        }
        if number < self.records {
            return Ok(Vec::new());
        }
        self.records += 1;
        Ok(vec![Action::Record(index, record)])
    }

    fn result(&self) -> Option<AgentResult> {
        let State::Done { started, here, loss } = &self.state else { return None };
        Some(AgentResult {
            name: self.name.clone(),
            started: *started,
            started_here: *here,
            uncertainty: self.offset?.uncertainty(),
            drift: self.drift,
            records: self.records,
            loss: loss.clone(),
        })
    }
}
