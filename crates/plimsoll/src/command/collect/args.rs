//! The flags of `collect`.

use crate::load;
use collect::source::{JsonPath, Selector};
use measure::Enumerated;
use measure::series::{Column, ColumnKind, ColumnUnit};
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

/// The flags of `collect`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
pub struct Args {
    /// With --column, the URL to poll; otherwise a set of metrics and its URL, e.g. nginx http://host/status.
    #[arg(value_name = "[SET] URL", num_args = 0..=2)]
    pub what: Vec<String>,
    /// Collect a value of the URL's response: NAME=$.path in JSON (RFC 9535), or NAME=metric{label="value"} in the
    /// format of Prometheus. NAME,counter,bytes=… sets the kind and the unit.
    #[arg(long, value_name = "NAME=PLACE", value_parser = ColumnFlag::parse)]
    pub column: Vec<ColumnFlag>,
    /// Collect the CPU, memory, disks and network cards of this host.
    #[arg(long)]
    pub host: bool,
    /// Collect the CPU time, memory and restarts of processes. NAME@HOST selects those of a remote host.
    #[arg(long, value_name = "NAME|PID")]
    pub process: Vec<String>,
    /// Collect the use of CPU, memory, disks and network cards of a remote host, over ssh.
    #[arg(long, value_name = "HOST")]
    pub ssh: Vec<String>,
    /// Configuration file for ssh, instead of ~/.ssh/config.
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub ssh_config: Option<PathBuf>,
    /// Collect the time to open a TCP connection to HOST:PORT. For a URL, collect the time of a GET request.
    #[arg(long, value_name = "HOST:PORT")]
    pub probe: Vec<String>,
    /// Time between two polls.
    #[arg(long, value_name = "TIME", value_parser = load::span, default_value = "60s")]
    pub every: Duration,
    /// Append to this CSV file. For the set siad, the file has the columns of the collector of the Sia study.
    #[arg(short = 'o', long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Append the values to collected.zst in this directory.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Number of polls [default: no limit].
    #[arg(short = 'n', long, value_name = "N", value_parser = load::count::<NonZeroU64>)]
    pub polls: Option<NonZeroU64>,
    /// Stop collecting after this time [default: no limit].
    #[arg(short = 'd', long, value_name = "TIME", value_parser = load::span)]
    pub duration: Option<Duration>,
    /// Header to send, e.g. 'Authorization: Bearer …'; @FILE reads one per line.
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub headers: Vec<String>,
    /// Basic authentication; also from the URL, @FILE or ${ENV}.
    #[arg(short = 'u', long = "user", value_name = "USER:PASSWORD")]
    pub user: Option<String>,
    /// Trust the CA certificates in this PEM file instead of the system's (https).
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", hide_short_help = true)]
    pub cacert: Vec<PathBuf>,
    /// Do not verify the server's certificate.
    #[arg(long, hide_short_help = true)]
    pub insecure: bool,
    /// Do not print the values of each poll.
    #[arg(long, hide_short_help = true)]
    pub quiet: bool,
    #[command(flatten)]
    help: load::Help,
}

const AFTER: &str = "Sets of metrics: siad, renterd, booster-http, lotus-miner, minio, alluxio, nginx, node. A source that fails leaves its \
    values blank and is polled again. The command ends after -n polls, after -d, or with Ctrl-C. When started again, it appends to \
    its files. To collect during a run, use --collect of get, put and mix.";

/// A column from the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnFlag {
    /// The column.
    pub column: Column,
    /// The place of the column's value in a response.
    pub place: Place,
}

/// The place of a value in a response.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// In JSON.
    Json(JsonPath),
    /// In the format of Prometheus.
    Metric(Selector),
}

impl ColumnFlag {
    /// Parses `NAME[,KIND][,UNIT]=PLACE`.
    fn parse(text: &str) -> Result<Self, String> {
        let form = "use NAME=$.path for JSON, or NAME=metric for Prometheus";
        let (names, place) = text.split_once('=').ok_or(form)?;
        let mut words = names.split(',');
        let name = words.next().unwrap_or_default();
        let (mut kind, mut unit) = (None, ColumnUnit::Count);
        for word in words {
            match (ColumnKind::from_name(word), ColumnUnit::from_name(word)) {
                (Some(known), _) => kind = Some(known),
                (None, Some(known)) => unit = known,
                (None, None) => {
                    return Err(format!(
                        "`{word}` is neither a kind ({}) nor a unit ({})",
                        names_of::<ColumnKind>(),
                        names_of::<ColumnUnit>()
                    ));
                }
            }
        }
        let (place, usual) = if place.starts_with('$') {
            (Place::Json(place.parse().map_err(|error| format!("`{place}` is {error}"))?), ColumnKind::Gauge)
        } else {
            let selector: Selector = place.parse().map_err(|error| format!("`{place}` is {error}"))?;
            // By convention, the names of counters end with `_total`.
            let is_counter = place.split('{').next().is_some_and(|metric| metric.trim().ends_with("_total"));
            (Place::Metric(selector), if is_counter { ColumnKind::Counter } else { ColumnKind::Gauge })
        };
        let column = Column::new(name, kind.unwrap_or(usual), unit);
        let column =
            column.ok_or_else(|| format!("`{name}` cannot name a column: use letters, digits, _, -, . and :"))?;
        Ok(Self { column, place })
    }
}

/// Returns the names of all values of an enum.
fn names_of<E: Enumerated>() -> String {
    E::ALL.iter().map(|member| member.name()).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_kinds_and_units() {
        let parse =
            |text: &str| ColumnFlag::parse(text).map(|flag| (flag.column.name, flag.column.kind, flag.column.unit));
        let expected = |name: &str, kind, unit| Ok((name.to_owned(), kind, unit));
        assert_eq!(parse("a=$.b"), expected("a", ColumnKind::Gauge, ColumnUnit::Count));
        assert_eq!(parse("a,counter,bytes=$['x=y']"), expected("a", ColumnKind::Counter, ColumnUnit::Bytes));
        assert_eq!(parse("r=http_total{code=\"200\"}"), expected("r", ColumnKind::Counter, ColumnUnit::Count));
        assert_eq!(parse("r,gauge=http_total"), expected("r", ColumnKind::Gauge, ColumnUnit::Count));
        for text in ["a", "=$.b", "a b=$.b", "a,furlongs=$.b", "a=$[", "a=not a metric"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
