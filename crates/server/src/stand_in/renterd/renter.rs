//! Slabs, contracts and money, counted as if the objects were stored on hosts of the Sia network. Amounts are in
//! hastings.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use super::documents::{Contract, ContractMetric, SlabBuffer, Spending, UploadStats, Uploader, Wallet};
use super::since;
use crate::config::sia::Renterd;

/// Size of a shard, which is one sector of a host.
pub(super) const SHARD_BYTES: u64 = 1 << 22;
/// Hastings per siacoin.
const SIACOIN: u128 = 1_000_000_000_000_000_000_000_000;
/// A host's fee for a contract: 0.2 SC.
const CONTRACT_PRICE: u128 = SIACOIN / 5;
/// Funds of a new contract: 500 SC.
const CONTRACT_FUNDS: u128 = 500 * SIACOIN;
/// Money that each contract initially moves to a prepaid account: 1 SC.
const ACCOUNT_FUNDS: u128 = SIACOIN;
/// Price in hastings per byte of an upload, including storage for six weeks: 90 SC per TB.
const UPLOAD_BYTE: u128 = 90_000_000_000_000;
/// Price in hastings per byte of a download: 25 SC per TB.
const DOWNLOAD_BYTE: u128 = 25_000_000_000_000;
/// The block height when the daemon starts.
const FIRST_HEIGHT: u64 = 500_000;
const MISSING_BLOCKS: u64 = 1_000;
const BLOCK: Duration = Duration::from_secs(600);

/// The shards of a slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Redundancy {
    /// Number of shards that are enough to restore a slab, at least 1.
    pub(super) min_shards: u64,
    pub(super) total_shards: u64,
}

impl Redundancy {
    /// Returns the number of object bytes in a slab.
    fn slab_bytes(self) -> u64 {
        self.min_shards * SHARD_BYTES
    }

    /// Returns the number of shards for content. With packing, only full slabs count. Without packing, an incomplete
    /// last slab counts too.
    fn shards_of(self, bytes: u64, packing: bool) -> u64 {
        let slabs = if packing { bytes / self.slab_bytes() } else { bytes.div_ceil(self.slab_bytes()) };
        slabs * self.total_shards
    }
}

/// The state of the renter.
#[derive(Debug)]
pub(super) struct Renter {
    pub(super) config: Renterd,
    started: Duration,
    /// Settings from a client, which replace the default ones.
    pub(super) autopilot: Option<serde_json::Value>,
    pub(super) redundancy: Redundancy,
    pub(super) packing: bool,
    /// Shards on hosts. The number includes the shards of deleted objects, because nothing is pruned.
    shards_paid: u64,
    /// Shards of slabs that existing objects use.
    shards_used: u64,
    /// Bytes of incomplete slabs, which wait to be packed into full slabs.
    waiting_bytes: BTreeMap<Redundancy, u64>,
    downloaded_bytes: u64,
    /// IDs of uploads whose parts need no offset, because the client disabled encryption.
    pub(super) plain_uploads: HashSet<String>,
}

impl Renter {
    pub(super) fn new(config: Renterd, started: Duration) -> Self {
        let (min_shards, total_shards) = (config.min_shards.get(), config.total_shards.get());
        Self {
            redundancy: Redundancy { min_shards, total_shards },
            packing: config.packing,
            config,
            started,
            autopilot: None,
            shards_paid: 0,
            shards_used: 0,
            waiting_bytes: BTreeMap::new(),
            downloaded_bytes: 0,
            plain_uploads: HashSet::new(),
        }
    }

    pub(super) fn is_synced(&self) -> bool {
        since(self.started) >= self.config.sync_after
    }

    pub(super) fn height(&self) -> u64 {
        let height = FIRST_HEIGHT + since(self.started).as_secs() / BLOCK.as_secs();
        if self.is_synced() { height } else { height - MISSING_BLOCKS }
    }

    /// Returns the number of contracts formed so far.
    fn contract_count(&self) -> u64 {
        let (passed, all) = (since(self.started).as_nanos(), self.config.forming.as_nanos());
        if passed >= all {
            return self.config.contracts;
        }
        u64::try_from(u128::from(self.config.contracts) * passed / all).unwrap_or(u64::MAX)
    }

    /// Returns the status and message for an upload that cannot be carried out; `None` if it can.
    pub(super) fn upload_refusal(&self, redundancy: Redundancy) -> Option<(u16, String)> {
        if !self.is_synced() {
            return Some((503, "consensus is not synced".to_owned()));
        }
        let Redundancy { min_shards, total_shards } = redundancy;
        let problem = match () {
            () if min_shards < 1 => "MinShards must be greater than 0",
            () if total_shards < min_shards => "TotalShards must be at least MinShards",
            () if total_shards > 255 => "TotalShards must be less than 256",
            () if self.contract_count() < total_shards => {
                return Some((500, "not enough hosts to support requested upload redundancy".to_owned()));
            }
            () => return None,
        };
        Some((400, format!("invalid redundancy settings: {problem}")))
    }

    /// Records stored content. Full slabs go to hosts at once. The rest waits for packing.
    pub(super) fn note_upload(&mut self, bytes: u64, redundancy: Redundancy) {
        let mut shards = redundancy.shards_of(bytes, self.packing);
        if self.packing {
            let waiting = self.waiting_bytes.entry(redundancy).or_default();
            *waiting += bytes % redundancy.slab_bytes();
            shards += redundancy.shards_of(*waiting, true);
            *waiting %= redundancy.slab_bytes();
        }
        self.shards_paid = self.shards_paid.saturating_add(shards);
        self.shards_used = self.shards_used.saturating_add(shards);
    }

    /// Returns the incomplete slabs that wait for more content.
    pub(super) fn slab_buffers(&self) -> Vec<SlabBuffer> {
        let waiting = self.waiting_bytes.iter().filter(|(_, bytes)| **bytes > 0);
        let buffer = |(Redundancy { min_shards, total_shards }, bytes): (&Redundancy, &u64)| {
            SlabBuffer::new(format!("{min_shards}-{total_shards}-buffer"), *bytes, min_shards * SHARD_BYTES)
        };
        waiting.map(buffer).collect()
    }

    /// Records deleted content. Slabs that the content shares with other objects stay.
    pub(super) fn note_deletion(&mut self, bytes: u64) {
        self.shards_used = self.shards_used.saturating_sub(self.redundancy.shards_of(bytes, self.packing));
    }

    pub(super) fn note_download(&mut self, bytes: u64) {
        self.downloaded_bytes = self.downloaded_bytes.saturating_add(bytes);
    }

    /// Returns the number of bytes in the slabs that objects use, with redundancy.
    pub(super) fn sectors_bytes(&self) -> u64 {
        self.shards_used.saturating_mul(SHARD_BYTES)
    }

    /// Returns the size of all contracts.
    pub(super) fn contracts_bytes(&self) -> u64 {
        self.shards_paid.saturating_mul(SHARD_BYTES)
    }

    pub(super) fn contracts(&self) -> Vec<Contract> {
        let count = self.contract_count();
        let share = |all: u64, index: u64| all / count + u64::from(index < all % count);
        let contract = |index: u64| {
            let bytes = share(self.shards_paid, index) * SHARD_BYTES;
            let spending = Spending {
                uploads: UPLOAD_BYTE * u128::from(bytes),
                fund_account: ACCOUNT_FUNDS + DOWNLOAD_BYTE * u128::from(share(self.downloaded_bytes, index)),
                deletions: 0,
                sector_roots: 0,
            };
            Contract::new(index, bytes, FIRST_HEIGHT, CONTRACT_PRICE, CONTRACT_FUNDS, spending)
        };
        (0..count).map(contract).collect()
    }

    /// Returns the totals over contracts, in the form of the series of metrics.
    pub(super) fn contract_metric(&self, timestamp: String) -> ContractMetric {
        let contracts = self.contracts();
        let sum = |part: fn(&Spending) -> u128| contracts.iter().map(|contract| part(&contract.spending)).sum::<u128>();
        let (uploads, accounts) = (sum(|spending| spending.uploads), sum(|spending| spending.fund_account));
        let funds = CONTRACT_FUNDS * contracts.len() as u128;
        ContractMetric::new(timestamp, funds.saturating_sub(uploads + accounts), uploads, accounts)
    }

    pub(super) fn wallet(&self) -> Wallet {
        let spent = (CONTRACT_PRICE + CONTRACT_FUNDS) * u128::from(self.contract_count());
        let left = self.config.wallet_hastings.saturating_sub(spent);
        Wallet::new(left, self.height())
    }

    pub(super) fn upload_stats(&self) -> UploadStats {
        let count = self.contract_count();
        let uploaders = (0..count).map(Uploader::new).collect();
        UploadStats {
            avg_slab_upload_speed_mbps: 0.0,
            avg_overdrive_pct: 0.0,
            healthy_uploaders: count,
            num_uploaders: count,
            uploaders_stats: Some(uploaders).filter(|list: &Vec<Uploader>| !list.is_empty()),
        }
    }

    pub(super) fn download_stats(&self) -> serde_json::Value {
        let count = self.contract_count();
        serde_json::json!({
            "avgDownloadSpeedMbps": 0,
            "avgOverdrivePct": 0,
            "healthyDownloaders": count,
            "numDownloaders": count,
            "downloadersStats": null,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLAB: u64 = 2 * SHARD_BYTES;

    #[test]
    fn ends_of_objects_share_slabs() {
        let mut renter = Renter::new(Renterd::default(), sys::clock::monotonic());
        let redundancy = renter.redundancy;
        renter.note_upload(SLAB / 2, redundancy);
        assert_eq!((renter.sectors_bytes(), renter.contracts_bytes()), (0, 0));
        renter.note_upload(SLAB * 3 / 2 + 5, redundancy);
        assert_eq!(renter.sectors_bytes(), 2 * 3 * SHARD_BYTES);
        renter.packing = false;
        renter.note_upload(1, redundancy);
        assert_eq!(renter.sectors_bytes(), 3 * 3 * SHARD_BYTES);
    }

    #[test]
    fn contracts_keep_what_is_deleted() {
        let mut renter = Renter::new(Renterd::default(), sys::clock::monotonic());
        renter.note_upload(4 * SLAB + 1, renter.redundancy);
        renter.note_deletion(4 * SLAB + 1);
        assert_eq!((renter.sectors_bytes(), renter.contracts_bytes()), (0, 12 * SHARD_BYTES));
        let spent: u128 = renter.contracts().iter().map(|contract| contract.spending.uploads).sum();
        assert_eq!(spent, UPLOAD_BYTE * u128::from(12 * SHARD_BYTES));
    }

    #[test]
    fn uploads_need_a_chain_and_contracts() {
        let never = Duration::from_secs(1 << 40);
        let renter = |config| Renter::new(config, sys::clock::monotonic());
        let refusal = |renter: &Renter| renter.upload_refusal(renter.redundancy).map(|(status, _)| status);
        assert_eq!(refusal(&renter(Renterd::default())), None);
        assert_eq!(refusal(&renter(Renterd { sync_after: never, ..Renterd::default() })), Some(503));
        assert_eq!(refusal(&renter(Renterd { forming: never, ..Renterd::default() })), Some(500));
        let odd = Redundancy { min_shards: 3, total_shards: 2 };
        let (status, message) = renter(Renterd::default()).upload_refusal(odd).unwrap();
        assert_eq!((status, &*message), (400, "invalid redundancy settings: TotalShards must be at least MinShards"));
    }
}
