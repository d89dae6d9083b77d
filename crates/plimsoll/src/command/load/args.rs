//! The flags that all commands have in common which make load, in groups: each stands for one thing to be decided.

use crate::execute::Print;
use clap::ArgAction;
use measure::Objective;
use measure::units::{ByteSize, Rate, parse_span};
use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// All of them.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Args {
    /// How load is offered.
    #[command(flatten)]
    pub load: Load,
    /// What all requests have in common.
    #[command(flatten)]
    pub requests: Requests,
    /// What a good answer is.
    #[command(flatten)]
    pub checks: Checks,
    /// Where the result goes.
    #[command(flatten)]
    pub shown: Shown,
    #[command(flatten)]
    help: Help,
    /// How connections are opened.
    #[command(flatten)]
    pub connections: Connections,
    /// How TLS is spoken.
    #[command(flatten)]
    pub tls: Tls,
    /// How long each part of a request may take.
    #[command(flatten)]
    pub timeouts: Timeouts,
}

/// How load is offered, and for how long.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Load {
    /// Operations in flight (closed model); with -R, the most of them.
    #[arg(short = 'c', long, alias = "connections", value_name = "N", value_parser = count::<NonZeroU64>, allow_negative_numbers = true)]
    pub concurrency: Option<NonZeroU64>,
    /// Operations in all; default: until the time is over.
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<NonZeroU64>, allow_negative_numbers = true)]
    pub requests: Option<NonZeroU64>,
    /// How long to measure, like 10s or 1m30s [default: 10s, without -n].
    #[arg(short = 'd', long, value_name = "TIME", value_parser = measured_time)]
    pub duration: Option<Duration>,
    /// Open model: operations arrive at this rate, like 1000 or 2.5k.
    #[arg(short = 'R', long, value_name = "RATE", allow_negative_numbers = true)]
    pub rate: Option<Rate>,
    /// Load this long before measuring.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "0s", hide_default_value = true)]
    pub warmup: Duration,
    /// Space arrivals as a Poisson process instead of evenly (with -R).
    #[arg(long, requires = "rate", hide_short_help = true)]
    pub poisson: bool,
    /// Most operations in flight in the open model [default: 10000, or what descriptors allow].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, requires = "rate", conflicts_with = "concurrency", hide_short_help = true)]
    pub in_flight_max: Option<NonZeroU64>,
    /// Go from 0 to the full load over this time.
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "stages", hide_short_help = true)]
    pub ramp: Option<Duration>,
    /// Move the load linearly through stages, like 10s:100,30s:100,10s:0 (time:level). Levels are rates and start at that of
    /// -R; without it they are slots and start at those of -c, or at 0. A stage of 0s is a step.
    #[arg(long, value_name = "STAGES", value_delimiter = ',', value_parser = stage, hide_short_help = true)]
    pub stages: Vec<(Duration, f64)>,
    /// Pause of a slot between two operations (closed model).
    #[arg(long, value_name = "TIME", value_parser = duration, conflicts_with = "rate", hide_short_help = true)]
    pub think: Option<Duration>,
    /// Operations of each slot (closed model).
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, conflicts_with = "rate", hide_short_help = true)]
    pub ops_per_slot: Option<NonZeroU64>,
    /// Measure half and twice the slots after the run, each for this long [default: 3s]: it shows whether the target or -c
    /// limited the run (closed model).
    #[arg(
        long,
        value_name = "TIME",
        value_parser = timeout,
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "3s",
        conflicts_with_all = ["rate", "ramp", "stages"],
        hide_short_help = true
    )]
    pub probe: Option<Duration>,
    /// Stop after so many body bytes, received and sent, like 10GiB.
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub bytes: Option<ByteSize>,
    /// How long operations in flight may go on after the end.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s", hide_short_help = true)]
    pub drain: Duration,
    /// Threads [default: one for each core that this process may use].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, hide_short_help = true)]
    pub threads: Option<NonZeroU64>,
    /// Seed of all random choices.
    #[arg(long, value_name = "N", value_parser = seed, default_value = "1", hide_short_help = true)]
    pub seed: u64,
}

/// What all requests have in common.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Requests {
    /// Header to send, like 'Accept: text/html'; @FILE reads one per line.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Cookie to send, like name=value or 'a=1; b=2'; @FILE reads it.
    #[arg(short = 'C', long = "cookie", value_name = "NAME=VALUE")]
    pub cookies: Vec<String>,
    /// Basic authentication; also from the URL, @FILE or ${ENV}.
    #[arg(short = 'u', long = "user", value_name = "USER:PASSWORD")]
    pub user: Option<String>,
    /// Keep connections: on anyhow, taken for ab's sake.
    #[arg(short = 'k', hide_short_help = true)]
    pub keep_alive: bool,
    /// Speak HTTP/1.0, as ab does.
    #[arg(long = "http1.0", help_heading = "Requests", hide_short_help = true)]
    pub http10: bool,
    /// Speak HTTP/2: asked for by ALPN with https, where the server may choose HTTP/1.1; with http the server must know it.
    #[arg(
        long,
        conflicts_with_all = ["http10", "proxy", "receive_low_water"],
        help_heading = "Requests",
        hide_short_help = true
    )]
    pub http2: bool,
    /// Do not follow redirects: count them as http_3xx.
    #[arg(long)]
    pub no_follow: bool,
    /// Redirects in a row that are followed.
    #[arg(long, value_name = "N", default_value = "10", help_heading = "Requests", hide_short_help = true)]
    pub redirects_max: u8,
    /// Follow redirects from https:// to http:// too.
    #[arg(long, conflicts_with = "no_follow", help_heading = "Requests", hide_short_help = true)]
    pub allow_downgrade: bool,
    /// Follow redirects from a public address to a private one too: loopback, private, link-local.
    #[arg(long, conflicts_with = "no_follow", help_heading = "Requests", hide_short_help = true)]
    pub allow_private_redirects: bool,
}

/// How connections are opened.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Connections {
    /// A new connection for each request.
    #[arg(long, help_heading = "Connections", hide_short_help = true)]
    pub no_keepalive: bool,
    /// HTTP/2: requests at once on a connection, as far as the server allows [default: 100].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>, requires = "http2", help_heading = "Connections", hide_short_help = true)]
    pub streams: Option<NonZeroU32>,
    /// Close a connection after so many requests.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, help_heading = "Connections", hide_short_help = true)]
    pub requests_per_connection: Option<NonZeroU64>,
    /// Connect elsewhere, like curl: HOST:PORT:TO_HOST:TO_PORT, any part may be empty.
    #[arg(long, value_name = "RULE", help_heading = "Connections", hide_short_help = true)]
    pub connect_to: Vec<String>,
    /// Connect from these addresses, in turn.
    #[arg(long, value_name = "IP", value_delimiter = ',', value_parser = address, help_heading = "Connections", hide_short_help = true)]
    pub local_address: Vec<IpAddr>,
    /// Through an HTTP proxy, like http://host:3128.
    #[arg(
        long,
        value_name = "URL",
        conflicts_with = "unix_socket",
        help_heading = "Connections",
        hide_short_help = true
    )]
    pub proxy: Option<String>,
    /// Through a unix socket.
    #[arg(long, value_name = "PATH", help_heading = "Connections", hide_short_help = true)]
    pub unix_socket: Option<PathBuf>,
    /// SO_RCVLOWAT for large bodies: less client CPU, but acknowledgements go out later; for 32 connections and more.
    #[arg(long, value_name = "SIZE", help_heading = "Connections", hide_short_help = true)]
    pub receive_low_water: Option<ByteSize>,
}

/// How TLS is spoken.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Tls {
    /// Believe the authorities of this PEM file instead of the system's (https).
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = "TLS", hide_short_help = true)]
    pub cacert: Vec<PathBuf>,
    /// Show this certificate (PEM) when the server asks for one.
    #[arg(long, value_name = "FILE", help_heading = "TLS", hide_short_help = true)]
    pub cert: Option<PathBuf>,
    /// Private key of --cert (PEM) [default: in the same file].
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS", hide_short_help = true)]
    pub key: Option<PathBuf>,
    /// Do not check the server's certificate; every report says so.
    #[arg(long, help_heading = "TLS", hide_short_help = true)]
    pub insecure: bool,
    /// A full handshake for every connection.
    #[arg(long, help_heading = "TLS", hide_short_help = true)]
    pub no_tls_resumption: bool,
}

/// How long each part of a request may take.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Timeouts {
    /// For opening a connection; a TLS handshake has the same time once more.
    #[arg(long, value_name = "TIME", value_parser = timeout, default_value = "10s", help_heading = "Timeouts", hide_short_help = true)]
    pub timeout_connect: Duration,
    /// From the request to the end of the answer's head.
    #[arg(long, value_name = "TIME", value_parser = timeout, default_value = "30s", help_heading = "Timeouts", hide_short_help = true)]
    pub timeout_head: Duration,
    /// Between two arrivals of body bytes.
    #[arg(long, value_name = "TIME", value_parser = timeout, default_value = "30s", help_heading = "Timeouts", hide_short_help = true)]
    pub timeout_idle: Duration,
    /// For a whole request [default: none].
    #[arg(long, value_name = "TIME", value_parser = timeout, help_heading = "Timeouts", hide_short_help = true)]
    pub timeout_total: Option<Duration>,
}

/// What a good answer is.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Checks {
    /// Take only these status codes for a success, like 200,206.
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = status)]
    pub expect_status: Vec<u16>,
    /// Count a range that comes with 200 instead of 206 as a success, if its Content-Range and its length are those asked for.
    #[arg(long, help_heading = "Checks and figures", hide_short_help = true)]
    pub accept_200_ranges: bool,
    /// Body size that every answer must have.
    #[arg(long, value_name = "SIZE", help_heading = "Checks and figures", hide_short_help = true)]
    pub expect_size: Option<ByteSize>,
    /// Header that every answer must have, like 'X-Cache: HIT'.
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Checks and figures", hide_short_help = true)]
    pub expect_header: Vec<String>,
    /// Share of operations that must end well for exit code 0.
    #[arg(long, value_name = "PERCENT", value_parser = success, help_heading = "Checks and figures", hide_short_help = true)]
    pub success: Option<f64>,
    /// What the run must meet, like 'p99 <= 500ms' [default: success >= 99%].
    #[arg(long, value_name = "OBJECTIVE")]
    pub objective: Vec<Objective>,
    /// Accept objectives for which too few operations ended, like p99.99 of 100 operations; they fail the run otherwise.
    #[arg(long, help_heading = "Checks and figures", hide_short_help = true)]
    pub accept_not_enough_data: bool,
    /// End the run when it is sure that this is so, like 'success < 50%' or 'p99 > 5s'.
    #[arg(long, value_name = "CONDITION", value_parser = Objective::missed_when, hide_short_help = true)]
    pub abort_when: Vec<Objective>,
}

/// Where the result goes, and how it is shown.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Shown {
    /// Measure this often; the runs are compared at the end.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, default_value = "1", hide_default_value = true)]
    pub repeat: NonZeroU64,
    /// Where the run is saved [default: runs/TIME-TARGET].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report as JSON on standard output.
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
    /// Print as text, as ab or httpbench would, or nothing.
    #[arg(long, value_enum, default_value = "text", value_name = "FORM", hide_default_value = true)]
    pub print: Print,
    /// Write the report as an HTML file with charts as well, which opens offline [default: DIR/report.html].
    #[arg(
        long,
        value_name = "FILE",
        num_args = 0..=1,
        conflicts_with = "repeat",
        help_heading = "Checks and figures",
        hide_short_help = true
    )]
    pub html: Option<Option<PathBuf>>,
    /// Break the figures down by this response header, like X-Cache.
    #[arg(long, value_name = "NAME", help_heading = "Checks and figures", hide_short_help = true)]
    pub group_by: Option<String>,
    /// Save every operation as well.
    #[arg(long, help_heading = "Checks and figures", hide_short_help = true)]
    pub log_ops: bool,
    /// No live line.
    #[arg(long, help_heading = "Checks and figures", hide_short_help = true)]
    pub quiet: bool,
}

/// Help in two lengths.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Help {
    /// Print help; --help-all prints every flag.
    #[arg(short = 'h', long, action = ArgAction::HelpShort)]
    help: Option<bool>,
    /// Print every flag.
    #[arg(long, action = ArgAction::HelpLong, hide_short_help = true)]
    help_all: Option<bool>,
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_span(text).map_err(|error| error.to_string())
}

/// How long to measure; users of curl, hey and oha mean something else by that letter.
fn measured_time(text: &str) -> Result<Duration, String> {
    duration(text).map_err(|error| format!("{error}; a request body is --body-file FILE"))
}

/// A whole number above 0, of a type that holds no other; blanks between digits may be written as `_`.
pub fn count<N: FromStr>(text: &str) -> Result<N, String> {
    let digits = text.replace('_', "");
    digits.parse().map_err(|_| match is_number(&digits) {
        true => format!("`{text}` is too large a count"),
        false => format!("`{text}` is not a count: write a whole number above 0"),
    })
}

/// What the choice of operations, or the content of objects, depends on.
pub fn seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| match is_number(text) {
        true => format!("`{text}` is too large a seed: write a whole number up to {}", u64::MAX),
        false => format!("`{text}` is not a seed: write a whole number"),
    })
}

/// Whether a text is a whole number above 0, of whatever size.
fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.bytes().any(|byte| byte != b'0')
}

fn status(text: &str) -> Result<u16, String> {
    let code = text.parse().ok().filter(|code| (100..600).contains(code));
    code.ok_or_else(|| format!("`{text}` is not a status code: write it like 200, or 200,206"))
}

fn address(text: &str) -> Result<IpAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is not an IP address: write it like 192.0.2.1 or 2001:db8::1"))
}

fn timeout(text: &str) -> Result<Duration, String> {
    let span = duration(text)?;
    if span.is_zero() { Err("a timeout is above 0".into()) } else { Ok(span) }
}

fn stage(text: &str) -> Result<(Duration, f64), String> {
    let wrong = || format!("`{text}` is not a stage: write it like 10s:100 (time:level)");
    let (time, level) = text.split_once(':').ok_or_else(wrong)?;
    let level: f64 = level.parse().ok().filter(|level: &f64| level.is_finite() && *level >= 0.0).ok_or_else(wrong)?;
    Ok((duration(time)?, level))
}

/// A share of operations that succeed, in percent. Up to 1 it needs the sign: who writes 0.99 hardly means that 99 of 100 may fail.
fn success(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if 0.0 < share && share <= 1.0 => {
            Err(format!("`{text}` could be a share of 1: write {}%, or {text}% if that is meant", share * 100.0))
        }
        _ => percent(text),
    }
}

/// A share in percent, in 0..=100.
pub fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim_end_matches('%').parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    number.ok_or_else(|| format!("`{text}` is not a share: write it like 99 or 99.9%"))
}
