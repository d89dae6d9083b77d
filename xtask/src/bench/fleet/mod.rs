//! `cargo xtask bench fleet`: CPU time and memory of a coordinator with many agents.
//!
//! The coordinator and the message bus are real. The agents are simulated: each is the real state machine with a real
//! connection to the bus, but it makes no load. Instead, it sends the records of a short real run again and again. All
//! agents are in this process.

mod records;
mod simulated;

use crate::console;
use crate::failure::{Context, Result, failure};
use crate::goal::GoalResult;
use crate::plimsoll::ProgramArgs;
use crate::process::{Affinity, ProcessEnd, Running, start};
use fleet::message::Hash;
use records::Records;
use simulated::Simulated;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Goal for the peak memory of the coordinator of 100 agents, in MB.
const PEAK_MAX_MB: f64 = 150.0;
/// Number of agents to which the goal applies.
const GOAL_AGENTS: usize = 100;
/// Time that connecting and merging may take in addition to the run.
const EXTRA: Duration = Duration::from_secs(180);
/// Time limit for the start of the NATS server.
const START_MAX: Duration = Duration::from_secs(20);

/// The number of agents, and the length of the run.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Number of agents.
    #[arg(long, value_name = "N", default_value = "100", value_parser = clap::value_parser!(u32).range(1..=1024))]
    agents: u32,
    /// Length of the run in seconds.
    #[arg(long, value_name = "N", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=3600))]
    seconds: u64,
    /// Operations per second of each agent.
    #[arg(long, value_name = "N", default_value = "10", value_parser = clap::value_parser!(u64).range(1..=10_000))]
    rate: u64,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let program = args.program.path()?;
    let directory = tempfile::tempdir().cannot("create a directory")?;
    let records = Records::of_real_run(&program, args.rate, args.seconds, directory.path())?;
    let build = Hash::of(&std::fs::read(&program).cannot("read the program")?);
    let bus = Bus::start()?;
    // The kernel reports at least the peak of this process at the start of the other one, so start it before the agents.
    let coordinator = coordinate(args, &program, &bus.url, directory.path())?;
    let agents = Simulated::start(&bus.url, args.agents, build, &records)?;
    let limit = Duration::from_secs(args.seconds) + EXTRA;
    let run = coordinator.finish(limit)?;
    let sent = agents.join()?;
    if run.end != ProcessEnd::Code(0) {
        return Err(failure(format_args!("the coordinator failed with {}", run.end)));
    }
    let agent_seconds = args.agents as f64 * args.seconds as f64;
    let peak_mb = run.peak.bytes() as f64 / 1e6;
    console::line("");
    console::line(format_args!(
        "fleet: {} simulated agents with {} operations per second each, for {} s; {} records of {:.1} kB on average",
        args.agents,
        args.rate,
        args.seconds,
        sent.records,
        sent.bytes as f64 / sent.records.max(1) as f64 / 1e3
    ));
    console::line(format_args!("  coordinator: {:.1} s of CPU time, {peak_mb:.0} MB peak RSS", run.cpu.as_secs_f64()));
    console::line(format_args!(
        "  per agent-second: {:.2} ms of CPU time",
        run.cpu.as_secs_f64() * 1e3 / agent_seconds
    ));
    if let Some(last) = sent.last {
        let after = last.elapsed().as_secs_f64();
        console::line(format_args!("  from the last record to the report: {after:.1} s"));
    }
    if args.agents as usize <= GOAL_AGENTS {
        let goal = GoalResult::from(peak_mb <= PEAK_MAX_MB);
        console::line(format_args!("  goal for peak RSS ≤ {PEAK_MAX_MB} MB: {goal}"));
    }
    Ok(())
}

/// Starts the coordinator, which waits for its agents.
fn coordinate(args: &Args, program: &Path, bus: &str, directory: &Path) -> Result<Running> {
    let (agents, seconds) = (args.agents.to_string(), format!("{}s", args.seconds));
    let rate = (args.rate * u64::from(args.agents)).to_string();
    let mut command = Command::new(program);
    command.args(["get", "http://127.0.0.1:9/", "-R", &rate, "-d", &seconds, "--print", "none"]);
    // All agents share this host, so their clocks and starts are not exact.
    command.args(["--fleet", bus, "--agents", &agents, "--agents-wait", "2m", "--start-spread", "10m"]);
    command.arg("--out").arg(directory.join("out"));
    command.stdin(Stdio::null());
    start(&mut command, Affinity::AllCores)
}

/// A NATS server on a free port.
struct Bus {
    process: Running,
    url: String,
}

impl Bus {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).cannot("bind a loopback port")?;
        let address = listener.local_addr().cannot("read the address of a socket")?;
        drop(listener);
        let mut command = Command::new("nats-server");
        command.args(["--addr", "127.0.0.1", "--port", &address.port().to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut process = start(&mut command, Affinity::AllCores)?;
        wait_for(&mut process, address)?;
        Ok(Self { process, url: format!("nats://{address}") })
    }
}

fn wait_for(process: &mut Running, address: SocketAddr) -> Result<()> {
    while TcpStream::connect(address).is_err() {
        if let Some(run) = process.wait_until(process.age() + Duration::from_millis(10))? {
            return Err(failure(format_args!("nats-server ended with {}", run.end)));
        }
        if process.age() > START_MAX {
            return Err(failure("nats-server does not listen"));
        }
    }
    Ok(())
}

impl Drop for Bus {
    fn drop(&mut self) {
        self.process.stop(START_MAX);
    }
}
