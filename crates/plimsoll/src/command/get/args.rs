//! The flags of `get`.

use crate::command::dataset;
use crate::command::load::{self, dialect, s3};
use crate::failure::Failure;
use clap::ValueEnum;
use engine::plan::Wanted;
use measure::units::ByteSize;
use std::path::PathBuf;
use wire::checksum::ChecksumError;

/// How the URLs of a list are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Order {
    /// In turn.
    RoundRobin,
    /// At random, uniformly.
    Random,
    /// Every one once, then the run ends.
    Once,
}

/// What is asked of a system's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Do {
    /// Their content.
    Cat,
    /// What is in a directory.
    Ls,
}

/// What is loaded, how much, for how long.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER, mut_arg("total", |flag| flag.hide_short_help(true)), mut_arg("count", |flag| flag.hide_short_help(true)), mut_arg("size", |flag| flag.hide_short_help(true)))]
pub struct Args {
    /// What to load, like http://host:port/path or s3://BUCKET/KEY; with --count or --total, where a dataset lies; with --as
    /// SYSTEM, a server and names.
    #[arg(value_name = "URL")]
    pub urls: Vec<String>,
    /// What all commands that make load have in common.
    #[command(flatten)]
    pub common: load::Args,
    /// Ask for a random range of this size each time, like 1MiB.
    #[arg(long, value_name = "SIZE")]
    pub range: Option<ByteSize>,
    /// Read URLs (with --as, names) from a file, one per line; - for standard input.
    #[arg(long, alias = "names", value_name = "FILE")]
    pub url_file: Option<PathBuf>,
    /// How URLs are taken.
    #[arg(long, value_enum, default_value = "round-robin", value_name = "ORDER")]
    pub order: Order,
    /// Compare every byte with what the dataset's objects hold; with --as gateway, check the hash of every block and that
    /// none is missing. What differs fails the run.
    #[arg(long)]
    pub verify: bool,
    /// Checksum that each whole body must have: sha256:HEX (also md5, sha1, crc32, crc32c, crc64nvme; or base64) for one
    /// object, etag for an ETag that is an MD5, checksum for the one that the answer tells (x-amz-checksum-*, Content-MD5,
    /// Digest; also in a trailer).
    #[arg(
        long,
        alias = "expect-hash",
        value_name = "HASH",
        value_parser = wanted,
        conflicts_with_all = ["verify", "range", "head"],
        hide_short_help = true
    )]
    pub expect: Option<Wanted>,
    /// The objects, where they are those of a dataset.
    #[command(flatten)]
    pub objects: dataset::Args,
    /// What bytes, sizes and directories of a dataset depend on.
    #[arg(long, value_name = "N", value_parser = load::seed, default_value = "1", hide_short_help = true)]
    pub dataset_seed: u64,
    /// How S3 is spoken.
    #[command(flatten)]
    pub s3: s3::Args,
    /// How a system is asked.
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
    /// Method to use, like HEAD, POST or OPTIONS.
    #[arg(short = 'm', long, value_name = "METHOD", help_heading = "Requests", hide_short_help = true)]
    pub method: Option<String>,
    /// Send HEAD requests.
    #[arg(short = 'I', long, conflicts_with = "method", help_heading = "Requests", hide_short_help = true)]
    pub head: bool,
    /// Request body from a file of at most 64 MiB; sent by POST, unless -m says otherwise.
    #[arg(long, value_name = "FILE", help_heading = "Requests", hide_short_help = true)]
    pub body_file: Option<PathBuf>,
    /// Ask for the range at this offset each time, instead of a random one.
    #[arg(long, value_name = "OFFSET", requires = "range", help_heading = "Requests", hide_short_help = true)]
    pub range_at: Option<ByteSize>,
    /// Size of the objects, so that no HEAD has to ask for it (with --range).
    #[arg(long, value_name = "SIZE", requires = "range", help_heading = "Requests", hide_short_help = true)]
    pub object_size: Option<ByteSize>,
}

const AFTER: &str =
    "A bare `plimsoll get URL` loads it for 10 s with 10 operations in flight. --help-all prints every flag.";

fn wanted(text: &str) -> Result<Wanted, String> {
    match text {
        "etag" => Ok(Wanted::Etag),
        "checksum" => Ok(Wanted::Told),
        _ => text
            .parse()
            .map(Wanted::Given)
            .map_err(|error: ChecksumError| format!("{error}; or write etag or checksum")),
    }
}

/// A command line of its own, for those who know what they want to ask for.
#[derive(clap::Parser, Debug)]
struct Alone {
    #[command(flatten)]
    args: Args,
}

impl Args {
    /// Reads `words` as a command line of `get`, the first of which is the command's name.
    pub fn of_line(words: &str) -> Result<Self, Failure> {
        Self::of_words(words.split(' ').map(str::to_owned))
    }

    /// Reads words as a command line of `get`, the first of which is the command's name.
    pub fn of_words(words: impl IntoIterator<Item = String>) -> Result<Self, Failure> {
        let alone = <Alone as clap::Parser>::try_parse_from(words);
        alone.map(|alone| alone.args).map_err(|error| Failure::usage(error.render()))
    }
}
