//! Reports of saved runs: text, HTML, JSON, the formats of other tools, tables, and output for CI systems.
//!
//! A report needs only the saved records. A report can therefore be printed at any time: during a run, after a crash,
//! or years later. [`text()`] is for people, who can also paste the text into an issue. [`html()`] adds charts.
//! [`json()`] and [`export`] are for programs, [`ci`] is for CI systems, and [`other_tools`] is for scripts that parse
//! the output of ab or httpbench.
//!
//! All formats use the same modules. [`result`] returns PASS, FAIL, UNUSABLE or PARTIAL with the reasons. [`limit`]
//! returns what limited the run. [`notes`] returns conditions that matter for interpreting the numbers. [`percentile`]
//! checks whether there are enough samples.

pub mod ci;
mod collected;
pub mod compare;
mod compared_metrics;
pub mod escape;
pub mod export;
pub mod fill;
mod html;
pub mod json;
mod label;
pub mod limit;
pub mod load_line;
pub mod notes;
pub mod number;
pub mod other_tools;
mod overview;
mod pace;
mod path_use;
pub mod percentile;
pub mod redirect_cost;
pub mod result;
pub mod run_metrics;
pub mod study;
mod text;

pub use html::{html, html_fill, html_line, html_study};
pub use json::{
    AgentOfFill, FillReport, FleetFill, JsonAborted, JsonCleaned, JsonComparison, JsonFill, JsonFillAgent,
    JsonFillFleet, JsonPrepared, JsonRepeats, JsonReport, JsonUploadTimes, cleaned_schema, comparison_schema,
    fill_schema, fleet_fill_with_costs, json, json_comparison, json_fill, json_fleet_fill, json_repeats,
    prepared_schema, repeats_schema, schema,
};
pub use study::{SavedStudy, StudyCell};
pub use text::{
    SHORT_LINES_MAX, Style, comparison, failed_attempts, failure_line, fill_estimate, fill_text, fleet_fill_text,
    repeats, short_text, text, uploads,
};
