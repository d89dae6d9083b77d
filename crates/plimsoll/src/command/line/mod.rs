//! `plimsoll line`: finds the load line of one target, the highest load at which all objectives are met. Every level is a run
//! of `get` with a directory of its own.

mod recovery;
mod search;

use super::get;
use super::load;
use crate::execute::{self, Print, html};
use crate::failure::{Exit, Failure};
use crate::say;
use clap::ValueEnum;
use measure::load_line::LoadUnit;
use measure::units::parse_span;
use report::load_line::{FoundWord, Level, LoadLine};
pub use search::search;
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
    /// Operations per second, however slow the answers.
    Rate,
}

/// What is searched, between which levels, and how closely.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
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
    /// What is loaded, as for `get`.
    #[command(flatten)]
    pub get: get::Args,
    /// What the line is measured in.
    #[arg(long, value_enum, default_value = "concurrency", value_name = "UNIT", help_heading = "Search")]
    pub on: On,
    /// First level [default: 1 in flight, 100 per second]; levels double until one fails.
    #[arg(long, value_name = "N", value_parser = load::count::<NonZeroU64>, help_heading = "Search")]
    pub from: Option<NonZeroU64>,
    /// Highest level to try [default: 4096 in flight, 1000000 per second].
    #[arg(long, value_name = "N", value_parser = load::count::<NonZeroU64>, help_heading = "Search")]
    pub to: Option<NonZeroU64>,
    /// How wide the bracket may be in the end, as a share of its lower end.
    #[arg(long, value_name = "PERCENT", value_parser = precision, default_value = "5%", help_heading = "Search")]
    pub precision: f64,
    /// How sure a level that ends before its time must be of its objectives.
    #[arg(long, value_name = "PERCENT", value_parser = confidence, default_value = "95%", help_heading = "Search")]
    pub confidence: f64,
    /// Rest between two levels.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s", help_heading = "Search")]
    pub rest: Duration,
    /// How long a target may take to be as fast as before after a level that failed.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "60s", help_heading = "Search")]
    pub recovery: Duration,
}

const AFTER: &str =
    "A level is held for -d TIME [here 5s] and to every --objective; it fails when it fails twice in a row. It ends
before its time when its objectives are decided; the line itself is run again in full.
`plimsoll report DIR` shows a search again. --help-all prints every flag.";

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

    fn bounds(self, args: &Args) -> Bounds {
        let (from, to) = match self {
            Self::Concurrency => (1, 4096),
            Self::Rate => (100, 1_000_000),
        };
        let or = |given: Option<NonZeroU64>, default| given.or(NonZeroU64::new(default)).unwrap_or(NonZeroU64::MIN);
        Bounds { from: or(args.from, from), to: or(args.to, to), precision: args.precision }
    }
}

/// Carries it out.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    check(&args)?;
    let output = load::output(&args.get.common);
    let base = match &output.directory {
        Some(directory) => directory.clone(),
        None => execute::default_directory(args.get.urls.first().map_or("line", String::as_str)),
    };
    let page = args.get.common.shown.html.clone();
    search(args, &base)?;
    let (line, last) = saved(&base)?;
    show(&line, output.print)?;
    if let Some(file) = page {
        write_html(&line, last.as_ref(), &base, file.as_deref())?;
    }
    say::note(&format!("saved in {}", base.display()));
    Ok(judge(&line).into())
}

/// Whether a search could be carried out: no flag says what it has to find, and the others fit together.
pub fn check(args: &Args) -> Result<(), Failure> {
    let load = &args.get.common.load;
    let refused = [
        (load.concurrency.is_some(), "-c", "the search finds it; --from and --to bound it"),
        (load.rate.is_some(), "-R", "the search finds it; --on rate searches for a rate"),
        (!load.stages.is_empty(), "--stages", "a level is held"),
        (load.requests.is_some(), "-n", "a level is held for -d TIME"),
        (args.get.common.shown.repeat.get() > 1, "--repeat", "the search repeats what it needs"),
    ];
    if let Some((_, flag, why)) = refused.iter().find(|(given, ..)| *given) {
        return Err(Failure::usage(format!("{flag} has no place in a search: {why}")));
    }
    let Bounds { from, to, .. } = args.on.bounds(args);
    if from > to {
        let default = if args.to.is_none() { ", the highest level unless --to says another" } else { "" };
        return Err(Failure::usage(format!("--from {from} is above --to {to}{default}: levels double from --from on")));
    }
    get::plan::of(&args.get).map(|_| ())
}

/// The saved search of a directory, which is there.
pub fn of(base: &Path) -> Result<LoadLine, Failure> {
    saved(base).map(|(line, _)| line)
}

/// Reads a saved search, one that is going on or was killed included, and the last of its runs.
fn read(base: &Path, records: &[StudyRecord]) -> Result<(LoadLine, Option<SavedRun>), StoreError> {
    let (mut unit, mut found, mut levels, mut last) = (LoadUnit::Concurrency, None, Vec::new(), None);
    for record in records {
        match record {
            StudyRecord::Line { unit: of, .. } => unit = *of,
            StudyRecord::Found(what) => found = Some(*what),
            StudyRecord::Level { level, directory } => {
                let run = SavedRun::read(&base.join(directory))?;
                levels.push(Level::of(*level, directory, &run));
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
    match line.found {
        FoundWord::Interrupted => execute::interrupted(),
        _ if line.limited_by_client => Exit::Unusable,
        FoundWord::Line | FoundWord::AtLeast | FoundWord::Unfinished => Exit::Good,
        FoundWord::Below | FoundWord::Unsteady | FoundWord::NotRecovered => Exit::Objectives,
    }
}
