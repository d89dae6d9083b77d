//! The messages of the protocol.
//!
//! A plan names its secrets only by reference. No message has a field for a secret.

use crate::clock::AgentTime;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version of this protocol. Increase it with every change of a message.
pub const PROTOCOL: u32 = 1;

/// Maximum length of the name of a run.
const RUN_ID_MAX: usize = 64;

/// The name of a run: 1 to 64 lower-case letters, digits and hyphens, so that it can be part of a path or a subject.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RunId(String);

/// The text is not a valid name of a run.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the run id is not 1 to 64 lower-case letters, digits and hyphens")]
pub struct BadRunId;

impl TryFrom<String> for RunId {
    type Error = BadRunId;

    fn try_from(text: String) -> Result<Self, BadRunId> {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let good = !text.is_empty() && text.len() <= RUN_ID_MAX && text.bytes().all(allowed);
        if good { Ok(Self(text)) } else { Err(BadRunId) }
    }
}

impl RunId {
    /// Returns the name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<RunId> for String {
    fn from(id: RunId) -> Self {
        id.0
    }
}

/// SHA-256, which identifies the text of a plan or the program file of a build.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hash([u8; 32]);

impl std::fmt::Display for Hash {
    /// Writes 64 hexadecimal digits, as `sha256sum` does.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Hash {
    /// Computes the hash of the bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }
}

/// The share of an agent: number `index` of `of` agents, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The number of the agent.
    pub index: u32,
    /// The number of agents.
    pub of: u32,
}

/// A message from the coordinator to an agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum ToAgent {
    /// The first message.
    Hello {
        /// The coordinator's [`PROTOCOL`].
        protocol: u32,
        /// The hash of the coordinator's program.
        build: Hash,
        /// The run to join.
        run: RunId,
        /// The agent's share of the run.
        part: Part,
    },
    /// The plan to prepare.
    Prepare {
        /// The hash of `plan`.
        hash: Hash,
        /// The plan, as text.
        plan: String,
    },
    /// Asks for the time on the agent's clock.
    Probe {
        /// Number of the probe.
        number: u32,
    },
    /// Orders the start.
    StartAt {
        /// T0 in the agent's clock.
        at: AgentTime,
    },
    /// Renews the lease. Every other message that fits the agent's state renews it too.
    Lease,
    /// Orders the agent to end its load early, and to send the remaining records.
    Stop,
    /// Orders the agent to stop, without sending anything more.
    Abort,
}

/// A message from an agent to the coordinator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum FromAgent {
    /// The agent takes part.
    Joined,
    /// The agent does not take part.
    Refused {
        /// Why.
        refusal: Refusal,
    },
    /// The plan is prepared, so the agent can start the load without further delay.
    Ready,
    /// The reply to a probe.
    Clock {
        /// Number of the probe.
        number: u32,
        /// Arrival of the probe.
        received: AgentTime,
        /// Departure of this reply.
        replied: AgentTime,
    },
    /// The load has started.
    Started {
        /// The actual start.
        at: AgentTime,
    },
    /// One record of the run.
    Record {
        /// Number of the record, from 0 without gaps.
        number: u64,
        /// The record, as in the agent's run directory: the setup of the run, an interval, or the end. For a search, also
        /// the counts of slices, which are not in the run directory.
        record: String,
    },
    /// The run has ended.
    Done {
        /// Number of records that the agent sent.
        records: u64,
    },
    /// The agent cannot go on.
    Failed {
        /// Why, as one line.
        reason: String,
    },
}

/// Reason why an agent does not take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The coordinator speaks another version of the protocol.
    #[error("coordinator and agent use different versions of the protocol")]
    Protocol,
    /// The coordinator is another build of the program.
    #[error("coordinator and agent are different builds of the program")]
    Build,
    /// The hash of the plan is not the hash that was sent with it.
    #[error("the hash of the received plan differs from the hash that was sent with it")]
    PlanHash,
    /// The agent already belongs to a run.
    #[error("the agent already belongs to a run")]
    Busy,
    /// The message does not belong in the present state.
    #[error("a message came out of order")]
    OutOfOrder,
}
