//! `plimsoll line`: finds the load line of a target, which is the highest load at which the target meets all
//! objectives. Every level is a run of `get`, `put` or `mix` in its own directory.

mod args;
pub mod expected_time;
mod make_load;
mod search;
mod search_load;
mod target_recovery;

pub use args::Args;
pub use make_load::{MadeLoad, MakeLoad, MonitorOfLevel};
pub use search_load::{SearchLoad, Settings};

use super::{get, mix, put};
use crate::console;
use crate::execute::RunOptions;
use crate::failure::Failure;
use crate::load;
use crate::load::location_client::{LocationClient, Patience};
use crate::progress::Progress;
use crate::saved::ci_output::CiOutput;
use crate::saved::{self, NewDirectory, load_line};
use args::OtherLoad;
use make_load::InProcess;
use measure::result::load_line::Found;
use search::Task;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use study::load_line::search::Bounds;

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    check(&args)?;
    let (base, options) = (directory(&args), load::run_options(args.common().0));
    let output = Output::of(&args);
    let new = NewDirectory::at(&base);
    search(args, &base, &options.progress).inspect_err(|_| new.discard_without_measurements())?;
    output.show(&base, &options)
}

/// Runs a search whose loads this number of machines makes, as `load` describes. Shows its progress, and saves all its
/// levels below `base`.
///
/// # Errors
/// Fails if a level cannot be run or saved. A search that finds no load line is a result, not an error.
pub fn search_with(
    args: &Args,
    machines: NonZeroUsize,
    base: &Path,
    progress: &Progress,
    load: &mut dyn MakeLoad,
) -> Result<Found, Failure> {
    search::search(task(args, many(machines), base, progress), load)
}

/// Shows the result of a search that was made.
pub fn show(args: &Args, base: &Path, options: &RunOptions) -> Result<ExitCode, Failure> {
    Output::of(args).show(base, options)
}

fn many(machines: NonZeroUsize) -> NonZeroU64 {
    NonZeroU64::try_from(machines).unwrap_or(NonZeroU64::MIN)
}

/// Returns the directory of the search.
pub fn directory(args: &Args) -> PathBuf {
    let given = args.common().0.output.out.clone();
    given.unwrap_or_else(|| saved::default_directory(args.urls().first().map_or("line", String::as_str)))
}

/// The outputs of a finished search.
struct Output {
    page: Option<Option<PathBuf>>,
    ci: CiOutput,
}

impl Output {
    fn of(args: &Args) -> Self {
        let output = &args.common().0.output;
        Self { page: output.html.clone(), ci: output.ci.clone() }
    }

    fn show(self, base: &Path, options: &RunOptions) -> Result<ExitCode, Failure> {
        let (line, last) = load_line::read_with_last_run(base)?;
        load_line::print(&line, options.format)?;
        if let Some(file) = self.page {
            load_line::write_html(&line, last.as_ref(), base, file.as_deref())?;
        }
        self.ci.write(base)?;
        console::eprintln(&saved::saved_in(base, options.format));
        Ok(load_line::conclude(&line).into())
    }
}

/// Runs a search in this process, shows its progress, and saves all its levels below `base`. Also records the objects
/// that a mix writes, for `cleanup`.
///
/// # Errors
/// Fails if a level cannot be run or saved. A search that finds no load line is a result, not an error.
pub fn search(args: Args, base: &Path, progress: &Progress) -> Result<Found, Failure> {
    let Some(OtherLoad::Mix(load)) = &args.other else { return search_here(args, base, progress) };
    let Some(place) = mix::unlisted(&load.mix, &mix::plan(&load.mix)?)? else {
        return search_here(args, base, progress);
    };
    let stored = LocationClient::new(&load.mix.common, &place, Patience::Once)?;
    stored.record_mix(|| search_here(args, base, progress))
}

fn search_here(args: Args, base: &Path, progress: &Progress) -> Result<Found, Failure> {
    let task = task(&args, NonZeroU64::MIN, base, progress);
    let load = args.parts().0;
    let mut here = InProcess::new(load, task.settings.clone());
    search::search(task, &mut here)
}

fn task<'b>(args: &Args, machines: NonZeroU64, base: &'b Path, progress: &Progress) -> Task<'b> {
    let (common, search) = args.common();
    Task {
        settings: Settings::of(search, common),
        bounds: search.on.bounds(search, machines),
        expected: expected_time::of(args, machines),
        options: RunOptions { progress: progress.clone(), ..load::run_options(common) },
        regular: !common.load.poisson,
        base,
    }
}

/// Refuses flags that the search sets itself, and flags that contradict each other. Checks the plan too.
pub fn check(args: &Args) -> Result<(), Failure> {
    check_on(args, NonZeroUsize::MIN)?;
    match &args.other {
        None => get::plan::of(&args.get).map(|_| ()),
        Some(OtherLoad::Put(args)) => put::plan(&args.put).map(|_| ()),
        Some(OtherLoad::Mix(args)) => mix::check(&args.mix),
    }
}

/// Refuses flags that the search sets itself on this number of machines, and flags that contradict each other. Does not
/// check the plan, because the plan may need files that only the machines have.
pub fn check_on(args: &Args, machines: NonZeroUsize) -> Result<(), Failure> {
    let (common, search) = args.common();
    common.output.check_files()?;
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
    let Bounds { least, from, to, .. } = search.on.bounds(search, many(machines));
    if from < least {
        return Err(Failure::usage(format!(
            "--from: each of the {machines} machines needs at least one operation in flight, so use --from {machines} or more"
        )));
    }
    let (from, to) = (search.on.load(from.get()), search.on.load(to.get()));
    if from > to {
        let default = if search.to.is_none() { " (the default)" } else { "" };
        return Err(Failure::usage(format!("--from {from} is above --to {to}{default}: lower --from, or raise --to")));
    }
    Ok(())
}
