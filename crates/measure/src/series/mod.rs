//! Series of collected values: what a poll found, and a whole series folded into few points.
//!
//! A collector polls a target's own metrics, a host or processes at regular times. Each poll has one value, or none, for
//! each [`Column`]. [`Series`] folds any number of polls into at most a few thousand points that keep the extremes.

mod column;
mod fold;
mod number;
mod poll;

pub use column::{COLUMN_NAME_MAX, COLUMNS_MAX, Column, ColumnKind, ColumnUnit};
pub use fold::{ColumnSummary, POINTS_MAX, PointValue, Series, SeriesPoint};
pub use number::Number;
pub use poll::{DETAIL_MAX, FailureClass, Poll, PollFailure, SourcePoll};
