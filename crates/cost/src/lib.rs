//!
//! * [`money`]: amounts that never mix currencies without a stated rate, and rates with their dates;
//! * [`PriceSheet`]: what a provider charges, from a YAML file;
//!
//! All numbers are exact fractions ([`Exact`]) until they are printed. The crate opens no file and reads no clock.

mod date;
mod exact;
pub mod money;
pub mod price_sheet;
mod units;

pub use date::{Date, DateError};
pub use exact::{Exact, NumberError};
pub use money::{Currency, Money, Rate, Rates};
pub use price_sheet::PriceSheet;
pub use units::{DataUnit, Hours, Months, MonthsError};
