//! The part of an interval's evidence from which conclusions can be drawn.

use super::Interval;
use crate::evidence::{Evidence, Overtaking, overtaking};

/// Returns the evidence of a single interval, and the number of operations that the marked operations are expected to
/// overtake in it if operations are independent. If the expected value is not known, the observed overtaking is left
/// out, because it could not be compared.
pub(crate) fn judgeable(interval: &Interval) -> (Evidence, f64) {
    // Expected overtaking depends on service times, which are recorded only for measured operations.
    let observed = interval.evidence.overtaking;
    let times = || interval.stats.of_all_kinds(|kind| &kind.service).without(&interval.evidence.paused);
    let spread = if observed.ahead > 0 { overtaking::spread(&times()) } else { None };
    let mut evidence = interval.evidence.clone();
    if spread.is_none() {
        evidence.overtaking = Overtaking::default();
    }
    (evidence, spread.map_or(0.0, |spread| spread * observed.ahead as f64))
}
