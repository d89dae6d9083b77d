//! Configuration of the stand-ins for siad and renterd, the two client programs ("renters") of the Sia network.

use std::fmt;
use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use measure::units::ByteSize;

/// Hastings per siacoin.
const SIACOIN: u128 = 1_000_000_000_000_000_000_000_000;

/// The configuration of a siad stand-in.
#[derive(Clone, PartialEq, Eq)]
pub struct Siad {
    /// The password of the API; `None` if no password is needed.
    pub password: Option<String>,
    /// The imitated version of siad, which determines the JSON of the stand-in.
    pub version: SiadVersion,
    /// Upload bandwidth to hosts in bytes per second, for all uploads together. Padding and redundant data use this
    /// bandwidth too.
    pub bandwidth: NonZeroU64,
    /// Time after the start at which the daemon is synced.
    pub sync_after: Duration,
    /// `true` if the wallet is locked when the daemon starts.
    pub locked: bool,
    /// Balance of the wallet, in hastings.
    pub wallet_hastings: u128,
    /// Maximum number of hosts that form contracts. The client's allowance can request fewer hosts.
    pub hosts: NonZeroU64,
    /// Time from the allowance until all contracts are formed.
    pub forming: Duration,
    /// Delay of every response, multiplied by the number of files that the daemon has.
    pub delay_per_file: Duration,
    /// Restarts of the daemon; `None` for no restarts.
    pub restarts: Option<Restarts>,
    /// Directory whose files clients can download after uploading them; `None` to disable downloads.
    pub sources: Option<PathBuf>,
    /// Length of the periods of a fault. In every second period, the reported spending on storage is 1 % too low, as in
    /// Sia's issue 2768. `None` for no such fault.
    pub falling_storage: Option<Duration>,
}

/// A version of siad. The fields of siad's JSON depend on the version.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum SiadVersion {
    /// Version 1.3.1, which the study used. The JSON of this version has the fields `contracts` and `StorageSpending`.
    V1_3_1,
    /// Version 1.3.7. The JSON of this version also has fields such as `activecontracts` and `storagespending`.
    #[default]
    V1_3_7,
}

/// Restarts of a daemon. During a restart, every request gets 503 and nothing is uploaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Restarts {
    /// Time from the start to the first restart, and from one restart to the next.
    pub every: Duration,
    /// Duration of each restart.
    pub length: Duration,
}

impl Default for Siad {
    /// Returns the configuration of a daemon that is ready. The daemon has 5,000 SC (as in the study), 50 hosts, and a
    /// bandwidth of 1 GB/s.
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

/// Omits the password, so that no log contains it.
impl fmt::Debug for Siad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Siad");
        shown.field("version", &self.version).field("bandwidth", &self.bandwidth).field("hosts", &self.hosts);
        shown.finish_non_exhaustive()
    }
}

/// The configuration of a renterd stand-in.
#[derive(Clone, PartialEq, Eq)]
pub struct Renterd {
    /// The password of the API. Every user name is accepted.
    pub password: String,
    /// Maximum number of bytes of objects and parts in memory.
    pub store_max: ByteSize,
    /// Time after the start at which the daemon is synced. Until then, uploads get 503.
    pub sync_after: Duration,
    /// Time after the start at which all contracts are formed.
    pub forming: Duration,
    /// Number of contracts, each with a different host. Uploads need as many contracts as a slab has shards.
    pub contracts: u64,
    /// Number of shards that are enough to restore a slab.
    pub min_shards: NonZeroU64,
    /// Total number of shards of a slab.
    pub total_shards: NonZeroU64,
    /// `true` to pack incomplete slabs of several objects into one slab.
    pub packing: bool,
    /// Balance of the wallet, in hastings.
    pub wallet_hastings: u128,
    /// A bucket that exists from the start. If this is `None`, the daemon starts without buckets, like a new renterd.
    pub bucket: Option<String>,
}

impl Default for Renterd {
    /// Returns the configuration of a daemon that is ready. Like renterd's own test cluster, the daemon has the
    /// redundancy of test networks, three hosts and no bucket.
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

/// Omits the password, so that no log contains it.
impl fmt::Debug for Renterd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Renterd");
        shown.field("store_max", &self.store_max).field("contracts", &self.contracts);
        shown.finish_non_exhaustive()
    }
}
