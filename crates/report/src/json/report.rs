//! The report of a run as JSON.

use super::client::Client;
use super::failures::Failures;
use super::fleet::Fleet;
use super::operations::{GroupMetrics, KindMetrics, Operations};
use super::path::Path;
use super::redirects::Redirects;
use super::result::{Accounting, LimitName, ObjectiveResult, RunEnd, record};
use super::series::SeriesPoint;
use super::setup::{FirstResponse, Setup};
use super::times::{Speeds, Times};
use super::traffic::{Bytes, ConnectionCounts};
use crate::notes::Note;
use crate::result::{NamedText, ResultRecord};
use crate::{limit, notes, pace};
use measure::LimitedBy;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use store::SavedRun;

/// Version of the format. The version increases when a field is removed or changes its meaning, but not when a field is
/// added.
pub const FORMAT: u32 = 3;

/// The report of a run: its setup, its result, and its metrics.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JsonReport {
    /// Version of this format.
    pub format: u32,
    /// Result, with the reasons for it.
    pub result: ResultRecord,
    /// Comparison of counters that must agree.
    pub accounting: Accounting,
    /// Resource or setting that limited the rate of the run.
    #[serde(with = "LimitName")]
    pub limited_by: LimitedBy,
    /// Measurements that show this limit, as text.
    pub limit_reason: String,
    /// Part that set the pace of the transfers: `network`, `server` or `client`; null if there is no network between
    /// client and target, or if too few operations ended.
    pub pace_set_by: Option<String>,
    /// Measurements that show what set the pace, as text.
    pub pace_reason: Option<String>,
    /// `true` if the client or its host limited a closed run. The target may then sustain higher rates than this run
    /// shows.
    pub rates_are_lower_bounds: bool,
    /// Reason and time of the run's end. Null while the run is in progress, and after a crash.
    pub end: Option<RunEnd>,
    /// Notes that a reader needs to interpret the numbers.
    pub notes: Vec<NamedText>,
    /// Load, target, settings and host.
    pub setup: Setup,
    /// Properties of the server, taken from the first successful response.
    pub server: Option<FirstResponse>,
    /// Operations and attempts of the measured window.
    pub operations: Operations,
    /// Objectives with their outcome.
    pub objectives: Vec<ObjectiveResult>,
    /// Times of the operations.
    pub times: Times,
    /// Metrics by kind of operation.
    pub kinds: Vec<KindMetrics>,
    /// Speed of the operations: body bytes divided by service time.
    pub speed: Speeds,
    /// Connections of the whole run.
    pub connections: ConnectionCounts,
    /// Bytes received and sent, by stage of the run.
    pub bytes: Bytes,
    /// Failed attempts of the measured window.
    pub failures: Failures,
    /// Metrics of redirected operations; null if no operation was redirected.
    pub redirects: Option<Redirects>,
    /// Metrics by host, by body size, by value of a response header, and by first or repeated access.
    pub groups: Vec<GroupMetrics>,
    /// The emulated path between client and target; null without one.
    pub path: Option<Path>,
    /// The agents of a run of several hosts; null for other runs.
    #[serde(default)]
    pub fleet: Option<Fleet>,
    /// Load and cost of the client.
    pub client: Client,
    /// The run over time, one point per interval.
    pub series: Vec<SeriesPoint>,
}

/// Returns the report of a saved run.
#[must_use]
pub fn json(run: &SavedRun) -> JsonReport {
    let result = crate::result::of(run);
    let limit = limit::of(run);
    let note = |note: &Note| NamedText { name: note.name().into(), text: note.to_string() };
    JsonReport {
        format: FORMAT,
        result: record(&result),
        accounting: Accounting::of(&result),
        limited_by: limit.by,
        limit_reason: limit::reason_text(&limit.reason),
        pace_set_by: pace::name(run).map(str::to_owned),
        pace_reason: pace::text(run),
        rates_are_lower_bounds: limit.rates_are_lower_bounds,
        end: run.end.as_ref().map(RunEnd::of),
        notes: notes::of(run).iter().map(note).collect(),
        setup: Setup::of(run),
        server: run.end.as_ref().and_then(|end| end.server.as_ref()).map(FirstResponse::of),
        operations: Operations::of(run),
        objectives: result.objectives.iter().map(ObjectiveResult::of).collect(),
        times: Times::of(run),
        kinds: run.summary().stats.kinds.iter().map(KindMetrics::of).collect(),
        speed: Speeds::of(&run.summary().all.speed),
        connections: ConnectionCounts::of(run),
        bytes: Bytes::of(run),
        failures: Failures::of(run),
        redirects: run.summary().stats.redirect_chains.as_deref().map(Redirects::of),
        groups: run.summary().stats.groups.iter().map(GroupMetrics::of).collect(),
        path: Path::of(run),
        fleet: Fleet::of(run),
        client: Client::of(run),
        series: run.points.iter().map(SeriesPoint::of).collect(),
    }
}

/// Returns the JSON Schema of [`JsonReport`].
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(JsonReport).to_value()
}
