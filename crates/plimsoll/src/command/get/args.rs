//! The flags of `get`.

use crate::failure::Failure;
use crate::load::dataset;
use crate::load::{self, dialect, s3};
use clap::ValueEnum;
use engine::plan::{ExpectedChecksum, Zipf};
use measure::units::ByteSize;
use std::path::PathBuf;
use wire::checksum::ChecksumError;

/// The order in which URLs are requested.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// In turn.
    RoundRobin,
    /// At random, with equal probability.
    Random,
    /// At random. The popularity of the URLs follows Zipf's law with this exponent.
    Zipf(f64),
    /// Each URL once. The run then ends.
    Once,
}

/// Default exponent of Zipf's law, as in YCSB.
const EXPONENT: f64 = 0.99;

fn order(text: &str) -> Result<Order, String> {
    match (text, text.strip_prefix("zipf:")) {
        ("round-robin", _) => Ok(Order::RoundRobin),
        ("random", _) => Ok(Order::Random),
        ("once", _) => Ok(Order::Once),
        ("zipf", _) => Ok(Order::Zipf(EXPONENT)),
        (_, Some(exponent)) => {
            let exponent = exponent.parse().ok().filter(|exponent| Zipf::new(1, *exponent).is_some());
            exponent.map(Order::Zipf).ok_or_else(|| format!("the exponent in `{text}` is not between 0 and 10"))
        }
        _ => Err(format!("`{text}` is not an order; use round-robin, random, zipf, zipf:EXPONENT or once")),
    }
}

/// Operations of a system, as values of --do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Do {
    /// Read a file.
    Cat,
    /// List a directory.
    Ls,
}

/// The flags of `get`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER, mut_arg("total", |flag| flag.hide_short_help(true)), mut_arg("count", |flag| flag.hide_short_help(true)), mut_arg("size", |flag| flag.hide_short_help(true)))]
pub struct Args {
    /// URL to load, e.g. http://host:port/path or s3://BUCKET/KEY. With --count or --total, the location of a dataset.
    /// With --as SYSTEM, a server and object names.
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// The flags that are common to all commands that generate load.
    #[command(flatten)]
    pub common: load::Args,
    /// Request a random range of this size each time, e.g. 1MiB.
    #[arg(long, value_name = "SIZE")]
    pub range: Option<ByteSize>,
    /// Read URLs (with --as, object names) from a file, one per line; - for standard input.
    #[arg(long, alias = "names", value_name = "FILE")]
    pub url_file: Option<PathBuf>,
    /// List the objects that already exist below s3://BUCKET/PREFIX, and read them.
    #[arg(long, conflicts_with_all = ["url_file", "system", "total", "count", "size"])]
    pub list: bool,
    /// Order of the URLs: round-robin, random, once, or zipf (zipf:EXPONENT), which prefers the first URLs.
    #[arg(long, value_parser = order, default_value = "round-robin", value_name = "ORDER")]
    pub order: Order,
    /// Compare every byte with the dataset's content; with --as gateway, check the hash of every block and that no
    /// block is missing. A difference fails the run.
    #[arg(long)]
    pub verify: bool,
    /// Verify the checksum of each complete body. HASH is etag if ETags are MD5s, or checksum if each response has
    /// x-amz-checksum-*, Content-MD5 or Digest in a header or trailer. For a single object, HASH can also be the
    /// expected value in hex or base64, e.g. sha256:HEX. Algorithms are sha256, md5, sha1, crc32, crc32c and crc64nvme.
    #[arg(
        long,
        alias = "expect-hash",
        value_name = "HASH",
        value_parser = wanted,
        conflicts_with_all = ["verify", "range", "head"],
        hide_short_help = true
    )]
    pub expect: Option<ExpectedChecksum>,
    /// The dataset, if the command reads the objects of a dataset.
    #[command(flatten)]
    pub objects: dataset::Args,
    /// Seed of the dataset's bytes, sizes and directories.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1", hide_short_help = true)]
    pub dataset_seed: u64,
    /// The settings of S3.
    #[command(flatten)]
    pub s3: s3::Args,
    /// The dialect and its settings.
    #[command(flatten)]
    pub dialect: dialect::Args,
    /// filestash: read files (cat) or list directories (ls) [default: cat].
    #[arg(
        long = "do",
        value_enum,
        value_name = "CALL",
        hide_possible_values = true,
        help_heading = "Systems",
        hide_short_help = true
    )]
    pub call: Option<Do>,
    /// Request method, e.g. HEAD, POST or OPTIONS.
    #[arg(short = 'm', long, value_name = "METHOD", help_heading = "Requests", hide_short_help = true)]
    pub method: Option<String>,
    /// Send HEAD requests.
    #[arg(short = 'I', long, conflicts_with = "method", help_heading = "Requests", hide_short_help = true)]
    pub head: bool,
    /// File with the request body, up to 64 MiB. The method is POST, unless -m names another method.
    #[arg(long, value_name = "FILE", help_heading = "Requests", hide_short_help = true)]
    pub body_file: Option<PathBuf>,
    /// Always request the range at this offset, instead of random ranges.
    #[arg(long, value_name = "OFFSET", requires = "range", help_heading = "Requests", hide_short_help = true)]
    pub range_at: Option<ByteSize>,
    /// Size of the objects, for --range. Without this flag, HEAD requests find the sizes.
    #[arg(long, value_name = "SIZE", requires = "range", help_heading = "Requests", hide_short_help = true)]
    pub object_size: Option<ByteSize>,
}

const AFTER: &str = "`plimsoll get URL` without further flags makes load for 10 s with 10 operations in flight. --help-all prints every flag.";

fn wanted(text: &str) -> Result<ExpectedChecksum, String> {
    match text {
        "etag" => Ok(ExpectedChecksum::Etag),
        "checksum" => Ok(ExpectedChecksum::FromResponse),
        _ => text
            .parse()
            .map(ExpectedChecksum::Given)
            .map_err(|error: ChecksumError| format!("{error}; or use etag or checksum")),
    }
}

/// A parser that knows only the flags of `get`.
#[derive(clap::Parser, Debug)]
struct Alone {
    #[command(flatten)]
    args: Args,
}

impl Args {
    /// Parses the words of a command line of `get`. The first word is the command's name.
    pub fn of_words(words: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let alone = <Alone as clap::Parser>::try_parse_from(words);
        alone.map(|alone| alone.args).map_err(|error| Failure::usage(error.render()))
    }
}
