//! The coordinator's end of the bus: it calls agents, and exchanges messages with the agents that it chooses.

use super::bus::{Arrived, Bus, BusOptions, NatsError};
use super::frame::{AgentName, Frame, Head};
use super::link::{Link, QueueLimits};
use super::presence::Presence;
use super::{CALL, agent_subject, run_subject, run_subjects, sender};
use crate::lines::{self, LineError};
use crate::message::{FromAgent, RunId, ToAgent};
use crate::transport::{CoordinatorTransport, QUEUE_MAX, Received, SendError};
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroUsize;
use std::time::{Duration, Instant};

/// Time between two calls. The agents have this time to reply.
const CALL_EVERY: Duration = Duration::from_millis(500);
/// Limits of the messages that wait for an agent. The longest one is a plan.
const QUEUE: QueueLimits = QueueLimits { messages: QUEUE_MAX, bytes: 16 << 20 };
/// Maximum number of agents whose replies are kept.
const OFFERS_MAX: usize = 4096;
/// Time between two looks at all agents, for repetitions that are due and for agents that have left. Looking at all agents
/// after each message would take a large part of the CPU time of a coordinator of many agents.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Time for which a coordinator that ends waits until the agents have received its last messages.
const END_WAIT: Duration = Duration::from_secs(3);

/// Reason why there are no agents for a run.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The bus is not usable.
    #[error(transparent)]
    Bus(#[from] NatsError),
    /// Too few agents are free.
    #[error("only {free} of {wanted} agents were free within {} s, and {busy} were busy with other runs", .waited.as_secs())]
    TooFew {
        /// The number of agents that the run needs.
        wanted: usize,
        /// The number of free agents.
        free: usize,
        /// The number of agents that belong to other runs.
        busy: usize,
        /// The time limit.
        waited: Duration,
    },
    /// The user interrupted the wait.
    #[error("interrupted while waiting for agents")]
    Interrupted,
}

/// An agent of the run.
struct Peer {
    name: AgentName,
    link: Link,
    presence: Presence,
    /// `true` if the agent has left the run, or its link failed.
    closed: bool,
}

impl Peer {
    fn new(name: AgentName, bus: &Bus) -> Self {
        let link = Link::new(bus.piece_max(), QUEUE);
        Self { name, link, presence: Presence::new(Instant::now()), closed: false }
    }
}

/// The coordinator's end of the links to all agents. Dropping it sends the remaining messages, and tells the agents
/// that the coordinator has left.
pub struct NatsToAgents {
    bus: Bus,
    run: RunId,
    peers: Vec<Peer>,
    inbox: VecDeque<(usize, Received<FromAgent>)>,
    /// Time of the last look at all agents.
    looked: Option<Instant>,
}

impl NatsToAgents {
    /// Calls agents until at least `count` of them are free. Then connects to `count` free agents, which are the first
    /// ones in the order of their names. The wait ends early if `goes_on` returns `false`.
    ///
    /// # Errors
    /// Fails if the bus is not usable, or if too few agents are free within `wait`.
    pub fn call(
        options: &BusOptions,
        run: &RunId,
        count: NonZeroUsize,
        wait: Duration,
        mut goes_on: impl FnMut() -> bool,
    ) -> Result<Self, CallError> {
        let bus = Bus::connect(options, vec![run_subjects(run)])?;
        let until = Instant::now() + wait;
        loop {
            let offers = offers(&bus, run);
            bus.check_permissions()?;
            let free = || offers.iter().filter(|(_, busy)| !**busy).map(|(name, _)| name);
            if free().count() >= count.get() {
                let peers = free().take(count.get()).map(|name| Peer::new(name.clone(), &bus)).collect();
                return Ok(Self { bus, run: run.clone(), peers, inbox: VecDeque::new(), looked: None });
            }
            if !goes_on() {
                return Err(CallError::Interrupted);
            }
            if Instant::now() >= until {
                let free = free().count();
                return Err(CallError::TooFew { wanted: count.get(), free, busy: offers.len() - free, waited: wait });
            }
        }
    }

    /// Calls agents once, and connects to all that are free. Also returns the number of busy agents.
    ///
    /// # Errors
    /// Fails if the bus is not usable.
    pub fn call_free(options: &BusOptions, run: &RunId) -> Result<(Self, usize), CallError> {
        let bus = Bus::connect(options, vec![run_subjects(run)])?;
        let offers = offers(&bus, run);
        bus.check_permissions()?;
        let free = || offers.iter().filter(|(_, busy)| !**busy).map(|(name, _)| name.clone());
        let peers: Vec<Peer> = free().map(|name| Peer::new(name, &bus)).collect();
        let busy = offers.len() - peers.len();
        Ok((Self { bus, run: run.clone(), peers, inbox: VecDeque::new(), looked: None }, busy))
    }

    /// Returns the names of the agents, in the order of their numbers.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.peers.iter().map(|peer| peer.name.as_str().to_owned()).collect()
    }

    /// Sends an agent the messages that are due. If the bus is not connected, they wait.
    fn send_due_to(&mut self, index: usize) {
        if !self.bus.is_connected() {
            return;
        }
        let now = Instant::now();
        let Some(peer) = self.peers.get_mut(index).filter(|peer| !peer.closed) else { return };
        while let Some((head, body)) = peer.link.next_to_send(now) {
            self.bus.send(agent_subject(&peer.name), &Frame { run: self.run.clone(), head, body });
        }
    }

    /// Sends all agents what is due, and looks for absent agents, if the last time was long enough ago.
    fn look_at_all(&mut self) {
        let now = Instant::now();
        if self.looked.is_some_and(|at| now < at + LOOK_EVERY) {
            return;
        }
        self.looked = Some(now);
        (0..self.peers.len()).for_each(|index| self.send_due_to(index));
        self.look_for_absent();
    }

    /// Asks the server about silent agents, and gives up agents that are not connected to it any more.
    fn look_for_absent(&mut self) {
        let (now, is_connected) = (Instant::now(), self.bus.is_connected());
        for (index, peer) in self.peers.iter_mut().enumerate().filter(|(_, peer)| !peer.closed) {
            if !is_connected {
                peer.presence.on_heard(now);
            } else if peer.presence.is_gone(now) {
                peer.closed = true;
                let reason = "the agent is not connected to NATS any more".to_owned();
                self.inbox.push_back((index, Received::Closed(reason)));
            } else if peer.presence.must_ask(now) {
                let frame = Frame::new(&self.run, peer.link.receipt());
                self.bus.ask(agent_subject(&peer.name), run_subject(&self.run, &peer.name), &frame);
            }
        }
    }

    fn take(&mut self, arrived: Arrived) {
        match arrived {
            Arrived::Frame(subject, frame) => self.take_frame(&subject, &frame),
            Arrived::NoSubscriber(subject) => {
                let name = sender(&subject);
                let absent = self.peers.iter_mut().find(|peer| Some(&peer.name) == name.as_ref());
                absent.into_iter().for_each(|peer| peer.presence.on_absent(Instant::now()));
            }
        }
    }

    fn take_frame(&mut self, subject: &str, frame: &Frame) {
        let Some(name) = sender(subject).filter(|_| frame.run == self.run) else { return };
        let Some(index) = self.peers.iter().position(|peer| peer.name == name && !peer.closed) else { return };
        let has_space = self.inbox.len() < QUEUE_MAX.saturating_mul(self.peers.len());
        let Some(peer) = self.peers.get_mut(index) else { return };
        peer.presence.on_heard(Instant::now());
        match frame.head {
            // If there is no space, do not acknowledge the piece, so that it is sent again.
            Head::Piece { number, last } if has_space => {
                let received = match peer.link.on_piece(number, last, &frame.body) {
                    Ok(line) => line.map(|line| Received::of_line(&line)),
                    Err(_) => Some(Received::Closed(LineError::TooLong.to_string())),
                };
                peer.closed = matches!(received, Some(Received::Closed(_)));
                self.inbox.extend(received.map(|received| (index, received)));
            }
            Head::Received { next } => peer.link.on_received(Instant::now(), next),
            Head::Bye => {
                peer.closed = true;
                self.inbox.push_back((index, Received::Closed("the agent has left the run".to_owned())));
            }
            Head::Piece { .. } | Head::Call | Head::Offer { .. } => {}
        }
        // An acknowledgement, or what the agent has made room for.
        self.send_due_to(index);
    }

    /// Sends due messages and receives messages until `done` returns `true`, or for `wait`.
    fn exchange(&mut self, wait: Duration, done: impl Fn(&Self) -> bool) {
        let until = Instant::now() + wait;
        loop {
            self.look_at_all();
            let now = Instant::now();
            if done(self) || now >= until {
                return;
            }
            let next = until.min(now + LOOK_EVERY);
            if let Some(arrived) = self.bus.receive(next - now) {
                self.take(arrived);
            }
        }
    }
}

/// Calls all agents once. Returns the agents that reply, and whether each of them is busy.
fn offers(bus: &Bus, run: &RunId) -> BTreeMap<AgentName, bool> {
    let mut offers = BTreeMap::new();
    let until = Instant::now() + CALL_EVERY;
    if bus.is_connected() {
        bus.send(CALL.to_owned(), &Frame::new(run, Head::Call));
    }
    loop {
        let left = until.saturating_duration_since(Instant::now());
        if let Some(Arrived::Frame(subject, frame)) = bus.receive(left)
            && let Head::Offer { busy } = frame.head
            && frame.run == *run
            && offers.len() < OFFERS_MAX
            && let Some(name) = sender(&subject)
        {
            offers.insert(name, busy);
        }
        if left.is_zero() {
            return offers;
        }
    }
}

impl CoordinatorTransport for NatsToAgents {
    fn send(&mut self, agent: usize, message: &ToAgent) -> Result<(), SendError> {
        let line = lines::encode(message)?;
        let peer = self.peers.get_mut(agent).filter(|peer| !peer.closed).ok_or(SendError::Closed)?;
        peer.link.push(&line)?;
        self.send_due_to(agent);
        Ok(())
    }

    fn receive(&mut self, wait: Duration) -> Option<(usize, Received<FromAgent>)> {
        self.exchange(wait, |own| !own.inbox.is_empty());
        self.inbox.pop_front()
    }

    fn is_away(&self) -> bool {
        !self.bus.is_connected()
    }
}

impl Drop for NatsToAgents {
    fn drop(&mut self) {
        let arrived = |own: &Self| own.peers.iter().all(|peer| peer.closed || peer.link.is_empty());
        // Without a connection, do not wait: no acknowledgement can arrive. The agents stop at the end of their lease.
        self.exchange(END_WAIT, |own| arrived(own) || !own.bus.is_connected());
        for peer in &self.peers {
            self.bus.send(agent_subject(&peer.name), &Frame::new(&self.run, Head::Bye));
        }
    }
}
