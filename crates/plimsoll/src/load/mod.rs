//! The flags shared by all commands that make load, and the plan of a run.

mod args;
mod connections;
pub mod dataset;
pub mod dataset_location;
pub mod dialect;
pub mod each_object;
mod headers;
pub mod location_client;
pub mod machines;
mod plan;
pub mod retry;
pub mod s3;
mod values;

pub use args::{Args, Help};
pub use headers::{checks, headers};
pub use plan::{Workload, dialect_settings, plan, plan_outside_run, run_options};
pub use values::{count, output_file, percent, seed, span, timeout as positive_span};

use crate::execute;
use crate::failure::Failure;
use crate::saved::{NewDirectory, html_file};
use engine::plan::Plan;
use std::process::ExitCode;

/// Maximum number of URLs or names in a run. Ten million URLs take about 800 MB of memory.
pub const URLS_MAX: usize = 10_000_000;

/// Runs the plan as the flags specify, and shows the results.
pub fn run_and_show(plan: Plan, args: &Args) -> Result<ExitCode, Failure> {
    args.output.check_files()?;
    let mut options = run_options(args);
    let directory = execute::run_directory(&plan, &options);
    options.directory = Some(directory.clone());
    let new = NewDirectory::at(&directory);
    let ended = execute::run_and_show(plan, &options);
    if ended.is_err() && directory.exists() {
        args.output.ci.write_after_failure(&directory);
        if !args.output.ci.writes_to(&directory) {
            new.discard_without_measurements();
        }
    }
    let (runs, exit) = ended?;
    args.output.ci.write(&directory)?;
    // There is only one run, because --html cannot be combined with --repeat.
    if let (Some(file), Some(run)) = (&args.output.html, runs.first()) {
        html_file::write_page(&report::html(run), &directory, file.as_deref())?;
    }
    Ok(exit.into())
}
