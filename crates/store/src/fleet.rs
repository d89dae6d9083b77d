//! A run that several hosts make together: the part of each agent, and the agents of the whole run.

use measure::LimitedBy;
use measure::values::bounded;
use serde::{Deserialize, Serialize};

/// Maximum number of agents.
pub const AGENTS_MAX: usize = 1024;

/// The part of an agent in a run of several hosts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FleetPart {
    /// Name of the run of all agents.
    pub run: String,
    /// Number of the agent, from 0.
    pub index: u32,
    /// Number of agents.
    pub of: u32,
    /// Description of the load of all agents together, in one line of plain text.
    pub load: String,
}

/// The agents of a run of several hosts, and how well they started together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fleet {
    /// Name of the run.
    pub run: String,
    /// Time between the first and the last start on the coordinator's clock, in nanoseconds.
    pub spread_nanos: u64,
    /// Largest accepted time between two starts in nanoseconds.
    pub spread_limit_nanos: u64,
    /// Length, in nanoseconds, of the time in which all agents that contribute to the results were measured
    /// simultaneously.
    pub together_nanos: u64,
    /// Result of the first agent when it made its part of the load alone, before this run. `None` if this was not
    /// measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<Box<FleetAgent>>,
    /// The agents, in order of their numbers.
    #[serde(deserialize_with = "bounded::list::<_, _, AGENTS_MAX>")]
    pub agents: Vec<FleetAgent>,
}

/// One agent of a run of several hosts. The counts cover the whole measured window of the agent. All texts come from the
/// agent, except `name`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetAgent {
    /// The host, as the user named it.
    pub name: String,
    /// Host name that the agent's host reports about itself.
    pub host: String,
    /// The first target of the agent, without secrets.
    pub target: String,
    /// Time from the planned to the actual start on the coordinator's clock, in nanoseconds.
    pub late_nanos: i64,
    /// Largest error of `late_nanos`.
    pub uncertainty_nanos: u64,
    /// Drift of the agent's clock during the run. `None` if it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<ClockDrift>,
    /// Length of the measured window in nanoseconds.
    pub measured_nanos: u64,
    /// Number of measured operations that succeeded.
    pub ok: u64,
    /// Number of measured operations that failed.
    pub failed: u64,
    /// Number of measured operations that were dropped without being started.
    pub dropped: u64,
    /// Number of body bytes received in the measured window.
    pub body_bytes: u64,
    /// Number of body bytes sent in the measured window.
    pub sent_body_bytes: u64,
    /// Median response time of successful operations in nanoseconds.
    pub response_p50_nanos: Option<u64>,
    /// p99 response time of successful operations in nanoseconds.
    pub response_p99_nanos: Option<u64>,
    /// Resource or setting that limited the agent.
    pub limited_by: LimitedBy,
    /// Reason why the agent was lost; `None` if it was not lost.
    pub lost: Option<String>,
}

/// The time that passed on an agent's clock during a run, minus the time that passed on the coordinator's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockDrift {
    /// The drift, in nanoseconds.
    pub nanos: i64,
    /// Largest error of the drift, in nanoseconds.
    pub error_nanos: u64,
}

impl ClockDrift {
    /// Returns the smallest drift that fits the measurement, in nanoseconds and without its sign.
    #[must_use]
    pub fn certain_nanos(self) -> u64 {
        self.nanos.unsigned_abs().saturating_sub(self.error_nanos)
    }
}

/// The load of several agents, compared with the load of the first agent alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaling {
    /// Successful operations per second of all agents, without lost ones.
    pub rate: f64,
    /// Number of these agents.
    pub agents: usize,
    /// Successful operations per second of the first agent alone.
    pub alone_rate: f64,
}

impl Scaling {
    /// Returns the rate of all agents, divided by the rate that they would reach if each agent were as fast as the
    /// first agent alone. A factor of 1 means that the agents do not slow each other down.
    #[must_use]
    pub fn factor(self) -> f64 {
        self.rate / (self.agents as f64 * self.alone_rate)
    }
}

impl Fleet {
    /// Returns the scaling. `None` if the first agent was not measured alone, or if no operation succeeded then.
    #[must_use]
    pub fn scaling(&self) -> Option<Scaling> {
        let alone_rate = self.alone.as_deref()?.rate().filter(|rate| *rate > 0.0)?;
        let rates: Vec<f64> =
            self.agents.iter().filter(|agent| agent.lost.is_none()).filter_map(FleetAgent::rate).collect();
        (!rates.is_empty()).then(|| Scaling { rate: rates.iter().sum(), agents: rates.len(), alone_rate })
    }
}

impl FleetAgent {
    /// Returns the successful operations per second of the measured window. `None` without a measured window.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        (self.measured_nanos > 0).then(|| self.ok as f64 * 1e9 / self.measured_nanos as f64)
    }
}
