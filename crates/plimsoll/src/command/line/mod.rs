//! `plimsoll line`: finds the load line of a target, the highest load at which it meets all objectives. Every level is a run of
//! `get`, `put` or `mix` in a directory of its own.

mod search;
mod target_recovery;

use super::get;
use super::{mix, put};
use crate::console;
use crate::failure::Failure;
use crate::load::{
    self,
    location_client::{LocationClient, Patience},
};
use crate::saved::{self, load_line};
use clap::ValueEnum;
use engine::plan::Plan;
use measure::result::load_line::{Found, LoadUnit};
use std::num::NonZeroU64;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;
use study::load_line::search::Bounds;

/// The unit of the load line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// Operations in flight: each slot starts its next operation when the last one ends.
    Concurrency,
    /// Operations per second, independent of the response times.
    Rate,
}

/// The flags of `line`.
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
    /// The load, with the flags of `get`.
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

/// The flags of `put`, except that its `--from PATH` is `--files PATH`: `--from` is the first level.
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

/// The flags of `mix`.
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

/// The flags of the search.
#[derive(clap::Args, Clone, Debug)]
#[group(skip)]
pub struct SearchArgs {
    /// Unit of the load line.
    #[arg(long, value_enum, default_value = "concurrency", value_name = "UNIT", help_heading = "Search")]
    on: On,
    /// First level [default: 1 in flight, 100 per second]. Levels double until one fails.
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
    /// Confidence required to stop a level early.
    #[arg(long, value_name = "PERCENT", value_parser = confidence, default_value = "95%", help_heading = "Search", hide_short_help = true)]
    confidence: f64,
    /// Maximum duration of a level whose backlog or percentiles are not decided yet.
    #[arg(long, value_name = "TIME", value_parser = load::span, default_value = "5m", help_heading = "Search", hide_short_help = true)]
    level_max: Duration,
    /// Pause between two levels.
    #[arg(long, value_name = "TIME", value_parser = load::span, default_value = "0s", help_heading = "Search", hide_short_help = true)]
    rest: Duration,
    /// Time for the target to become as fast as before after a failed level; more if its backlog takes longer.
    #[arg(long, value_name = "TIME", value_parser = load::span, default_value = "60s", help_heading = "Search", hide_short_help = true)]
    recovery: Duration,
}

/// The load of a search.
#[derive(Debug)]
enum Load {
    Get(get::Args),
    Put(put::Args),
    Mix(mix::Args),
}

const AFTER: &str = "A level lasts -d TIME [here 5s]. On a rate it lasts until its backlog is known to be steady or to grow. \
A level must meet every --objective. It fails if it fails twice in a row. `plimsoll report DIR` shows a search again. \
--help-all prints every flag.";

/// Default duration of a level.
const LEVEL_TIME: Duration = Duration::from_secs(5);

fn precision(text: &str) -> Result<f64, String> {
    let percent: Option<f64> = text.trim_end_matches('%').parse().ok().filter(|percent| (0.1..=50.0).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("`{text}` is not between 0.1% and 50%"))
}

fn confidence(text: &str) -> Result<f64, String> {
    let percent: Option<f64> =
        text.trim_end_matches('%').parse().ok().filter(|percent| (50.0..=99.99).contains(percent));
    percent.map(|percent| percent / 100.0).ok_or_else(|| format!("`{text}` is not between 50% and 99.99%"))
}

impl On {
    fn unit(self) -> LoadUnit {
        match self {
            Self::Concurrency => LoadUnit::Concurrency,
            Self::Rate => LoadUnit::Rate,
        }
    }

    /// Returns a level in operations in flight or per second.
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
        // The lowest level is 1, as for --from.
        Bounds {
            least: steps,
            from: or(args.from, from),
            to: or(args.to, to),
            precision: args.precision.unwrap_or(precision),
        }
    }
}

impl Args {
    /// Returns the load and the settings of the search.
    fn parts(self) -> (Load, SearchArgs) {
        match self.other {
            None => (Load::Get(self.get), self.search),
            Some(Other::Put(args)) => (Load::Put(args.put), args.search),
            Some(Other::Mix(args)) => (Load::Mix(args.mix), args.search),
        }
    }

    /// Returns the flags that all load shares, and those of the search.
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

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    check(&args)?;
    let (common, _) = args.common();
    let options = load::run_options(common);
    let page = common.output.html.clone();
    let base = match &options.directory {
        Some(directory) => directory.clone(),
        None => saved::default_directory(args.urls().first().map_or("line", String::as_str)),
    };
    search(args, &base)?;
    let (line, last) = load_line::read_with_last_run(&base)?;
    load_line::print(&line, options.format)?;
    if let Some(file) = page {
        load_line::write_html(&line, last.as_ref(), &base, file.as_deref())?;
    }
    console::eprintln(&format!("saved in {}", base.display()));
    Ok(load_line::exit_code(&line).into())
}

/// Runs a search and saves all levels below `base`. What a mix writes is recorded for `cleanup`.
///
/// # Errors
/// Fails if a level cannot be run or saved. A search that finds no line is a result.
pub fn search(args: Args, base: &Path) -> Result<Found, Failure> {
    let Some(Other::Mix(load)) = &args.other else { return search::search(args, base) };
    let Some(place) = mix::unlisted(&load.mix, &mix::plan(&load.mix)?)? else { return search::search(args, base) };
    let stored = LocationClient::new(&load.mix.common, &place, Patience::Once)?;
    stored.record_mix(|| search::search(args, base))
}

/// Refuses flags that set what the search varies, and flags that do not fit together.
pub fn check(args: &Args) -> Result<(), Failure> {
    let (common, search) = args.common();
    let load = &common.load;
    let refused = [
        (load.concurrency.is_some(), "-c", "the search varies it; use --from and --to to bound it"),
        (load.rate.is_some(), "-R", "the search varies it; use --on rate to search for a rate"),
        (!load.stages.is_empty(), "--stages", "the load of a level is constant"),
        (load.requests.is_some(), "-n", "a level lasts for -d TIME"),
        (common.output.repeat.get() > 1, "--repeat", "the search repeats levels as needed"),
    ];
    if let Some((_, flag, why)) = refused.iter().find(|(given, ..)| *given) {
        return Err(Failure::usage(format!("{flag} cannot be used in a search: {why}")));
    }
    let Bounds { from, to, .. } = search.on.bounds(search);
    let (from, to) = (search.on.load(from.get()), search.on.load(to.get()));
    if from > to {
        let default = if search.to.is_none() { " (the default)" } else { "" };
        return Err(Failure::usage(format!("--from {from} is above --to {to}{default}: lower --from, or raise --to")));
    }
    match &args.other {
        None => get::plan::of(&args.get).map(|_| ()),
        Some(Other::Put(args)) => put::plan(&args.put).map(|_| ()),
        // Checking a mix would request the record of its dataset.
        Some(Other::Mix(_)) => Ok(()),
    }
}
