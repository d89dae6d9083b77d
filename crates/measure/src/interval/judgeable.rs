//! The evidence of an interval as far as it can be judged.

use super::Interval;
use crate::evidence::{Evidence, Overtaking, overtaking};

/// Returns the evidence of a single interval, and the overtaking that is expected in it if operations are independent.
/// If there is no expected value, the observed overtaking is left out.
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
