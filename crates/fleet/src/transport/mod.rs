//! The transport of messages. Agents never listen: they are started by the coordinator, or dial out.
//!
//! Both traits are blocking, with limits on the wait and on the queue. They do not mention connections, so that both
//! pipes and the subjects of a message bus can implement them.

mod in_process;
mod mailbox;
pub mod nats;
mod pipes;

pub use in_process::{AgentEnd, CoordinatorEnd, in_process};
pub use pipes::{AgentPipes, PipeToCoordinator, PipesToAgents};

use crate::lines::{self, LineError};
use crate::message::{FromAgent, ToAgent};
use serde::de::DeserializeOwned;
use std::time::Duration;

/// Maximum number of messages from one agent that wait for the coordinator, and of messages that wait for one agent.
const QUEUE_MAX: usize = 64;
/// Maximum time for which an agent waits for a coordinator that is behind.
const SEND_WAIT: Duration = Duration::from_secs(10);

/// A message that arrived, or the reason why none did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received<M> {
    /// A message.
    Message(M),
    /// Nothing more will arrive, for this reason.
    Closed(String),
}

impl<M: DeserializeOwned> Received<M> {
    /// Returns the message in a line. A line that is not a message ends the connection.
    fn of_line(line: &[u8]) -> Self {
        match lines::read(&mut &*line) {
            Ok(Some(message)) => Self::Message(message),
            Ok(None) => Self::Closed(LineError::CutOff.to_string()),
            Err(error) => Self::Closed(error.to_string()),
        }
    }
}

/// Reason why a message was not sent.
#[derive(Debug, thiserror::Error)]
pub enum SendError {
    /// The other end is gone.
    #[error("the other end is gone")]
    Closed,
    /// The other end does not read.
    #[error("the other end does not read its messages")]
    Full,
    /// The message cannot be written.
    #[error(transparent)]
    Line(#[from] LineError),
}

/// The coordinator's end, which reaches all agents by their numbers.
pub trait CoordinatorTransport {
    /// Sends a message to an agent. Does not wait for a slow agent, because the other agents need the coordinator.
    fn send(&mut self, agent: usize, message: &ToAgent) -> Result<(), SendError>;

    /// Returns the next message or event, and the agent from which it came. Returns `None` if nothing arrives for
    /// `wait`. [`Received::Closed`] comes after the last message of the agent.
    fn receive(&mut self, wait: Duration) -> Option<(usize, Received<FromAgent>)>;

    /// Returns whether no agent can be reached now, because the bus between them is away.
    fn is_away(&self) -> bool {
        false
    }
}

/// An agent's end.
pub trait AgentTransport {
    /// Sends a message to the coordinator. Waits for a limited time if the coordinator is behind.
    fn send(&mut self, message: &FromAgent) -> Result<(), SendError>;

    /// Returns the next message or event, or `None` if nothing arrives for `wait`.
    fn receive(&mut self, wait: Duration) -> Option<Received<ToAgent>>;

    /// Returns whether the coordinator cannot be reached now, because the bus between them is away.
    fn is_away(&self) -> bool {
        false
    }

    /// Waits until the coordinator has received all messages that were sent, as long as `goes_on` returns `true` and the
    /// coordinator is not silent for too long.
    fn finish(&mut self, _goes_on: &mut dyn FnMut() -> bool) {}
}
