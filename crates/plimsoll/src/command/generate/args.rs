//! The flags of `generate`, and the dataset that they describe.

use crate::command::get::{count, seed};
use crate::failure::Failure;
use clap::ValueEnum;
use content::{Dataset, Description, Names, Remainder, Seed, Sizes};
use measure::units::ByteSize;
use std::num::{NonZeroU32, NonZeroU64};
use std::path::PathBuf;

/// What is written, and where.
#[derive(clap::Args, Debug)]
#[command(after_help = AFTER)]
pub struct Args {
    /// Where the files go; it is made when it is not there.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// Bytes of all files together; the last one is cut to fit.
    #[arg(long, value_name = "SIZE")]
    pub total: Option<ByteSize>,
    /// Number of files.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, allow_negative_numbers = true, conflicts_with = "total")]
    pub count: Option<NonZeroU64>,
    /// Size of each file, or how sizes are distributed [default: 1MiB].
    #[arg(long, value_name = "SIZES")]
    pub size: Option<Sizes>,
    /// What the bytes, the sizes and the directories depend on.
    #[arg(long, value_name = "N", value_parser = seed, default_value = "1")]
    pub seed: u64,
    /// Threads [default: one for each core].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, allow_negative_numbers = true)]
    pub threads: Option<NonZeroU64>,
    /// Look into the files that are there already: do they hold what they should?
    #[arg(long)]
    pub check: bool,
    /// Do as another tool does: dummy-file-generator (PREFIX00000000.testfile, the last file stays whole).
    #[arg(long, value_name = "TOOL", hide_possible_values = true, conflicts_with_all = ["count", "digits", "extension", "directories"])]
    pub like: Option<Like>,
    /// What names begin with; may have folders [default: object-].
    #[arg(long, value_name = "TEXT", help_heading = "Names")]
    pub prefix: Option<String>,
    /// Digits of the number in a name, at least.
    #[arg(long, value_name = "N", default_value = "8", help_heading = "Names")]
    pub digits: u8,
    /// What names end with.
    #[arg(long, value_name = "TEXT", default_value = ".bin", help_heading = "Names")]
    pub extension: String,
    /// Spread the files over so many directories, by a hash.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>, allow_negative_numbers = true, help_heading = "Names")]
    pub directories: Option<NonZeroU32>,
}

/// A tool whose datasets can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Like {
    /// mtlynch/dummy_file_generator.
    DummyFileGenerator,
}

const AFTER: &str = "SIZES: 1MiB · 4KiB..1MiB (uniform) · 1MiB,2MiB (in turn) · 64KiB:70,1MiB..8MiB:30 (by weight)
       loguniform:4KiB..1GiB · lognormal:median=1MiB,sigma=1.5,max=1GiB
The same command again completes what is missing. What the files hold: docs/content.md.";

const THREADS_MAX: u64 = 1024;
const DEFAULT_SIZE: ByteSize = ByteSize(1 << 20);
const DEFAULT_PREFIX: &str = "object-";

impl Args {
    /// The dataset that is asked for.
    pub fn dataset(&self) -> Result<Dataset, Failure> {
        let seed = Seed(self.seed);
        let names = self.names()?;
        let sizes = self.sizes()?;
        let remainder = if self.like.is_some() { Remainder::Whole } else { Remainder::Cut };
        match (self.total, self.count) {
            (Some(total), None) => Dataset::of_total(total, remainder, seed, sizes, names)
                .map_err(|error| Failure::usage(format!("--total: {error}"))),
            (None, Some(count)) => {
                Ok(Dataset::new(Description { seed, count: count.get(), sizes, names, last_bytes: None }))
            }
            _ => Err(Failure::usage("how much? Write --total 10GiB, or --count 1000 for a number of files")),
        }
    }

    fn names(&self) -> Result<Names, Failure> {
        let names = match self.like {
            Some(Like::DummyFileGenerator) => {
                Names::new(self.prefix.as_deref().unwrap_or_default(), 8, ".testfile", None)
            }
            None => {
                let prefix = self.prefix.as_deref().unwrap_or(DEFAULT_PREFIX);
                Names::new(prefix, self.digits, self.extension.as_str(), self.directories)
            }
        };
        names.map_err(|error| Failure::usage(format!("names of files: {error}")))
    }

    fn sizes(&self) -> Result<Sizes, Failure> {
        match (&self.size, self.like) {
            (Some(sizes), Some(Like::DummyFileGenerator)) if sizes.as_fixed().is_none() => {
                Err(Failure::usage(format!(
                    "--size {sizes}: the dummy file generator knows one size for all files, like 52428800 or 50MiB"
                )))
            }
            (None, Some(Like::DummyFileGenerator)) => Err(Failure::usage(
                "--like dummy-file-generator needs --size, in bytes or like 50MiB, as its --size_per_file",
            )),
            (Some(sizes), _) => Ok(sizes.clone()),
            (None, None) => Sizes::fixed(DEFAULT_SIZE).ok_or_else(|| Failure::usage("--size is missing")),
        }
    }

    /// How many threads write.
    pub fn threads(&self) -> Result<u64, Failure> {
        let threads = self.threads.map_or(sys::limits::available_cores() as u64, NonZeroU64::get);
        if threads > THREADS_MAX {
            return Err(Failure::usage(format!("--threads {threads}: at most {THREADS_MAX}")));
        }
        Ok(threads)
    }
}
