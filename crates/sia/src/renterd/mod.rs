//! renterd's API, version 2.9.
//!
//! Amounts in JSON are strings of hastings. Prometheus metrics contain amounts as numbers of siacoins; this module does
//! not parse these metrics.

mod autopilot;
mod contracts;
mod metrics;
mod objects;
mod sample;
mod uploads;
mod worker;

use serde::Deserialize;

pub use autopilot::{Autopilot, ContractSettings};
pub use contracts::{Contract, ContractTotals, Spending, Usability, contract_totals, contracts};
pub use metrics::{ContractMetric, WalletMetric, contract_metrics, wallet_metrics};
pub use objects::{Bucket, ObjectInfo, ObjectPage, ObjectStats, buckets, waiting_bytes};
pub use sample::{COLUMNS, ObjectTotals, Sample};
pub use uploads::{CompletedUpload, CreatedUpload, OpenUpload, OpenUploads, Part, Parts};
pub use worker::{Memory, MemoryOf, UploadStats};

use crate::amount::Hastings;
use crate::error::{ParseError, one_line};
use crate::json;

/// `GET /api/bus/consensus/state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Consensus {
    /// `true` if the daemon has the whole blockchain. Until then, uploads get status 503.
    pub synced: bool,
    /// The height of the last block that the daemon has.
    #[serde(rename = "blockHeight")]
    pub block_height: u64,
}

impl Consensus {
    /// Parses the body of `GET /api/bus/consensus/state`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/consensus/state of renterd", body)
    }
}

/// `GET /api/bus/wallet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Wallet {
    /// Money that can be spent now.
    pub spendable: Hastings,
    /// The balance in confirmed blocks.
    pub confirmed: Hastings,
    /// Receipts that are not in a confirmed block yet, including change.
    pub unconfirmed: Hastings,
    /// Receipts that become spendable later, such as the remaining funds of a contract.
    pub immature: Hastings,
}

impl Wallet {
    /// Parses the body of `GET /api/bus/wallet`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/wallet of renterd", body)
    }
}

/// `GET /api/bus/settings/upload`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct UploadSettings {
    /// Settings for packing several objects into one slab.
    pub packing: Packing,
    /// The shards of each slab.
    pub redundancy: Redundancy,
}

/// Settings for packing. With packing, renterd buffers the incomplete last slabs of objects on its disk, until several
/// of them together fill one slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Packing {
    /// `true` if packing is on.
    pub enabled: bool,
    /// The maximum number of bytes in the buffer. Uploads block while the buffer is full.
    #[serde(rename = "slabBufferMaxSizeSoft")]
    pub buffer_max_bytes: u64,
}

/// The shards of each slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Redundancy {
    /// Number of shards that are enough to restore a slab.
    #[serde(rename = "minShards")]
    pub min_shards: u64,
    /// Total number of shards. Each is on a different host.
    #[serde(rename = "totalShards")]
    pub total_shards: u64,
}

impl UploadSettings {
    /// Parses the body of `GET /api/bus/settings/upload`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/settings/upload of renterd", body)
    }
}

/// Returns the error message in the body of a response to a failed request. The body is plain text.
#[must_use]
pub fn error_message(body: &[u8]) -> String {
    one_line(String::from_utf8_lossy(body).trim())
}

#[cfg(test)]
mod tests;
