//! `cargo xtask bench peers`: client CPU per request or per GB, compared with other load testers.
//!
//! nginx runs on core 0, and the clients run one after the other on core 1. In each round, every client runs once, in
//! random order. So each round yields a pair of costs for every peer: Plimsoll's cost and the peer's cost. The cost is
//! the client's CPU time as measured by the kernel, divided by the requests that nginx counts or by the bytes that the
//! network interface counts. No number comes from a client.

mod clients;
mod goals;
mod sample;
mod table;
mod workload;

use crate::console;
use crate::failure::{Context, Result, check_interrupt};
use crate::host;
use crate::nginx::{Nginx, Served};
use crate::plimsoll::{EXTRA, ProgramArgs};
use crate::process::{CLIENT_CORE, start};
use crate::shuffle::Shuffler;
use clients::{Client, Installed, PEERS, Task};
use sample::Sample;
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use workload::Workload;

/// Pause between two runs, to let connections close.
const PAUSE: Duration = Duration::from_millis(200);

/// Workloads, number and duration of runs, and the program.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Workloads.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "small64,small1000,large,large100m,range1000")]
    work: Vec<Workload>,
    /// Number of runs of each client. With fewer than 12 runs, there is no confidence interval.
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(1..=200))]
    pairs: u32,
    /// Duration of each run.
    #[arg(long, value_name = "S", default_value = "2", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Write every run to this CSV file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Seed of the random orders of clients [default: taken from the clock].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    program: ProgramArgs,
}

/// Runs the benchmark.
pub fn run(args: &Args) -> Result<()> {
    let mut csv = args.csv.as_ref().map(Csv::create).transpose()?;
    let ours = Installed { client: Client::Plimsoll, path: args.program.path()? };
    let peers = PEERS.into_iter().filter_map(Client::find);
    let clients: Vec<Installed> = std::iter::once(ours).chain(peers).collect();
    host::print()?;
    print_clients(&clients);
    let seed = args.seed.unwrap_or_else(seed_from_clock);
    console::line(format_args!("orders    shuffled in each round, seed {seed}"));

    // A TLS listener of nginx offers HTTP/2 either to all clients or to none, so the workloads with HTTP/2 have a
    // separate server.
    let files = |http2| -> Vec<Served> {
        args.work.iter().filter(|work| work.is_http2() == http2).map(|work| work.file()).collect()
    };
    let server = |files: &[Served], start: fn(&[Served]) -> Result<Nginx>| {
        if files.is_empty() { Ok(None) } else { start(files).map(Some) }
    };
    let (http1, http2) = (server(&files(false), Nginx::start)?, server(&files(true), Nginx::start_http2)?);
    let mut shuffler = Shuffler::new(seed);
    for &work in &args.work {
        let Some(nginx) = (if work.is_http2() { &http2 } else { &http1 }) else { continue };
        let able: Vec<&Installed> = clients.iter().filter(|it| it.client.exclusion(work).is_none()).collect();
        let samples = compare(work, &able, nginx, args, &mut shuffler, csv.as_mut())?;
        table::print(work, args.pairs, args.seconds, &samples);
    }
    Ok(())
}

fn compare(
    work: Workload,
    clients: &[&Installed],
    nginx: &Nginx,
    args: &Args,
    shuffler: &mut Shuffler,
    mut csv: Option<&mut Csv>,
) -> Result<Vec<Sample>> {
    let begun = Instant::now();
    let mut order = clients.to_vec();
    let mut samples = Vec::new();
    for pair in 0..args.pairs {
        shuffler.shuffle(&mut order);
        for installed in &order {
            let sample = measure(installed, work, pair, args.seconds, nginx)?;
            if let Some(csv) = csv.as_mut() {
                csv.write(&sample.csv(work))?;
            }
            samples.push(sample);
            std::thread::sleep(PAUSE);
        }
        let left = begun.elapsed() / (pair + 1) * (args.pairs - pair - 1);
        console::note(format_args!(
            "{}: {} of {} pairs, about {} s left",
            work.name(),
            pair + 1,
            args.pairs,
            left.as_secs()
        ));
    }
    Ok(samples)
}

fn measure(installed: &Installed, work: Workload, pair: u32, seconds: u64, nginx: &Nginx) -> Result<Sample> {
    check_interrupt()?;
    let url = if work.is_secure() { nginx.secure_url(work.file()) } else { nginx.url(work.file()) };
    let mut command = installed.command(&Task { work, url: &url, seconds, directory: nginx.directory() })?;
    let (requests, bytes) = (nginx.requests()?, host::loopback_bytes()?);
    let run = start(&mut command, CLIENT_CORE)?.finish(Duration::from_secs(seconds) + EXTRA)?;
    // Subtract 1, because reading the counter is itself a request.
    let requests = nginx.requests()?.saturating_sub(requests + 1);
    let bytes = host::loopback_bytes()?.saturating_sub(bytes);
    Ok(Sample { client: installed.client, pair, run, requests, bytes })
}

fn print_clients(clients: &[Installed]) {
    for installed in clients {
        console::line(format_args!("client    {}: {}", installed.client.name(), installed.version()));
    }
    let missing = PEERS.iter().filter(|peer| clients.iter().all(|installed| installed.client != **peer));
    let missing: Vec<_> = missing.map(|peer| peer.name()).collect();
    if !missing.is_empty() {
        console::line(format_args!(
            "missing   {}: not on PATH; goals for these clients are not judged",
            missing.join(", ")
        ));
    }
}

fn seed_from_clock() -> u64 {
    // Six digits are enough, and a user who wants to repeat the orders can easily type them.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) % 1_000_000
}

/// A CSV file with one line for each run. A line is written as soon as its run has ended.
struct Csv {
    file: File,
    path: PathBuf,
}

impl Csv {
    fn create(path: &PathBuf) -> Result<Self> {
        let file = File::create(path).cannot(format_args!("write {}", path.display()))?;
        let mut csv = Self { file, path: path.clone() };
        csv.write("work,client,round,wall_s,cpu_s,requests,gb,rss_mib,exit")?;
        Ok(csv)
    }

    fn write(&mut self, line: &str) -> Result<()> {
        writeln!(self.file, "{line}").cannot(format_args!("write {}", self.path.display()))
    }
}
