//! Saved runs, repeated runs, searches and studies. This module finds, reads and shows them, and determines exit codes.

mod cell_prices;
pub mod ci_output;
mod directory;
pub mod discrepancies;
mod exit_code;
pub mod export_file;
pub mod fill;
pub mod fleet_fill;
pub mod html_file;
pub mod load_line;
pub mod markdown;
pub mod merged;
mod output;
pub mod repeats;
pub mod run_sets;
mod storage_errors;
pub mod study;

pub use directory::{NewDirectory, default_directory, remove_earlier, unix_ms};
pub use exit_code::{announce, conclude, was_interrupted};
pub use output::{OutputFormat, print_json, print_run, print_text, saved_in, text_style};
pub use storage_errors::{cannot_read, cannot_read_back, cannot_save, not_all_saved};
