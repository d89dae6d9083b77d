//! `plimsoll compare`: two sets of saved runs, metric by metric: worse, better, equivalent, or inconclusive.

use super::load::percent;
use crate::execute::{self, repeats};
use crate::failure::{Exit, Failure};
use measure::statistics::Windows;
use measure::statistics::difference::Conclusion;
use measure::statistics::ranks::RUNS_MAX;
use report::compare::{ComparedRun, Comparison, Sides, is_usable, unlike_each};
use report::escape::escape;
use report::number::{count, plural};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::SavedRun;

/// Which runs, and how they are compared.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER, override_usage = USAGE)]
pub struct Args {
    /// Saved runs to compare with. Of a repeated run (--repeat), each run counts.
    #[arg(long, value_name = "DIR", num_args = 1.., required_unless_present = "aa")]
    pub base: Vec<PathBuf>,
    /// Saved runs that are compared with them.
    #[arg(long, value_name = "DIR", num_args = 1.., required_unless_present = "aa")]
    pub new: Vec<PathBuf>,
    /// Instead of both: runs of one target, compared in two halves, which shows how far noise goes.
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["base", "new"])]
    pub aa: Vec<PathBuf>,
    /// Differences up to this many percent do not matter (for success: 0.1 at most).
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    pub margin: f64,
    /// Compare pairs: the n-th run of --new with the n-th of --base, which were made in turn.
    #[arg(long, conflicts_with = "aa")]
    pub paired: bool,
    /// Compare runs even if they asked different things of their targets, or under different conditions.
    #[arg(long)]
    pub unlike: bool,
    /// Compare runs even if their result is UNUSABLE.
    #[arg(long)]
    pub unusable: bool,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
}

const USAGE: &str = "plimsoll compare --base <DIR>... --new <DIR>... [OPTIONS]
       plimsoll compare --aa <DIR>... [OPTIONS]";

const AFTER: &str = "worse, better   told apart at 5 % over all metrics together
equivalent      the change, with its 95 % interval, lies inside the margin
inconclusive    neither: more runs, or longer ones, may tell

Several runs a side count once each (Mann-Whitney, Hodges-Lehmann; 6 a side can tell any of the usual metrics apart),
pairs too (--paired: Wilcoxon's signed ranks; 9 pairs). Success is pooled over all operations, and 2 runs a side can
decide it. A run in which everything failed counts as slower than any other.
One run a side is judged by its seconds, from 20 s on, and says nothing about further runs.

  plimsoll get URL -d 10s --repeat 6 --out before     (the same again, --out after)
  plimsoll compare --base before --new after

Exit codes: 0 nothing got worse · 1 something did · 2 bad usage, unlike runs
            3 the result of a run is UNUSABLE (--unusable compares it all the same)";

/// Differences that a refusal lists.
const DIFFERENCES_MAX: usize = 10;

/// Carries it out.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let (sides, base, new) = if args.aa.is_empty() {
        let sides = if args.paired { Sides::Pairs } else { Sides::BaseAndNew };
        (sides, directories(&args.base)?, directories(&args.new)?)
    } else {
        let (first, second) = halves(directories(&args.aa)?)?;
        (Sides::Halves, first, second)
    };
    refuse_twice(&base, &new)?;
    if sides == Sides::Pairs && base.len() != new.len() {
        let (base, new) = (plural(base.len() as u64, "run"), count(new.len() as u64));
        return Err(Failure::usage(format!(
            "--paired: {base} of --base and {new} of --new cannot be paired: name as many"
        )));
    }
    let within = base.len() == 1 && new.len() == 1;
    let (base, new) = (read(&base, within)?, read(&new, within)?);
    refuse_unusable(args, &base, &new)?;
    refuse_unlike(args, &base, &new)?;
    let comparison = Comparison::of(&base, &new, sides, args.margin / 100.0);
    if args.json {
        execute::print_json(serde_json::to_string_pretty(&report::json_comparison(&comparison)))?;
    } else {
        execute::print(&report::comparison(&comparison, &execute::style()))?;
    }
    let worse = sides != Sides::Halves && comparison.conclusion() == Conclusion::Worse;
    Ok(if worse { Exit::Objectives } else { Exit::Good }.into())
}

/// What is UNUSABLE must not decide.
fn refuse_unusable(args: &Args, base: &[ComparedRun], new: &[ComparedRun]) -> Result<(), Failure> {
    let unusable = base.iter().chain(new).find_map(|run| Some((&run.name, is_usable(&run.run).err()?)));
    match unusable.filter(|_| !args.unusable) {
        Some((name, why)) => {
            let message = format!("{name} is UNUSABLE: {why}; --unusable compares it all the same (exit code 3)");
            Err(Failure::Message(Exit::Unusable, message))
        }
        None => Ok(()),
    }
}

/// Runs of different loads, or under different conditions, differ by more than the target.
fn refuse_unlike(args: &Args, base: &[ComparedRun], new: &[ComparedRun]) -> Result<(), Failure> {
    let mut unlike = unlike_each(base, new);
    if unlike.is_empty() || args.unlike {
        return Ok(());
    }
    let more = unlike.len().saturating_sub(DIFFERENCES_MAX);
    unlike.truncate(DIFFERENCES_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Err(Failure::usage(format!(
        "the runs are unlike, {}{more}: compare runs of the same load, or all the same with --unlike",
        unlike.join(", ")
    )))
}

/// The directories of single runs: those of a repeated run are below its own.
fn directories(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let runs = named.iter().flat_map(|path| match repeats::is_one(path) {
        true => repeats::directories(path),
        false => vec![path.clone()],
    });
    let runs: Vec<PathBuf> = runs.collect();
    match runs.len() {
        0..=RUNS_MAX => Ok(runs),
        many => Err(Failure::usage(format!("{many} runs on one side: at most {RUNS_MAX} are compared"))),
    }
}

/// Every other run: what changes slowly meets both halves.
fn halves(runs: Vec<PathBuf>) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
    if runs.len() < 2 {
        return Err(Failure::usage(
            "--aa: there is one run, which has no halves: name several, or one made with --repeat",
        ));
    }
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (index, run) in runs.into_iter().enumerate() {
        if index.is_multiple_of(2) { first.push(run) } else { second.push(run) }
    }
    Ok((first, second))
}

/// A run that counts twice would make chance look like change.
fn refuse_twice(base: &[PathBuf], new: &[PathBuf]) -> Result<(), Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut all: Vec<PathBuf> = base.iter().chain(new).map(|path| real(path)).collect();
    all.sort();
    match all.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Failure::usage(format!("{} is named twice: each run counts once", pair[0].display()))),
        None => Ok(()),
    }
}

/// Reads them, each with its windows where these are looked at.
fn read(directories: &[PathBuf], with_windows: bool) -> Result<Vec<ComparedRun>, Failure> {
    let one = |path: &PathBuf| {
        let mut windows = Windows::default();
        let run = SavedRun::read_with(path, |interval| {
            if with_windows {
                windows.add(interval);
            }
        });
        let run = run.map_err(|error| execute::unread(&error))?;
        Ok(ComparedRun { name: escape(&path.display().to_string()), run, windows })
    };
    directories.iter().map(one).collect()
}
