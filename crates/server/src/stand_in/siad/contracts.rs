//! Costs of contracts, and spending from them. All amounts are in hastings.

use serde::Serialize;

/// Size of a sector, the unit that hosts store.
pub(super) const SECTOR_BYTES: u64 = 1 << 22;

/// Hastings per siacoin.
const SIACOIN: u128 = 1_000_000_000_000_000_000_000_000;
/// Price in hastings per byte of an upload: 5.57 SC per TB, the price in the study.
const UPLOAD_BYTE: u128 = 5_570_000_000_000;
/// Price in hastings per byte of a download: 25 SC per TB.
const DOWNLOAD_BYTE: u128 = 25_000_000_000_000;
/// Price in hastings per byte and block of storage: 60 SC per TB and month of 4,320 blocks.
const STORAGE_BYTE_BLOCK: u128 = 60_000_000_000_000 / MONTH_BLOCKS;
const MONTH_BLOCKS: u128 = 4_320;
/// The fees of the host and of the network for each contract: 3 SC.
const CONTRACT_FEE: u128 = 3 * SIACOIN;
/// The tax on a contract, paid to the holders of siafunds, in thousandths.
const TAX_PERMILLE: u128 = 39;
/// The redundancy assumed in price estimates.
const ESTIMATED_REDUNDANCY: u128 = 3;
const TERABYTE: u128 = 1_000_000_000_000;

/// The terms that all contracts of an allowance share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Terms {
    /// The wallet's payment for each contract.
    pub(super) cost: u128,
    /// The length of the contracts, in blocks.
    pub(super) period_blocks: u64,
}

/// The accounting of one contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) sectors: u64,
    pub(super) fees: u128,
    pub(super) storage: u128,
    pub(super) upload: u128,
    pub(super) download: u128,
    pub(super) remaining: u128,
}

/// Price estimates for 1 TB.
#[derive(Debug, Serialize)]
pub(super) struct Prices {
    #[serde(serialize_with = "hastings")]
    downloadterabyte: u128,
    #[serde(serialize_with = "hastings")]
    formcontracts: u128,
    #[serde(serialize_with = "hastings")]
    storageterabytemonth: u128,
    #[serde(serialize_with = "hastings")]
    uploadterabyte: u128,
}

/// Serializes an amount in the format of the API.
pub(super) fn hastings<S: serde::Serializer>(amount: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

impl Prices {
    pub(super) fn estimate(hosts: u64) -> Self {
        Self {
            downloadterabyte: DOWNLOAD_BYTE * TERABYTE,
            formcontracts: CONTRACT_FEE * u128::from(hosts),
            storageterabytemonth: STORAGE_BYTE_BLOCK * MONTH_BLOCKS * TERABYTE * ESTIMATED_REDUNDANCY,
            uploadterabyte: UPLOAD_BYTE * TERABYTE * ESTIMATED_REDUNDANCY,
        }
    }
}

impl Terms {
    /// Returns the fees for forming a contract.
    pub(super) fn fees(self) -> u128 {
        (CONTRACT_FEE + self.cost / 1000 * TAX_PERMILLE).min(self.cost)
    }

    /// Returns the maximum number of sectors that a contract can pay for.
    pub(super) fn sectors_max(self) -> u64 {
        u64::try_from((self.cost - self.fees()) / self.sector_cost()).unwrap_or(u64::MAX)
    }

    fn sector_storage(self) -> u128 {
        STORAGE_BYTE_BLOCK * u128::from(SECTOR_BYTES) * u128::from(self.period_blocks)
    }

    fn sector_cost(self) -> u128 {
        self.sector_storage() + UPLOAD_BYTE * u128::from(SECTOR_BYTES)
    }

    /// Returns the accounting of a contract with this number of sectors and downloaded bytes. Downloads are limited by
    /// the contract's funds. The parts always add up to the cost.
    pub(super) fn account(self, sectors: u64, downloaded_bytes: u64) -> Account {
        let sectors = sectors.min(self.sectors_max());
        let storage = self.sector_storage() * u128::from(sectors);
        let upload = UPLOAD_BYTE * u128::from(SECTOR_BYTES) * u128::from(sectors);
        let left = self.cost - self.fees() - storage - upload;
        let download = (DOWNLOAD_BYTE * u128::from(downloaded_bytes)).min(left);
        Account { sectors, fees: self.fees(), storage, upload, download, remaining: left - download }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_parts_of_a_contract_add_up(
            cost in 0..10_000 * SIACOIN,
            period_blocks in 1..100_000_u64,
            sectors in any::<u64>(),
            downloaded in any::<u64>(),
        ) {
            let Account { fees, storage, upload, download, remaining, .. } =
                Terms { cost, period_blocks }.account(sectors, downloaded);
            prop_assert_eq!(fees + storage + upload + download + remaining, cost);
        }
    }
}
