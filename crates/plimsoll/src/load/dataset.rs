//! The flags that describe a dataset: the number, sizes and names of its objects.

use super::count;
use crate::failure::Failure;
use content::{Dataset, Description, Names, Remainder, Seed, Sizes};
use measure::units::ByteSize;
use std::num::{NonZeroU32, NonZeroU64};

/// The objects of a dataset.
#[derive(clap::Args, Debug)]
#[group(skip)]
pub struct Args {
    /// Total size of all objects; the last object is shortened to fit.
    #[arg(long, value_name = "SIZE")]
    pub total: Option<ByteSize>,
    /// Number of objects.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU64>, allow_negative_numbers = true, conflicts_with = "total")]
    pub count: Option<NonZeroU64>,
    /// Size of each object, or a distribution of sizes [default: 1MiB].
    ///
    /// 1MiB · 4KiB..1MiB (uniform) · 1MiB,2MiB (in turn) · 64KiB:70,1MiB..8MiB:30 (by weight) · loguniform:4KiB..1GiB ·
    /// lognormal:median=1MiB,sigma=1.5,max=1GiB
    #[arg(long, value_name = "SIZES")]
    pub size: Option<Sizes>,
    /// Prefix of all names, which may contain folders [default: object-].
    #[arg(long, value_name = "TEXT", help_heading = "Names", hide_short_help = true)]
    pub prefix: Option<String>,
    /// Pad the number in each name with zeros to this many digits.
    #[arg(long, value_name = "N", default_value = "8", help_heading = "Names", hide_short_help = true)]
    pub digits: u8,
    /// Extension of all names.
    #[arg(long, value_name = "TEXT", default_value = ".bin", help_heading = "Names", hide_short_help = true)]
    pub extension: String,
    /// Spread the objects over this many directories, chosen by the seed and the object's number.
    #[arg(long, value_name = "N", value_parser = count::<NonZeroU32>, allow_negative_numbers = true, help_heading = "Names", hide_short_help = true)]
    pub directories: Option<NonZeroU32>,
}

const DEFAULT_SIZE: ByteSize = ByteSize(1 << 20);
const DEFAULT_PREFIX: &str = "object-";

impl Args {
    /// Returns whether the flags describe a dataset.
    pub fn is_given(&self) -> bool {
        self.total.is_some() || self.count.is_some()
    }

    /// Returns the dataset. `seed` determines the bytes of the objects.
    pub fn dataset(&self, seed: u64) -> Result<Dataset, Failure> {
        self.with(seed, self.sizes()?, self.names()?, Remainder::Cut)
    }

    /// Returns the dataset, or a dataset of one object if the flags describe none.
    pub fn dataset_or_one_object(&self, seed: u64) -> Result<Dataset, Failure> {
        if self.is_given() {
            return self.dataset(seed);
        }
        let (seed, sizes, names) = (Seed(seed), self.sizes()?, self.names()?);
        Ok(Dataset::new(Description { seed, count: 1, sizes, names, last_bytes: None }))
    }

    fn sizes(&self) -> Result<Sizes, Failure> {
        match &self.size {
            Some(sizes) => Ok(sizes.clone()),
            None => Sizes::fixed(DEFAULT_SIZE).ok_or_else(|| Failure::usage("--size is missing")),
        }
    }

    /// Returns a dataset with these sizes and names.
    pub fn with(&self, seed: u64, sizes: Sizes, names: Names, remainder: Remainder) -> Result<Dataset, Failure> {
        let seed = Seed(seed);
        match (self.total, self.count) {
            (Some(total), None) => Dataset::of_total(total, remainder, seed, sizes, names)
                .map_err(|error| Failure::usage(format!("--total: {error}"))),
            (None, Some(count)) => {
                Ok(Dataset::new(Description { seed, count: count.get(), sizes, names, last_bytes: None }))
            }
            _ => {
                Err(Failure::usage("no dataset described: use --total 10GiB, or --count 1000 for a number of objects"))
            }
        }
    }

    fn names(&self) -> Result<Names, Failure> {
        let prefix = self.prefix.as_deref().unwrap_or(DEFAULT_PREFIX);
        let names = Names::new(prefix, self.digits, self.extension.as_str(), self.directories);
        names.map_err(|error| Failure::usage(format!("--prefix, --digits or --extension: {error}")))
    }
}
