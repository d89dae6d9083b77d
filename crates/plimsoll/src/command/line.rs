//! `plimsoll line`: finds the load line of one target, the highest load at which all objectives are met. Every level is a run
//! of `get` with a directory of its own.

use super::get;
use super::load;
use crate::execute::{self, Output, Print};
use crate::failure::{Exit, Failure};
use crate::say;
use clap::ValueEnum;
use measure::Enumerated;
use measure::load_line::{Found, LoadUnit};
use measure::units::{Rate, parse_span};
use report::load_line::{FoundWord, Level, LoadLine};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use store::{SavedRun, StoreError, StudyLog, StudyRecord};
use study::line::{Bounds, Search, Step};

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
    /// Rest between two levels.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s", help_heading = "Search")]
    pub rest: Duration,
}

const AFTER: &str =
    "A level is held for -d TIME [here 5s] and to every --objective; it fails when it fails twice in a row.
`plimsoll report DIR` shows a search again. --help-all prints every flag.";

/// How long a level is held unless told otherwise.
const LEVEL_TIME: Duration = Duration::from_secs(5);
/// Where the runs of the levels are.
const LEVELS: &str = "levels";

fn span(text: &str) -> Result<Duration, String> {
    parse_span(text).map_err(|error| error.to_string())
}

fn precision(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.trim_end_matches('%').parse().ok().filter(|percent| (0.1..=50.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("`{text}` is not from 0.1% to 50%"))
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
pub fn run(mut args: Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    check(&args)?;
    args.get.common.load.duration = Some(args.get.common.load.duration.unwrap_or(LEVEL_TIME));
    let output = load::output(&args.get.common);
    let bounds = args.on.bounds(&args);
    let base = match &output.directory {
        Some(directory) => directory.clone(),
        None => execute::default_directory(args.get.urls.first().map_or("line", String::as_str)),
    };
    let begin = StudyRecord::line(args.on.unit(), args.precision);
    let log = StudyLog::create(&base, &begin).map_err(|error| cannot_save(&error))?;
    let mut levels = Levels { args, output, base: base.clone(), log, levels: Vec::new() };
    let found = levels.search(bounds)?;
    levels.log.append(&StudyRecord::Found(found)).map_err(|error| cannot_save(&error))?;
    let records = store::read_study(&base).map_err(|error| execute::unread_again(&error))?;
    let exit = show(&base, &records, levels.output.print)?;
    say::note(&format!("saved in {}", base.display()));
    Ok(exit.into())
}

/// Flags of `get` that say what the search has to find.
fn check(args: &Args) -> Result<(), Failure> {
    let load = &args.get.common.load;
    let refused = [
        (load.concurrency.is_some(), "-c", "the search finds it; --from and --to bound it"),
        (load.rate.is_some(), "-R", "the search finds it; --on rate searches for a rate"),
        (!load.stages.is_empty(), "--stages", "a level is held"),
        (load.requests.is_some(), "-n", "a level is held for -d TIME"),
        (args.get.common.shown.repeat.get() > 1, "--repeat", "the search repeats what it needs"),
        (args.get.common.shown.html.is_some(), "--html", "it shows one run: write it with `plimsoll report`"),
    ];
    match refused.iter().find(|(given, ..)| *given) {
        Some((_, flag, why)) => Err(Failure::usage(format!("{flag} has no place in a search: {why}"))),
        None => Ok(()),
    }
}

/// The levels that were run.
struct Levels {
    args: Args,
    output: Output,
    base: PathBuf,
    log: StudyLog,
    levels: Vec<Level>,
}

impl Levels {
    fn search(&mut self, bounds: Bounds) -> Result<Found, Failure> {
        let mut search = Search::new(bounds);
        loop {
            match search.next() {
                Step::Done(found) => return Ok(found),
                Step::Try(level) => {
                    let again = if search.is_confirming() { ", the line once more" } else { "" };
                    let Some(run) = self.run(level, again)? else {
                        return Ok(Found::Interrupted { passed: self.highest_passed() });
                    };
                    search.tell(run.passed);
                    if self.is_beyond_client(level) {
                        return Ok(match self.highest_passed() {
                            Some(passed) => Found::Line { passed, failed: level },
                            None => Found::Below { failed: level },
                        });
                    }
                }
            }
        }
    }

    fn highest_passed(&self) -> Option<u64> {
        self.levels.iter().filter(|level| level.passed).map(|level| level.level).max()
    }

    /// Whether a rate has failed twice because this client can not offer it: more would only measure the client.
    fn is_beyond_client(&self, level: u64) -> bool {
        let last = self.levels.iter().rev().take(2);
        let mine = last.filter(|run| run.level == level && !run.passed && run.limited_by_client);
        self.args.on == On::Rate && mine.count() == 2
    }

    /// Runs a level; `None` when the user has interrupted.
    fn run(&mut self, level: u64, again: &str) -> Result<Option<Level>, Failure> {
        if self.levels.is_empty() {
            say::note(&format!("searching the load line on {}", self.args.on.unit().name()));
        } else {
            rest(self.args.rest);
        }
        let load = &mut self.args.get.common.load;
        match self.args.on {
            On::Concurrency => load.concurrency = NonZeroU64::new(level),
            On::Rate => load.rate = Rate::per_second(level as f64),
        }
        let name = format!("{LEVELS}/{:02}-{level}", self.levels.len() + 1);
        let mut plan = get::plan::of(&self.args.get)?;
        execute::prepare(&mut plan)?;
        let output = Output { directory: Some(self.base.join(&name)), ..self.output.clone() };
        let saved = execute::measure(&plan, &output)?;
        let record = StudyRecord::Level { level, directory: name.clone() };
        self.log.append(&record).map_err(|error| cannot_save(&error))?;
        if execute::was_interrupted(&saved) {
            return Ok(None);
        }
        let run = Level::of(level, &name, &saved);
        say::note(&format!(
            "  {level:>7}{again}: {}",
            run.measured.broke.as_ref().map_or("held".to_owned(), |broke| format!("failed, {broke}"))
        ));
        self.levels.push(run.clone());
        Ok(Some(run))
    }
}

/// Rests, unless the user has interrupted.
fn rest(time: Duration) {
    const STEP: Duration = Duration::from_millis(50);
    let begun = std::time::Instant::now();
    while begun.elapsed() < time && sys::signals::interrupts().count == 0 {
        std::thread::sleep(STEP.min(time));
    }
}

fn cannot_save(error: &StoreError) -> Failure {
    Failure::could_not_run(format!("the search can not be saved: {error}; name another directory with --out"))
}

/// Reads a saved search, one that is going on or was killed included.
fn read(base: &Path, records: &[StudyRecord]) -> Result<LoadLine, StoreError> {
    let (mut unit, mut found, mut levels, mut begin) = (LoadUnit::Concurrency, None, Vec::new(), None);
    for record in records {
        match record {
            StudyRecord::Line { unit: of, .. } => unit = *of,
            StudyRecord::Found(what) => found = Some(*what),
            StudyRecord::Level { level, directory } => {
                let run = SavedRun::read(&base.join(directory))?;
                levels.push(Level::of(*level, directory, &run));
                begin = Some(run.begin);
            }
            StudyRecord::Scenario { .. } | StudyRecord::Trial { .. } => {}
        }
    }
    Ok(LoadLine::of(unit, begin.as_ref(), found, levels))
}

/// Prints a saved search. The exit code is what it deserves.
pub fn show(base: &Path, records: &[StudyRecord], form: Print) -> Result<Exit, Failure> {
    let line = read(base, records).map_err(|error| execute::unread_again(&error))?;
    match form {
        Print::Json => execute::print_json(serde_json::to_string_pretty(&line))?,
        Print::None => {}
        Print::Text | Print::Ab | Print::Httpbench => {
            execute::print(&report::load_line::text(&line, &execute::style()))?;
        }
    }
    Ok(match line.found {
        FoundWord::Interrupted => Exit::Interrupted(2),
        _ if line.limited_by_client => Exit::Unusable,
        FoundWord::Line | FoundWord::AtLeast | FoundWord::Unfinished => Exit::Good,
        FoundWord::Below | FoundWord::Unsteady => Exit::Objectives,
    })
}
