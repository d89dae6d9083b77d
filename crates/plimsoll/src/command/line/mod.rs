//! `plimsoll line`: finds the load line of a target, which is the highest load at which the target meets all
//! objectives. Every level is a run of `get`, `put` or `mix` in its own directory.

mod args;
pub mod expected_time;
mod search;
mod target_recovery;

pub use args::Args;

use super::{get, mix, put};
use crate::console;
use crate::failure::Failure;
use crate::load;
use crate::load::location_client::{LocationClient, Patience};
use crate::progress::Progress;
use crate::saved::{self, load_line};
use args::OtherLoad;
use measure::result::load_line::Found;
use std::path::Path;
use std::process::ExitCode;
use study::load_line::search::Bounds;

/// Runs the command.
pub fn run(args: Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    check(&args)?;
    let (common, _) = args.common();
    let options = load::run_options(common);
    common.output.check_files()?;
    let (page, ci) = (common.output.html.clone(), common.output.ci.clone());
    let base = match &options.directory {
        Some(directory) => directory.clone(),
        None => saved::default_directory(args.urls().first().map_or("line", String::as_str)),
    };
    search(args, &base, &options.progress)?;
    let (line, last) = load_line::read_with_last_run(&base)?;
    load_line::print(&line, options.format)?;
    if let Some(file) = page {
        load_line::write_html(&line, last.as_ref(), &base, file.as_deref())?;
    }
    ci.write(&base)?;
    console::eprintln(&saved::saved_in(&base, options.format));
    Ok(load_line::exit_code(&line).into())
}

/// Runs a search, shows its progress, and saves all its levels below `base`. Also records the objects that a mix
/// writes, for `cleanup`.
///
/// # Errors
/// Fails if a level cannot be run or saved. A search that finds no load line is a result, not an error.
pub fn search(args: Args, base: &Path, progress: &Progress) -> Result<Found, Failure> {
    let Some(OtherLoad::Mix(load)) = &args.other else { return search::search(args, base, progress) };
    let Some(place) = mix::unlisted(&load.mix, &mix::plan(&load.mix)?)? else {
        return search::search(args, base, progress);
    };
    let stored = LocationClient::new(&load.mix.common, &place, Patience::Once)?;
    stored.record_mix(|| search::search(args, base, progress))
}

/// Refuses flags that the search sets itself, and flags that contradict each other.
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
        Some(OtherLoad::Put(args)) => put::plan(&args.put).map(|_| ()),
        // Checking a mix would require a request to the target, for the record of its dataset.
        Some(OtherLoad::Mix(_)) => Ok(()),
    }
}
