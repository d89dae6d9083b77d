//! The agents of a run of several hosts, in a [`JsonReport`](super::JsonReport).

use super::result::LimitName;
use crate::escape::escape;
use measure::LimitedBy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::{SavedRun, Scaling};

/// The agents of a run of several hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Name of the run.
    pub run: String,
    /// Time between the first and the last start.
    pub start_spread_nanos: u64,
    /// Largest accepted time between two starts.
    pub start_spread_limit_nanos: u64,
    /// Time during which all agents whose numbers count were measuring.
    pub together_nanos: u64,
    /// The first agent, when it made its part alone before the run; null if this was not measured.
    pub alone: Option<FleetAgent>,
    /// Rate of all agents, divided by the number of agents times the rate of the first agent alone; null if this was not
    /// measured.
    pub scaling: Option<f64>,
    /// The agents, in order of their numbers.
    pub agents: Vec<FleetAgent>,
}

/// One agent. The counts cover the whole measured window of the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FleetAgent {
    /// The host, as the user named it.
    pub name: String,
    /// Name of the host that the host itself reports.
    pub host: String,
    /// The first target of the agent.
    pub target: String,
    /// Time from the planned to the actual start; negative if the start was early.
    pub late_nanos: i64,
    /// Largest error of this time.
    pub uncertainty_nanos: u64,
    /// Drift of the agent's clock during the run: the time on its clock minus the time on the coordinator's; null if it was
    /// not measured. Clocks are compared every 5 s.
    pub clock_drift_nanos: Option<i64>,
    /// Largest error of the drift.
    pub clock_drift_error_nanos: Option<u64>,
    /// Length of the measured window.
    pub measured_nanos: u64,
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations that were dropped without being started.
    pub dropped: u64,
    /// Body bytes received in the measured window.
    pub body_bytes: u64,
    /// Body bytes sent in the measured window.
    pub sent_body_bytes: u64,
    /// Median response time of successful operations.
    pub response_p50_nanos: Option<u64>,
    /// p99 response time of successful operations.
    pub response_p99_nanos: Option<u64>,
    /// Resource or setting that limited the agent.
    #[serde(with = "LimitName")]
    pub limited_by: LimitedBy,
    /// Reason for the loss of the agent; null without a loss.
    pub lost: Option<String>,
}

impl Fleet {
    pub(crate) fn of(run: &SavedRun) -> Option<Self> {
        let fleet = run.end.as_ref()?.fleet.as_deref()?;
        Some(Self {
            run: escape(&fleet.run),
            start_spread_nanos: fleet.spread_nanos,
            start_spread_limit_nanos: fleet.spread_limit_nanos,
            together_nanos: fleet.together_nanos,
            alone: fleet.alone.as_deref().map(FleetAgent::of),
            scaling: fleet.scaling().map(Scaling::factor),
            agents: fleet.agents.iter().map(FleetAgent::of).collect(),
        })
    }
}

impl FleetAgent {
    fn of(agent: &store::FleetAgent) -> Self {
        Self {
            name: escape(&agent.name),
            host: escape(&agent.host),
            target: escape(&agent.target),
            late_nanos: agent.late_nanos,
            uncertainty_nanos: agent.uncertainty_nanos,
            clock_drift_nanos: agent.drift.map(|drift| drift.nanos),
            clock_drift_error_nanos: agent.drift.map(|drift| drift.error_nanos),
            measured_nanos: agent.measured_nanos,
            ok: agent.ok,
            failed: agent.failed,
            dropped: agent.dropped,
            body_bytes: agent.body_bytes,
            sent_body_bytes: agent.sent_body_bytes,
            response_p50_nanos: agent.response_p50_nanos,
            response_p99_nanos: agent.response_p99_nanos,
            limited_by: agent.limited_by,
            lost: agent.lost.as_deref().map(escape),
        }
    }
}
