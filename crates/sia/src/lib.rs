//! Types and parsers for the reports of renters. Renters are the client programs of the Sia network. They report in
//! JSON: siad (2015 to 2025), and its successor renterd.
//!
//! * [`Hastings`] and [`Siacoins`]: exact amounts of money;
//! * [`siad`] and [`renterd`]: the parts of both APIs that Plimsoll reads, and samples of them;
//! * [`snapshot`]: the documents of a renter at one moment;
//! * [`table`]: CSV tables, to which samples are appended;
//! * [`invariants`]: accounting rules that samples must satisfy, and the size of each violation;
//! * [`Unmet`]: reasons why a renter does not accept uploads yet, described for users.
//!
//! Unknown fields are ignored, because new versions add fields. A missing field, or a field of another type, causes an
//! error that includes the path of the field. The crate opens no socket and reads no clock.

mod amount;
mod error;
pub mod invariants;
mod json;
mod number;
mod precondition;
pub mod renterd;
pub mod siad;
pub mod snapshot;
pub mod table;
mod timestamp;

pub use amount::{AmountError, Hastings, Siacoins, SignedHastings};
pub use error::ParseError;
pub use precondition::{Unmet, unmet_of_renterd, unmet_of_siad};
pub use timestamp::UtcSecond;
