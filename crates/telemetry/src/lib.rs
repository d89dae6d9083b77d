//! Live metrics of a running load: totals, and their text for Prometheus and OpenTelemetry.
//!
//! [`State`] adds up the intervals of all runs of a command. The counters of the state therefore never decrease, even
//! if a command makes several runs. [`State::families`] returns the metrics as [`Family`] values. [`text`] encodes them
//! for a scrape by Prometheus, and [`otlp`] for a push to a collector of OpenTelemetry. The two formats have the same
//! metrics, because both are made from the same families.
//!
//! The crate opens no socket, reads no clock and knows no flag.

mod buckets;
mod families;
mod family;
pub mod otlp;
mod state;
pub mod text;
mod totals;

pub use buckets::{BOUNDS, BucketCounts};
pub use family::{Family, Labels, Number, Sample, Samples, Unit};
pub use state::{CurrentRun, Fill, FillPhase, LoadLevel, State, Trial};
