//! The charts of HTML reports.

mod axis;
pub(super) mod collected;
pub(super) mod fill_history;
pub(super) mod heat_map;
pub(super) mod load_curve;
pub(super) mod matrix;
pub(super) mod percentile_curve;
pub(super) mod time_series;
