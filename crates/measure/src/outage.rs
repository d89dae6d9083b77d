//! Outages: times in which a target that had served failed everything.
//!
//! A closed load makes few operations while every one of them times out, so the share of all that succeeded hides such a time.

use crate::books::sum;

/// Operations of one whole second of the measured window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Second {
    /// Operations that succeeded in it.
    pub ok: u64,
    /// Operations that failed in it.
    pub failed: u64,
}

/// An outage has at least so many failures, in a time in which so many operations would have succeeded at the rate of the other
/// seconds. A few failures in a row at one operation per second are no outage.
const OPERATIONS_MIN: u64 = 5;

/// Seconds of outage: of runs of seconds in which operations failed and none succeeded, those with enough operations to be
/// more than chance. 0 when nothing succeeded at all, which is a failure of its own.
pub fn seconds(of: impl IntoIterator<Item = Second>) -> u64 {
    let seconds: Vec<Second> = of.into_iter().collect();
    let is_out = |second: &Second| second.ok == 0 && second.failed > 0;
    let serving = seconds.iter().filter(|second| !is_out(second)).count() as u64;
    let ok = sum(seconds.iter().map(|second| second.ok));
    if ok == 0 {
        return 0;
    }
    let outages = seconds.chunk_by(|a, b| is_out(a) == is_out(b)).filter(|run| is_out(&run[0]));
    let counts = |run: &&[Second]| {
        let failed = sum(run.iter().map(|second| second.failed));
        let expected = (run.len() as u64).saturating_mul(ok) / serving.max(1);
        failed >= OPERATIONS_MIN && expected >= OPERATIONS_MIN
    };
    outages.filter(counts).map(|run| run.len() as u64).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: &[(u64, u64)]) -> u64 {
        super::seconds(seconds.iter().map(|&(ok, failed)| Second { ok, failed }))
    }

    #[test]
    fn a_second_without_a_success_is_an_outage_where_many_were_due() {
        assert_eq!(of(&[(500, 0), (0, 40), (0, 60), (500, 3)]), 2);
        assert_eq!(of(&[(500, 0), (0, 40), (500, 0), (0, 5)]), 2);
    }

    #[test]
    fn a_single_failure_at_one_operation_per_second_is_no_outage() {
        assert_eq!(of(&[(1, 0), (1, 0), (0, 1), (1, 0)]), 0);
        // Five in a row are.
        assert_eq!(of(&[(1, 0), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (1, 0)]), 5);
        // One failure between bursts of slow successes.
        assert_eq!(of(&[(100, 0), (0, 0), (0, 1), (100, 0)]), 0);
    }

    #[test]
    fn a_run_without_any_success_has_no_outage_but_failed() {
        assert_eq!(of(&[(0, 10), (0, 10)]), 0);
        assert_eq!(of(&[]), 0);
    }
}
