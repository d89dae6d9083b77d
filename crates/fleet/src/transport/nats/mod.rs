//! Messages over NATS, a message bus: agents dial out to the bus and wait for runs, and coordinators call them.
//!
//! The bus loses messages, for example while it restarts, or if a receiver is slow. So each pair of coordinator and
//! agent has a `link`, which numbers, acknowledges and repeats messages. Every message arrives once and in order, or
//! the link ends. A message of the bus is smaller than the server allows, so the link splits larger records into
//! pieces. Each queue has a maximum length. A message that does not fit into a queue is not acknowledged, so it is sent
//! again. JetStream could also keep messages until they are received, but then every NATS server would need JetStream.
//! It is not needed, because the lease already decides how long old messages matter.
//!
//! While the bus is away, silence does not count for up to five minutes ([`crate::away`]). The agents continue to
//! measure, and keep the messages that they cannot send. If the bus is not away, the coordinator asks the server about
//! silent agents (`presence`). A killed agent is therefore noticed in seconds, but an agent that only stands still is
//! not lost.
//!
//! `end_to_end/fleet_bus.rs` of the crate `plimsoll` tests with a real nats-server, which it also kills and restarts.
//!
//! | subject | from | content |
//! |---|---|---|
//! | `plimsoll.call` | a coordinator | asks which agents are free |
//! | `plimsoll.agent.NAME` | a coordinator | messages for one agent |
//! | `plimsoll.run.RUN.NAME` | an agent | messages for the coordinator of this run |

mod agent;
mod bus;
mod coordinator;
mod credentials;
mod frame;
mod link;
mod presence;
pub mod setup;

pub use agent::{NatsAgent, NatsToCoordinator};
pub use bus::{BusEvent, BusOptions, NatsError, OnBusEvent};
pub use coordinator::{CallError, NatsToAgents};
pub use frame::{AgentName, Frame, Head};

use crate::message::RunId;

/// Subject on which coordinators call all agents.
const CALL: &str = "plimsoll.call";
/// Subjects of all agents.
const AGENTS: &str = "plimsoll.agent.*";
/// Subjects of all agents in all runs.
const RUNS: &str = "plimsoll.run.*.*";

/// Returns the subject of an agent.
fn agent_subject(name: &AgentName) -> String {
    format!("plimsoll.agent.{}", name.as_str())
}

/// Returns the subject on which an agent sends messages to the coordinator of a run.
fn run_subject(run: &RunId, name: &AgentName) -> String {
    format!("plimsoll.run.{}.{}", run.as_str(), name.as_str())
}

/// Returns the subjects on which the coordinator of a run receives the messages of all agents.
fn run_subjects(run: &RunId) -> String {
    format!("plimsoll.run.{}.*", run.as_str())
}

/// Returns the agent that sent a message with this subject.
fn sender(subject: &str) -> Option<AgentName> {
    AgentName::try_from(subject.rsplit('.').next()?.to_owned()).ok()
}
