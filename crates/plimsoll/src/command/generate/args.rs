//! The flags of `generate`, and the dataset that they describe.

use crate::command::dataset;
use crate::command::load::{self, count, seed};
use crate::failure::Failure;
use clap::ValueEnum;
use content::{Dataset, Names, Remainder};
use std::num::NonZeroU64;
use std::path::PathBuf;

/// What is written, and where.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
pub struct Args {
    /// Where the files go; it is made when it is not there.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// The files.
    #[command(flatten)]
    pub objects: dataset::Args,
    #[command(flatten)]
    help: load::Help,
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
}

/// A tool whose datasets can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Like {
    /// mtlynch/dummy_file_generator.
    DummyFileGenerator,
}

const AFTER: &str = "The same command again completes what is missing. What the files hold: docs/content.md.";

const THREADS_MAX: u64 = 1024;

impl Args {
    /// The dataset that is asked for.
    pub fn dataset(&self) -> Result<Dataset, Failure> {
        match self.like {
            None => self.objects.dataset(self.seed),
            Some(Like::DummyFileGenerator) => self.as_dummy_file_generator(),
        }
    }

    fn as_dummy_file_generator(&self) -> Result<Dataset, Failure> {
        let prefix = self.objects.prefix.as_deref().unwrap_or_default();
        let names = Names::new(prefix, 8, ".testfile", None)
            .map_err(|error| Failure::usage(format!("names of files: {error}")))?;
        let sizes = match &self.objects.size {
            Some(sizes) if sizes.as_fixed().is_some() => sizes.clone(),
            Some(sizes) => {
                return Err(Failure::usage(format!(
                    "--size {sizes}: the dummy file generator knows one size for all files, like 52428800 or 50MiB"
                )));
            }
            None => {
                return Err(Failure::usage(
                    "--like dummy-file-generator needs --size, in bytes or like 50MiB, as its --size_per_file",
                ));
            }
        };
        self.objects.with(self.seed, sizes, names, Remainder::Whole)
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
