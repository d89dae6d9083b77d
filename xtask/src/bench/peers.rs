//! `cargo xtask bench peers`: what a request or a GB costs the client, beside other load testers.
//!
//! nginx has core 0, each client in its turn core 1. In each round every client runs once, in a shuffled order; a round
//! makes one pair of Plimsoll with each peer. What counts is the CPU time of the client as the kernel accounted it,
//! divided by the requests that nginx counted or the bytes that the interface counted: no client is believed.

use super::peers_table;
use crate::clients::{Client, Installed, PEERS, Task};
use crate::failure::{Result, While, go_on};
use crate::host;
use crate::nginx::{Nginx, Served};
use crate::order::Shuffler;
use crate::process::{CLIENT, End, Run, start};
use crate::program::{Choice, EXTRA};
use crate::say;
use crate::work::{Unit, Work};
use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Between two clients, for connections to close.
const PAUSE: Duration = Duration::from_millis(200);

/// What is compared, and how often.
#[derive(clap::Args, Debug)]
pub struct Args {
    /// Kinds of work.
    #[arg(long, value_enum, value_delimiter = ',', default_value = "small64,small1000,large,large100m,range1000")]
    work: Vec<Work>,
    /// How often each client runs; below 12 there is no interval.
    #[arg(long, value_name = "N", default_value = "12", value_parser = clap::value_parser!(u32).range(1..=200))]
    pairs: u32,
    /// Length of each run.
    #[arg(long, value_name = "S", default_value = "2", value_parser = clap::value_parser!(u64).range(1..=60))]
    seconds: u64,
    /// Write every run to this file.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Repeat the orders of an earlier comparison [default: from the clock].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    program: Choice,
}

/// One run of one client.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Who.
    pub client: Client,
    /// In which round, from 0.
    pub pair: u32,
    /// Its cost.
    pub run: Run,
    /// Requests that nginx counted.
    pub requests: u64,
    /// Bytes that the interface counted.
    pub bytes: u64,
}

impl Sample {
    /// CPU time by request in µs or by GB in s; `None` for a run that failed, or did nothing.
    pub fn cost(&self, unit: Unit) -> Option<f64> {
        let cpu = self.run.cpu.as_secs_f64();
        let cost = match unit {
            Unit::Request => cpu * 1e6 / self.requests as f64,
            Unit::Gigabyte => cpu / self.gigabytes(),
        };
        (self.run.end == End::Code(0) && self.requests > 0 && cost.is_finite() && cost > 0.0).then_some(cost)
    }

    /// What it received.
    pub fn gigabytes(&self) -> f64 {
        self.bytes as f64 / 1e9
    }

    fn csv(&self, work: Work) -> String {
        let (wall, cpu) = (self.run.wall.as_secs_f64(), self.run.cpu.as_secs_f64());
        let rss = self.run.peak.bytes() as f64 / f64::from(1 << 20);
        format!(
            "{},{},{},{wall:.6},{cpu:.6},{},{:.9},{rss:.3},{}",
            work.name(),
            self.client.name(),
            self.pair,
            self.requests,
            self.gigabytes(),
            self.run.end
        )
    }
}

/// Carries it out.
pub fn run(args: &Args) -> Result<()> {
    let mut csv = args.csv.as_ref().map(Csv::create).transpose()?;
    let ours = Installed { client: Client::Plimsoll, path: args.program.path()? };
    let peers = PEERS.into_iter().filter_map(Client::find);
    let clients: Vec<Installed> = std::iter::once(ours).chain(peers).collect();
    host::print()?;
    print_clients(&clients);
    let seed = args.seed.unwrap_or_else(seed_from_clock);
    say::line(format_args!("orders    shuffled in each round, seed {seed}"));

    // One for each version of HTTP that is asked for: what a listener speaks, it speaks with all.
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
        let able: Vec<&Installed> = clients.iter().filter(|it| it.client.left_out_of(work).is_none()).collect();
        let samples = compare(work, &able, nginx, args, &mut shuffler, csv.as_mut())?;
        peers_table::print(work, args.pairs, args.seconds, &samples);
    }
    Ok(())
}

fn compare(
    work: Work,
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
        say::note(format_args!(
            "{}: {} of {} pairs, about {} s left",
            work.name(),
            pair + 1,
            args.pairs,
            left.as_secs()
        ));
    }
    Ok(samples)
}

fn measure(installed: &Installed, work: Work, pair: u32, seconds: u64, nginx: &Nginx) -> Result<Sample> {
    go_on()?;
    let url = if work.is_secure() { nginx.secure_url(work.file()) } else { nginx.url(work.file()) };
    let mut command = installed.command(&Task { work, url: &url, seconds, directory: nginx.directory() })?;
    let (requests, bytes) = (nginx.requests()?, host::loopback_bytes()?);
    let run = start(&mut command, CLIENT)?.finish(Duration::from_secs(seconds) + EXTRA)?;
    // The second question is a request too.
    let requests = nginx.requests()?.saturating_sub(requests + 1);
    let bytes = host::loopback_bytes()?.saturating_sub(bytes);
    Ok(Sample { client: installed.client, pair, run, requests, bytes })
}

fn print_clients(clients: &[Installed]) {
    for installed in clients {
        say::line(format_args!("client    {}: {}", installed.client.name(), installed.version()));
    }
    let missing = PEERS.iter().filter(|peer| clients.iter().all(|installed| installed.client != **peer));
    let missing: Vec<_> = missing.map(|peer| peer.name()).collect();
    if !missing.is_empty() {
        say::line(format_args!("missing   {}: not on PATH, their goals are not judged", missing.join(", ")));
    }
}

fn seed_from_clock() -> u64 {
    // Six digits: it has to be typed to repeat the orders.
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(now.subsec_nanos()) % 1_000_000
}

/// Every run, written as it ends.
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
