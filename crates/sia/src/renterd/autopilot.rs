//! The autopilot, which forms and renews contracts.

use serde::Deserialize;

use crate::error::ParseError;
use crate::json;

/// `GET /api/bus/autopilot`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Autopilot {
    /// `true` if the autopilot forms contracts.
    pub enabled: bool,
    /// The contracts that the autopilot tries to have.
    pub contracts: ContractSettings,
}

/// The contracts that the autopilot tries to have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct ContractSettings {
    /// The number of contracts.
    pub amount: u64,
    /// The length of contracts, in blocks.
    pub period: u64,
    /// A contract is renewed this number of blocks before its end.
    #[serde(rename = "renewWindow")]
    pub renew_window: u64,
    /// Expected downloads per period.
    #[serde(rename = "download")]
    pub download_bytes: u64,
    /// Expected uploads per period.
    #[serde(rename = "upload")]
    pub upload_bytes: u64,
    /// Expected stored bytes.
    #[serde(rename = "storage")]
    pub storage_bytes: u64,
    /// `true` if the data of deleted objects is pruned from contracts.
    pub prune: bool,
}

impl Autopilot {
    /// Parses the body of `GET /api/bus/autopilot`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /api/bus/autopilot of renterd", body)
    }
}
