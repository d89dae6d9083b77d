//! Texts for the labels of breakdowns.

use crate::escape::escape;
use measure::Label;

/// Label of the row that combines all values without a row of their own.
pub(crate) const OTHER: &str = "(other)";

/// Returns the name of a host.
pub(crate) fn host_name(label: &Label) -> String {
    match label {
        Label::Value(value) => escape(value),
        Label::Absent | Label::Other => OTHER.to_owned(),
    }
}
