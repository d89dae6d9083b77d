//! The JSON documents of the API.

use std::time::SystemTime;

use serde::{Serialize, Serializer};

use super::time::rfc3339;
use crate::s3::shelf::{Item, PartItem, UploadItem};

/// The imitated version of renterd.
const VERSION: &str = "v2.9.3";
/// The beginning of the IDs of contracts and hosts.
const CONTRACT_LABEL: u64 = 0xfc;
const HOST_LABEL: u64 = 0xed;

fn hastings<S: Serializer>(amount: &u128, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

fn host_key(index: u64) -> String {
    format!("ed25519:{HOST_LABEL:032x}{index:032x}")
}

/// Returns a 32-byte hash of zeros.
fn no_hash() -> String {
    "0".repeat(64)
}

/// Returns the document of `GET …/state`.
pub(super) fn state(module: &str, started: SystemTime) -> serde_json::Value {
    serde_json::json!({
        "id": module,
        "startTime": rfc3339(started),
        "version": VERSION,
        "network": "anagami",
        "os": "linux",
        "standIn": true,
    })
}

/// `GET /api/bus/consensus/state`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Consensus {
    pub(super) block_height: u64,
    pub(super) last_block_time: String,
    pub(super) synced: bool,
}

/// `GET /api/bus/wallet`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Wallet {
    #[serde(serialize_with = "hastings")]
    spendable: u128,
    #[serde(serialize_with = "hastings")]
    confirmed: u128,
    #[serde(serialize_with = "hastings")]
    unconfirmed: u128,
    #[serde(serialize_with = "hastings")]
    immature: u128,
    address: String,
    scan_height: u64,
}

impl Wallet {
    pub(super) fn new(confirmed: u128, scan_height: u64) -> Self {
        Self { spendable: confirmed, confirmed, unconfirmed: 0, immature: 0, address: "0".repeat(76), scan_height }
    }
}

/// An entry of `GET /api/bus/contracts`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Contract {
    id: String,
    host_key: String,
    proof_height: u64,
    renewed_from: String,
    revision_height: u64,
    revision_number: u64,
    size: u64,
    start_height: u64,
    state: &'static str,
    usability: &'static str,
    window_start: u64,
    window_end: u64,
    #[serde(serialize_with = "hastings")]
    contract_price: u128,
    #[serde(serialize_with = "hastings")]
    initial_renter_funds: u128,
    pub(super) spending: Spending,
    v2: bool,
}

/// Money spent from a contract.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spending {
    #[serde(serialize_with = "hastings")]
    pub(super) deletions: u128,
    #[serde(serialize_with = "hastings")]
    pub(super) fund_account: u128,
    #[serde(serialize_with = "hastings")]
    pub(super) sector_roots: u128,
    #[serde(serialize_with = "hastings")]
    pub(super) uploads: u128,
}

impl Contract {
    pub(super) fn new(index: u64, size: u64, height: u64, price: u128, funds: u128, spending: Spending) -> Self {
        Self {
            id: format!("{CONTRACT_LABEL:032x}{index:032x}"),
            host_key: host_key(index),
            proof_height: 0,
            renewed_from: no_hash(),
            revision_height: height,
            revision_number: size >> 22,
            size,
            start_height: height,
            state: "active",
            usability: "good",
            window_start: height + 6048,
            window_end: height + 6048 + 144,
            contract_price: price,
            initial_renter_funds: funds,
            spending,
            v2: true,
        }
    }
}

/// An entry of `GET /api/bus/metric/contract`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ContractMetric {
    timestamp: String,
    #[serde(rename = "contractID")]
    contract_id: String,
    host_key: String,
    #[serde(serialize_with = "hastings")]
    remaining_collateral: u128,
    #[serde(serialize_with = "hastings")]
    remaining_funds: u128,
    revision_number: u64,
    #[serde(serialize_with = "hastings")]
    delete_spending: u128,
    #[serde(serialize_with = "hastings")]
    fund_account_spending: u128,
    #[serde(serialize_with = "hastings")]
    sector_roots_spending: u128,
    #[serde(serialize_with = "hastings")]
    upload_spending: u128,
}

impl ContractMetric {
    /// Creates the metric of all contracts together, whose IDs are zeros.
    pub(super) fn new(timestamp: String, remaining: u128, uploads: u128, accounts: u128) -> Self {
        Self {
            timestamp,
            contract_id: no_hash(),
            host_key: format!("ed25519:{}", no_hash()),
            remaining_collateral: 0,
            remaining_funds: remaining,
            revision_number: 0,
            delete_spending: 0,
            fund_account_spending: accounts,
            sector_roots_spending: 0,
            upload_spending: uploads,
        }
    }
}

/// An entry of `GET /api/bus/metric/wallet`.
#[derive(Serialize)]
pub(super) struct WalletMetric {
    timestamp: String,
    #[serde(serialize_with = "hastings")]
    confirmed: u128,
    #[serde(serialize_with = "hastings")]
    spendable: u128,
    #[serde(serialize_with = "hastings")]
    unconfirmed: u128,
    #[serde(serialize_with = "hastings")]
    immature: u128,
}

impl WalletMetric {
    pub(super) fn new(timestamp: String, wallet: &Wallet) -> Self {
        let Wallet { spendable, confirmed, unconfirmed, immature, .. } = *wallet;
        Self { timestamp, confirmed, spendable, unconfirmed, immature }
    }
}

/// `GET /api/bus/stats/objects`.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectStats {
    pub(super) num_objects: u64,
    pub(super) num_unfinished_objects: u64,
    pub(super) min_health: u8,
    pub(super) total_objects_size: u64,
    pub(super) total_unfinished_objects_size: u64,
    pub(super) total_sectors_size: u64,
    pub(super) total_uploaded_size: u64,
}

/// An entry of `GET /api/bus/slabbuffers`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SlabBuffer {
    complete: bool,
    filename: String,
    size: u64,
    max_size: u64,
    locked: bool,
}

impl SlabBuffer {
    pub(super) fn new(filename: String, size: u64, max_size: u64) -> Self {
        Self { complete: false, filename, size, max_size, locked: false }
    }
}

/// `GET /api/bus/objects/PREFIX`. Without objects, the list is `null`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectPage {
    pub(super) has_more: bool,
    pub(super) next_marker: String,
    pub(super) objects: Option<Vec<ObjectInfo>>,
}

/// An object or a directory. A directory has its prefix as its key, and has neither type nor tag.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ObjectInfo {
    bucket: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    e_tag: String,
    health: u8,
    mod_time: String,
    pub(super) key: String,
    size: u64,
    #[serde(skip_serializing_if = "String::is_empty")]
    mime_type: String,
}

impl ObjectInfo {
    pub(super) fn of_item(bucket: &str, item: Item) -> Self {
        Self {
            bucket: bucket.to_owned(),
            e_tag: item.etag,
            health: 1,
            mod_time: rfc3339(item.modified),
            key: item.key,
            size: item.bytes,
            mime_type: item.media_type.unwrap_or_default(),
        }
    }

    pub(super) fn of_directory(bucket: &str, prefix: String) -> Self {
        Self {
            bucket: bucket.to_owned(),
            e_tag: String::new(),
            health: 1,
            mod_time: rfc3339(SystemTime::UNIX_EPOCH),
            key: prefix,
            size: 0,
            mime_type: String::new(),
        }
    }
}

/// A bucket.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Bucket {
    created_at: String,
    name: String,
    policy: Policy,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Policy {
    public_read_access: bool,
}

impl Bucket {
    pub(super) fn new(name: String, created: SystemTime) -> Self {
        Self { created_at: rfc3339(created), name, policy: Policy { public_read_access: false } }
    }
}

/// `GET /api/worker/memory`.
#[derive(Serialize)]
pub(super) struct Memory {
    download: MemoryOf,
    upload: MemoryOf,
}

#[derive(Serialize)]
struct MemoryOf {
    available: u64,
    total: u64,
}

impl Default for Memory {
    /// Returns renterd's default: 1 GiB for downloads and 1 GiB for uploads.
    fn default() -> Self {
        let all = || MemoryOf { available: 1 << 30, total: 1 << 30 };
        Self { download: all(), upload: all() }
    }
}

/// `GET /api/worker/stats/uploads`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct UploadStats {
    pub(super) avg_slab_upload_speed_mbps: f64,
    pub(super) avg_overdrive_pct: f64,
    pub(super) healthy_uploaders: u64,
    pub(super) num_uploaders: u64,
    pub(super) uploaders_stats: Option<Vec<Uploader>>,
}

/// The speed of uploads to a host.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Uploader {
    host_key: String,
    avg_sector_upload_speed_mbps: f64,
}

impl Uploader {
    pub(super) fn new(index: u64) -> Self {
        Self { host_key: host_key(index), avg_sector_upload_speed_mbps: 0.0 }
    }
}

/// An entry of `POST /api/bus/multipart/listparts`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Part {
    pub(super) part_number: u64,
    last_modified: String,
    e_tag: String,
    size: u64,
}

impl From<PartItem> for Part {
    fn from(part: PartItem) -> Self {
        let PartItem { number, bytes, etag, modified } = part;
        Self { part_number: number, last_modified: rfc3339(modified), e_tag: etag, size: bytes }
    }
}

/// `POST /api/bus/multipart/listparts`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Parts {
    pub(super) has_more: bool,
    pub(super) next_marker: u64,
    pub(super) parts: Option<Vec<Part>>,
}

/// An entry of `POST /api/bus/multipart/listuploads`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Upload {
    bucket: String,
    encryption_key: String,
    pub(super) key: String,
    #[serde(rename = "uploadID")]
    pub(super) upload_id: String,
    created_at: String,
}

impl Upload {
    pub(super) fn new(bucket: &str, upload_id: String, upload: UploadItem) -> Self {
        let UploadItem { key, begun, .. } = upload;
        let encryption_key = format!("key:{}", no_hash());
        Self { bucket: bucket.to_owned(), encryption_key, key, upload_id, created_at: rfc3339(begun) }
    }
}

/// `POST /api/bus/multipart/listuploads`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Uploads {
    pub(super) has_more: bool,
    pub(super) next_marker: String,
    #[serde(rename = "nextUploadIDMarker")]
    pub(super) next_upload_id_marker: String,
    pub(super) uploads: Option<Vec<Upload>>,
}
