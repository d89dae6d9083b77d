//! The benchmarks: each measures one of the numbers that Plimsoll must reach, and says whether it does.

mod memory;
mod pacing;
mod peers;
mod peers_table;
mod start;

use crate::failure::Result;
use clap::Subcommand;

/// What is measured.
#[derive(Subcommand, Debug)]
pub enum Bench {
    /// Client CPU per request or per GB, beside other load testers on the same work, as ratios of interleaved pairs.
    Peers(peers::Args),
    /// The open model at half and at twice the client's ceiling: does it keep its schedule, does it say when it can not.
    Pacing(pacing::Args),
    /// Resident memory at 1000 connections, over minutes at full speed.
    Memory(memory::Args),
    /// One GET from start to report: time and memory.
    Start(start::Args),
}

/// Carries it out.
pub fn run(bench: &Bench) -> Result<()> {
    match bench {
        Bench::Peers(args) => peers::run(args),
        Bench::Pacing(args) => pacing::run(args),
        Bench::Memory(args) => memory::run(args),
        Bench::Start(args) => start::run(args),
    }
}
