//! `plimsoll demo`: searches for the load line of an embedded server, for a first try without any other server.

use super::line;
use super::load_command::LoadCommand;
use crate::console;
use crate::embedded_server;
use crate::failure::Failure;
use crate::saved::{self, OutputFormat, load_line};
use report::number::plural;
use server::{Capacity, Delay, Faults};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// The flags of `demo`.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Directory in which to save the runs [default: runs/TIME-demo].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Response time of the demo server while the number of concurrent requests is below its limit.
const DELAY: Duration = Duration::from_millis(5);
/// The demo server's limit of concurrent requests, and the delay that it adds for each request above the limit.
const CAPACITY: (u64, Duration) = (100, Duration::from_millis(25));
/// The command line of the search, as a user would type it. The objective is separate, because it contains spaces.
const SEARCH: &str = "line --from 8 --to 1024 -d 1s";
const OBJECTIVE: &str = "response p95 <= 50ms";

/// Starts a server that becomes slow above a limit, searches for the limit, and prints the report of the last run.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let capacity = Capacity::slowing(CAPACITY.0, CAPACITY.1);
    let faults = Faults { delay: Delay::Constant(DELAY), capacity: Some(capacity), ..Faults::default() };
    let (server, address) = embedded_server::start(faults)?;
    let url = format!("http://{address}/blackhole/16KiB");
    console::eprintln(&format!(
        "the embedded server becomes slow above {} concurrent requests; this command finds the limit:\n  \
         plimsoll {SEARCH} --objective '{OBJECTIVE}' {url}\n",
        CAPACITY.0
    ));
    let base = args.out.clone().unwrap_or_else(|| saved::default_directory("demo"));
    let exit = line::run(search(&url, &base, args.json)?)?;
    let (found, last) = load_line::read_with_last_run(&base)?;
    if !args.json {
        let last = last.as_ref().ok_or_else(|| Failure::could_not_run("the search made no run"))?;
        console::print("\nthe last run, at the load line:\n\n")?;
        saved::print_run(last, OutputFormat::Text)?;
    }
    load_line::write_html(&found, last.as_ref(), &base, None)?;
    let ledger = server.stop();
    console::eprintln(&format!(
        "the server counted {}, {} complete",
        plural(ledger.requests(), "request"),
        plural(ledger.complete.count, "response")
    ));
    console::eprintln("next: plimsoll get http://host:port/path, plimsoll doctor, plimsoll --help");
    Ok(exit)
}

/// Returns the flags of the search.
fn search(url: &str, base: &Path, json: bool) -> Result<line::Args, Failure> {
    let words = ["plimsoll"].into_iter().chain(SEARCH.split(' ')).chain(["--objective", OBJECTIVE, url]);
    let words = words.map(OsString::from).chain(["--out".into(), base.as_os_str().to_owned()]);
    let words = words.chain(json.then(|| "--json".into()));
    match LoadCommand::parse(words)? {
        LoadCommand::Line(args) => Ok(*args),
        _ => Err(Failure::could_not_run("the demonstration is no search")),
    }
}
