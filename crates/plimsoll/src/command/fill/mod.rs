//! `plimsoll fill`: uploads that may last weeks. Every object is uploaded once, across crashes and restarts.
//!
//! ```text
//! open       the directory of the fill and its journal
//! recover    ask the target about objects that an earlier session may have stored
//! upload     the objects that are left
//! verify     read back
//! delete
//! ```
//!
//! Each phase is a run of the usual run loop. The journal knows more than the runs: it says which objects are stored.

mod args;
mod budget;
mod estimate;
mod objects;
mod phases;
mod recover;
mod renter;
mod session;
mod stuck;
mod tree;
pub mod trial;
mod upload_journal;

pub use args::Args;
pub use estimate::{Estimate, estimate};

use crate::console;
use crate::failure::Failure;
use crate::load;
use crate::saved;
use budget::Budget;
use objects::Objects;
use report::fill::is_about_the_target;
use session::Session;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::journal::SessionEnd;

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.check()?;
    crate::execute::prepare_process();
    let directory = objects::directory(args)?;
    let objects = Objects::of(args, Some(&directory))?;
    let mut budget = Budget::of(args)?;
    if args.dry_run {
        saved::print_text(&budget.estimate(&objects, &saved::text_style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let _publishing = args.put.common.output.live_metrics.start()?;
    let Ended { directory, reason, result } = run_session(args, objects, &mut budget, &directory)?;
    let goes_on = match &reason {
        SessionEnd::Finished => "",
        end @ SessionEnd::StopRule { .. } if !is_about_the_target(end) => {
            "; change the rule or the limit to go on with this fill"
        }
        _ => "; the same command goes on with this fill",
    };
    let saved_in = format!("saved in {}{goes_on}", directory.display());
    result.map_err(|failure| failure.and(&saved_in))?;
    let fill = saved::fill::read(&directory)?;
    saved::fill::print(&fill, budget.costs(), load::run_options(&args.put.common).format)?;
    console::eprintln(&saved_in);
    let exit = match reason {
        SessionEnd::Interrupted => crate::progress::exit_of_interrupt(),
        _ => saved::fill::exit_code(&fill),
    };
    Ok(exit.into())
}

/// A session that has ended.
struct Ended {
    /// Directory of the fill.
    directory: PathBuf,
    /// Why the session ended, as the journal has it.
    reason: SessionEnd,
    /// The failure that ended the session, if one did.
    result: Result<(), Failure>,
}

/// Runs a session of the fill in this directory: all phases that the flags select. Shows no report.
fn run_session(args: &Args, mut objects: Objects, budget: &mut Budget, directory: &Path) -> Result<Ended, Failure> {
    objects.prepare()?;
    let mut session = Session::open(args, &objects, directory)?;
    let result = phases::carry_out(args, &objects, budget, &mut session);
    let (directory, reason) = session.close(&result)?;
    Ok(Ended { directory, reason, result: result.map(|_| ()) })
}
