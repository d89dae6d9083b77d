//! Conclusions and numbers of a comparison in JSON documents.

use measure::statistics::difference::Conclusion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// This enum repeats the variants of `Conclusion`, which lives in another crate. If they differ, the code that serde
// derives does not compile.
/// The conclusion of a comparison.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(remote = "Conclusion", rename_all = "snake_case")]
pub enum ConclusionName {
    /// Worse: the difference is larger than the margin, and chance does not explain it.
    Worse,
    /// Better: the difference is larger than the margin, and chance does not explain it.
    Better,
    /// Any difference is within the margin.
    Equivalent,
    /// The runs do not show which of the other three conclusions is true.
    Inconclusive,
}

/// Returns the number, or `None` if it is not finite, because JSON cannot represent such a number.
pub(crate) fn finite(value: Option<f64>) -> Option<f64> {
    value.filter(|value| value.is_finite())
}
