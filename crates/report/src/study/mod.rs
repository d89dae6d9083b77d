//! A study: trials of several cells on several targets. Each target is compared with the first target of the same cell.

pub mod agents;
pub mod discrepancy;
mod document;
pub mod fills;
pub mod load_lines;
mod narrow;
mod place;
mod rows;
mod saved;
mod selection;
mod subtracted_metrics;
pub mod subtraction;
mod table;
mod trial;

pub use document::{Study, schema};
pub use fills::FillTrial;
pub use load_lines::LineTrial;
pub(crate) use place::{name_in_cell, sorted};
pub use rows::Order;
pub(crate) use rows::{MedianRange, Row, rows, target_names};
pub use saved::{SavedStudy, StudyCell};
pub use subtracted_metrics::{SUBTRACTED, TrialValues};
pub(crate) use table::{COLUMNS, about_ranges, cells, table_rows, times};
pub use table::{short_text, text};
pub use trial::{FailedAttempts, Trial};

#[cfg(test)]
pub(crate) mod tests;
