//! What storage costs: exact money, price sheets, bills before and after a run, and the result table of the Sia study.
//!
//! * [`money`]: amounts that never mix currencies without a stated rate;
//!
//! All numbers are exact fractions ([`Exact`]) until they are printed. The crate opens no file and reads no clock.

mod date;
mod exact;
pub mod money;

pub use date::{Date, DateError};
pub use exact::{Exact, NumberError};
pub use money::{Currency, Money, Rate, Rates};
