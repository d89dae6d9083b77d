//! Price sheets: the prices of a provider, in one currency, on one day.

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

/// The prices of a provider.
///
/// A missing price means that the price is unknown, not that it is 0. A bill lists the components with unknown prices.
/// There is one exception: if a sheet has no price for any kind of request, requests are free.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriceSheet {
    /// Name in reports.
    pub name: String,
    /// Currency of all prices.
    pub currency: Currency,
    /// Day on which the prices were valid.
    pub date: Date,
    /// Source of the prices.
    pub source: Option<String>,
    /// Notes for readers of a bill.
    pub notes: Option<String>,
    /// Price of storage, per unit of data and per month.
    pub storage: Option<StoragePrice>,
    /// Transfer of data into the system.
    pub upload: Option<DataPrice>,
    /// Transfer of data out of the system.
    pub download: Option<DataPrice>,
    /// Requests, per 1,000.
    pub requests: RequestPrices,
    /// Fees.
    pub fees: Option<Fees>,
    /// Length of a contract. Storage is charged for whole contracts, one after the other.
    pub term: Option<Months>,
    /// Rates between currencies.
    pub rates: Rates,
}

/// The price of storage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoragePrice {
    /// Price per month, and the bytes to which it applies.
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
    /// The kind of bytes to which the price applies.
    pub bytes: Basis,
}

/// The kind of bytes to which a price applies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The sizes of the user's files.
    File,
    /// All bytes that the system stores for the files, with padding and redundancy.
    Absolute {
        /// Stored bytes per byte of a file. Estimates multiply file sizes by this number.
        redundancy: Exact,
    },
    /// The bytes of all bodies sent or received, including retries.
    Transferred,
}

/// Prices of 1,000 requests of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPrices {
    /// Uploads, parts of multipart uploads, and the requests that begin and complete multipart uploads.
    pub put: Option<Exact>,
    /// Downloads, and requests for the metadata of one object.
    pub get: Option<Exact>,
    /// Lists.
    pub list: Option<Exact>,
    /// Deletions.
    pub delete: Option<Exact>,
}

/// Fees of contracts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fees {
    /// Fee that is charged once per term, or only once if there are no terms.
    pub fixed: Exact,
    /// Fee that is charged for each contract of each term.
    pub per_contract: Exact,
    /// The number of contracts in each term, for estimates.
    pub contracts: u64,
}
