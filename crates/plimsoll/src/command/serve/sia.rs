//! The flags of `serve` for the stand-ins of Sia's renters.

use crate::failure::Failure;
use crate::load::{count, span};
use crate::secret_reference::expand;
use clap::ValueEnum;
use measure::units::ByteSize;
use server::{Renterd, Restarts, Siad, SiadVersion};
use std::num::NonZeroU64;
use std::path::Path;
use std::time::Duration;

/// Default password of the renterd stand-in on loopback.
pub const PASSWORD: &str = "plimsoll";

/// Stand-ins of Sia's renters.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "Clusters and stand-ins")]
pub struct SiaArgs {
    /// siad, renterd: password of the API; also @FILE or ${ENV} [default: none for siad, plimsoll for renterd on
    /// loopback].
    #[arg(long, value_name = "PASSWORD", hide_short_help = true)]
    pub api_password: Option<String>,
    /// siad, renterd: time until the daemon is synced [default: 0s].
    #[arg(long, value_name = "TIME", value_parser = span, hide_short_help = true)]
    pub sync_after: Option<Duration>,
    /// siad, renterd: time until all contracts are formed [default: 0s].
    #[arg(long, value_name = "TIME", value_parser = span, hide_short_help = true)]
    pub forming: Option<Duration>,
    /// siad, renterd: number of hosts that form contracts [default: 50 for siad, 3 for renterd].
    #[arg(long = "sia-hosts", value_name = "N", value_parser = count::<NonZeroU64>, hide_short_help = true)]
    pub hosts: Option<NonZeroU64>,
    /// siad: speed of uploads to hosts, in bytes per second with padding and redundancy [default: 1GB].
    #[arg(long, value_name = "SIZE", hide_short_help = true)]
    pub bandwidth: Option<ByteSize>,
    /// siad: version to imitate, which determines the JSON of responses [default: 1.3.7].
    #[arg(long, value_name = "VERSION", hide_short_help = true)]
    pub siad_version: Option<Version>,
    /// siad: begin with a locked wallet.
    #[arg(long, hide_short_help = true)]
    pub locked: bool,
    /// siad: delay each response by this time, multiplied by the number of files.
    #[arg(long, value_name = "TIME", value_parser = span, hide_short_help = true)]
    pub delay_per_file: Option<Duration>,
    /// siad: restart at this interval. Each restart takes 10s, or the time after a colon: with 1h:30s, 30s every hour.
    #[arg(long, value_name = "TIME[:TIME]", value_parser = restarts, hide_short_help = true)]
    pub restart_every: Option<Restarts>,
    /// siad: report 1% less spending on storage than it should, during every second interval of this length.
    #[arg(long, value_name = "TIME", value_parser = span, hide_short_help = true)]
    pub falling_storage: Option<Duration>,
    /// renterd: minimum and total number of shards of a slab [default: 2:3].
    #[arg(long, value_name = "MIN:TOTAL", value_parser = shards, hide_short_help = true)]
    pub shards: Option<(NonZeroU64, NonZeroU64)>,
    /// renterd: store each object in its own slabs.
    #[arg(long, hide_short_help = true)]
    pub no_packing: bool,
}

/// Versions of siad.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Version {
    /// The version that the load test of 2018 used.
    #[value(name = "1.3.1")]
    V1_3_1,
    /// The last version of 2018.
    #[value(name = "1.3.7")]
    V1_3_7,
}

/// Default length of a restart.
const RESTART: Duration = Duration::from_secs(10);

fn restarts(text: &str) -> Result<Restarts, String> {
    let (every, length) = match text.split_once(':') {
        Some((every, length)) => (span(every)?, span(length)?),
        None => (span(text)?, RESTART),
    };
    if every <= length {
        return Err(format!("the interval in `{text}` must be longer than a restart ({length:?})"));
    }
    Ok(Restarts { every, length })
}

fn shards(text: &str) -> Result<(NonZeroU64, NonZeroU64), String> {
    let invalid = || format!("`{text}` is not a pair of numbers such as 10:30");
    let (min, total) = text.split_once(':').ok_or_else(invalid)?;
    let (min, total): (NonZeroU64, NonZeroU64) =
        (min.parse().map_err(|_| invalid())?, total.parse().map_err(|_| invalid())?);
    if min > total || total.get() > 255 {
        return Err(format!("the total in `{text}` must be at least the minimum, and at most 255"));
    }
    Ok((min, total))
}

impl SiaArgs {
    /// Returns the flags that the user set, in three groups: flags of both systems, of siad only, and of renterd only.
    pub fn given(&self) -> [Vec<&'static str>; 3] {
        let names = |flags: &[(&'static str, bool)]| {
            flags.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect::<Vec<_>>()
        };
        let both = [
            ("--api-password", self.api_password.is_some()),
            ("--sync-after", self.sync_after.is_some()),
            ("--forming", self.forming.is_some()),
            ("--sia-hosts", self.hosts.is_some()),
        ];
        let siad = [
            ("--bandwidth", self.bandwidth.is_some()),
            ("--siad-version", self.siad_version.is_some()),
            ("--locked", self.locked),
            ("--delay-per-file", self.delay_per_file.is_some()),
            ("--restart-every", self.restart_every.is_some()),
            ("--falling-storage", self.falling_storage.is_some()),
        ];
        let renterd = [("--shards", self.shards.is_some()), ("--no-packing", self.no_packing)];
        [names(&both), names(&siad), names(&renterd)]
    }

    /// Returns the siad stand-in that the flags describe. Clients can download only files that were uploaded from below
    /// `directory`.
    pub fn siad(&self, directory: Option<&Path>) -> Result<Siad, Failure> {
        let usual = Siad::default();
        let bandwidth = match self.bandwidth {
            Some(size) => {
                NonZeroU64::new(size.0).ok_or_else(|| Failure::usage("--bandwidth 0: the size must be above 0"))?
            }
            None => usual.bandwidth,
        };
        let password = self.api_password.as_ref().map(|text| expand(text, "--api-password")).transpose()?;
        Ok(Siad {
            password,
            version: match self.siad_version {
                Some(Version::V1_3_1) => SiadVersion::V1_3_1,
                Some(Version::V1_3_7) | None => SiadVersion::V1_3_7,
            },
            bandwidth,
            sync_after: self.sync_after.unwrap_or_default(),
            locked: self.locked,
            hosts: self.hosts.unwrap_or(usual.hosts),
            forming: self.forming.unwrap_or_default(),
            delay_per_file: self.delay_per_file.unwrap_or_default(),
            restarts: self.restart_every,
            falling_storage: self.falling_storage,
            sources: directory.map(Path::to_owned),
            ..usual
        })
    }

    /// Returns the renterd stand-in that the flags describe, with an empty bucket if `bucket` is given. `local` is
    /// `true` if only this host can reach it.
    pub fn renterd(
        &self,
        store_max: Option<ByteSize>,
        bucket: Option<String>,
        local: bool,
    ) -> Result<Renterd, Failure> {
        let usual = Renterd::default();
        let password = match &self.api_password {
            Some(text) => expand(text, "--api-password")?,
            None if local => PASSWORD.to_owned(),
            None => {
                let why = "because other hosts can reach this address";
                return Err(Failure::usage(format!("--as renterd needs --api-password, {why}")));
            }
        };
        let (min_shards, total_shards) = self.shards.unwrap_or((usual.min_shards, usual.total_shards));
        let contracts = self.hosts.map_or_else(|| usual.contracts.max(total_shards.get()), NonZeroU64::get);
        Ok(Renterd {
            password,
            store_max: store_max.unwrap_or(usual.store_max),
            sync_after: self.sync_after.unwrap_or_default(),
            forming: self.forming.unwrap_or_default(),
            contracts,
            min_shards,
            total_shards,
            packing: !self.no_packing,
            bucket,
            ..usual
        })
    }
}
