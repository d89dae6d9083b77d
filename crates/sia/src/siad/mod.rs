//! siad's API, versions 1.3.1 (used by the study) to 1.3.7.

mod chunk;
mod contracts;
mod files;
mod renter;
mod sample;

use serde::Deserialize;

pub use chunk::{CHUNK_BYTES, DATA_PIECES, PARITY_PIECES, PIECE_BYTES, Redundancy, SECTOR_BYTES};
pub use contracts::{Contract, ContractTotals, Contracts};
pub use files::{FILES_MAX, FileInfo, FileTotals, Files, siapath_of_upload};
pub use renter::{Allowance, ContractSpending, FinancialMetrics, Prices, Renter};
pub use sample::{COLUMNS, Sample, WalletTotals, collector_ms};

use crate::amount::Hastings;
use crate::error::{ParseError, one_line};
use crate::json;

/// `GET /consensus`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Consensus {
    /// `true` if the daemon has the whole blockchain.
    pub synced: bool,
    /// The height of the last block that the daemon has.
    pub height: u64,
}

impl Consensus {
    /// Parses the body of `GET /consensus`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /consensus of siad", body)
    }
}

/// `GET /wallet`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
pub struct Wallet {
    /// `true` if the wallet was created.
    pub encrypted: bool,
    /// `true` if the wallet is unlocked and can pay.
    pub unlocked: bool,
    /// The balance in confirmed blocks.
    #[serde(rename = "confirmedsiacoinbalance")]
    pub confirmed: Hastings,
    /// Unconfirmed payments: all money that they take from the wallet, including the change that will return.
    #[serde(rename = "unconfirmedoutgoingsiacoins")]
    pub outgoing: Hastings,
    /// Unconfirmed receipts, including the change of unconfirmed payments.
    #[serde(rename = "unconfirmedincomingsiacoins")]
    pub incoming: Hastings,
}

impl Wallet {
    /// Parses the body of `GET /wallet`.
    ///
    /// # Errors
    /// Returns an error if the body is not valid.
    pub fn parse(body: &[u8]) -> Result<Self, ParseError> {
        json::parse("GET /wallet of siad", body)
    }
}

/// Returns the error message in the body of a response to a failed request. The body has the form `{"message":"…"}`.
#[must_use]
pub fn error_message(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Failure {
        message: String,
    }
    let failure: Failure = serde_json::from_slice(body).ok()?;
    Some(one_line(failure.message.trim_end()))
}

#[cfg(test)]
mod tests;
