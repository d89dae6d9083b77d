//! The end of a run of a fleet.

use crate::clock::{AgentTime, CoordinatorTime, Drift};
use crate::message::Refusal;
use std::time::Duration;

/// End of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The run did not begin on all agents. It has no result.
    Aborted(Abort),
    /// The run began on all agents.
    Ended(Ended),
}

/// Reason why a run was aborted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Abort {
    /// An agent was lost before it started.
    #[error("{agent} was lost before the start: {loss}")]
    Lost {
        /// The name of the agent.
        agent: String,
        /// The reason for the loss.
        loss: Loss,
    },
    /// The user interrupted the run.
    #[error("interrupted before the start")]
    Interrupted,
    /// The offsets of the clocks are not exact enough for a common start within the limit.
    #[error(
        "the starts could differ by {spread:.1?}, more than the limit of {max:?}; the least exact clock is that of {agent}"
    )]
    Spread {
        /// Largest possible difference of the starts.
        spread: Duration,
        /// The limit.
        max: Duration,
        /// The agent with the largest uncertainty.
        agent: String,
    },
}

/// Reason for the loss of an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Loss {
    /// It refused to take part.
    #[error("{0}")]
    Refused(Refusal),
    /// It reported a failure.
    #[error("{0}")]
    Failed(String),
    /// The connection ended.
    #[error("the connection ended: {0}")]
    Closed(String),
    /// It was silent for too long.
    #[error("it was silent for {} s", .0.as_secs())]
    Silent(Duration),
    /// It sent a message that does not belong in the present state.
    #[error("it sent a message out of order")]
    OutOfOrder,
    /// Its clock gave impossible instants.
    #[error("its clock is unusable")]
    Clock,
    /// One of its records did not arrive.
    #[error("record {0} is missing")]
    Gap(u64),
}

/// A run that began on all agents.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// T0.
    pub start: CoordinatorTime,
    /// The agents, in the order of their numbers.
    pub agents: Vec<AgentResult>,
    /// `true` if more agents were lost than tolerated.
    pub partial: bool,
}

/// The result of one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentResult {
    /// The name of the agent.
    pub name: String,
    /// The actual start in the agent's clock.
    pub started: AgentTime,
    /// The actual start in the coordinator's clock, exact to `uncertainty`.
    pub started_here: CoordinatorTime,
    /// The largest error of `started_here`.
    pub uncertainty: Duration,
    /// The largest drift of the agent's clock that was measured during the run. `None` if the clocks were not compared again.
    pub drift: Option<Drift>,
    /// The number of records that arrived.
    pub records: u64,
    /// Reason for the loss of the agent; `None` without a loss.
    pub loss: Option<Loss>,
}

impl Ended {
    /// Returns how far apart the actual starts were.
    #[must_use]
    pub fn spread(&self) -> Duration {
        let starts = || self.agents.iter().map(|agent| agent.started_here.0);
        let (first, last) = (starts().min().unwrap_or(0), starts().max().unwrap_or(0));
        Duration::from_nanos(last.saturating_sub(first))
    }
}
