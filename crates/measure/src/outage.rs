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

/// Where there are few slots, failures that take long are few: each slot has failed so often.
const ROUNDS_MIN: u64 = 2;

/// Seconds of outage: of the times without a success, those with enough failures and enough operations to be more than
/// chance. `slots` is the number of slots of a closed run. 0 when nothing succeeded at all, which is a failure of its own.
pub fn seconds(of: impl IntoIterator<Item = Second>, slots: Option<u64>) -> u64 {
    let seconds: Vec<Second> = of.into_iter().collect();
    let ok = sum(seconds.iter().map(|second| second.ok));
    if ok == 0 {
        return 0;
    }
    let needed = slots.map_or(OPERATIONS_MIN, |slots| slots.saturating_mul(ROUNDS_MIN).min(OPERATIONS_MIN));
    let silent = seconds.chunk_by(|a, b| (a.ok == 0) == (b.ok == 0)).filter(|time| time[0].ok == 0);
    // While every operation runs into its timeout, seconds pass in which none ends. What follows the last failure says nothing.
    let failing = |time: &[Second]| time.iter().rposition(|second| second.failed > 0).map_or(0, |last| last as u64 + 1);
    let times: Vec<(u64, u64)> =
        silent.map(|time| (failing(time), sum(time.iter().map(|second| second.failed)))).collect();
    let serving = (seconds.len() as u64).saturating_sub(sum(times.iter().map(|(length, _)| *length))).max(1);
    let counts =
        |(length, failed): &&(u64, u64)| *failed >= needed && length.saturating_mul(ok) / serving >= OPERATIONS_MIN;
    sum(times.iter().filter(counts).map(|(length, _)| *length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: &[(u64, u64)]) -> u64 {
        among(seconds, None)
    }

    fn among(seconds: &[(u64, u64)], slots: Option<u64>) -> u64 {
        super::seconds(seconds.iter().map(|&(ok, failed)| Second { ok, failed }), slots)
    }

    /// Few slots, each of which waits for its timeout: the seconds in between belong to the outage.
    #[test]
    fn failures_that_take_long_are_an_outage() {
        let dead: Vec<_> = [[(0, 0); 4].to_vec(), vec![(0, 4)]].concat().repeat(6);
        let run = [vec![(100, 0); 60], dead, vec![(100, 0); 60]].concat();
        assert_eq!(among(&run, Some(4)), 30);
        let one = [vec![(100, 0)], [[(0, 0); 4].to_vec(), vec![(0, 1)]].concat().repeat(2), vec![(100, 0)]].concat();
        assert_eq!(among(&one, Some(1)), 10);
        assert_eq!(among(&one[..6], Some(1)), 0, "a single slow request that fails is none");
        assert_eq!(of(&[(100, 0), (0, 0), (0, 9), (0, 0), (0, 0)]), 2, "what follows the last failure says nothing");
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
