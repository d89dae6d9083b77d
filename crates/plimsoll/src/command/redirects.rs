//! `plimsoll redirects`: measures the cost of a cluster's redirects. A pair of runs reads the same objects twice:
//! through a server that redirects, and directly from the owners.

use super::owners::{ClusterFlags, Names, ObjectOwners, find_object_owners};
use crate::console;
use crate::execute::{self, RunOptions};
use crate::failure::{Exit, Failure};
use crate::live_metrics::LiveMetrics;
use crate::load::{count, span};
use crate::progress::{Progress, View};
use crate::saved::{self, OutputFormat};
use engine::plan::{Plan, StopAfter, Targets};
use measure::LimitedBy;
use measure::limits;
use report::escape::escape;
use report::redirect_cost::{PairedList, RunPair};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use store::SavedRun;

/// The flags of `redirects`.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Location of the objects on any server of the cluster, e.g. http://host:29998/bucket.
    #[arg(value_name = "URL")]
    pub url: String,
    /// File with names of objects, one per line. Give one file per object size to compare sizes.
    #[arg(long, value_name = "FILE", required = true)]
    pub names: Vec<PathBuf>,
    /// Duration of each run.
    #[arg(short = 'd', long, value_name = "TIME", default_value = "5s", value_parser = span)]
    pub duration: Duration,
    /// Make load for this long before each run.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = span)]
    pub warmup: Duration,
    /// Number of pairs of runs for each file of names.
    #[arg(long, value_name = "N", default_value = "3", value_parser = count::<NonZeroU64>)]
    pub pairs: NonZeroU64,
    /// Directory in which to save the runs [default: runs/TIME-TARGET].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Access to the cluster.
    #[command(flatten)]
    pub reach: ClusterFlags,
}

const AFTER: &str = "Each pair of runs gives one cost: 1 - goodput through one server / goodput from the owners. The table shows the median \
    with its 95 % interval, or the range if there are fewer than 6 pairs. `plimsoll report DIR/…` shows each run, \
    with the time of every hop.";

/// The two ways to read the objects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Entry,
    Owners,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Entry => "entry",
            Self::Owners => "owners",
        }
    }
}

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    if args.duration.is_zero() {
        return Err(Failure::usage("-d 0: the duration must be above 0"));
    }
    let lists =
        args.names.iter().map(|path| Ok((path, all_owners(args, path)?))).collect::<Result<Vec<_>, Failure>>()?;
    let directory = match &args.out {
        Some(directory) => directory.clone(),
        None => saved::default_directory(lists.first().map_or("", |(_, owners)| owners.entry())),
    };
    let mut rows = Vec::new();
    let mut worst = WorstExit { exit: Exit::Good, why: None };
    for (index, (path, owners)) in lists.iter().enumerate() {
        let pairs = compare(args, path, owners, &directory.join(format!("{index:02}")), &mut worst)?;
        rows.push(PairedList { name: escape(&path.display().to_string()), share: elsewhere(owners), pairs });
        if worst.ends_all() {
            break;
        }
    }
    console::print(&report::redirect_cost::text(&rows))?;
    console::eprintln(&format!("saved in {}", directory.display()));
    if let Some(why) = worst.why {
        console::eprintln(&format!("plimsoll: {why}"));
    }
    Ok(worst.exit.into())
}

/// The worst exit code so far, and the reason for this code.
struct WorstExit {
    exit: Exit,
    why: Option<String>,
}

impl WorstExit {
    /// Adds the result of a run. `name` is the name of the run in messages.
    fn add(&mut self, name: &str, saved: &SavedRun) {
        let exit = self.exit.or_worse(saved::conclude(saved));
        if exit != self.exit {
            let result = report::result::of(saved);
            let why = |reason| format!("{name}: {} (exit code {})", report::result::text(reason), result.exit.code());
            // The user interrupted the run, so do not print a reason.
            let first = result.reasons.first().filter(|_| !matches!(exit, Exit::Interrupted(_)));
            *self = Self { exit, why: first.map(why) };
        }
    }

    /// Returns whether this exit code ends the measurement.
    fn ends_all(&self) -> bool {
        matches!(self.exit, Exit::Interrupted(_) | Exit::CouldNotRun)
    }
}

/// Returns the owners of the objects in a list. Fails if an object's owner is unknown.
fn all_owners(args: &Args, path: &Path) -> Result<ObjectOwners, Failure> {
    let owners = find_object_owners(&args.url, Names::File(path), &args.reach)?;
    let failed = owners.failures().count();
    let Some((name, _, cause)) = owners.failures().next() else { return Ok(owners) };
    Err(Failure::could_not_run(format!(
        "{}: {failed} of {} objects have no owner, for example `{}` ({cause}); remove these objects from the list",
        path.display(),
        owners.names().len(),
        escape(name)
    )))
}

/// Returns the share of objects that the entry server does not own.
fn elsewhere(owners: &ObjectOwners) -> f64 {
    let mine = owners.by_owner().get(owners.entry()).map_or(0, Vec::len);
    1.0 - mine as f64 / owners.names().len().max(1) as f64
}

/// Makes the pairs of runs for a list, and adds their results to `worst`.
fn compare(
    args: &Args,
    path: &Path,
    owners: &ObjectOwners,
    directory: &Path,
    worst: &mut WorstExit,
) -> Result<Vec<RunPair>, Failure> {
    let shared = Plan {
        stop: StopAfter { time: Some(args.duration), ..StopAfter::default() },
        warmup: args.warmup,
        ..owners.plan().clone()
    };
    let mut direct = Plan { targets: Arc::new(at_owners(owners)?), ..shared.clone() };
    execute::prepare(&mut direct)?;
    let mut pairs = Vec::new();
    for pair in 1..=args.pairs.get() {
        // Swap the order of the two ways in every second pair, so that slow changes affect both ways equally.
        let order = if pair.is_multiple_of(2) { [Way::Owners, Way::Entry] } else { [Way::Entry, Way::Owners] };
        let mut of = [None, None];
        for way in order {
            let name = format!("{}, pair {pair} of {}, {}", path.display(), args.pairs, way.name());
            console::eprintln(&name);
            let plan = if way == Way::Entry { &shared } else { &direct };
            let saved = run_one(plan, &directory.join(format!("{pair}-{}", way.name())))?;
            worst.add(&name, &saved);
            if worst.ends_all() {
                return Ok(pairs);
            }
            remark(&saved, way);
            of[usize::from(way == Way::Owners)] = Some(saved);
        }
        if let [Some(entry), Some(owners)] = &of {
            pairs.push(RunPair::of(entry, owners));
        }
    }
    Ok(pairs)
}

fn at_owners(owners: &ObjectOwners) -> Result<Targets, Failure> {
    let mut targets = Targets::default();
    for index in 0..owners.names().len() {
        let url = owners.url(index).and_then(|text| text.parse().ok());
        if !url.is_some_and(|url| targets.push(&url)) {
            return Err(Failure::could_not_run(
                "there are too many owners, or an owner has an invalid URL; use a shorter list",
            ));
        }
    }
    Ok(targets)
}

fn run_one(plan: &Plan, directory: &Path) -> Result<SavedRun, Failure> {
    let output = RunOptions {
        directory: Some(directory.to_owned()),
        format: OutputFormat::Text,
        progress: Progress::new(View::Line),
        repeat: 1,
        number: None,
        link: None,
        objectives: vec![measure::Objective::DEFAULT],
        // Do not fail a run that has too few operations for its objectives, because the comparison uses all operations
        // of a pair.
        accept_not_enough_data: true,
        abort: Vec::new(),
        monitor: None,
        probe: None,
        collect: Vec::new(),
        collect_every: Duration::from_secs(1),
        metrics: LiveMetrics::default(),
        part: None,
    };
    execute::run(plan, &output)
}

/// Prints what limited a run, if the client limited it or if the cause is unknown. Such a run distorts the comparison.
fn remark(saved: &SavedRun, way: Way) {
    let limited_by = limits::limited_by(&saved.summary, &saved.begin.model);
    if limited_by.is_client() || matches!(limited_by, LimitedBy::Unknown | LimitedBy::NotDetermined) {
        console::eprintln(&format!("  {}: limited by {limited_by}", way.name()));
    }
}
