//! `cargo xtask bench line`: searches for the load line of a separate server over real sockets. The capacity of the
//! server is set on purpose ("planted"), so the right result is known.

use crate::console;
use crate::failure::{Context, Result, check_interrupt, failure};
use crate::goal::GoalResult;
use crate::host;
use crate::plimsoll::ProgramArgs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[path = "../../../../crates/study/tests/support/gate.rs"]
mod gate;

use gate::Gate;

/// Source of the server.
const SERVER: &str = include_str!("queue_server.py");
/// Maximum error of a result that is too low, as a fraction of the planted line.
const BELOW: f64 = 0.05;
/// Maximum error of a result that is too high, as a fraction of the planted line.
const ABOVE: f64 = 0.02;
/// Objectives to search with: each is a bound on the p99 of response times. `None` is the default objective.
const BOUNDS: [Option<Duration>; 3] = [None, Some(Duration::from_millis(100)), Some(Duration::from_millis(2000))];

/// Servers to search, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Capacities, in requests per second, of servers that admit requests at equal intervals.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "5,50,800,5000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    regular: Vec<u32>,
    /// Capacities, in requests per second, of servers that admit requests at exponentially distributed intervals. Only
    /// high capacities are used, because the search for a low one takes hours.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "800,5000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    random: Vec<u32>,
    /// Duration of a level if the server has random intervals and the objective is on p99. Levels must be long: to
    /// measure a share of 1 %, many operations are needed.
    #[arg(long, value_name = "S", default_value = "20", value_parser = clap::value_parser!(u64).range(5..=600))]
    seconds: u64,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    host::print()?;
    let directory = tempfile::tempdir().cannot("make a directory")?;
    console::line("");
    console::line("load lines on a rate, planted in a Python server on loopback");
    console::line("    service     capacity   objective      planted       found    error   levels      time");
    let servers = args.regular.iter().map(|rate| (*rate, false)).chain(args.random.iter().map(|rate| (*rate, true)));
    let (mut tried, mut right) = (0, 0);
    for (rate, random) in servers {
        let gate = Gate { per_second: f64::from(rate), random };
        for bound in BOUNDS {
            check_interrupt()?;
            tried += 1;
            right += u32::from(search(&program, gate, bound, args.seconds, &directory.path().join(tried.to_string()))?);
        }
    }
    console::line(format_args!(
        "    {right} of {tried} results are at most {:.0} % too low or {:.0} % too high: {}",
        BELOW * 100.0,
        ABOVE * 100.0,
        GoalResult::from(right == tried)
    ));
    Ok(())
}

/// Runs one search. Returns whether the search found the planted line.
fn search(program: &Path, gate: Gate, bound: Option<Duration>, seconds: u64, directory: &Path) -> Result<bool> {
    let server = Server::start(gate)?;
    let objective = bound.map(|bound| format!("p99 <= {}ms", bound.as_millis()));
    let level = if gate.random && bound.is_some() { seconds } else { 5 };
    let mut command = Command::new(program);
    command.args([
        "line",
        "--on",
        "rate",
        "--json",
        "--quiet",
        "--from",
        if gate.per_second < 100.0 { "1" } else { "100" },
    ]);
    command.args(["-d", &format!("{level}s"), "--out"]).arg(directory);
    command.args(objective.iter().flat_map(|objective| ["--objective", objective.as_str()]));
    command.arg(format!("http://127.0.0.1:{}/", server.port)).stdin(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let output = command.output().cannot("start plimsoll")?;
    let line: serde_json::Value = serde_json::from_slice(&output.stdout).map_err(|error| {
        failure(format_args!("`plimsoll line` ended with {} and printed no result: {error}", output.status))
    })?;
    let truth = gate.line(bound);
    let passed = line["passed"].as_f64();
    let error = passed.map(|passed| passed / truth - 1.0);
    let right = error.is_some_and(|error| (-BELOW..=ABOVE).contains(&error));
    console::line(format_args!(
        "    {:<8}{:>10}/s   {:<13}{:>8.1}/s{:>10}{:>9}{:>9}{:>8.0} s{}",
        if gate.random { "random" } else { "regular" },
        gate.per_second,
        objective.as_deref().unwrap_or("default"),
        truth,
        passed.map_or_else(|| "none".to_owned(), |passed| format!("{passed}/s")),
        error.map_or_else(|| "–".to_owned(), |error| format!("{:+.1} %", error * 100.0)),
        line["levels"].as_array().map_or(0, Vec::len),
        begun.elapsed().as_secs_f64(),
        if right { "" } else { "   WRONG" }
    ));
    Ok(right)
}

/// A running server. The server is killed on drop.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    fn start(gate: Gate) -> Result<Self> {
        let service = if gate.random { "random" } else { "regular" };
        let mut command = Command::new("python3");
        command.args(["-c", SERVER, &gate.per_second.to_string(), service]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut server = Self { child: command.spawn().cannot("start python3")?, port: 0 };
        let mut line = String::new();
        let output = server.child.stdout.take().ok_or_else(|| failure("the server has no standard output"))?;
        BufReader::new(output).read_line(&mut line).cannot("read the server's port")?;
        server.port = line.trim().parse().map_err(|_| failure("the server printed no port"))?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
