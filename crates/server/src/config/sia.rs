//! Settings of the stand-ins of Sia's two renters.

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use measure::units::ByteSize;

/// Hastings per siacoin.
const SIACOIN: u128 = 1_000_000_000_000_000_000_000_000;

/// The settings of a siad stand-in.
#[derive(Clone, PartialEq, Eq)]
pub struct Siad {
    /// The password of the API; `None` for none.
    pub password: Option<String>,
    /// The version whose JSON it speaks.
    pub version: SiadVersion,
    /// Bytes per second to hosts, padding and redundancy included, for all uploads together.
    pub bandwidth: NonZeroU64,
    /// The time until the daemon is synced.
    pub sync_after: Duration,
    /// Whether the wallet is locked at first.
    pub locked: bool,
    /// The money in the wallet, in hastings.
    pub wallet_hastings: u128,
    /// Hosts that form contracts. An allowance can ask for fewer.
    pub hosts: NonZeroU64,
    /// The time from the allowance until all contracts are formed.
    pub forming: Duration,
    /// How much later a response begins for each file.
    pub delay_per_file: Duration,
    /// Restarts of the daemon.
    pub restarts: Option<Restarts>,
    /// The directory whose files clients can download after they were uploaded; `None` for no downloads.
    pub sources: Option<PathBuf>,
    /// The length of periods in every second of which 1 % of the spending on storage is missing, as in Sia's issue
    /// 2768.
    pub falling_storage: Option<Duration>,
}

/// Versions of siad whose JSON differs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SiadVersion {
    /// 1.3.1, which the study used: `contracts`, `StorageSpending`.
    V1_3_1,
    /// 1.3.7: `activecontracts` and others, `storagespending` as well.
    #[default]
    V1_3_7,
}

/// Restarts of a daemon, during which every request gets 503 and nothing is uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restarts {
    /// The time from one restart to the next, and from the start to the first.
    pub every: Duration,
    /// How long each takes.
    pub length: Duration,
}

impl Default for Siad {
    /// Returns a daemon that is ready, with 5,000 SC as in the study, 50 hosts and 1 GB/s to them.
    fn default() -> Self {
        Self {
            password: None,
            version: SiadVersion::default(),
            bandwidth: NonZeroU64::new(1_000_000_000).unwrap_or(NonZeroU64::MIN),
            sync_after: Duration::ZERO,
            locked: false,
            wallet_hastings: 5_000 * SIACOIN,
            hosts: NonZeroU64::new(50).unwrap_or(NonZeroU64::MIN),
            forming: Duration::ZERO,
            delay_per_file: Duration::ZERO,
            restarts: None,
            sources: None,
            falling_storage: None,
        }
    }
}

/// Leaves the password out, so that it is in no log.
impl fmt::Debug for Siad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Siad");
        shown.field("version", &self.version).field("bandwidth", &self.bandwidth).field("hosts", &self.hosts);
        shown.finish_non_exhaustive()
    }
}

/// The settings of a renterd stand-in.
#[derive(Clone, PartialEq, Eq)]
pub struct Renterd {
    /// The password of the API. Any user name goes with it.
    pub password: String,
    /// The most bytes of objects and parts in memory.
    pub store_max: ByteSize,
    /// The time until the daemon is synced. Uploads get 503 before that.
    pub sync_after: Duration,
    /// The time until all contracts are formed.
    pub forming: Duration,
    /// Contracts, each with another host. Uploads need as many as a slab has shards.
    pub contracts: u64,
    /// Shards that restore a slab.
    pub min_shards: NonZeroU64,
    /// All shards of a slab.
    pub total_shards: NonZeroU64,
    /// Whether the ends of objects share slabs.
    pub packing: bool,
    /// The money in the wallet, in hastings.
    pub wallet_hastings: u128,
    /// A bucket that exists from the start; a new renterd has none.
    pub bucket: Option<String>,
}

impl Default for Renterd {
    /// Returns a daemon that is ready, with the redundancy of test networks, three hosts and no bucket, as renterd's
    /// own test cluster.
    fn default() -> Self {
        Self {
            password: "test".to_owned(),
            store_max: ByteSize(1 << 30),
            sync_after: Duration::ZERO,
            forming: Duration::ZERO,
            contracts: 3,
            min_shards: NonZeroU64::new(2).unwrap_or(NonZeroU64::MIN),
            total_shards: NonZeroU64::new(3).unwrap_or(NonZeroU64::MIN),
            packing: true,
            wallet_hastings: 5_000 * SIACOIN,
            bucket: None,
        }
    }
}

/// Leaves the password out, so that it is in no log.
impl fmt::Debug for Renterd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Renterd");
        shown.field("store_max", &self.store_max).field("contracts", &self.contracts);
        shown.finish_non_exhaustive()
    }
}
