//! The flags of `line`: the load, and the search.

use crate::command::load_command::LoadCommand;
use crate::command::{get, mix, put};
use crate::failure::Failure;
use crate::load;
use clap::ValueEnum;
use engine::plan::Plan;
use measure::result::load_line::LoadUnit;
use std::num::NonZeroU64;
use std::time::Duration;
use study::load_line::search::Bounds;

/// The unit of the load line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum On {
    /// Operations in flight. Each slot starts an operation when the previous operation of the slot has ended.
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
    mut_arg("duration", |flag| flag.help(LEVEL_HELP)),
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
    /// A load other than the load of `get`.
    #[command(subcommand)]
    pub other: Option<OtherLoad>,
    /// The load, with the flags of `get`.
    #[command(flatten)]
    pub get: get::Args,
    #[command(flatten)]
    pub search: SearchArgs,
}

/// A load other than the load of `get`.
#[derive(clap::Subcommand, Debug)]
pub enum OtherLoad {
    /// Finds the load line of writes, with the flags of `plimsoll put`.
    Put(Box<PutArgs>),
    /// Finds the load line of a mix, with the flags of `plimsoll mix`.
    Mix(Box<MixArgs>),
}

/// The flags of `put`, except that `--files PATH` replaces `--from PATH`. `--from` of `line` is the first level.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = AFTER,
    mut_arg("from", |flag| flag.long("files")),
    mut_arg("concurrency", |flag| flag.hide(true)),
    mut_arg("requests", |flag| flag.hide(true)),
    mut_arg("rate", |flag| flag.hide(true)),
    mut_arg("duration", |flag| flag.help(LEVEL_HELP)),
    mut_arg("repeat", |flag| flag.hide(true))
)]
#[group(skip)]
pub struct PutArgs {
    #[command(flatten)]
    pub put: put::Args,
    #[command(flatten)]
    pub search: SearchArgs,
}

/// The flags of `mix`.
#[derive(clap::Args, Debug)]
#[command(
    disable_help_flag = true,
    after_help = AFTER,
    mut_arg("concurrency", |flag| flag.hide(true)),
    mut_arg("requests", |flag| flag.hide(true)),
    mut_arg("rate", |flag| flag.hide(true)),
    mut_arg("duration", |flag| flag.help(LEVEL_HELP)),
    mut_arg("repeat", |flag| flag.hide(true))
)]
#[group(skip)]
pub struct MixArgs {
    #[command(flatten)]
    pub mix: mix::Args,
    #[command(flatten)]
    pub search: SearchArgs,
}

/// The flags of the search.
#[derive(clap::Args, Clone, Debug)]
#[group(skip)]
pub struct SearchArgs {
    /// Unit of the load line.
    #[arg(
        long,
        value_enum,
        default_value = "concurrency",
        value_name = "UNIT",
        help_heading = "Search",
        group = "open_model"
    )]
    pub on: On,
    /// First level [default: 1 for --on concurrency, 100/s for --on rate]. Levels double until one fails.
    #[arg(
        id = "first_level",
        long = "from",
        value_name = "N",
        value_parser = load::count::<NonZeroU64>,
        help_heading = "Search"
    )]
    pub from: Option<NonZeroU64>,
    /// Highest level to try [default: 4096 in flight, 1000000 per second].
    #[arg(long, value_name = "N", value_parser = load::count::<NonZeroU64>, help_heading = "Search")]
    pub to: Option<NonZeroU64>,
    /// Maximum gap between the highest passed and the lowest failed level, in percent [default: 5% in flight, 2% per
    /// second].
    #[arg(long, value_name = "PERCENT", value_parser = precision, help_heading = "Search")]
    pub precision: Option<f64>,
    /// Stop a level early once its result is certain with this probability.
    #[arg(long, value_name = "PERCENT", value_parser = confidence, default_value = "95%", help_heading = "Search", hide_short_help = true)]
    pub confidence: f64,
    /// Maximum duration of a level. A level runs longer than -d, up to this time, if it is not yet certain whether the
    /// backlog grows or an objective is met.
    #[arg(long, value_name = "TIME", value_parser = load::span, default_value = "5m", help_heading = "Search", hide_short_help = true)]
    pub level_max: Duration,
    /// Pause between two levels.
    #[arg(long, value_name = "TIME", value_parser = load::span, default_value = "0s", help_heading = "Search", hide_short_help = true)]
    pub rest: Duration,
    /// After a failed level, wait at most this long until the target is as fast as before. A long backlog extends the
    /// wait.
    #[arg(long, value_name = "TIME", value_parser = load::span, default_value = "60s", help_heading = "Search", hide_short_help = true)]
    pub recovery: Duration,
}

/// The load of a search.
#[derive(Debug)]
pub enum Load {
    Get(get::Args),
    Put(put::Args),
    Mix(mix::Args),
}

const AFTER: &str = "A level lasts -d TIME [default of searches: 5s]. With --on rate, a level lasts until it is \
    certain whether the backlog grows. A level must meet every --objective, and fails if it misses an objective twice \
    in a row. `plimsoll report DIR` shows a search again. --help-all prints every flag.";

/// Help text of `-d`.
const LEVEL_HELP: &str = "Duration of a level, e.g. 10s or 1m30s [default: 5s]";
/// Default duration of a level.
pub const LEVEL_TIME: Duration = Duration::from_secs(5);

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
    pub fn unit(self) -> LoadUnit {
        match self {
            Self::Concurrency => LoadUnit::Concurrency,
            Self::Rate => LoadUnit::Rate,
        }
    }

    /// Converts a level to operations in flight or operations per second.
    pub fn load(self, level: u64) -> f64 {
        report::load_line::load(level, self.unit().steps())
    }

    /// Returns the range of a search on this number of machines. Each machine needs at least one operation in flight.
    pub fn bounds(self, args: &SearchArgs, machines: NonZeroU64) -> Bounds {
        let (from, to, precision) = match self {
            Self::Concurrency => (1, 4096, 0.05),
            Self::Rate => (100, 1_000_000, 0.02),
        };
        let steps = NonZeroU64::new(self.unit().steps()).unwrap_or(NonZeroU64::MIN);
        let or = |given: Option<NonZeroU64>, default| given.or(NonZeroU64::new(default)).unwrap_or(NonZeroU64::MIN);
        let or = |given, default| or(given, default).saturating_mul(steps);
        // The lowest level of a search, so --from cannot be lower.
        let least = match self {
            Self::Concurrency => machines,
            Self::Rate => NonZeroU64::MIN,
        };
        Bounds {
            least: least.saturating_mul(steps),
            from: or(args.from, from.max(least.get())),
            to: or(args.to, to),
            precision: args.precision.unwrap_or(precision),
        }
    }
}

impl Args {
    /// Returns the load, and the settings of the search.
    pub fn parts(self) -> (Load, SearchArgs) {
        match self.other {
            None => (Load::Get(self.get), self.search),
            Some(OtherLoad::Put(args)) => (Load::Put(args.put), args.search),
            Some(OtherLoad::Mix(args)) => (Load::Mix(args.mix), args.search),
        }
    }

    /// Returns the flags that all kinds of load share, and the flags of the search.
    pub fn common(&self) -> (&load::Args, &SearchArgs) {
        match &self.other {
            None => (&self.get.common, &self.search),
            Some(OtherLoad::Put(args)) => (&args.put.common, &args.search),
            Some(OtherLoad::Mix(args)) => (&args.mix.common, &args.search),
        }
    }

    pub fn urls(&self) -> &[String] {
        match &self.other {
            None => &self.get.urls,
            Some(OtherLoad::Put(args)) => &args.put.urls,
            Some(OtherLoad::Mix(args)) => &args.mix.urls,
        }
    }

    pub fn urls_mut(&mut self) -> &mut Vec<String> {
        match &mut self.other {
            None => &mut self.get.urls,
            Some(OtherLoad::Put(args)) => &mut args.put.urls,
            Some(OtherLoad::Mix(args)) => &mut args.mix.urls,
        }
    }
}

impl Load {
    pub fn common(&mut self) -> &mut load::Args {
        match self {
            Self::Get(args) => &mut args.common,
            Self::Put(args) => &mut args.common,
            Self::Mix(args) => &mut args.common,
        }
    }

    /// Returns the command that makes the same load once.
    pub fn into_command(self) -> LoadCommand {
        match self {
            Self::Get(args) => LoadCommand::Get(Box::new(args)),
            Self::Put(args) => LoadCommand::Put(Box::new(args)),
            Self::Mix(args) => LoadCommand::Mix(Box::new(args)),
        }
    }

    pub fn plan(&self) -> Result<Plan, Failure> {
        match self {
            Self::Get(args) => get::plan::of(args),
            Self::Put(args) => put::plan(args),
            Self::Mix(args) => mix::plan(args),
        }
    }
}
