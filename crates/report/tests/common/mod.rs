//! Simulated operations, recorded by the recorder of real runs. Nothing is random, so the records are the same on every
//! machine.

mod closed_runs;
mod fleets;
mod open_runs;
mod short_runs;
pub mod simulation;

pub use closed_runs::*;
pub use fleets::*;
pub use open_runs::*;
pub use short_runs::*;

use store::SavedRun;

pub const MS: u64 = 1_000_000;
pub const SECOND: u64 = 1_000_000_000;

/// Returns all cases with their names.
pub fn cases() -> Vec<(&'static str, SavedRun)> {
    vec![
        ("closed", closed()),
        ("client_limited", client_limited()),
        ("open_stall", open_stall()),
        ("all_failed", all_failed()),
        ("nothing_ended", nothing_ended()),
        ("one_sample", one_sample()),
        ("empty_objects", empty_objects()),
        ("huge_objects", huge_objects()),
        ("counters_disagree", counters_disagree()),
        ("partial", partial()),
        ("interrupted", interrupted()),
        ("hostile", hostile()),
        ("begin_only", begin_only()),
        ("client_nic", client_nic()),
        ("link_full", link_full()),
        ("emulated_path", emulated_path()),
        ("other_path", other_path()),
        ("shared_host", shared_host()),
        ("concurrency", concurrency()),
        ("rate", rate()),
        ("open_late", open_late()),
        ("many_labels", many_labels()),
        ("redirected", redirected()),
        ("not_determined", not_determined()),
        ("probed", probed()),
        ("fleet", fleet()),
        ("agents_lost", agents_lost()),
        ("part_of_fleet", part_of_fleet()),
    ]
}
