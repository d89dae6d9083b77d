//! Reports of saved runs: text, HTML, JSON, other tools' formats, tables, and CI output.
//!
//! A report needs only saved records, so it can be made again at any time: later, mid-run, or after a crash. [`text()`] is for people
//! and for issues, [`html()`] is the same with charts, [`json()`] and [`export`] are for programs, [`ci`] for CI systems,
//! [`other_tools`] for scripts that read the output of ab or httpbench.
//!
//! All of them show the same data: [`result`] (PASS, FAIL, UNUSABLE or PARTIAL, and why), [`limit`] (what limited the run),
//! [`notes`] (what changes how its numbers are to be read) and [`percentile`] (whether there are enough samples).

pub mod ci;
pub mod compare;
mod compared_metrics;
pub mod escape;
pub mod export;
mod html;
pub mod json;
mod label;
pub mod limit;
pub mod load_line;
pub mod notes;
pub mod number;
pub mod other_tools;
mod overview;
pub mod percentile;
pub mod redirect_cost;
pub mod result;
pub mod run_metrics;
pub mod study;
mod text;

pub use html::{html, html_line, html_study};
pub use json::{
    JsonAborted, JsonCleaned, JsonComparison, JsonPrepared, JsonRepeats, JsonReport, cleaned_schema, comparison_schema,
    json, json_comparison, json_repeats, prepared_schema, repeats_schema, schema,
};
pub use study::{SavedStudy, StudyCell};
pub use text::{Style, comparison, repeats, text, uploads};
