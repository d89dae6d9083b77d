//! The flags of all commands that make load, grouped by topic.

use super::machines;
use super::values::{address, count, measured_time, output_file, seed, span, stage, status, success, timeout};
use crate::collectors::Collect;
use crate::emulated_link::LinkName;
use crate::failure::Failure;
use crate::live_metrics;
use crate::progress::View;
use crate::saved::OutputFormat;
use crate::saved::ci_output::CiOutput;
use clap::ArgAction;
use measure::Objective;
use measure::units::{ByteSize, DataRate, Rate};
use std::net::IpAddr;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;
use std::time::Duration;

/// The flags that are common to all commands that generate load.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Args {
    /// The load.
    #[command(flatten)]
    pub load: Load,
    /// Settings of all requests.
    #[command(flatten)]
    pub requests: Requests,
    /// Conditions for a successful response.
    #[command(flatten)]
    pub checks: Checks,
    /// Output and its format.
    #[command(flatten)]
    pub output: Output,
    #[command(flatten)]
    help: Help,
    /// Connection settings.
    #[command(flatten)]
    pub connections: Connections,
    /// TLS settings.
    #[command(flatten)]
    pub tls: Tls,
    /// Timeouts for the parts of a request.
    #[command(flatten)]
    pub timeouts: Timeouts,
    /// Hosts that make the load together.
    #[command(flatten)]
    pub fleet: machines::Args,
}

/// The load: model, amount and duration.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Load {
    /// Operations in flight at any time. With -R, the maximum in flight.
    #[arg(short = 'c', long, alias = "connections", value_name = "N", value_parser = count::<NonZeroU64>, allow_negative_numbers = true)]
    pub concurrency: Option<NonZeroU64>,
    /// Number of operations [default: no limit; the duration ends the run].
    #[arg(short = 'n', long, value_name = "N", value_parser = count::<NonZeroU64>, allow_negative_numbers = true)]
    pub requests: Option<NonZeroU64>,
    /// Time to measure, e.g. 10s or 1m30s [default: 10s; no limit with -n].
    #[arg(short = 'd', long, value_name = "TIME", value_parser = measured_time)]
    pub duration: Option<Duration>,
    /// Start this many operations per second (open model), e.g. 1000 or 2.5k.
    #[arg(short = 'R', long, value_name = "RATE", allow_negative_numbers = true, group = "open_model")]
    pub rate: Option<Rate>,
    /// Make load for this long before measuring.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "0s", hide_default_value = true)]
    pub warmup: Duration,
    /// With -R: start operations at random times (Poisson process) instead of evenly.
    #[arg(long, requires = "open_model", hide_short_help = true)]
    pub poisson: bool,
    /// Maximum number of operations in flight in the open model [default: 10000, or fewer if the limit of file
    /// descriptors is lower].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, requires = "open_model", conflicts_with = "concurrency", hide_short_help = true)]
    pub in_flight_max: Option<NonZeroU64>,
    /// Increase the load from 0 to its full level over this time.
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with = "stages", hide_short_help = true)]
    pub ramp: Option<Duration>,
    /// Change the load linearly in stages, e.g. 10s:100,30s:100,10s:0 (time:level). With -R, levels are operations per
    /// second, and the first stage starts at the value of -R. Without -R, levels are operations in flight, and the
    /// first stage starts at the value of -c, or at 0. A stage of 0s is a step.
    #[arg(long, value_name = "STAGES", value_delimiter = ',', value_parser = stage, hide_short_help = true)]
    pub stages: Vec<(Duration, f64)>,
    /// Without -R: pause of each slot between two operations (think time).
    #[arg(long, value_name = "TIME", value_parser = span, conflicts_with = "rate", hide_short_help = true)]
    pub think: Option<Duration>,
    /// Without -R: number of operations that each slot makes.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, conflicts_with = "rate", hide_short_help = true)]
    pub ops_per_slot: Option<NonZeroU64>,
    /// After the run, measure the rate with half of -c and with twice -c, each for this time [default: 3s]. This shows
    /// whether the target or -c limited the run. Not with -R.
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
    /// Stop after this many body bytes, received and sent together, e.g. 10GiB.
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub bytes: Option<ByteSize>,
    /// After the run, wait at most this long for operations that are still in flight.
    #[arg(long, value_name = "TIME", value_parser = span, default_value = "10s", hide_short_help = true)]
    pub drain: Duration,
    /// Number of threads [default: one per core available to this process].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, hide_short_help = true)]
    pub threads: Option<NonZeroU64>,
    /// Seed of all random choices.
    #[arg(long, value_name = "N", value_parser = seed, default_value = "1", hide_short_help = true)]
    pub seed: u64,
}

/// Settings of all requests.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Requests {
    /// Header to send, e.g. 'Accept: text/html'; @FILE reads one per line.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Cookie to send, e.g. name=value or 'a=1; b=2'; or @FILE.
    #[arg(short = 'C', long = "cookie", value_name = "NAME=VALUE")]
    pub cookies: Vec<String>,
    /// Basic authentication; also from the URL, @FILE or ${ENV}.
    #[arg(short = 'u', long = "user", value_name = "USER:PASSWORD")]
    pub user: Option<String>,
    /// Keep connections alive. This is the default; the flag is accepted for compatibility with ab.
    #[arg(short = 'k', hide_short_help = true)]
    pub keep_alive: bool,
    /// Use HTTP/1.0, as ab does.
    #[arg(long = "http1.0", help_heading = "Requests", hide_short_help = true)]
    pub http10: bool,
    /// Use HTTP/2. With https, the client offers HTTP/2 by ALPN, and the server may choose HTTP/1.1. With http, the
    /// server must accept HTTP/2 without negotiation (prior knowledge).
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
    /// Maximum number of redirects that one operation follows.
    #[arg(long, value_name = "N", default_value = "10", help_heading = "Requests", hide_short_help = true)]
    pub redirects_max: u8,
    /// Also follow redirects from https:// to http://.
    #[arg(long, conflicts_with = "no_follow", help_heading = "Requests", hide_short_help = true)]
    pub allow_downgrade: bool,
    /// Also follow redirects from a public address to a private one (loopback, private, link-local).
    #[arg(long, conflicts_with = "no_follow", help_heading = "Requests", hide_short_help = true)]
    pub allow_private_redirects: bool,
    /// With s3://, also follow redirects to hosts that the command does not name. For other URLs, such redirects are
    /// always followed.
    #[arg(long, conflicts_with = "no_follow", help_heading = "Requests", hide_short_help = true)]
    pub allow_other_hosts: bool,
}

/// Connection settings.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Connections {
    /// Open a new connection for each request.
    #[arg(long, help_heading = "Connections", hide_short_help = true)]
    pub no_keepalive: bool,
    /// HTTP/2: maximum concurrent streams per connection, if the server allows them [default: 100].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>, requires = "http2", help_heading = "Connections", hide_short_help = true)]
    pub streams: Option<NonZeroU32>,
    /// Close a connection after this many requests.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, help_heading = "Connections", hide_short_help = true)]
    pub requests_per_connection: Option<NonZeroU64>,
    /// Connect to another host or port, as in curl. RULE is HOST:PORT:TO_HOST:TO_PORT; any part may be empty.
    #[arg(long, value_name = "RULE", help_heading = "Connections", hide_short_help = true)]
    pub connect_to: Vec<String>,
    /// Connect from these local addresses, in turn.
    #[arg(long, value_name = "IP", value_delimiter = ',', value_parser = address, help_heading = "Connections", hide_short_help = true)]
    pub local_address: Vec<IpAddr>,
    /// Use an HTTP proxy, e.g. http://host:3128.
    #[arg(
        long,
        value_name = "URL",
        conflicts_with = "unix_socket",
        help_heading = "Connections",
        hide_short_help = true
    )]
    pub proxy: Option<String>,
    /// Connect to a unix socket.
    #[arg(long, value_name = "PATH", help_heading = "Connections", hide_short_help = true)]
    pub unix_socket: Option<PathBuf>,
    /// Speed of network cards that do not report one themselves, e.g. 10Gbit/s. Reports show which share of it was
    /// used.
    #[arg(long, value_name = "RATE", help_heading = "Connections", hide_short_help = true)]
    pub nic_speed: Option<DataRate>,
    /// Send the load through an emulated network: the link with this number (see `plimsoll link`). Without a number,
    /// use the only link.
    #[arg(
        long,
        value_name = "NUMBER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = LinkName::ONLY,
        conflicts_with_all = ["proxy", "unix_socket", "connect_to"],
        help_heading = "Connections",
        hide_short_help = true
    )]
    pub link: Option<LinkName>,
    /// For large bodies, wake the client only after this many bytes have arrived (SO_RCVLOWAT), if there are at least
    /// 32 connections. The client then uses less CPU, but acknowledges data later.
    #[arg(long, value_name = "SIZE", help_heading = "Connections", hide_short_help = true)]
    pub receive_low_water: Option<ByteSize>,
}

/// TLS settings.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Tls {
    /// Trust the certificates in this PEM file, of CAs or of servers, instead of the system's CA certificates (https).
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = "TLS", hide_short_help = true)]
    pub cacert: Vec<PathBuf>,
    /// Present this client certificate (PEM) if the server requests one.
    #[arg(long, value_name = "FILE", help_heading = "TLS", hide_short_help = true)]
    pub cert: Option<PathBuf>,
    /// Private key of --cert (PEM) [default: in the file of --cert].
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = "TLS", hide_short_help = true)]
    pub key: Option<PathBuf>,
    /// Do not verify the server's certificate. Every report shows that this flag was set.
    #[arg(long, help_heading = "TLS", hide_short_help = true)]
    pub insecure: bool,
    /// Do a full TLS handshake for every connection.
    #[arg(long, help_heading = "TLS", hide_short_help = true)]
    pub no_tls_resumption: bool,
}

/// Timeouts for the parts of a request.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Timeouts {
    /// Timeout for opening a connection, and for its TLS handshake.
    #[arg(long, value_name = "TIME", value_parser = timeout, default_value = "10s", help_heading = "Timeouts", hide_short_help = true)]
    pub timeout_connect: Duration,
    /// Timeout from the end of the request to the end of the response header [default: 30s; 30m for uploads to renterd].
    #[arg(long, value_name = "TIME", value_parser = timeout, help_heading = "Timeouts", hide_short_help = true)]
    pub timeout_head: Option<Duration>,
    /// Maximum time between two pieces of a body [default: 30s; 30m for uploads to renterd].
    #[arg(long, value_name = "TIME", value_parser = timeout, help_heading = "Timeouts", hide_short_help = true)]
    pub timeout_idle: Option<Duration>,
    /// Timeout for a whole request [default: none].
    #[arg(long, value_name = "TIME", value_parser = timeout, help_heading = "Timeouts", hide_short_help = true)]
    pub timeout_total: Option<Duration>,
}

/// Conditions for a successful response.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Checks {
    /// Count only these status codes as success, e.g. 200,206.
    #[arg(long, value_name = "CODES", value_delimiter = ',', value_parser = status)]
    pub expect_status: Vec<u16>,
    /// Also accept a range that is sent with status 200 instead of 206, if its Content-Range and length are correct.
    #[arg(long, help_heading = "Checks and results", hide_short_help = true)]
    pub accept_200_ranges: bool,
    /// Require this body size in every response.
    #[arg(long, value_name = "SIZE", help_heading = "Checks and results", hide_short_help = true)]
    pub expect_size: Option<ByteSize>,
    /// Require this header in every response, e.g. 'X-Cache: HIT'.
    #[arg(long, value_name = "NAME: VALUE", help_heading = "Checks and results", hide_short_help = true)]
    pub expect_header: Vec<String>,
    /// Minimum share of successful operations for exit code 0.
    #[arg(long, value_name = "PERCENT", value_parser = success, help_heading = "Checks and results", hide_short_help = true)]
    pub success: Option<f64>,
    /// Objective of the run, e.g. 'p99 <= 500ms' [default: success >= 99%].
    #[arg(long, value_name = "OBJECTIVE")]
    pub objective: Vec<Objective>,
    /// Do not fail the run because an objective needs more operations than there were, e.g. p99.99 of 100 operations.
    #[arg(long, help_heading = "Checks and results", hide_short_help = true)]
    pub accept_not_enough_data: bool,
    /// Abort the run once this condition is statistically certain, e.g. 'success < 50%' or 'p99 > 5s'.
    #[arg(long, value_name = "CONDITION", value_parser = Objective::missed_when, hide_short_help = true)]
    pub abort_when: Vec<Objective>,
}

impl Output {
    /// Refuses files that cannot be written, before any load is made.
    ///
    /// # Errors
    /// Fails with the first file whose directory does not exist.
    pub fn check_files(&self) -> Result<(), Failure> {
        self.ci.check_files(self.html.as_ref(), self.out.as_deref())
    }
}

/// Output and its format.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Output {
    /// Make the run this many times, and show how much the results differ.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, default_value = "1", hide_default_value = true)]
    pub repeat: NonZeroU64,
    /// Directory in which to save the run [default: runs/TIME-TARGET].
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report as JSON on standard output.
    #[arg(long, conflicts_with = "print")]
    pub json: bool,
    /// Print everything about the run, not only the most important numbers.
    #[arg(long, conflicts_with_all = ["json", "print"])]
    pub full: bool,
    /// Output format: text, full, ab, httpbench, or none.
    #[arg(long, value_enum, default_value = "text", value_name = "FORM", hide_default_value = true)]
    pub print: OutputFormat,
    /// Also write the report as an HTML file with charts, which opens offline [default: DIR/report.html].
    #[arg(
        long,
        value_name = "FILE",
        value_parser = output_file,
        num_args = 0..=1,
        conflicts_with = "repeat",
        help_heading = "Checks and results",
        hide_short_help = true
    )]
    pub html: Option<Option<PathBuf>>,
    /// The flags for CI systems.
    #[command(flatten)]
    pub ci: CiOutput,
    /// Group results by this response header, e.g. X-Cache.
    #[arg(long, value_name = "NAME", help_heading = "Checks and results", hide_short_help = true)]
    pub group_by: Option<String>,
    /// Save a record of every operation.
    #[arg(long, help_heading = "Checks and results", hide_short_help = true)]
    pub log_ops: bool,
    /// Poll metrics during the run. The HTML report charts them below the load. WHAT is host, ssh=HOST, process=NAME,
    /// probe=HOST:PORT, or a set of metrics and its URL, e.g. minio=http://host:9000. See `plimsoll collect --help`.
    #[arg(long, value_name = "WHAT", help_heading = "Checks and results", hide_short_help = true)]
    pub collect: Vec<Collect>,
    /// Time between two polls of --collect.
    #[arg(
        long,
        value_name = "TIME",
        value_parser = timeout,
        default_value = "1s",
        help_heading = "Checks and results",
        hide_short_help = true
    )]
    pub collect_every: Duration,
    /// The flags for live metrics.
    #[command(flatten)]
    pub live_metrics: live_metrics::Args,
    /// Progress on a terminal: `full` for charts and results so far (at least 80 columns and 20 lines),
    /// `line` for one line, or `none` [default: full; line on a smaller terminal; none with --print none].
    #[arg(
        long,
        value_enum,
        value_name = "VIEW",
        hide_possible_values = true,
        help_heading = "Checks and results",
        hide_short_help = true
    )]
    pub view: Option<View>,
    /// Show no progress, like --view none.
    #[arg(long, conflicts_with = "view", help_heading = "Checks and results", hide_short_help = true)]
    pub quiet: bool,
}

/// The flags for short and full help.
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
