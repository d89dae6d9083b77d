//! The flags of `generate`, and the dataset that they describe.

use crate::failure::Failure;
use crate::load::dataset;
use crate::load::{self, count, seed};
use clap::ValueEnum;
use content::{Dataset, Names, Remainder};
use std::num::NonZeroU64;
use std::path::PathBuf;

/// The flags of `generate`.
#[derive(clap::Args, Debug)]
#[command(disable_help_flag = true, after_help = AFTER)]
pub struct Args {
    /// Directory for the files, which is created if necessary.
    #[arg(value_name = "DIR")]
    pub directory: PathBuf,
    /// The dataset.
    #[command(flatten)]
    pub objects: dataset::Args,
    #[command(flatten)]
    help: load::Help,
    /// Seed of bytes, sizes and directories.
    #[arg(long, value_name = "N", value_parser = seed, default_value = "1")]
    pub seed: u64,
    /// Number of threads [default: one per core].
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, allow_negative_numbers = true)]
    pub threads: Option<NonZeroU64>,
    /// Also compare existing files with the expected content.
    #[arg(long)]
    pub check: bool,
    /// Name the files as another tool does. With dummy-file-generator, names are PREFIX00000000.testfile, and the last
    /// file is not shortened to fit --total.
    #[arg(long, value_name = "TOOL", hide_possible_values = true, conflicts_with_all = ["count", "digits", "extension", "directories"])]
    pub like: Option<Like>,
}

/// Tools whose datasets can be generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Like {
    /// mtlynch/dummy_file_generator.
    DummyFileGenerator,
}

const AFTER: &str = "Run the same command again to complete an interrupted dataset. docs/content.md describes the content of the files.";

const THREADS_MAX: u64 = 1024;

impl Args {
    /// Returns the dataset that the flags describe.
    pub fn dataset(&self) -> Result<Dataset, Failure> {
        match self.like {
            None => self.objects.dataset(self.seed),
            Some(Like::DummyFileGenerator) => self.as_dummy_file_generator(),
        }
    }

    fn as_dummy_file_generator(&self) -> Result<Dataset, Failure> {
        let prefix = self.objects.prefix.as_deref().unwrap_or_default();
        let names =
            Names::new(prefix, 8, ".testfile", None).map_err(|error| Failure::usage(format!("--prefix: {error}")))?;
        let sizes = match &self.objects.size {
            Some(sizes) if sizes.as_fixed().is_some() => sizes.clone(),
            Some(sizes) => {
                return Err(Failure::usage(format!(
                    "--size {sizes}: the dummy file generator writes all files in one size; give a single size, such as 52428800 or 50MiB"
                )));
            }
            None => {
                return Err(Failure::usage(
                    "--like dummy-file-generator requires --size, in bytes or with a unit such as 50MiB (its --size_per_file)",
                ));
            }
        };
        self.objects.with(self.seed, sizes, names, Remainder::Whole)
    }

    /// Returns the number of threads.
    pub fn threads(&self) -> Result<u64, Failure> {
        let threads = self.threads.map_or(sys::limits::available_cores() as u64, NonZeroU64::get);
        if threads > THREADS_MAX {
            return Err(Failure::usage(format!("--threads {threads}: the maximum is {THREADS_MAX}")));
        }
        Ok(threads)
    }
}
