//! Series of collected values. A series consists of the results of polls, and can be folded into few points.
//!
//! A collector polls a target's own metrics, a host or processes at regular intervals. Each poll has at most one value
//! for each [`Column`]. [`Series`] folds any number of polls into at most a few thousand points, and keeps the
//! extremes.

mod column;
mod fold;
mod number;
mod poll;

pub use column::{COLUMN_NAME_MAX, COLUMNS_MAX, Column, ColumnKind, ColumnUnit};
pub use fold::{ColumnSummary, POINTS_MAX, PointValue, Series, SeriesPoint};
pub use number::Number;
pub use poll::{DETAIL_MAX, FailureClass, Poll, PollFailure, SourcePoll};
