//! Contracts of a renter, and their totals.

use serde::Deserialize;
use serde::de::{Deserializer, Error};

use crate::amount::Hastings;
use crate::error::ParseError;
use crate::json;

/// Maximum number of contracts in one response.
const CONTRACTS_MAX: usize = 100_000;

/// `GET /renter/contracts`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Contracts {
    /// Contracts in use. Versions before 1.3.3 list all contracts here, as `contracts`.
    pub active: Vec<Contract>,
    /// Contracts that are not in use but have not ended. Empty unless the request has the parameter `inactive=true`.
    pub inactive: Vec<Contract>,
    /// Contracts that have ended. Empty unless the request has the parameter `expired=true`.
    pub expired: Vec<Contract>,
}

/// A contract with a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contract {
    /// The contract's ID.
    pub id: String,
    /// Bytes that the host stores for the contract.
    pub size_bytes: u64,
    /// The block height at which the contract ends.
    pub end_height: u64,
    /// Money that the wallet paid to form the contract, including fees.
    pub total_cost: Hastings,
    /// Fees for forming the contract: the host's fee, network fees, and the tax that is paid to owners of siafunds.
    pub fees: Hastings,
    /// Spent on storage.
    pub storage: Hastings,
    /// Spent on uploads.
    pub upload: Hastings,
    /// Spent on downloads.
    pub download: Hastings,
    /// Funds that are left.
    pub remaining: Hastings,
}

/// Totals over contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ContractTotals {
    /// The number of contracts.
    pub count: u64,
    /// Bytes that hosts store.
    pub size_bytes: u64,
    /// Money that the wallet paid to form the contracts.
    pub total_cost: Hastings,
    /// Fees for forming the contracts.
    pub fees: Hastings,
    /// Spent on storage.
    pub storage: Hastings,
    /// Spent on uploads.
    pub upload: Hastings,
    /// Spent on downloads.
    pub download: Hastings,
    /// Funds that are left.
    pub remaining: Hastings,
}

const REQUEST: &str = "GET /renter/contracts of siad";

impl Contracts {
    /// Parses the body of `GET /renter/contracts`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        let Wire { contracts, active, inactive, expired } = json::parse(REQUEST, body)?;
        let (inactive, expired) = (inactive.unwrap_or_default(), expired.unwrap_or_default());
        let Some(active) = active.or(contracts) else {
            return Err(ParseError::new(REQUEST, "missing field `activecontracts` (before siad 1.3.3: `contracts`)"));
        };
        Ok(Self { active, inactive, expired })
    }

    /// Returns the totals over active and inactive contracts, as in the study's collector.
    ///
    /// # Errors
    /// Returns an error if a sum is larger than any amount can be.
    pub fn totals(&self) -> Result<ContractTotals, ParseError> {
        let all = || self.active.iter().chain(&self.inactive);
        let sum = |part: fn(&Contract) -> Hastings| {
            Hastings::total(all().map(part))
                .ok_or_else(|| ParseError::new(REQUEST, "the sum of the amounts is too large"))
        };
        Ok(ContractTotals {
            count: all().count() as u64,
            size_bytes: all().fold(0, |sum, contract| sum.saturating_add(contract.size_bytes)),
            total_cost: sum(|contract| contract.total_cost)?,
            fees: sum(|contract| contract.fees)?,
            storage: sum(|contract| contract.storage)?,
            upload: sum(|contract| contract.upload)?,
            download: sum(|contract| contract.download)?,
            remaining: sum(|contract| contract.remaining)?,
        })
    }
}

/// The document of `GET /renter/contracts`. Version 1.3.1 has only `contracts`. Later versions list the same contracts
/// under several keys.
#[derive(Deserialize)]
struct Wire {
    #[serde(default, deserialize_with = "present")]
    contracts: Option<Vec<Contract>>,
    #[serde(default, rename = "activecontracts", deserialize_with = "present")]
    active: Option<Vec<Contract>>,
    #[serde(default, rename = "inactivecontracts", deserialize_with = "present")]
    inactive: Option<Vec<Contract>>,
    #[serde(default, rename = "expiredcontracts", deserialize_with = "present")]
    expired: Option<Vec<Contract>>,
}

/// Deserializes a list. `null` means an empty list, so the result is `None` only for an absent key.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Contract>>, D::Error> {
    json::list::<_, _, CONTRACTS_MAX>(deserializer).map(Some)
}

#[derive(Deserialize)]
struct WireContract {
    id: String,
    size: u64,
    #[serde(default)]
    endheight: u64,
    totalcost: Hastings,
    fees: Hastings,
    /// Sent since 1.3.2.
    storagespending: Option<Hastings>,
    /// The only name of the field until 1.3.1. Later versions send both names.
    #[serde(rename = "StorageSpending")]
    storage_spending_until_1_3_2: Option<Hastings>,
    uploadspending: Hastings,
    downloadspending: Hastings,
    renterfunds: Hastings,
}

impl<'de> Deserialize<'de> for Contract {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let wire = WireContract::deserialize(deserializer)?;
        let storage = wire.storagespending.or(wire.storage_spending_until_1_3_2);
        Ok(Self {
            id: wire.id,
            size_bytes: wire.size,
            end_height: wire.endheight,
            total_cost: wire.totalcost,
            fees: wire.fees,
            storage: storage.ok_or_else(|| D::Error::missing_field("storagespending"))?,
            upload: wire.uploadspending,
            download: wire.downloadspending,
            remaining: wire.renterfunds,
        })
    }
}
