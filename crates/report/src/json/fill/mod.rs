//! A fill as JSON: of one host, or the sums over several hosts.

mod document;
mod hosts;
mod ledger;
mod report;

pub(crate) use document::JsonFillFailure;
pub use document::{JsonFill, JsonFillCost, fill_schema, json_fill};
pub(crate) use hosts::totals as fleet_fill_totals;
pub use hosts::{
    AgentOfFill, FleetFill, JsonFillAgent, JsonFillFleet, JsonUploadTimes, fleet_fill_with_costs, json_fleet_fill,
};
pub use ledger::{JsonAmount, JsonLedger, JsonSpending, JsonStudyRow};
pub use report::FillReport;
pub(crate) use report::stored;
