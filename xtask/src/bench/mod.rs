//! The benchmarks. Each benchmark measures numbers for which Plimsoll has goals, and prints whether the goals are met.

mod causes;
mod content;
mod fleet;
mod line;
mod memory;
mod pace;
mod pacing;
mod peers;
mod resume;
mod sequential;
mod sign;
mod small_get;
mod start;
mod timestamps;
mod uploads;
mod view;
mod weeks;

use crate::failure::Result;
use clap::Subcommand;

/// The benchmarks.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// Client CPU per request or per GB, compared with other load testers in interleaved pairs.
    Peers(peers::Args),
    /// Open model: whether operations start on time at half of the client's highest rate, and whether the report is
    /// right at twice that rate.
    Pacing(pacing::Args),
    /// Resident memory at 1000 connections, over minutes at full speed.
    Memory(memory::Args),
    /// Time and memory of one GET, from the start of the program to the report.
    Start(start::Args),
    /// CPU time that the live view takes from the client.
    View(view::Args),
    /// Speed at which one core generates and verifies object content.
    Content(content::Args),
    /// CPU time of signing an S3 request.
    Sign(sign::Args),
    /// CPU time and memory of the coordinator of many simulated agents.
    Fleet(fleet::Args),
    /// Search for the load lines of independent servers with known capacities.
    Line(line::Args),
    /// Share of wrong decisions of a search that stops levels early, with bursts of slow operations in simulated time.
    Sequential(sequential::Args),
    /// Client CPU of uploads and fills, compared with warp on the same S3 server.
    Uploads(uploads::Args),
    /// Size of the directory of a run of weeks, and time and memory of its reports.
    Weeks(weeks::Args),
    /// Share of reports with the right cause for the pace of transfers, over an emulated path with a known cause.
    Pace(pace::Args),
    /// Time and memory that a fill with a journal of millions of objects needs to resume.
    Resume(resume::Args),
    /// Client CPU cost of the kernel's arrival timestamps, from runs that alternate with and without them.
    Timestamps(timestamps::Args),
    /// Share of reports with the right result and limit, in runs with known problems.
    #[command(visible_alias = "verdict")]
    Causes(causes::Args),
}

/// Runs a benchmark.
pub fn run(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Peers(args) => peers::run(args),
        Bench::Pacing(args) => pacing::run(args),
        Bench::Memory(args) => memory::run(args),
        Bench::Start(args) => start::run(args),
        Bench::View(args) => view::run(args),
        Bench::Content(args) => content::run(args),
        Bench::Sign(args) => sign::run(args),
        Bench::Fleet(args) => fleet::run(args),
        Bench::Line(args) => line::run(args),
        Bench::Sequential(args) => sequential::run(args),
        Bench::Uploads(args) => uploads::run(args),
        Bench::Weeks(args) => weeks::run(args),
        Bench::Pace(args) => pace::run(args),
        Bench::Resume(args) => resume::run(args),
        Bench::Timestamps(args) => timestamps::run(args),
        Bench::Causes(args) => causes::run(args),
    }
}
