//! `plimsoll owners`: finds which server of a redirecting cluster owns each object, and writes lists for `get`.

mod files;
mod object_owners;

pub use object_owners::{ClusterFlags, Names, ObjectOwners, find_object_owners};

use crate::console;
use crate::failure::{Exit, Failure};
use crate::load::{self, s3};
use engine::owners::Owner;
use report::escape::{bounded, escape};
use std::path::PathBuf;
use std::process::ExitCode;

/// Maximum number of failures to print. The file of failures lists all failures.
const NAMED_MAX: usize = 5;
/// Maximum number of owners to print. Every owner has a file, even if it is not printed.
const LISTED_MAX: usize = 64;
/// Maximum length of a name in a message, in characters.
const NAME_MAX: usize = 200;

/// The flags of `owners`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
pub struct Args {
    /// Location of the objects on any server of the cluster, e.g. http://host:29998/bucket.
    #[arg(value_name = "URL")]
    pub url: String,
    /// File with the names of the objects, one per line; - for standard input.
    #[arg(long, value_name = "FILE", required_unless_present = "list", conflicts_with = "list")]
    pub names: Option<PathBuf>,
    /// Use the keys in this bucket as names: s3://BUCKET or s3://BUCKET/PREFIX. URL must then be the URL of the bucket.
    #[arg(long, value_name = "LOCATION")]
    pub list: Option<String>,
    /// Directory for owners.txt and the lists of URLs.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Access to the cluster.
    #[command(flatten)]
    pub reach: ClusterFlags,
    /// The server and the keys for --list.
    #[command(flatten)]
    pub s3: s3::Args,
    /// Short and full help.
    #[command(flatten)]
    help: load::Help,
}

impl Args {
    /// Returns the source of the names. One of the flags is always set.
    fn names(&self) -> Names<'_> {
        match (&self.names, &self.list) {
            (Some(path), _) => Names::File(path),
            (None, location) => Names::Bucket(location.as_deref().unwrap_or_default(), &self.s3),
        }
    }
}

const AFTER: &str = "Requests the first byte of each object. Status 206 means that the server has the object; a \
    redirect names the owner. Writes owners.txt (lines of owner|name), a list of URLs for each owner (for \
    `plimsoll get --url-file`), and failures.txt (objects without an owner). If an object has no owner, the exit \
    code is 1, or 4 if no owner was found at all. --help-all prints every flag, also those of S3 for --list.";

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    let owners = find_object_owners(&args.url, args.names(), &args.reach)?;
    if owners.by_owner().is_empty() {
        return Err(Failure::could_not_run(match owners.failures().next() {
            Some((name, status, cause)) => format!("found no owner: {}", failure(name, status, cause)),
            None => format!("cannot reach {}: check that it is running and that the address is right", owners.entry()),
        }));
    }
    let lists = files::write_all(&owners, &args.out)?;
    let failed = owners.failures().count();
    print_owners(&owners, &lists, failed)?;
    for (name, status, cause) in owners.failures().take(NAMED_MAX) {
        console::eprintln(&format!("plimsoll: {}", failure(name, status, cause)));
    }
    if failed > NAMED_MAX {
        console::eprintln(&format!(
            "plimsoll: {} more failures are in {}",
            failed - NAMED_MAX,
            args.out.join(files::FAILURES).display()
        ));
    }
    Ok(if failed > 0 { Exit::Objectives } else { Exit::Good }.into())
}

fn failure(name: &str, status: Option<u16>, cause: &str) -> String {
    let status = status.map(|status| format!(" (status {status})")).unwrap_or_default();
    format!("{}: {cause}{status}", bounded(name, NAME_MAX))
}

fn print_owners(owners: &ObjectOwners, lists: &[files::List], failed: usize) -> Result<(), Failure> {
    let mut text = format!("{} objects, {} owners, {failed} without an owner\n", owners.names().len(), lists.len());
    let width = lists.iter().take(LISTED_MAX).map(|list| list.owner.len()).max().unwrap_or(0);
    for list in lists.iter().take(LISTED_MAX) {
        let mark = if list.owner == owners.entry() { "  (entry server)" } else { "" };
        let (owner, path) = (escape(&list.owner), list.path.display());
        text += &format!("  {owner:width$}  {:>9}  {path}{mark}\n", list.objects);
    }
    if lists.len() > LISTED_MAX {
        text += &format!("  and {} more\n", lists.len() - LISTED_MAX);
    }
    console::print(&text)
}

/// Returns whether the owner of an object is known.
fn is_owned(owner: &Owner) -> bool {
    matches!(owner, Owner::Entry | Owner::Redirected(_))
}
