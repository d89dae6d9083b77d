//! Time series that renterd records.
//!
//! A request specifies a start time, the number of intervals (at most 1000) and the length of an interval. renterd
//! returns at most one metric per interval. A contract metric is the sum over all contracts, and its contract ID is all
//! zeros.

use serde::Deserialize;

use crate::amount::Hastings;
use crate::error::ParseError;
use crate::json;

/// An entry of `GET /api/bus/metric/contract`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ContractMetric {
    /// The time, in RFC 3339.
    pub timestamp: String,
    /// The funds that are left.
    pub remaining_funds: Hastings,
    /// Spent on uploads.
    pub upload_spending: Hastings,
    /// Moved to prepaid accounts.
    pub fund_account_spending: Hastings,
    /// Spent on deletions.
    pub delete_spending: Hastings,
    /// Spent on lists of sectors.
    pub sector_roots_spending: Hastings,
}

/// An entry of `GET /api/bus/metric/wallet`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct WalletMetric {
    /// The time, in RFC 3339.
    pub timestamp: String,
    /// Money that could be spent at that time.
    pub spendable: Hastings,
    /// The balance in confirmed blocks.
    pub confirmed: Hastings,
    /// Receipts that were not yet in a confirmed block.
    pub unconfirmed: Hastings,
    /// Receipts that became spendable later.
    pub immature: Hastings,
}

/// Parses the body of `GET /api/bus/metric/contract`.
///
/// # Errors
/// Returns an error if the body is not a valid list.
pub fn contract_metrics(body: &[u8]) -> Result<Vec<ContractMetric>, ParseError> {
    json::parse_list("GET /api/bus/metric/contract of renterd", body)
}

/// Parses the body of `GET /api/bus/metric/wallet`.
///
/// # Errors
/// Returns an error if the body is not a valid list.
pub fn wallet_metrics(body: &[u8]) -> Result<Vec<WalletMetric>, ParseError> {
    json::parse_list("GET /api/bus/metric/wallet of renterd", body)
}
