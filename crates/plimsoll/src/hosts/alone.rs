//! The load of the first agent alone (`--scaling`): before the run of all agents, the first agent makes its part of the load
//! while the others wait. The report compares the rate of all agents with this rate.

use super::loads::{Loads, refuse_losses};
use super::{ended, result};
use crate::console;
use crate::execute::RunOptions;
use crate::failure::Failure;
use report::escape::escape;
use report::limit;
use std::path::Path;
use store::FleetAgent;

/// Directory of this run, in the directory of the run of all agents.
pub const DIRECTORY: &str = "alone";

/// Makes the first part of the load alone, saves it as a run below `base`, and returns its numbers.
///
/// # Errors
/// Fails if the agent is lost, if the load is interrupted, or if the run cannot be saved.
pub fn measure(loads: &mut Loads<'_>, base: &Path, options: &RunOptions) -> Result<FleetAgent, Failure> {
    for name in loads.names().iter().take(1) {
        console::eprintln(&format!("measuring {} alone first (--scaling)", escape(name)));
    }
    let directory = base.join(DIRECTORY);
    let settings = loads.next_settings(&loads.plan())?;
    let options = RunOptions { collect: Vec::new(), ..options.clone() };
    let (outcome, received) = loads.make_load(&settings, 1, (&directory, &options), None)?;
    let ended = ended(outcome)?;
    refuse_losses(&ended, "--scaling")?;
    let run = result::merge(&settings, &ended, &received, None, &directory)?;
    if sys::signals::interrupts().count > 0 {
        return Err(crate::progress::requests_interrupted("interrupted while the first host was measured alone"));
    }
    // A client that limits this load makes the scaling look better than it is.
    if limit::limited_by(&run).is_client() {
        console::eprintln("the client limits the load of the first host alone, so the scaling is an upper bound");
    }
    let row = run.end.and_then(|end| end.fleet).and_then(|fleet| fleet.agents.into_iter().next());
    row.ok_or_else(|| Failure::could_not_run("the run of the first host alone has no result"))
}
