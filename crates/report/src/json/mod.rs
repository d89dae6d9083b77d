//! The report as JSON. JSON Schemas of all documents are in `docs/schema`.
//!
//! These structs are separate from the structs of `measure`, so that a change there cannot change the format by
//! accident. A name ends in its unit: `_nanos`, `_seconds`, `_bytes`, `_per_second`, `_share` (0.02 means 2 %),
//! `_unix_ms`. A name without a unit is a count. Text from servers is escaped and shortened as in the text report.

mod client;
mod comparison;
mod dataset;
mod failures;
mod fill;
mod fleet;
mod leftovers;
mod operations;
mod path;
mod redirects;
mod repeats;
mod report;
mod result;
mod series;
mod setup;
mod times;
mod traffic;

pub use crate::result::{NamedText, ResultName, ResultRecord};
pub use client::*;
pub use comparison::*;
pub use dataset::*;
pub use failures::*;
pub use fill::{
    AgentOfFill, FillReport, FleetFill, JsonAmount, JsonFill, JsonFillAgent, JsonFillCost, JsonFillFleet, JsonLedger,
    JsonSpending, JsonStudyRow, JsonUploadTimes, fill_schema, fleet_fill_with_costs, json_fill, json_fleet_fill,
};
pub(crate) use fill::{JsonFillFailure, fleet_fill_totals, stored};
pub use fleet::{Fleet, FleetAgent};
pub use leftovers::*;
pub use measure::LimitedBy;
pub use operations::*;
pub use path::*;
pub use redirects::*;
pub use repeats::{JsonRepeats, RepeatedMetric, RepeatedMetrics, json_repeats, repeats_schema};
pub use report::{FORMAT, JsonReport, json, schema};
pub use result::*;
pub use series::*;
pub use setup::*;
pub use times::*;
pub use traffic::*;
