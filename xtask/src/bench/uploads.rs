//! `cargo xtask bench uploads`: client CPU of uploads, compared with warp (<https://github.com/minio/warp>).
//!
//! The server is `plimsoll serve --s3` on core 0. The server acknowledges every object and then drops it, so it never
//! fills up. The clients run one after the other on core 1, in random order in each round. Each run has its own server.
//! The cost is the client's CPU time as measured by the kernel, divided by the objects or bytes in the server's ledger.
//! No number comes from a client.

use crate::console;
use crate::embedded_server::EmbeddedServer;
use crate::failure::{Context, Result, check_interrupt, failure};
use crate::goal::GoalResult;
use crate::host;
use crate::median::{median, median_interval};
use crate::plimsoll::{EXTRA, ProgramArgs};
use crate::process::{CLIENT_CORE, ProcessEnd, SERVER_CORE, start};
use crate::shuffle::Shuffler;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Keys that the server accepts.
const KEYS: [&str; 2] = ["plimsoll", "plimsoll-secret"];

/// Number and duration of runs, and the programs.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Number of runs of each client. With fewer than 12 runs, there is no confidence interval.
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(1..=200))]
    pairs: u32,
    /// Duration of each run.
    #[arg(long, value_name = "S", default_value = "3", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Program of warp; searched on PATH if it has no slash.
    #[arg(long, value_name = "FILE", default_value = "warp")]
    warp: PathBuf,
    /// Seed of the random orders of clients.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Size of objects, number of uploads in flight, and goal for Plimsoll's cost divided by the cost of warp.
struct Workload {
    size: &'static str,
    concurrency: u32,
    unit: Unit,
    goal: f64,
}

/// Unit of work to which a cost refers.
#[derive(Clone, Copy)]
enum Unit {
    Object,
    Gigabyte,
}

const WORKLOADS: [Workload; 3] = [
    Workload { size: "4KiB", concurrency: 64, unit: Unit::Object, goal: 0.2 },
    Workload { size: "10MiB", concurrency: 8, unit: Unit::Gigabyte, goal: 0.75 },
    Workload { size: "64MiB", concurrency: 8, unit: Unit::Gigabyte, goal: 0.75 },
];

/// Signature of bodies.
#[derive(Clone, Copy)]
enum Payload {
    Unsigned,
    /// Chunks, each with a signature.
    Chunks,
}

/// A client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    Put,
    /// Upload with a journal.
    Fill,
    Warp,
}

impl Client {
    const ALL: [Self; 3] = [Self::Put, Self::Fill, Self::Warp];

    fn name(self) -> &'static str {
        match self {
            Self::Put => "plimsoll put",
            Self::Fill => "plimsoll fill",
            Self::Warp => "warp put",
        }
    }
}

/// The programs.
struct Programs {
    plimsoll: PathBuf,
    warp: PathBuf,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let programs = Programs { plimsoll: args.program.path()?, warp: args.warp.clone() };
    let version = Command::new(&programs.warp).arg("--version").output();
    let version = version.cannot(format_args!("start {}, a load tester for S3", programs.warp.display()))?;
    host::print_machine();
    let text = String::from_utf8_lossy(&version.stdout);
    console::line(format_args!("peer      {}", text.lines().next().unwrap_or("warp, version unknown")));
    let mut shuffler = Shuffler::new(args.seed);
    for work in &WORKLOADS {
        for payload in [Payload::Unsigned, Payload::Chunks] {
            compare(work, payload, args, &programs, &mut shuffler)?;
        }
    }
    Ok(())
}

/// Measures all clients, and prints their costs and ratios.
fn compare(work: &Workload, payload: Payload, args: &Args, programs: &Programs, shuffler: &mut Shuffler) -> Result<()> {
    let mut costs = Client::ALL.map(|_| Vec::new());
    for round in 0..args.pairs {
        let mut order = [0, 1, 2];
        shuffler.shuffle(&mut order);
        for index in order {
            check_interrupt()?;
            costs[index].push(cost(Client::ALL[index], work, payload, args.seconds, programs)?);
        }
        console::note(format_args!("{}: {} of {} rounds", work.size, round + 1, args.pairs));
    }
    let payload = match payload {
        Payload::Unsigned => "unsigned",
        Payload::Chunks => "signed chunks",
    };
    let unit = match work.unit {
        Unit::Object => "µs per object",
        Unit::Gigabyte => "s per GB",
    };
    console::line("");
    console::line(format_args!(
        "uploads of {}, {payload}, {} in flight: client CPU in {unit}; medians of {} runs of {} s",
        work.size, work.concurrency, args.pairs, args.seconds
    ));
    let warp = &costs[2];
    for (client, own) in Client::ALL.iter().zip(&costs) {
        let ratios: Vec<f64> = own.iter().zip(warp).map(|(own, warp)| own / warp).collect();
        let interval = median_interval(&ratios);
        let judged = interval.map_or(GoalResult::NotJudged, |interval| GoalResult::from(interval.high <= work.goal));
        let range = interval.map_or_else(|| "n/a".into(), |range| format!("{:.3} … {:.3}", range.low, range.high));
        let compared = match client {
            Client::Warp => String::new(),
            _ => format!(
                "   {:.3} × warp (95 %: {range})   goal ≤ {}: {judged}",
                median(&ratios).unwrap_or(f64::NAN),
                work.goal
            ),
        };
        console::line(format_args!("  {:<14}{:>10.3}{compared}", client.name(), median(own).unwrap_or(f64::NAN)));
    }
    Ok(())
}

/// Runs a client and returns its cost.
fn cost(client: Client, work: &Workload, payload: Payload, seconds: u64, programs: &Programs) -> Result<f64> {
    let place = tempfile::tempdir().cannot("create a temporary directory")?;
    let flags = ["--s3", "--threads", "1", "--bucket", "bucket", "--lose-every", "1"];
    let server = EmbeddedServer::start(&programs.plimsoll, &flags, SERVER_CORE, place.path())?;
    let mut command = command(client, work, payload, seconds, &server.url, programs);
    command.current_dir(place.path()).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let run = start(&mut command, CLIENT_CORE)?.finish(Duration::from_secs(seconds) + EXTRA)?;
    if run.end != ProcessEnd::Code(0) {
        return Err(failure(format_args!("{} ended with {}", client.name(), run.end)));
    }
    let ledger = server.stop()?;
    let (objects, bytes) =
        uploaded(&ledger).ok_or_else(|| failure(format_args!("{} uploaded nothing: {ledger}", client.name())))?;
    let cpu = run.cpu.as_secs_f64();
    Ok(match work.unit {
        Unit::Object => cpu * 1e6 / objects,
        Unit::Gigabyte => cpu / (bytes / 1e9),
    })
}

/// Returns the number of objects and the number of body bytes that the server accepted.
fn uploaded(ledger: &str) -> Option<(f64, f64)> {
    let line = ledger.lines().find(|line| line.starts_with("PutObject "))?;
    let words: Vec<&str> = line.split_whitespace().collect();
    // The line reads: PutObject 200 N complete, N aborted, N bytes in, N bytes out.
    let number = |index: usize| words.get(index)?.parse::<f64>().ok().filter(|number| *number > 0.0);
    (words.get(1) == Some(&"200")).then(|| Some((number(2)?, number(6)?)))?
}

fn command(client: Client, work: &Workload, payload: Payload, seconds: u64, url: &str, programs: &Programs) -> Command {
    let (concurrency, time) = (work.concurrency.to_string(), format!("{seconds}s"));
    let mut command = Command::new(match client {
        Client::Put | Client::Fill => &programs.plimsoll,
        Client::Warp => &programs.warp,
    });
    let [access, secret] = KEYS;
    command.env("AWS_ACCESS_KEY_ID", access).env("AWS_SECRET_ACCESS_KEY", secret);
    match client {
        Client::Put | Client::Fill => {
            let payload = if matches!(payload, Payload::Chunks) { "chunks" } else { "unsigned" };
            match client {
                Client::Put => command.args(["put", "s3://bucket/put", "-d", &time, "--print", "none"]),
                _ => command.args(["fill", "s3://bucket/fill", "--stop-when", &format!("time >= {time}")]),
            };
            command.args(["--endpoint", url, "--count", "100000000", "--size", work.size, "-c", &concurrency]);
            command.args(["--payload", payload, "--quiet", "--out", "out"]);
        }
        Client::Warp => {
            let host = url.trim_start_matches("http://");
            command.args(["put", "--host", host, "--access-key", access, "--secret-key", secret]);
            command.args(["--bucket", "bucket", "--noclear", "--obj.size", work.size, "--concurrent", &concurrency]);
            command.args(["--duration", &time, "--disable-multipart", "--no-color", "--quiet"]);
            if matches!(payload, Payload::Unsigned) {
                command.arg("--disable-sha256-payload");
            }
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uploads_are_read_from_the_ledger() {
        let ledger =
            "status       200 × 9\nPutObject                200  8 complete, 0 aborted, 32768 bytes in, 0 bytes out\n";
        assert_eq!(uploaded(ledger), Some((8.0, 32768.0)));
        assert_eq!(uploaded("PutObject                403  8 complete, 0 aborted, 1 bytes in, 0 bytes out\n"), None);
        assert_eq!(uploaded("CreateBucket 200  1 complete, 0 aborted, 0 bytes in, 0 bytes out\n"), None);
    }
}
