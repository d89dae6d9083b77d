//! What Sia's renters report, as typed values: the JSON of siad (2015 to 2025) and of its successor renterd.
//!
//! * [`Hastings`] and [`Siacoins`]: exact amounts of money;
//! * [`siad`] and [`renterd`]: the parts of both APIs that a fill, a collector and a ledger read, and samples of them;
//! * [`table`]: tables in CSV, to which samples are appended;
//! * [`invariants`]: rules of accounting that samples must satisfy, and by how much they do not;
//! * [`Unmet`]: what keeps a renter from accepting uploads, in words for its user.
//!
//! Unknown fields are ignored, since each version adds some. A missing field or one of another type is an error that
//! names the place. The crate opens no socket and reads no clock.

mod amount;
mod error;
pub mod invariants;
mod json;
mod number;
mod precondition;
pub mod renterd;
pub mod siad;
pub mod table;
mod timestamp;

pub use amount::{AmountError, Hastings, Siacoins, SignedHastings};
pub use error::ParseError;
pub use precondition::{Unmet, unmet_of_renterd, unmet_of_siad};
pub use timestamp::UtcSecond;
