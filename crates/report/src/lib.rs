//! How a result is shown: from saved records alone, so that any report can be made again later, mid-run, or after a
//! crash.
//!
//! Two sets of runs are compared by [`compare`].
//!
//! [`text()`] is for people and for issues, [`html()`] is the same with charts, [`json()`] is for machines, [`compat`] for
//! scripts that read other tools' output, [`export`] for other programs. All of them draw on the same few modules: [`result`] (PASS, FAIL, UNUSABLE or PARTIAL, and why), [`standing`] (the limit and the notes),
//! [`percentile`] (is there enough to show this quantile?), [`formula`] (other tools' arithmetic), `number` and `escape`.

pub mod ci;
pub mod compare;
pub mod compat;
pub mod discrepancy;
pub mod escape;
pub mod export;
pub mod formula;
mod html;
mod joint;
pub mod json;

pub mod lines;
pub mod load_line;
pub mod measured;
pub mod number;
pub mod pairs;
pub mod percentile;
mod repeated;
pub mod result;
mod selection;
pub mod standing;
pub mod study;
pub mod subtraction;
mod text;

pub use html::{SavedStudy, StudyCell, html, html_line, html_study};
pub use json::{
    JsonAborted, JsonCleaned, JsonComparison, JsonPrepared, JsonRepeats, JsonReport, cleaned_schema, comparison_schema,
    json, json_comparison, json_repeats, prepared_schema, repeats_schema, schema,
};
pub use standing::{Note, notes};
pub use text::{Style, comparison, repeats, text, uploads};
