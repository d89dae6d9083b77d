//! The renter's settings, its own accounting, and price estimates.

use serde::Deserialize;

use crate::amount::Hastings;
use crate::error::ParseError;
use crate::json;

/// `GET /renter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Renter {
    /// The budget of the renter.
    pub allowance: Allowance,
    /// The renter's own accounting of its spending in the current period.
    pub spending: FinancialMetrics,
}

/// The budget of a renter. A renter without an allowance forms no contracts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Allowance {
    /// The funds for one period.
    pub funds: Hastings,
    /// The number of hosts to form contracts with.
    pub hosts: u64,
    /// The length of contracts, in blocks.
    pub period: u64,
    /// A contract is renewed this number of blocks before its end.
    #[serde(rename = "renewwindow")]
    pub renew_window: u64,
}

/// The renter's own accounting of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinancialMetrics {
    /// Spending on contracts. Up to version 1.3.2, siad reports the total (`contractspending`). Later versions report
    /// only the fees (`contractfees`).
    pub contracts: ContractSpending,
    /// Spent on downloads.
    pub download: Hastings,
    /// Spent on storage.
    pub storage: Hastings,
    /// Spent on uploads.
    pub upload: Hastings,
    /// Unspent funds of the allowance.
    pub unspent: Hastings,
}

/// Spending on contracts. The version of siad determines the variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ContractSpending {
    /// All money put into contracts.
    Total(Hastings),
    /// Only the fees.
    Fees(Hastings),
}

/// `GET /renter/prices`: estimated prices for 1 TB of files with the default redundancy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Prices {
    /// Price of downloading 1 TB.
    #[serde(rename = "downloadterabyte")]
    pub download_tb: Hastings,
    /// Price of forming the contracts of a period.
    #[serde(rename = "formcontracts")]
    pub form_contracts: Hastings,
    /// Price of storing 1 TB for a month.
    #[serde(rename = "storageterabytemonth")]
    pub storage_tb_month: Hastings,
    /// Price of uploading 1 TB.
    #[serde(rename = "uploadterabyte")]
    pub upload_tb: Hastings,
}

impl Prices {
    /// Parses the body of `GET /renter/prices`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /renter/prices of siad", body)
    }
}

impl Renter {
    /// Parses the body of `GET /renter`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        const REQUEST: &str = "GET /renter of siad";
        let wire: Wire = json::parse(REQUEST, body)?;
        let metrics = wire.financialmetrics;
        let contracts = match (metrics.contractfees, metrics.contractspending) {
            (Some(fees), _) => ContractSpending::Fees(fees),
            (None, Some(total)) => ContractSpending::Total(total),
            (None, None) => {
                return Err(ParseError::new(REQUEST, "at financialmetrics: missing field `contractfees`"));
            }
        };
        let WireMetrics { downloadspending: download, storagespending: storage, uploadspending: upload, .. } = metrics;
        let spending = FinancialMetrics { contracts, download, storage, upload, unspent: metrics.unspent };
        Ok(Self { allowance: wire.settings.allowance, spending })
    }
}

#[derive(Deserialize)]
struct Wire {
    settings: Settings,
    financialmetrics: WireMetrics,
}

#[derive(Deserialize)]
struct Settings {
    allowance: Allowance,
}

#[derive(Deserialize)]
struct WireMetrics {
    contractfees: Option<Hastings>,
    contractspending: Option<Hastings>,
    downloadspending: Hastings,
    storagespending: Hastings,
    uploadspending: Hastings,
    unspent: Hastings,
}
