//! The messages of the protocol.
//!
//! A plan names its secrets only by reference. No message has a field for a secret.

use crate::clock::AgentTime;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The version of this protocol. Increase it with every change of a message.
pub const PROTOCOL: u32 = 3;

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

    /// Computes the hash of bytes that `read` passes on piece by piece.
    ///
    /// # Errors
    /// The errors of `read`.
    pub fn of_pieces<E>(read: impl FnOnce(&mut dyn FnMut(&[u8])) -> Result<(), E>) -> Result<Self, E> {
        let mut digest = Sha256::new();
        read(&mut |piece| digest.update(piece))?;
        Ok(Self(digest.finalize().into()))
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

/// Facts about a run that its agents do not know by themselves. Each agent keeps them next to its records, so that another
/// coordinator can write the report of the run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Terms {
    /// The name of the agent, as its coordinator names it.
    pub name: String,
    /// Wall time of T0 at the coordinator, in milliseconds since 1970.
    pub started_unix_ms: u64,
    /// Largest error of the agent's start, in nanoseconds.
    pub uncertainty_nanos: u64,
    /// Largest accepted difference of the starts, in nanoseconds.
    pub spread_max_nanos: u64,
    /// Number of agents that may be lost without making the run partial.
    pub tolerate_lost: u64,
}

/// A part of a run that an agent has kept on its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptPart {
    /// The part.
    pub part: Part,
    /// Time from T0 to the actual start, in nanoseconds.
    pub late_nanos: i64,
    /// The facts from the coordinator of the run.
    pub terms: Terms,
}

/// A part of an earlier run, as an agent finds it on its host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FoundPart {
    /// The part.
    pub kept: KeptPart,
    /// `false` if the part is still being made, or if its agent was killed.
    pub is_over: bool,
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
        /// Facts to keep with the records.
        terms: Terms,
    },
    /// Asks which parts of an earlier run the agent has kept. This is the first message, in place of `Hello`.
    Find {
        /// The coordinator's [`PROTOCOL`].
        protocol: u32,
        /// The hash of the coordinator's program.
        build: Hash,
        /// The earlier run.
        run: RunId,
    },
    /// Asks for the records of a kept part.
    Fetch {
        /// Number of the part.
        index: u32,
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
    /// The reply to `Find`.
    Kept {
        /// The parts of the run on this host.
        parts: Vec<FoundPart>,
    },
    /// The run has ended, or all records of a kept part were sent.
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
