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
mod objects;
mod phases;
mod recover;
mod session;
mod stuck;
mod tree;
mod upload_journal;

pub use args::Args;

use crate::console;
use crate::failure::Failure;
use crate::load;
use crate::saved;
use budget::Budget;
use objects::Objects;
use report::fill::is_about_the_target;
use session::Session;
use std::process::ExitCode;
use store::journal::SessionEnd;

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.check()?;
    crate::execute::prepare_process();
    let objects = Objects::of(args)?;
    let budget = Budget::of(args)?;
    if args.dry_run {
        saved::print_text(&budget.estimate(&objects, &saved::text_style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut session = Session::open(args, &objects)?;
    let result = phases::carry_out(args, &objects, &budget, &mut session);
    let (directory, reason) = session.close(&result)?;
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
