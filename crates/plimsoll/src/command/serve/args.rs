//! The flags of `serve`, and the server's configuration.

use super::{stand_in, tls_and_s3};
use crate::failure::Failure;
use crate::load::{self, count, span};
use clap::{ArgAction, Parser};
use measure::units::ByteSize;
use server::{Capacity, Config, Delay, Faults, Flip, Stall, StallFrom, Truncate};
use std::net::SocketAddr;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::PathBuf;
use std::time::Duration;

/// A parser that knows only these flags.
#[derive(Parser, Debug)]
#[command(name = "serve")]
pub struct ServeCli {
    #[command(flatten)]
    args: Args,
}

impl Args {
    /// Parses flags.
    pub fn parse(flags: impl IntoIterator<Item = String>) -> Result<Self, clap::Error> {
        let words = std::iter::once("serve".to_owned()).chain(flags);
        ServeCli::try_parse_from(words).map(|cli| cli.args)
    }

    /// Checks the flags without starting a server.
    pub fn check(&self) -> Result<(), Failure> {
        tls_and_s3::check(self)?;
        config(self)?;
        self.stand_in.cluster(self.listen.first()).map(|_| ())
    }
}

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
    /// Stop when standard input is closed, so that the server ends with the program that started it.
    #[arg(long, hide = true)]
    pub until_stdin_closes: bool,
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
    /// Delay each response by this time, e.g. 20ms.
    #[arg(long, value_name = "TIME", value_parser = span, help_heading = "Faults")]
    pub delay: Option<Duration>,
    /// Delay every N-th request by this much more, e.g. 10:100ms.
    #[arg(long, value_name = "N:TIME", value_parser = every, help_heading = "Faults")]
    pub slow_every: Option<(NonZeroU64, Duration)>,
    /// Stall once, e.g. 4s:1s: from 4s after the first request, for 1s.
    #[arg(long, value_name = "AT:TIME", value_parser = stall, help_heading = "Faults")]
    pub stall: Option<(Duration, Duration)>,
    /// Limit each response to this many body bytes per second, e.g. 10MB.
    #[arg(long, value_name = "SIZE", help_heading = "Faults")]
    pub rate: Option<ByteSize>,
    /// Close a connection after this many requests.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, help_heading = "Faults", hide_short_help = true)]
    pub close_after: Option<NonZeroU64>,
    /// Each concurrent request above N adds a delay of TIME, e.g. 300:10ms.
    #[arg(long, value_name = "N:TIME", value_parser = every, help_heading = "Faults")]
    pub capacity: Option<(NonZeroU64, Duration)>,
    /// Respond to every N-th request with status 500.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, help_heading = "Faults")]
    pub error_every: Option<NonZeroU64>,
    /// Cut off every N-th body after this many bytes, e.g. 10:64KiB.
    #[arg(long, value_name = "N:SIZE", value_parser = every_at, help_heading = "Faults")]
    pub truncate: Option<(NonZeroU64, ByteSize)>,
    /// Change one byte of every N-th body, at this offset, e.g. 10:64KiB.
    #[arg(long, value_name = "N:OFFSET", value_parser = every_at, help_heading = "Faults")]
    pub flip: Option<(NonZeroU64, ByteSize)>,
    /// Misbehave on purpose, by this scripted case; `list` prints the cases.
    #[arg(long, value_name = "CASE", help_heading = "Faults")]
    pub liar: Option<String>,
}

const AFTER: &str = "The paths /blackhole/1KiB, /blackhole/10GiB and so on have bodies of that size. A request can ask for \
    faults in its own response:\n\
    ?delay=20ms &status=503 &chunked &close &truncate=1KiB &flip=0 &header=A:b &redirect=/x &code=307";

/// Parses an address to listen on.
pub fn listen(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| format!("`{text}` is not an address to listen on; use a form such as 127.0.0.1:8080"))
}

fn split_at_colon(text: &str) -> Result<(&str, &str), String> {
    text.split_once(':')
        .ok_or_else(|| format!("`{text}` is not a pair of values with a colon, for example 4s:1s or 100:1s"))
}

fn pair(text: &str) -> Result<(&str, Duration), String> {
    let (first, second) = split_at_colon(text)?;
    Ok((first, span(second)?))
}

fn every(text: &str) -> Result<(NonZeroU64, Duration), String> {
    let (count, time) = pair(text)?;
    Ok((load::count(count)?, time))
}

fn every_at(text: &str) -> Result<(NonZeroU64, ByteSize), String> {
    let (count, size) = split_at_colon(text)?;
    Ok((load::count(count)?, size.parse::<ByteSize>().map_err(|error| error.to_string())?))
}

fn stall(text: &str) -> Result<(Duration, Duration), String> {
    let (at, length) = pair(text)?;
    Ok((span(at)?, length))
}

/// Returns the configuration that the flags describe.
pub fn config(args: &Args) -> Result<Config, Failure> {
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
