//! Price sheets: what a provider charges, in one currency, on one day.

mod parser;
mod schema;
mod shipped;
mod siad;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
pub use study::scenario::{Diagnostic, Position};

pub use schema::schema;
pub use shipped::{SHIPPED, shipped};

use crate::date::Date;
use crate::exact::Exact;
use crate::money::{Currency, Rates};
use crate::units::{DataUnit, Months};

/// What a provider charges.
///
/// A price that is missing is not known, which differs from a price of 0: a bill names what it could not price. Only a sheet
/// without any price of requests charges for none of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceSheet {
    /// Name in reports.
    pub name: String,
    /// Currency of all prices.
    pub currency: Currency,
    /// Day on which the prices held.
    pub date: Date,
    /// Where the prices come from.
    pub source: Option<String>,
    /// What a reader of a bill should know.
    pub notes: Option<String>,
    /// Storage, per unit of data and month.
    pub storage: Option<StoragePrice>,
    /// Data into the system.
    pub upload: Option<DataPrice>,
    /// Data out of the system.
    pub download: Option<DataPrice>,
    /// Requests, per 1,000.
    pub requests: RequestPrices,
    /// Fees.
    pub fees: Option<Fees>,
    /// Length of a contract. Storage is bought for whole terms.
    pub term: Option<Months>,
    /// Rates between currencies.
    pub rates: Rates,
}

/// The price of storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoragePrice {
    /// What is charged, and for which bytes.
    pub data: DataPrice,
    /// The shortest time that is charged.
    pub minimum: Option<Months>,
}

/// A price per unit of data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPrice {
    /// Price of one unit.
    pub price: Exact,
    /// The unit.
    pub per: DataUnit,
    /// The bytes that count.
    pub bytes: Basis,
}

/// The bytes that a price counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The sizes of the user's files.
    File,
    /// All bytes that the system stores for them, with padding and redundancy.
    Absolute {
        /// Absolute bytes per byte of a file, for estimates.
        redundancy: Exact,
    },
    /// The bytes of bodies that were sent or received, those of retries included.
    Transferred,
}

/// Prices of 1,000 requests of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPrices {
    /// Uploads, parts of uploads, and what begins and completes them.
    pub put: Option<Exact>,
    /// Downloads and questions about one object.
    pub get: Option<Exact>,
    /// Lists.
    pub list: Option<Exact>,
    /// Deletions.
    pub delete: Option<Exact>,
}

/// Fees of contracts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fees {
    /// Charged once per term, or once if there are no terms.
    pub fixed: Exact,
    /// Charged for each contract of each term.
    pub per_contract: Exact,
    /// The number of contracts, for estimates.
    pub contracts: u64,
}
