//! `plimsoll line`: finds the load line of one target, the highest load at which all objectives are met. Every level is a run
//! of `get` with a directory of its own.

mod recovery;
mod search;

use super::get;
use super::load::{
    self,
    stored::{Patience, Stored},
};
use super::{mix, put};
use crate::execute::{self, Print, html};
use crate::failure::{Exit, Failure};
use crate::say;
use clap::ValueEnum;
use engine::plan::Plan;
use measure::load_line::{Found, LoadUnit};
use measure::units::parse_span;
use report::load_line::{Level, LoadLine};
use std::num::NonZeroU64;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use store::{SavedRun, StoreError, StudyRecord};
use study::line::Bounds;

/// What the line is measured in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// Operations in flight: each starts when the last one of its slot has ended.
    Concurrency,
    /// Operations per second, however slow the responses.
    Rate,
}

/// What is loaded, between which levels, and how closely.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = AFTER,
    mut_arg("concurrency", |flag| flag.hide(true)),
    mut_arg("requests", |flag| flag.hide(true)),
    mut_arg("rate", |flag| flag.hide(true)),
    mut_arg("repeat", |flag| flag.hide(true)),
    mut_arg("cookies", |flag| flag.hide_short_help(true)),
    mut_arg("no_follow", |flag| flag.hide_short_help(true)),
    mut_arg("order", |flag| flag.hide_short_help(true)),
    mut_arg("print", |flag| flag.hide_short_help(true)),
    mut_arg("url_file", |flag| flag.hide_short_help(true)),
    mut_arg("verify", |flag| flag.hide_short_help(true))
)]
#[group(skip)]
pub struct Args {
    /// A load other than that of `get`.
    #[command(subcommand)]
    other: Option<Other>,
    /// What is loaded, as for `get`.
    #[command(flatten)]
    get: get::Args,
    #[command(flatten)]
    search: SearchArgs,
}

/// A load other than that of `get`.
#[derive(clap::Subcommand, Debug)]
enum Other {
    /// Finds the load line of writes, with the flags of `plimsoll put`.
    Put(Box<PutArgs>),
    /// Finds the load line of a mix, with the flags of `plimsoll mix`.
    Mix(Box<MixArgs>),
}

/// As for `put`, whose `--from PATH` is `--files PATH` here: `--from` is the first level.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = AFTER,
    mut_arg("from", |flag| flag.long("files")),
    mut_arg("concurrency", |flag| flag.hide(true)),
    mut_arg("requests", |flag| flag.hide(true)),
    mut_arg("rate", |flag| flag.hide(true)),
    mut_arg("repeat", |flag| flag.hide(true))
)]
#[group(skip)]
struct PutArgs {
    #[command(flatten)]
    put: put::Args,
    #[command(flatten)]
    search: SearchArgs,
}

/// As for `mix`.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = AFTER,
    mut_arg("concurrency", |flag| flag.hide(true)),
    mut_arg("requests", |flag| flag.hide(true)),
    mut_arg("rate", |flag| flag.hide(true)),
    mut_arg("repeat", |flag| flag.hide(true))
)]
#[group(skip)]
struct MixArgs {
    #[command(flatten)]
    mix: mix::Args,
    #[command(flatten)]
    search: SearchArgs,
}

/// How the line is looked for.
#[derive(clap::Args, Clone, Debug)]
#[group(skip)]
pub struct SearchArgs {
    /// What the line is measured in.
    #[arg(long, value_enum, default_value = "concurrency", value_name = "UNIT", help_heading = "Search")]
    on: On,
    /// First level [default: 1 in flight, 100 per second]; levels double until one fails.
    #[arg(
        id = "first_level",
        long = "from",
        value_name = "N",
        value_parser = load::count::<NonZeroU64>,
        help_heading = "Search"
    )]
    from: Option<NonZeroU64>,
    /// Highest level to try [default: 4096 in flight, 1000000 per second].
    #[arg(long, value_name = "N", value_parser = load::count::<NonZeroU64>, help_heading = "Search")]
    to: Option<NonZeroU64>,
    /// Maximum width of the final bracket, as a share of its lower end [default: 5% in flight, 2% per second].
    #[arg(long, value_name = "PERCENT", value_parser = precision, help_heading = "Search")]
    precision: Option<f64>,
    /// Confidence at which a level that ends before its time must be decided.
    #[arg(long, value_name = "PERCENT", value_parser = confidence, default_value = "95%", help_heading = "Search", hide_short_help = true)]
    confidence: f64,
    /// Maximum time of a level whose backlog or percentiles are not decided yet.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "5m", help_heading = "Search", hide_short_help = true)]
    level_max: Duration,
    /// Rest between two levels.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s", help_heading = "Search", hide_short_help = true)]
    rest: Duration,
    /// Time a target has, after a level that failed, to be as fast as before; more where its backlog is known to take longer.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "60s", help_heading = "Search", hide_short_help = true)]
    recovery: Duration,
}

/// The load whose line is searched.
#[derive(Debug)]
enum Load {
    Get(get::Args),
    Put(put::Args),
    Mix(mix::Args),
}

const AFTER: &str = "A level lasts -d TIME [here 5s], and on a rate until its backlog is known to be steady or to grow. \
It must meet every --objective, and fails when it fails twice in a row. `plimsoll report DIR` shows a search again. \
--help-all prints every flag.";

/// How long a level is held unless told otherwise.
const LEVEL_TIME: Duration = Duration::from_secs(5);

fn span(text: &str) -> Result<Duration, String> {
    parse_span(text).map_err(|error| error.to_string())
}

fn precision(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.trim_end_matches('%').parse().ok().filter(|percent| (0.1..=50.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("`{text}` is not from 0.1% to 50%"))
}

fn confidence(text: &str) -> Result<f64, String> {
    let percent: Option<f64> =
        text.trim_end_matches('%').parse().ok().filter(|percent| (50.0..=99.99).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("`{text}` is not from 50% to 99.99%"))
}

impl On {
    fn unit(self) -> LoadUnit {
        match self {
            Self::Concurrency => LoadUnit::Concurrency,
            Self::Rate => LoadUnit::Rate,
        }
    }

    /// A level in operations in flight or per second.
    fn load(self, level: u64) -> f64 {
        report::load_line::load(level, self.unit().steps())
    }

    fn bounds(self, args: &SearchArgs) -> Bounds {
        let (from, to, precision) = match self {
            Self::Concurrency => (1, 4096, 0.05),
            Self::Rate => (100, 1_000_000, 0.02),
        };
        let steps = NonZeroU64::new(self.unit().steps()).unwrap_or(NonZeroU64::MIN);
        let or = |given: Option<NonZeroU64>, default| given.or(NonZeroU64::new(default)).unwrap_or(NonZeroU64::MIN);
        let or = |given, default| or(given, default).saturating_mul(steps);
        // The lowest level is 1, as --from allows.
        Bounds {
            least: steps,
            from: or(args.from, from),
            to: or(args.to, to),
            precision: args.precision.unwrap_or(precision),
        }
    }
}

impl Args {
    /// The load, and how its line is looked for.
    fn parts(self) -> (Load, SearchArgs) {
        match self.other {
            None => (Load::Get(self.get), self.search),
            Some(Other::Put(args)) => (Load::Put(args.put), args.search),
            Some(Other::Mix(args)) => (Load::Mix(args.mix), args.search),
        }
    }

    /// The flags that all load has in common, and those of the search.
    fn common(&self) -> (&load::Args, &SearchArgs) {
        match &self.other {
            None => (&self.get.common, &self.search),
            Some(Other::Put(args)) => (&args.put.common, &args.search),
            Some(Other::Mix(args)) => (&args.mix.common, &args.search),
        }
    }

    fn urls(&self) -> &[String] {
        match &self.other {
            None => &self.get.urls,
            Some(Other::Put(args)) => &args.put.urls,
            Some(Other::Mix(args)) => &args.mix.urls,
        }
    }
}

impl Load {
    fn common(&mut self) -> &mut load::Args {
        match self {
            Self::Get(args) => &mut args.common,
            Self::Put(args) => &mut args.common,
            Self::Mix(args) => &mut args.common,
        }
    }

    fn plan(&self) -> Result<Plan, Failure> {
        match self {
            Self::Get(args) => get::plan::of(args),
            Self::Put(args) => put::plan(args),
            Self::Mix(args) => mix::plan(args),
        }
    }
}

/// Carries it out.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    check(&args)?;
    let (common, _) = args.common();
    let output = load::output(common);
    let page = common.shown.html.clone();
    let base = match &output.directory {
        Some(directory) => directory.clone(),
        None => execute::default_directory(args.urls().first().map_or("line", String::as_str)),
    };
    search(args, &base)?;
    let (line, last) = saved(&base)?;
    show(&line, output.print)?;
    if let Some(file) = page {
        write_html(&line, last.as_ref(), &base, file.as_deref())?;
    }
    say::note(&format!("saved in {}", base.display()));
    Ok(judge(&line).into())
}

/// Searches, and saves all levels below `base`. What a mix writes is remembered for `cleanup`.
///
/// # Errors
/// When a level cannot be run or saved. That no line is found is a result.
pub fn search(args: Args, base: &Path) -> Result<Found, Failure> {
    let Some(Other::Mix(load)) = &args.other else { return search::search(args, base) };
    let Some(place) = mix::unlisted(&load.mix, &mix::plan(&load.mix)?)? else { return search::search(args, base) };
    let stored = Stored::reach(&load.mix.common, &place, Patience::Once)?;
    stored.remember_mixed(|| search::search(args, base))
}

/// Whether a search could be carried out: no flag says what it has to find, and the others fit together.
pub fn check(args: &Args) -> Result<(), Failure> {
    let (common, search) = args.common();
    let load = &common.load;
    let refused = [
        (load.concurrency.is_some(), "-c", "the search finds it; --from and --to bound it"),
        (load.rate.is_some(), "-R", "the search finds it; --on rate searches for a rate"),
        (!load.stages.is_empty(), "--stages", "a level is held"),
        (load.requests.is_some(), "-n", "a level is held for -d TIME"),
        (common.shown.repeat.get() > 1, "--repeat", "the search repeats what it needs"),
    ];
    if let Some((_, flag, why)) = refused.iter().find(|(given, ..)| *given) {
        return Err(Failure::usage(format!("{flag} has no place in a search: {why}")));
    }
    let Bounds { from, to, .. } = search.on.bounds(search);
    let (from, to) = (search.on.load(from.get()), search.on.load(to.get()));
    if from > to {
        let default = if search.to.is_none() { ", the highest level unless --to says another" } else { "" };
        return Err(Failure::usage(format!("--from {from} is above --to {to}{default}: levels double from --from on")));
    }
    match &args.other {
        None => get::plan::of(&args.get).map(|_| ()),
        Some(Other::Put(args)) => put::plan(&args.put).map(|_| ()),
        // Its dataset is asked for where it lies.
        Some(Other::Mix(_)) => Ok(()),
    }
}

/// The saved search of a directory, which is there.
pub fn of(base: &Path) -> Result<LoadLine, Failure> {
    saved(base).map(|(line, _)| line)
}

/// Reads a saved search, one that is going on or was killed included, and the last of its runs.
fn read(base: &Path, records: &[StudyRecord]) -> Result<(LoadLine, Option<SavedRun>), StoreError> {
    let (mut unit, mut found, mut levels, mut last) = ((LoadUnit::Concurrency, 1), None, Vec::new(), None);
    for record in records {
        match record {
            StudyRecord::Line { unit: of, steps, .. } => unit = (*of, steps.get()),
            StudyRecord::Found(what) => found = Some(*what),
            StudyRecord::Level { level, directory, outcome, certain } => {
                let run = SavedRun::read(&base.join(directory))?;
                let load = report::load_line::load(*level, unit.1);
                levels.push(Level::of(load, directory, &run, outcome.clone(), *certain));
                last = Some(run);
            }
            StudyRecord::Scenario { .. } | StudyRecord::Trial { .. } => {}
        }
    }
    Ok((LoadLine::of(unit, last.as_ref().map(|run| &run.begin), found, levels), last))
}

/// As [`of`], and the last of its runs.
pub fn saved(base: &Path) -> Result<(LoadLine, Option<SavedRun>), Failure> {
    let found = store::read_study(base).and_then(|records| read(base, &records));
    found.map_err(|error| execute::unread_again(&error))
}

/// Prints a saved search.
pub fn show(line: &LoadLine, form: Print) -> Result<(), Failure> {
    match form {
        Print::Json => execute::print_json(serde_json::to_string_pretty(line)),
        Print::None => Ok(()),
        Print::Text | Print::Ab | Print::Httpbench => execute::print(&report::load_line::text(line, &execute::style())),
    }
}

/// Writes the HTML report of a saved search, whose last run says what was asked, to the file that is named, else beside it.
pub fn write_html(line: &LoadLine, last: Option<&SavedRun>, base: &Path, file: Option<&Path>) -> Result<(), Failure> {
    html::write_beside(&report::html_line(line, last), base, file)
}

/// The exit code that a search deserves.
pub fn judge(line: &LoadLine) -> Exit {
    line.exit.into()
}
