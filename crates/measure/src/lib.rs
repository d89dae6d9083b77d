//! Definitions of all metrics, and the computations behind them.
//!
//! Everything that Plimsoll reports about a target is built from the types in this crate. The types contain the
//! instants of an operation, the outcome of an attempt, histograms that can be merged, intervals, and the results of
//! whole runs. The crate does no I/O and knows no protocol. Each formula can therefore be tested against a brute-force
//! computation, and each report can be produced again from saved records.
//!
//! Data flows through the modules in this order: a [`sample`] of an operation or attempt, the [`recorder`] of a thread,
//! an [`interval`] with [`stats`] and [`evidence`], and the [`summary`] of a whole run. The modules [`limits`] (the
//! bottleneck), [`objective`] and [`result`] evaluate the summary. All modules use [`values`], [`units`], [`time`] and
//! [`statistics`]. [`series`] contains values that are polled during a run.
//!
//! ```
//! use measure::{Distribution, Quantile};
//!
//! let mut response = Distribution::default();
//! for ms in 1..=100_u64 {
//!     response.record(ms * 1_000_000);
//! }
//! // A failed operation counts as +∞ in percentiles that include failures.
//! assert!(matches!(response.quantile_of_all(1.0, 0, 1), Quantile::Failed));
//! assert!(matches!(response.quantile_of_all(0.5, 0, 1), Quantile::Value(v) if v.abs_diff(51_000_000) < 51_000));
//! ```

pub mod evidence;
pub mod interval;
pub mod limits;
pub mod objective;
pub mod path;
pub mod recorder;
pub mod result;
pub mod sample;
pub mod series;
pub mod statistics;
pub mod stats;
pub mod summary;
pub mod time;
pub mod units;
pub mod values;

pub use interval::{ClientLoad, Interval, IntervalJoiner, Joined};
pub use limits::LimitedBy;
pub use objective::Objective;
pub use recorder::Recorder;
pub use result::{ExitStatus, ResultWord, RunResult};
pub use sample::outcome::{AttemptClass, AttemptOutcome, Cause, Flag, Flags, OpOutcome, Phase};
pub use sample::{AttemptSample, Example, OpKind, OpSample, ReadSample};
pub use stats::label::Label;
pub use stats::quantile_range::{QuantileRange, Timed};
pub use stats::unread_responses::ClientShare;
pub use stats::{GroupStats, KindStats, Stats};
pub use summary::heat_map::HeatMap;
pub use summary::{Model, Summary};
pub use time::{Clock, Instant, MonotonicClock, Stage, Timeline};
pub use values::{Counts, Distribution, Enumerated, Moments, Quantile};
