//! `plimsoll serve`: the embedded server, for first steps and for tests.

mod stand_in;
mod tls_and_s3;

use crate::console;
use crate::failure::Failure;
use crate::load::{self, count, span};
use clap::ArgAction;
use measure::units::{ByteSize, format_span};
use server::{
    Capacity, Case, Cluster, Config, Delay, FaultCounts, Faults, Flip, Ledger, Liar, Server, Stall, StallFrom, Truncate,
};
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The flags of `serve`.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER, disable_help_flag = true)]
pub struct Args {
    /// Directory of files to serve; /blackhole/SIZE is always available.
    #[arg(value_name = "DIR")]
    pub directory: Option<PathBuf>,
    /// Address to listen on; port 0 selects any free port.
    #[arg(long, value_name = "IP:PORT", value_parser = listen, default_value = "127.0.0.1:8080")]
    pub listen: Vec<SocketAddr>,
    /// Unix socket to listen on.
    #[arg(long, value_name = "PATH", hide_short_help = true)]
    pub unix_socket: Vec<PathBuf>,
    /// Number of threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroUsize>, hide_short_help = true)]
    pub threads: Option<NonZeroUsize>,
    /// Stop after this time.
    #[arg(long, value_name = "TIME", value_parser = span)]
    pub stop_after: Option<Duration>,
    /// Print help; --help-all prints every flag.
    #[arg(short = 'h', long, action = ArgAction::HelpShort)]
    help: Option<bool>,
    /// Print every flag.
    #[arg(long, action = ArgAction::HelpLong, hide_short_help = true)]
    help_all: Option<bool>,
    /// TLS and HTTP/2.
    #[command(flatten)]
    pub tls: tls_and_s3::TlsArgs,
    /// S3.
    #[command(flatten)]
    pub s3: tls_and_s3::S3Args,
    /// Clusters and stand-ins.
    #[command(flatten)]
    pub stand_in: stand_in::StandInArgs,
    /// Delay each response by this time.
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "Faults")]
    pub delay: Option<Duration>,
    /// Delay every N-th request more, for example 10:100ms.
    #[arg(long, value_name = "N:TIME", value_parser = every, help_heading = "Faults")]
    pub slow_every: Option<(NonZeroU64, Duration)>,
    /// Stall all responses at this time after the first request, for this long, for example 4s:1s.
    #[arg(long, value_name = "AT:TIME", value_parser = stall, help_heading = "Faults")]
    pub stall: Option<(Duration, Duration)>,
    /// Limit each response to this many body bytes per second, for example 10MB.
    #[arg(long, value_name = "SIZE", help_heading = "Faults")]
    pub rate: Option<ByteSize>,
    /// Close a connection after this many requests.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, help_heading = "Faults", hide_short_help = true)]
    pub close_after: Option<NonZeroU64>,
    /// Delay each request above this many concurrent ones, for example 300:10ms.
    #[arg(long, value_name = "N:TIME", value_parser = every, help_heading = "Faults")]
    pub capacity: Option<(NonZeroU64, Duration)>,
    /// Respond to every N-th request with status 500.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, help_heading = "Faults")]
    pub error_every: Option<NonZeroU64>,
    /// Cut off every N-th body after this many bytes, for example 10:64KiB.
    #[arg(long, value_name = "N:SIZE", value_parser = every_at, help_heading = "Faults")]
    pub truncate: Option<(NonZeroU64, ByteSize)>,
    /// Send a wrong byte at this offset of every N-th body, for example 10:64KiB.
    #[arg(long, value_name = "N:OFFSET", value_parser = every_at, help_heading = "Faults")]
    pub flip: Option<(NonZeroU64, ByteSize)>,
    /// Play a scripted misbehavior; `list` prints the cases.
    #[arg(long, value_name = "CASE", help_heading = "Faults")]
    pub liar: Option<String>,
}

const AFTER: &str =
    "The paths /blackhole/1KiB, /blackhole/10GiB and so on have bodies of that size. A request can select faults for itself:
?delay=20ms &status=503 &chunked &close &truncate=1KiB &flip=0 &header=A:b &redirect=/x &code=307";

/// Time after which a liar ends unless it is stopped before.
const LIAR_LIFETIME: Duration = Duration::from_secs(3600);
/// Interval at which interrupts are checked.
const LOOK: Duration = Duration::from_millis(50);

fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is not an address to listen on: use a form such as 127.0.0.1:8080"))
}

fn halves(text: &str) -> Result<(&str, &str), String> {
    text.split_once(':')
        .ok_or_else(|| format!("`{text}`: two values separated by a colon are required, for example 4s:1s or 100:1s"))
}

fn pair(text: &str) -> Result<(&str, Duration), String> {
    let (first, second) = halves(text)?;
    Ok((first, span(second)?))
}

fn every(text: &str) -> Result<(NonZeroU64, Duration), String> {
    let (count, time) = pair(text)?;
    Ok((load::count(count)?, time))
}

fn every_at(text: &str) -> Result<(NonZeroU64, ByteSize), String> {
    let (count, size) = halves(text)?;
    Ok((load::count(count)?, size.parse::<ByteSize>().map_err(|error| error.to_string())?))
}

fn stall(text: &str) -> Result<(Duration, Duration), String> {
    let (at, length) = pair(text)?;
    Ok((span(at)?, length))
}

fn config(args: &Args) -> Result<Config, Failure> {
    if let Some(directory) = &args.directory {
        std::fs::read_dir(directory).map_err(|error| {
            Failure::usage(format!("cannot serve {}: {error}; name a directory of files", directory.display()))
        })?;
    }
    let delay = match (args.delay, args.slow_every) {
        (None, None) => Delay::None,
        (Some(delay), None) => Delay::Constant(delay),
        (fast, Some((every, slow))) => Delay::Bimodal { fast: fast.unwrap_or_default(), slow, every },
    };
    let rate = match args.rate {
        Some(size) => {
            Some(NonZeroU64::new(size.0).ok_or_else(|| Failure::usage("--rate 0: the size must be above 0"))?)
        }
        None => None,
    };
    let mut config = Config {
        listen: args.listen.clone(),
        unix: args.unix_socket.clone(),
        threads: args.threads,
        directory: args.directory.clone(),
        faults: Faults {
            delay,
            stall: args.stall.map(|(at, length)| Stall { from: StallFrom::FirstRequest, at, length }),
            rate,
            close_after: args.close_after,
            capacity: args.capacity.map(|(most, slowdown)| Capacity::slowing(most.get(), slowdown)),
            error_every: args.error_every,
            truncate: args.truncate.map(|(every, after)| Truncate { every, after: after.0 }),
            flip: args.flip.map(|(every, at)| Flip { every, at: at.0 }),
            lose_every: args.s3.lose_every,
        },
        ..Config::default()
    };
    args.stand_in.apply(&mut config)?;
    Ok(config)
}

/// Serves until interrupted, then prints the ledger.
pub fn run(args: &Args) -> Result<ExitCode, Failure> {
    let _ = sys::signals::catch_interrupts();
    tls_and_s3::check(args)?;
    if let Some(name) = &args.liar {
        return lie(name, args);
    }
    let _ = sys::limits::raise_descriptor_limit();
    let config = config(args)?;
    if tls_and_s3::is_wanted(args) {
        let front = tls_and_s3::start(args, &config)?;
        wait(args.stop_after);
        console::print(&ledger(&front.stop()))?;
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(cluster) = args.stand_in.cluster(args.listen.first())? {
        let cluster = Cluster::start(&config, &cluster).map_err(|error| can_not_serve(&error))?;
        return run_cluster(args, cluster);
    }
    let server = Server::start(&config).map_err(|error| can_not_serve(&error))?;
    args.stand_in.write_lists("http", server.addresses().first())?;
    for address in server.addresses() {
        console::print(&format!("serving http://{address}{}\n", args.stand_in.example()))?;
    }
    if let Some(remark) = args.stand_in.remark() {
        console::print(&format!("{remark}\n"))?;
    }
    for path in server.unix_paths() {
        console::print(&format!("serving unix socket {}\n", path.display()))?;
    }
    wait(args.stop_after);
    console::print(&ledger(&server.stop()))?;
    Ok(ExitCode::SUCCESS)
}

/// Serves a cluster until interrupted, then prints the ledger of each server and their sum.
fn run_cluster(args: &Args, cluster: Cluster) -> Result<ExitCode, Failure> {
    let addresses = cluster.addresses();
    args.stand_in.write_lists("http", addresses.first())?;
    for (index, address) in addresses.iter().enumerate() {
        console::print(&format!("server {index}: serving http://{address}{}\n", args.stand_in.example()))?;
    }
    wait(args.stop_after);
    let ledgers = cluster.stop();
    for (index, own) in ledgers.iter().enumerate() {
        console::print(&format!("\nserver {index}\n{}", ledger(own)))?;
    }
    console::print(&format!("\nall servers\n{}", ledger(&Ledger::joint(&ledgers))))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the failure to serve. The error contains the address and the fix.
fn can_not_serve(error: &std::io::Error) -> Failure {
    Failure::could_not_run(format!("cannot serve: {error}"))
}

/// Waits until the user interrupts or the time is over.
fn wait(stop_after: Option<Duration>) {
    let start = std::time::Instant::now();
    while sys::signals::interrupts().count == 0 && stop_after.is_none_or(|after| start.elapsed() < after) {
        std::thread::sleep(LOOK);
    }
}

fn lie(name: &str, args: &Args) -> Result<ExitCode, Failure> {
    if name == "list" {
        let lines: Vec<String> = Case::all().iter().map(|case| format!("{:<36} {}", case.name, case.about)).collect();
        console::print(&(lines.join("\n") + "\n"))?;
        return Ok(ExitCode::SUCCESS);
    }
    let case = Case::named(name)
        .ok_or_else(|| Failure::usage(format!("--liar: there is no case `{name}`; `--liar list` prints all cases")))?;
    console::print(&format!("{}: {}\n", case.name, case.about))?;
    console::print(&format!(
        "a client should classify the last request as {}: {}\n",
        case.expected.last.class, case.expected.last.cause
    ))?;
    console::print(&format!("run this client: {}\n", drive(&case)))?;
    let address = args.listen.first().copied().unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
    let lifetime = args.stop_after.unwrap_or(LIAR_LIFETIME);
    let liar = Liar::start_on(case, address, lifetime).map_err(|error| can_not_serve(&error))?;
    console::print(&format!("serving misbehavior on http://{}/ for {}\n", liar.address(), format_span(lifetime)))?;
    wait(Some(lifetime));
    Ok(ExitCode::SUCCESS)
}

/// Returns the command line of a client for a case.
fn drive(case: &Case) -> String {
    let client = &case.client;
    let framed = client.body.as_ref().is_some_and(|body| body.chunked || body.expect_continue);
    let command = if framed { "put" } else { "get" };
    let mut words = vec![format!("plimsoll {command} -c 1 -n {}", client.requests)];
    if client.method.as_ref() != "GET" && !framed {
        words.push(format!("-m {}", client.method));
    }
    if let Some(body) = &client.body {
        let size = body.content.bytes().len();
        words.push(format!("{} FILE (of {size} bytes)", if framed { "--from" } else { "--body-file" }));
        words.extend(body.chunked.then(|| "--chunked".to_owned()));
        words.extend(body.expect_continue.then(|| "--expect-continue".to_owned()));
    }
    if let Some(range) = client.range {
        words.push(format!("--range {} --range-at {}", range.len(), range.first()));
    }
    words.extend(client.expect_hash.as_ref().map(|hash| format!("--expect {hash}")));
    words.extend(client.expect_size.map(|size| format!("--expect-size {size}")));
    words.push(format!("--timeout-head {}", format_span(client.head_timeout)));
    words.push(format!("--timeout-idle {}", format_span(client.idle_timeout)));
    words.extend(client.total_timeout.map(|total| format!("--timeout-total {}", format_span(total))));
    words.extend(client.http2.then(|| "--http2".to_owned()));
    words.push(if client.s3 { "--endpoint URL s3://BUCKET/KEY" } else { "URL" }.to_owned());
    words.join(" ")
}

/// Returns the text of the server's ledger, for comparison with a client's counters.
fn ledger(ledger: &Ledger) -> String {
    let statuses: Vec<String> = ledger
        .statuses
        .iter()
        .map(|(status, count)| format!("{status} × {}", count.complete + count.aborted))
        .collect();
    let handshakes = match ledger.handshakes_failed {
        0 => String::new(),
        failed => format!(", {failed} failed the TLS handshake"),
    };
    let mut text = format!(
        "connections  {} accepted, {} refused{handshakes}\nrequests     {} ({} malformed, {} cut off)\nresponses    {} complete, {} aborted\nstatus       {}\nbody bytes   {} in complete responses, {} in aborted ones\n",
        ledger.connections_accepted,
        ledger.connections_refused,
        ledger.requests(),
        ledger.requests_malformed,
        ledger.requests_cut,
        ledger.complete.count,
        ledger.aborted.count,
        statuses.join(", "),
        ledger.complete.body_bytes,
        ledger.aborted.body_bytes,
    );
    text.push_str(&faults(&ledger.faults));
    for ((operation, status), count) in &ledger.operations {
        text.push_str(&format!(
            "{operation:<24} {status}  {} complete, {} aborted, {} bytes in, {} bytes out\n",
            count.complete, count.aborted, count.received_bytes, count.sent_bytes,
        ));
    }
    text
}

/// Returns a line with the faults that were injected, or nothing if there were none.
fn faults(counts: &FaultCounts) -> String {
    let told = [
        (counts.errors, "errors"),
        (counts.refused, "refused above the capacity"),
        (counts.slow, "slow requests"),
        (counts.broken_off, "bodies cut off"),
        (counts.wrong_bytes, "wrong bytes"),
        (counts.lost, "objects lost"),
    ];
    let told = told.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}"));
    let told: Vec<String> = told.collect();
    if told.is_empty() { String::new() } else { format!("faults       {}\n", told.join(", ")) }
}
