//! `plimsoll fill`: uploads that may take weeks. Every object is uploaded once, even if the program crashes and is
//! started again.
//!
//! ```text
//! open       open the directory of the fill and the journal
//! recover    ask the target about objects that an earlier session may have stored
//! upload     upload the remaining objects
//! verify     read stored objects back
//! delete     delete stored objects
//! ```
//!
//! As in other commands, each phase is a run. In addition to the records of the runs, a journal records which objects
//! are stored.

mod args;
mod budget;
mod estimate;
mod objects;
mod phases;
mod recover;
mod renter;
mod session;
pub mod share;
mod stuck;
mod tree;
pub mod trial;
mod unsettled;
mod upload_journal;

pub use args::Args;
pub use budget::Budget;
pub use estimate::{Estimate, estimate};
pub use upload_journal::{must_stop, rules_so_far};

use crate::console;
use crate::failure::Failure;
use crate::load;
use crate::progress::Progress;
use crate::saved::{self, html_file};
use objects::Objects;
use phases::Uploads;
use report::FillReport;
use report::fill::is_about_the_target;
use session::Session;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use store::journal::SessionEnd;

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.check()?;
    let output = &args.put.common.output;
    output.check_files()?;
    crate::execute::prepare_process();
    let directory = objects::directory(args)?;
    let objects = Objects::of(args, Some(&directory))?;
    let mut budget = Budget::of(args)?;
    if args.dry_run {
        saved::print_text(&budget.estimate(&objects, &saved::text_style()))?;
        return Ok(ExitCode::SUCCESS);
    }
    let options = load::run_options(&args.put.common);
    let Ended { directory, reason, result } = run_session(args, objects, &mut budget, &directory, &options.progress)?;
    let saved_in = format!("saved in {}{}", directory.display(), how_to_continue(&reason, false));
    if result.is_err() {
        output.ci.write_after_failure(&directory);
    }
    result.map_err(|failure| failure.and(&saved_in))?;
    let fill = saved::fill::read(&directory)?;
    saved::fill::print(&fill, budget.costs(), options.format)?;
    if let Some(file) = &output.html {
        html_file::write_page(&report::html_fill(&fill, budget.costs()), &directory, file.as_deref())?;
    }
    output.ci.write(&directory)?;
    console::eprintln(&saved_in);
    let exit = match reason {
        SessionEnd::Interrupted => crate::progress::exit_of_interrupt(),
        _ => saved::fill::conclude(&FillReport::of(&fill, budget.costs())),
    };
    Ok(exit.into())
}

/// Describes how to continue a fill, for the end of a message. `has_lost` is `true` if the last session has lost a host,
/// whose share may be incomplete.
pub fn how_to_continue(end: &SessionEnd, has_lost: bool) -> &'static str {
    match end {
        SessionEnd::Finished if !has_lost => "",
        SessionEnd::StopRule { .. } if !is_about_the_target(end) => {
            "; change the rule or the limit to continue this fill"
        }
        _ => "; run the same command again to continue this fill",
    }
}

/// A session that has ended.
struct Ended {
    /// Directory of the fill.
    directory: PathBuf,
    /// Reason for the end of the session, as in the journal.
    reason: SessionEnd,
    /// The failure that ended the session, if any.
    result: Result<(), Failure>,
}

/// Runs a session of the fill in this directory, with all phases that the flags select. Shows its progress, but no
/// report.
fn run_session(
    args: &Args,
    mut objects: Objects,
    budget: &mut Budget,
    directory: &Path,
    progress: &Progress,
) -> Result<Ended, Failure> {
    objects.prepare()?;
    let mut session = Session::open(args, &objects, directory, Duration::ZERO)?;
    let result = phases::carry_out((args, Uploads::of(args)), &objects, budget, &mut session, progress);
    let (directory, reason) = session.close(&result)?;
    Ok(Ended { directory, reason, result: result.map(|_| ()) })
}
