//! renterd's API, version 2.9.
//!
//! Amounts in JSON are strings of hastings. Metrics for Prometheus are numbers of siacoins; they are not read here.

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
pub use objects::{Bucket, ObjectInfo, ObjectPage, ObjectStats, buckets};
pub use sample::{COLUMNS, ObjectTotals, Sample};
pub use uploads::{CompletedUpload, CreatedUpload, OpenUpload, OpenUploads, Part, Parts};
pub use worker::{Memory, MemoryOf, UploadStats};

use crate::amount::Hastings;
use crate::error::{ParseError, one_line};
use crate::json;

/// `GET /api/bus/consensus/state`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Consensus {
    /// Whether the daemon has the whole chain of blocks. Uploads get 503 before that.
    pub synced: bool,
    /// The number of the last block it has.
    #[serde(rename = "blockHeight")]
    pub block_height: u64,
}

impl Consensus {
    /// Parses the body of `GET /api/bus/consensus/state`.
    ///
    /// # Errors
    /// The body is not such a document.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/consensus/state of renterd", body)
    }
}

/// `GET /api/bus/wallet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Wallet {
    /// What can be spent now.
    pub spendable: Hastings,
    /// The balance in confirmed blocks.
    pub confirmed: Hastings,
    /// Receipts that no block has confirmed, change included.
    pub unconfirmed: Hastings,
    /// Receipts that become spendable later, such as the rest of a contract.
    pub immature: Hastings,
}

impl Wallet {
    /// Parses the body of `GET /api/bus/wallet`.
    ///
    /// # Errors
    /// The body is not such a document.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/wallet of renterd", body)
    }
}

/// `GET /api/bus/settings/upload`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct UploadSettings {
    /// Whether and how small objects share slabs.
    pub packing: Packing,
    /// The shards of each slab.
    pub redundancy: Redundancy,
}

/// Packing: the ends of objects wait on the daemon's disk until they fill a slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Packing {
    /// Whether packing is on.
    pub enabled: bool,
    /// The bytes that may wait before uploads block.
    #[serde(rename = "slabBufferMaxSizeSoft")]
    pub buffer_max_bytes: u64,
}

/// The shards of each slab.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Redundancy {
    /// Shards that restore a slab.
    #[serde(rename = "minShards")]
    pub min_shards: u64,
    /// All shards, each on another host.
    #[serde(rename = "totalShards")]
    pub total_shards: u64,
}

impl UploadSettings {
    /// Parses the body of `GET /api/bus/settings/upload`.
    ///
    /// # Errors
    /// The body is not such a document.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/settings/upload of renterd", body)
    }
}

/// Returns the message of a failed request, which is a line of text.
#[must_use]
pub fn error_message(body: &[u8]) -> String {
    one_line(String::from_utf8_lossy(body).trim())
}

#[cfg(test)]
mod tests;
