//! What a number means.
//!
//! Everything Plimsoll says about a target is made of the values in this crate: instants of an operation, the closed
//! set of ways in which an attempt can end, histograms that add up, immutable intervals, and the verdicts drawn from
//! them. It does no I/O and knows no protocol, so that each formula can be tested against a brute-force computation
//! and any report can be made again from saved records.
//!
//! ```
//! use measure::{Distribution, Quantile};
//!
//! let mut response = Distribution::default();
//! for ms in 1..=100_u64 {
//!     response.record(ms * 1_000_000);
//! }
//! // One failed operation belongs to the percentiles "of all" as +∞.
//! assert!(matches!(response.quantile_of_all(1.0, 0, 1), Quantile::Failed));
//! assert!(matches!(response.quantile_of_all(0.5, 0, 1), Quantile::Value(v) if v.abs_diff(51_000_000) < 51_000));
//! ```

pub mod affected;
pub mod books;
pub mod bounded;
pub mod chains;
pub mod clock;
pub mod distribution;
pub mod enumerated;
pub mod evidence;
pub mod heat;
pub mod interval;
pub mod labels;
pub mod limited_by;
pub mod limits;
pub mod load_line;
pub mod objective;
pub mod outage;
pub mod outcome;
pub mod overlap;
pub mod random;
pub mod recorder;
pub mod result;
pub mod sample;
pub mod statistics;
pub mod stats;
pub mod summary;
pub mod timeline;
pub mod units;
pub mod unread;

pub use affected::{QuantileRange, Timed};
pub use books::Verdict;
pub use clock::{Clock, Instant, MonotonicClock};
pub use distribution::{Distribution, Moments, Quantile};
pub use enumerated::{Counts, Enumerated};
pub use heat::Heat;
pub use interval::{ClientLoad, Interval};
pub use labels::Label;
pub use limited_by::LimitedBy;
pub use limits::Model;
pub use objective::Objective;
pub use outcome::{AttemptClass, AttemptOutcome, Cause, Flag, Flags, OpOutcome, Phase};
pub use recorder::Recorder;
pub use result::{ExitStatus, ResultWord, RunResult};
pub use sample::{AttemptSample, Example, OpKind, OpSample};
pub use stats::{GroupStats, KindStats, Stats};
pub use summary::Summary;
pub use timeline::{Stage, Timeline};
pub use unread::{ClientShare, ReadSample};
