//! `cargo xtask bench line`: load lines on a rate that were planted in a server of another code base, on real sockets.

use crate::failure::{Result, While, failure, go_on};
use crate::host;
use crate::program::Choice;
use crate::say;
use crate::verdict::Verdict;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[path = "../../../crates/study/tests/support/gate.rs"]
mod gate;

use gate::Gate;

const SERVER: &str = include_str!("queue_server.py");
/// How far the line may be below the truth, and above it.
const BELOW: f64 = 0.05;
const ABOVE: f64 = 0.02;
/// Bounds of the response time's p99; `None` for the default objective alone.
const BOUNDS: [Option<Duration>; 3] = [None, Some(Duration::from_millis(100)), Some(Duration::from_millis(2000))];

/// Which servers.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Rates of servers that let requests pass at equal intervals.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "5,50,800,5000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    regular: Vec<u32>,
    /// Rates of servers that let requests pass at exponentially distributed intervals; at low rates this takes hours.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "800,5000", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    random: Vec<u32>,
    /// Seconds for which a level is held, where an objective is on p99 and the server random: a share of 1 % needs many operations.
    #[arg(long, value_name = "S", default_value = "20", value_parser = clap::value_parser!(u64).range(5..=600))]
    seconds: u64,
    #[command(flatten)]
    program: Choice,
}

/// Carries it out.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    host::print()?;
    let directory = tempfile::tempdir().cannot("make a directory")?;
    say::line("");
    say::line("load lines on a rate, planted in a queue before a Python server on loopback");
    say::line("    service     capacity   objective        truth       found      off   levels      time");
    let servers = args.regular.iter().map(|rate| (*rate, false)).chain(args.random.iter().map(|rate| (*rate, true)));
    let (mut tried, mut right) = (0, 0);
    for (rate, random) in servers {
        let gate = Gate { per_second: f64::from(rate), random };
        for bound in BOUNDS {
            go_on()?;
            tried += 1;
            right += u32::from(one(&program, gate, bound, args.seconds, &directory.path().join(tried.to_string()))?);
        }
    }
    say::line(format_args!(
        "    {right} of {tried} within {:.0} % and not above by more than {:.0} %: {}",
        BELOW * 100.0,
        ABOVE * 100.0,
        Verdict::from(right == tried)
    ));
    Ok(())
}

/// One search; whether it is right.
fn one(program: &Path, gate: Gate, bound: Option<Duration>, seconds: u64, directory: &Path) -> Result<bool> {
    let server = Server::start(gate)?;
    let objective = bound.map(|bound| format!("p99 <= {}ms", bound.as_millis()));
    let held = if gate.random && bound.is_some() { seconds } else { 5 };
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
    command.args(["-d", &format!("{held}s"), "--out"]).arg(directory);
    command.args(objective.iter().flat_map(|objective| ["--objective", objective.as_str()]));
    command.arg(format!("http://127.0.0.1:{}/", server.port)).stdin(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let output = command.output().cannot("start plimsoll")?;
    let line: serde_json::Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| failure(format_args!("plimsoll line ended with {} and no result: {error}", output.status)))?;
    let truth = gate.line(bound);
    let passed = line["passed"].as_f64();
    let off = passed.map(|passed| passed / truth - 1.0);
    let right = off.is_some_and(|off| (-BELOW..=ABOVE).contains(&off));
    say::line(format_args!(
        "    {:<8}{:>10}/s   {:<13}{:>8.1}/s{:>10}{:>9}{:>9}{:>8.0} s{}",
        if gate.random { "random" } else { "regular" },
        gate.per_second,
        objective.as_deref().unwrap_or("default"),
        truth,
        passed.map_or_else(|| "none".to_owned(), |passed| format!("{passed}/s")),
        off.map_or_else(|| "–".to_owned(), |off| format!("{:+.1} %", off * 100.0)),
        line["levels"].as_array().map_or(0, Vec::len),
        begun.elapsed().as_secs_f64(),
        if right { "" } else { "   WRONG" }
    ));
    Ok(right)
}

/// The server, which ends with this value.
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
        let output = server.child.stdout.take().ok_or_else(|| failure("the server has no output"))?;
        BufReader::new(output).read_line(&mut line).cannot("read the server's port")?;
        server.port = line.trim().parse().map_err(|_| failure("the server has printed no port"))?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
