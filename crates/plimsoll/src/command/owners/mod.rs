//! `plimsoll owners`: which server of a redirecting cluster owns which object, as lists that `get` takes.

mod ask;
mod write;

pub use ask::{Reach, Survey, survey};

use crate::failure::{Exit, Failure};
use crate::say;
use engine::owners::Owner;
use report::escape::{bounded, escape};
use std::path::PathBuf;
use std::process::ExitCode;

/// Failures that are named; all of them are in a file.
const NAMED_MAX: usize = 5;
/// Owners that are listed on standard output; all of them are in files.
const LISTED_MAX: usize = 64;
/// Characters of a name in a message.
const NAME_MAX: usize = 200;

/// Whose owners, and where they are written.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Where the objects are at any server of the cluster, like http://host:29998/bucket.
    #[arg(value_name = "URL")]
    pub url: String,
    /// Names of the objects, one on each line; - for standard input.
    #[arg(long, value_name = "FILE")]
    pub names: PathBuf,
    /// Directory for owners.txt and the lists of URLs.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// How the cluster is reached.
    #[command(flatten)]
    pub reach: Reach,
}

const AFTER: &str =
    "Each object is asked for its first byte: 206 means that the server asked has it, a redirect names another.
DIR gets owners.txt (lines of owner|name), a list of URLs for each owner, for `plimsoll get --url-file`, and
failures.txt when an owner could not be found (exit code 1; 4 when none could).";

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    let survey = survey(&args.url, &args.names, &args.reach)?;
    if survey.by_owner().is_empty() {
        return Err(Failure::could_not_run(match survey.failures().next() {
            Some((name, status, cause)) => format!("no owner was found: {}", failure(name, status, cause)),
            None => format!("{} could not be reached: is it running, and is the address right?", survey.entry()),
        }));
    }
    let lists = write::all(&survey, &args.out)?;
    let failed = survey.failures().count();
    tell(&survey, &lists, failed)?;
    for (name, status, cause) in survey.failures().take(NAMED_MAX) {
        say::note(&format!("plimsoll: {}", failure(name, status, cause)));
    }
    if failed > NAMED_MAX {
        say::note(&format!("plimsoll: and {} more: {}", failed - NAMED_MAX, args.out.join(write::FAILURES).display()));
    }
    Ok(if failed > 0 { Exit::Objectives } else { Exit::Good }.into())
}

fn failure(name: &str, status: Option<u16>, cause: &str) -> String {
    let status = status.map(|status| format!(" (status {status})")).unwrap_or_default();
    format!("{}: {cause}{status}", bounded(name, NAME_MAX))
}

fn tell(survey: &Survey, lists: &[write::List], failed: usize) -> Result<(), Failure> {
    let mut text = format!("{} objects, {} owners, {failed} without one\n", survey.names().len(), lists.len());
    let width = lists.iter().take(LISTED_MAX).map(|list| list.owner.len()).max().unwrap_or(0);
    for list in lists.iter().take(LISTED_MAX) {
        let asked = if list.owner == survey.entry() { "  (the one asked)" } else { "" };
        let (owner, path) = (escape(&list.owner), list.path.display());
        text += &format!("  {owner:width$}  {:>9}  {path}{asked}\n", list.objects);
    }
    if lists.len() > LISTED_MAX {
        text += &format!("  and {} more\n", lists.len() - LISTED_MAX);
    }
    say::out(&text)
}

/// Whether an object has an owner that is known.
fn is_owned(owner: &Owner) -> bool {
    matches!(owner, Owner::Entry | Owner::Elsewhere(_))
}
