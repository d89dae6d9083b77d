//! Costs of storage: exact money, price sheets, bills before and after a run, and the result table of the Sia study.
//!
//! * [`money`]: amounts that are never converted without a stated rate, and rates with their dates;
//! * [`PriceSheet`]: the prices of a provider, from a YAML file;
//! * [`Usage`] and [`bill`]: the usage and cost of a run, comparisons of estimates with results, and comparisons of
//!   providers;
//! * [`ledger`]: reports of a system about its own spending, and the rules that these reports must satisfy;
//! * [`Cap`]: a limit on spending;
//! * [`formulas`] and [`study_table`]: the results that the Sia study published, computed for any run.
//!
//! All numbers are exact fractions ([`Exact`]) until they are printed. The crate opens no file and reads no clock.

pub mod bill;
mod cap;
mod date;
mod exact;
pub mod formulas;
pub mod ledger;
pub mod money;
pub mod price_sheet;
pub mod study_table;
mod units;
mod usage;

pub use bill::{Bill, Component};
pub use cap::{Cap, CapError, Spending};
pub use date::{Date, DateError};
pub use exact::{Exact, NumberError};
pub use ledger::Ledger;
pub use money::{Currency, Money, Rate, Rates};
pub use price_sheet::PriceSheet;
pub use units::{DataUnit, Hours, Months, MonthsError};
pub use usage::{Requests, Usage};
