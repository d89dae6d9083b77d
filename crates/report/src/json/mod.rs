//! The report for machines. Its shape is published as a JSON Schema in `docs/schema/report.schema.json`, that of several
//! runs of the same load in `docs/schema/repeats.schema.json`, that of a comparison in `docs/schema/comparison.schema.json`.
//!
//! These are plain structs of their own, so that a change inside `measure` can not change the format unseen. Every
//! name ends in its unit: `_nanos`, `_bytes`, `_per_second`, `_share` (of 1), `_unix_ms`; names without one are counts.
//! Text from servers is escaped and bounded as in the report for people.

mod asked;
mod build;
mod compare;
mod dataset;
mod failures;
mod figures;
mod leftovers;
mod redirects;
mod repeats;
mod result;

pub use asked::*;
pub use build::json;
pub use compare::*;
pub use dataset::*;
pub use failures::*;
pub use figures::*;
pub use leftovers::*;
pub use measure::LimitedBy;
pub use redirects::*;
pub use repeats::{JsonRepeats, RepeatedFigure, RepeatedFigures, json_repeats, repeats_schema};
pub use result::*;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Version of the format. It grows when a field goes away or changes its meaning; new fields do not change it.
pub const FORMAT: u32 = 2;

/// A run: what was asked for, whether the figures can be used, and the figures.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct JsonReport {
    /// Version of this format.
    pub format: u32,
    /// The result, and the reasons for it.
    pub result: ResultOfRun,
    /// Whether the independent counters agree.
    pub accounting: AccountingChecks,
    /// What set the limit.
    #[serde(with = "LimitWord")]
    pub limited_by: LimitedBy,
    /// Why, in words and figures.
    pub limited_because: String,
    /// Whether the client's side limited a closed run, so that the target may carry more than the rates say.
    pub at_least: bool,
    /// How the run ended; null while it goes on and after a crash.
    pub end: Option<Ending>,
    /// What must be known beside the figures.
    pub notes: Vec<NoteText>,
    /// What was asked for, and where.
    pub asked: Asked,
    /// What the first good answer said.
    pub server: Option<ServerAnswer>,
    /// Operations and attempts of the measured window.
    pub operations: Operations,
    /// Bounds that the run was held to.
    pub objectives: Vec<ObjectiveResult>,
    /// Times of operations.
    pub times: Times,
    /// The figures by kind of operation.
    pub kinds: Vec<KindFigures>,
    /// Speed of operations: body bytes by service time.
    pub speed: Speeds,
    /// Connections opened.
    pub connections: ConnectionCounts,
    /// Bytes by the stage in which they arrived.
    pub bytes: Bytes,
    /// How attempts of the measured window failed.
    pub failures: Failures,
    /// Operations that were redirected, request by request; null when there was none.
    pub redirects: Option<Redirects>,
    /// The figures by host, size of the body, and value of a response header.
    pub groups: Vec<GroupFigures>,
    /// How loaded the client was, and what it cost.
    pub client: Client,
    /// The run over time, one point for each interval.
    pub series: Vec<SeriesPoint>,
}

/// The JSON Schema of [`JsonReport`].
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(JsonReport).to_value()
}
