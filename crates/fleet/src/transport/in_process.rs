//! Coordinator and agents in one process. Messages still travel as lines, so that the same limits apply.

use super::mailbox::Mailbox;
use super::{AgentTransport, CoordinatorTransport, QUEUE_MAX, Received, SEND_WAIT, SendError};
use crate::lines;
use crate::message::{FromAgent, ToAgent};
use serde::de::DeserializeOwned;
use std::time::Duration;

type Line = Received<Vec<u8>>;

/// The coordinator's end.
pub struct CoordinatorEnd {
    inbox: Mailbox<(usize, Line)>,
    agents: Vec<Mailbox<Line>>,
}

/// An agent's end. Dropping it ends the connection.
pub struct AgentEnd {
    index: usize,
    inbox: Mailbox<Line>,
    coordinator: Mailbox<(usize, Line)>,
}

/// Connects a coordinator with this number of agents.
#[must_use]
pub fn in_process(agents: usize) -> (CoordinatorEnd, Vec<AgentEnd>) {
    let inbox = Mailbox::new(QUEUE_MAX.saturating_mul(agents));
    let inboxes: Vec<Mailbox<Line>> = (0..agents).map(|_| Mailbox::new(QUEUE_MAX)).collect();
    let end =
        |(index, own): (usize, &Mailbox<Line>)| AgentEnd { index, inbox: own.clone(), coordinator: inbox.clone() };
    let ends = inboxes.iter().enumerate().map(end).collect();
    (CoordinatorEnd { inbox, agents: inboxes }, ends)
}

fn decode<M: DeserializeOwned>(line: Line) -> Received<M> {
    match line {
        Received::Message(bytes) => Received::of_line(&bytes),
        Received::Closed(reason) => Received::Closed(reason),
    }
}

impl CoordinatorTransport for CoordinatorEnd {
    fn send(&mut self, agent: usize, message: &ToAgent) -> Result<(), SendError> {
        let line = Received::Message(lines::encode(message)?);
        self.agents.get(agent).ok_or(SendError::Closed)?.post(line, Duration::ZERO)
    }

    fn receive(&mut self, wait: Duration) -> Option<(usize, Received<FromAgent>)> {
        self.inbox.take(wait).map(|(index, line)| (index, decode(line)))
    }
}

impl AgentTransport for AgentEnd {
    fn send(&mut self, message: &FromAgent) -> Result<(), SendError> {
        self.coordinator.post((self.index, Received::Message(lines::encode(message)?)), SEND_WAIT)
    }

    fn receive(&mut self, wait: Duration) -> Option<Received<ToAgent>> {
        self.inbox.take(wait).map(decode)
    }
}

impl Drop for AgentEnd {
    fn drop(&mut self) {
        self.inbox.abandon();
        self.coordinator.post_last((self.index, Received::Closed("the agent is gone".to_owned())));
    }
}

impl Drop for CoordinatorEnd {
    fn drop(&mut self) {
        self.inbox.abandon();
        for agent in &self.agents {
            agent.post_last(Received::Closed("the coordinator is gone".to_owned()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    #[test]
    fn messages_arrive_in_order_and_before_the_end() {
        let (mut coordinator, mut agents) = in_process(2);
        let mut agent = agents.pop().expect("two");
        coordinator.send(1, &ToAgent::Probe { number: 3 }).expect("there is space");
        assert_eq!(agent.receive(NOW), Some(Received::Message(ToAgent::Probe { number: 3 })));
        agent.send(&FromAgent::Joined).expect("there is space");
        agent.send(&FromAgent::Ready).expect("there is space");
        drop(agent);
        assert_eq!(coordinator.receive(NOW), Some((1, Received::Message(FromAgent::Joined))));
        assert_eq!(coordinator.receive(NOW), Some((1, Received::Message(FromAgent::Ready))));
        assert!(matches!(coordinator.receive(NOW), Some((1, Received::Closed(_)))));
        assert_eq!(coordinator.receive(NOW), None);
        assert!(matches!(coordinator.send(1, &ToAgent::Lease), Err(SendError::Closed)));
    }

    #[test]
    fn an_agent_that_does_not_read_does_not_stop_the_coordinator() {
        let (mut coordinator, _agents) = in_process(1);
        for _ in 0..QUEUE_MAX {
            coordinator.send(0, &ToAgent::Lease).expect("there is space");
        }
        assert!(matches!(coordinator.send(0, &ToAgent::Lease), Err(SendError::Full)));
    }

    #[test]
    fn agents_notice_the_end_of_their_coordinator() {
        let (coordinator, mut agents) = in_process(1);
        let mut agent = agents.pop().expect("one");
        drop(coordinator);
        assert!(matches!(agent.receive(NOW), Some(Received::Closed(_))));
        assert!(matches!(agent.send(&FromAgent::Ready), Err(SendError::Closed)));
    }
}
