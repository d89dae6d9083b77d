//! `plimsoll compare`: compares two sets of saved runs. Each metric is worse, better, equivalent or inconclusive.

use crate::failure::{Exit, Failure};
use crate::load::percent;
use crate::saved::ci_output::CiOutput;
use crate::saved::{self, repeats};
use measure::statistics::difference::Conclusion;
use measure::statistics::ranks::RUNS_MAX;
use measure::summary::Windows;
use report::ci::Suite;
use report::compare::{ComparedRun, Comparison, Sides, all_differences, is_usable};
use report::escape::escape;
use report::export::markdown;
use report::number::{count, plural};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use store::SavedRun;

/// The flags of `compare`.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER, override_usage = USAGE, mut_args(|flag| flag.hide_short_help(false).help_heading(None::<&str>)))]
pub struct Args {
    /// Saved runs to compare with. The directory of a run with --repeat counts as several runs.
    #[arg(long, value_name = "DIR", num_args = 1.., required_unless_present = "aa")]
    pub base: Vec<PathBuf>,
    /// Saved runs to compare with the runs of --base.
    #[arg(long, value_name = "DIR", num_args = 1.., required_unless_present = "aa")]
    pub new: Vec<PathBuf>,
    /// Saved runs of one target. One half of the runs is compared with the other half, to show the noise. Replaces
    /// --base and --new.
    #[arg(long, value_name = "DIR", num_args = 1.., conflicts_with_all = ["base", "new"])]
    pub aa: Vec<PathBuf>,
    /// Ignore differences of up to this many percent (for success: of at most 0.1).
    #[arg(long, value_name = "PERCENT", default_value = "2", value_parser = percent)]
    pub margin: f64,
    /// Compare the n-th run of --new with the n-th run of --base. Use this if base and new runs were made in turn.
    #[arg(long, conflicts_with = "aa")]
    pub paired: bool,
    /// Compare runs even if their loads or conditions differ.
    #[arg(long)]
    pub unlike: bool,
    /// Compare runs even if their result is UNUSABLE.
    #[arg(long)]
    pub unusable: bool,
    /// Print as JSON.
    #[arg(long)]
    pub json: bool,
    /// The flags for CI systems.
    #[command(flatten)]
    pub ci: CiOutput,
}

const USAGE: &str = "plimsoll compare --base <DIR>... --new <DIR>... [OPTIONS]
       plimsoll compare --aa <DIR>... [OPTIONS]";

const AFTER: &str = "worse, better   the change is larger than the margin, and chance is an unlikely cause (5 %)
equivalent      the 95 % interval of the change lies within the margin
inconclusive    neither; more or longer runs may decide it

With several runs per side, each run counts once. To find a difference in any of the usual metrics,
you need 6 runs per side (Mann-Whitney test), or 9 pairs (--paired, Wilcoxon test). For success, 2
runs per side are enough. With one run per side, its seconds are compared (at least 20). This shows
nothing about further runs.

  plimsoll get URL -d 10s --repeat 6 --out before     (and again with --out after)
  plimsoll compare --base before --new after

Exit codes: 0 nothing got worse · 1 something got worse · 2 bad usage, or the runs are not alike
            3 the result of a run is UNUSABLE (--unusable compares it anyway)";

/// Maximum number of differences to list when runs are refused.
const DIFFERENCES_MAX: usize = 10;

/// Runs the command.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    args.ci.check_files(None, None)?;
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
        return Err(Failure::usage(format!("--paired needs as many runs in --base ({base}) as in --new ({new})")));
    }
    let within = base.len() == 1 && new.len() == 1;
    let (base, new) = (read(&base, within)?, read(&new, within)?);
    refuse_unusable(args, &base, &new)?;
    refuse_unlike(args, &base, &new)?;
    let comparison = Comparison::of(&base, &new, sides, args.margin / 100.0);
    if args.json {
        saved::print_json(serde_json::to_string_pretty(&report::json_comparison(&comparison)))?;
    } else {
        saved::print_text(&report::comparison(&comparison, &saved::text_style()))?;
    }
    args.ci.write_results(
        "comparison",
        || Ok(Suite::of_comparison(&comparison)),
        || Ok(markdown::comparison(&comparison)),
    )?;
    if sides == Sides::Halves || comparison.conclusion() != Conclusion::Worse {
        return Ok(Exit::Good.into());
    }
    let worse: Vec<&str> = comparison.worse().map(|row| row.metric.title()).collect();
    saved::announce(&format!("WORSE: {}", worse.join(", ")), Exit::Objectives);
    Ok(Exit::Objectives.into())
}

/// Refuses runs whose result is UNUSABLE.
fn refuse_unusable(args: &Args, base: &[ComparedRun], new: &[ComparedRun]) -> Result<(), Failure> {
    let unusable = base.iter().chain(new).find_map(|run| Some((&run.name, is_usable(&run.run).err()?)));
    match unusable.filter(|_| !args.unusable) {
        Some((name, why)) => {
            let message = format!("{name} is UNUSABLE: {why}; --unusable compares it anyway (exit code 3)");
            Err(Failure::Message(Exit::Unusable, message))
        }
        None => Ok(()),
    }
}

/// Refuses runs if their loads or conditions differ. Only the target may differ.
fn refuse_unlike(args: &Args, base: &[ComparedRun], new: &[ComparedRun]) -> Result<(), Failure> {
    let mut unlike = all_differences(base, new);
    if unlike.is_empty() || args.unlike {
        return Ok(());
    }
    let more = unlike.len().saturating_sub(DIFFERENCES_MAX);
    unlike.truncate(DIFFERENCES_MAX);
    let more = if more > 0 { format!(", and {more} more") } else { String::new() };
    Err(Failure::usage(format!(
        "the runs differ in load or conditions, {}{more}: compare runs of the same load, or use --unlike to compare them anyway",
        unlike.join(", ")
    )))
}

/// Returns the directories of all runs. Each repeated run is replaced by its single runs.
fn directories(named: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let runs = named.iter().flat_map(|path| match repeats::are_in(path) {
        true => repeats::directories(path),
        false => vec![path.clone()],
    });
    let runs: Vec<PathBuf> = runs.collect();
    match runs.len() {
        0..=RUNS_MAX => Ok(runs),
        many => Err(Failure::usage(format!("one side has {many} runs: the maximum is {RUNS_MAX}"))),
    }
}

/// Splits the runs into two halves. Every second run goes to the second half, so that slow changes affect both.
fn halves(runs: Vec<PathBuf>) -> Result<(Vec<PathBuf>, Vec<PathBuf>), Failure> {
    if runs.len() < 2 {
        return Err(Failure::usage("--aa cannot halve a single run: name several runs, or a run made with --repeat"));
    }
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for (index, run) in runs.into_iter().enumerate() {
        if index.is_multiple_of(2) { first.push(run) } else { second.push(run) }
    }
    Ok((first, second))
}

/// Refuses a run that is named twice. If a run counted twice, its noise could look like a change.
fn refuse_twice(base: &[PathBuf], new: &[PathBuf]) -> Result<(), Failure> {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut all: Vec<PathBuf> = base.iter().chain(new).map(|path| real(path)).collect();
    all.sort();
    match all.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(Failure::usage(format!("{} is named twice: name each run once", pair[0].display()))),
        None => Ok(()),
    }
}

/// Reads the runs, including their windows if requested.
fn read(directories: &[PathBuf], with_windows: bool) -> Result<Vec<ComparedRun>, Failure> {
    let one = |path: &PathBuf| {
        let mut windows = Windows::default();
        let run = SavedRun::read_with(path, |interval| {
            if with_windows {
                windows.add(interval);
            }
        });
        let run = run.map_err(|error| saved::cannot_read(&error))?;
        Ok(ComparedRun { name: escape(&path.display().to_string()), run, windows })
    };
    directories.iter().map(one).collect()
}
