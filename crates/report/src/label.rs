//! Texts for the labels of breakdowns.

use crate::escape::escape;
use measure::Label;

/// Label of the row for all values without a separate row.
pub(crate) const OTHER: &str = "(other)";

/// Returns the name of a host.
pub(crate) fn host_name(label: &Label) -> String {
    match label {
        Label::Value(value) => escape(value),
        Label::Absent | Label::Other => OTHER.to_owned(),
    }
}
