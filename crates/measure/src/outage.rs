//! Outages: times in which a target that had served failed everything.
//!
//! A closed load makes few operations while every one of them times out, so the share of all that succeeded hides such a time. Where
//! they hang until the run ends, none of them has failed.

use crate::books::sum;

/// Operations of one whole second of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Second {
    /// Operations that succeeded in it.
    pub ok: u64,
    /// Operations that failed in it, and not for a delay of the client.
    pub failed: u64,
    /// The longest time that one of those that failed took, in whole seconds.
    pub longest: u64,
}

/// Operations that were in flight at the end of a run, and never had a byte of a response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hanging {
    /// Those that waited far longer than every one that succeeded.
    pub operations: u64,
    /// All that were in flight when the window ended.
    pub in_flight: u64,
    /// The longest time that one of them waited, in whole seconds.
    pub longest: u64,
}

impl Second {
    fn is_silent(&self) -> bool {
        self.ok == 0
    }
}

/// An outage has at least so many failures, in a time in which so many operations would have succeeded at the rate of the other
/// seconds. A few failures in a row at one operation per second are no outage.
const OPERATIONS_MIN: u64 = 5;

/// Where there are few slots, failures that take long are few: each slot has failed so often.
const ROUNDS_MIN: u64 = 2;

/// Of the operations in flight at the end, those that hang are no less than one of so many where the target serves no more.
const HANGING_PART: u64 = 2;

impl Hanging {
    /// Returns true if the target had stopped serving.
    fn is_outage(&self, slots: Option<u64>) -> bool {
        let needed = slots.unwrap_or(OPERATIONS_MIN).min(OPERATIONS_MIN);
        let most = self.operations.saturating_mul(HANGING_PART) >= self.in_flight;
        self.longest > 0 && self.operations >= needed && most
    }
}

/// A time without a success, up to its last failure.
struct Failing {
    seconds: u64,
    failed: u64,
}

impl Failing {
    fn of(time: &[Second]) -> Option<Self> {
        let failing = || time.iter().enumerate().filter(|(_, second)| second.failed > 0);
        // While operations run into their timeouts, seconds pass in which none ends. Before the first of them began nothing failed, and
        // what follows the last failure says nothing.
        let first = failing().map(|(at, second)| at.saturating_sub(second.longest as usize)).min()?;
        let (last, _) = failing().next_back()?;
        let failed = sum(time.iter().map(|second| second.failed));
        Some(Self { seconds: (last - first) as u64 + 1, failed })
    }
}

/// Seconds of outage: of the times without a success, those with enough failures and enough operations to be more than
/// chance. `slots` is the number of slots of a closed run. Operations that succeed take `usual` seconds: after so long without one,
/// they are missing. `hanging` are those for which the run waited in vain at its end. 0 when nothing succeeded at all, which is a
/// failure of its own.
pub fn seconds(of: impl IntoIterator<Item = Second>, slots: Option<u64>, usual: u64, hanging: Option<Hanging>) -> u64 {
    let mut seconds: Vec<Second> = of.into_iter().collect();
    let ok = sum(seconds.iter().map(|second| second.ok));
    if ok == 0 {
        return 0;
    }
    let last = hanging.filter(|hanging| hanging.is_outage(slots)).map(|hanging| {
        let served = seconds.iter().rposition(|second| !second.is_silent()).map_or(0, |at| at + 1);
        let silent = seconds.split_off(served);
        hanging.longest.max(Failing::of(&silent).map_or(0, |time| time.seconds))
    });
    let needed = slots.map_or(OPERATIONS_MIN, |slots| slots.saturating_mul(ROUNDS_MIN).min(OPERATIONS_MIN));
    let silent = seconds.chunk_by(|a, b| a.is_silent() == b.is_silent()).filter(|time| time[0].is_silent());
    let times: Vec<Failing> = silent.filter_map(Failing::of).collect();
    let serving = (seconds.len() as u64).saturating_sub(sum(times.iter().map(|time| time.seconds))).max(1);
    let are_missing = |seconds: &u64| seconds.saturating_sub(usual).saturating_mul(ok) / serving >= OPERATIONS_MIN;
    let failing = times.iter().filter(|time| time.failed >= needed).map(|time| time.seconds);
    sum(failing.chain(last).filter(are_missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: &[(u64, u64)]) -> u64 {
        among(seconds, None)
    }

    /// What fails has run for long.
    fn among(seconds: &[(u64, u64)], slots: Option<u64>) -> u64 {
        super::seconds(seconds.iter().map(|&(ok, failed)| Second { ok, failed, longest: 1000 }), slots, 0, None)
    }

    /// A pause of the schedule, or of the client, before failures that came at once.
    #[test]
    fn silence_before_failures_is_no_part_of_the_outage() {
        let second = |ok, failed, longest| Second { ok, failed, longest };
        let paused = [vec![second(100, 0, 0); 60], vec![second(0, 0, 0); 60], vec![second(0, 50, 0)]].concat();
        assert_eq!(seconds(paused.clone(), None, 0, None), 1);
        let hung = [paused[..120].to_vec(), vec![second(0, 50, 5)]].concat();
        assert_eq!(seconds(hung, None, 0, None), 6);
    }

    #[test]
    fn a_target_that_hangs_until_the_end_has_an_outage() {
        let hanging = |operations, longest| Some(Hanging { operations, in_flight: 4, longest });
        let run = |served: usize, silent: usize, slots, hanging| {
            let second = |ok| Second { ok, failed: 0, longest: 0 };
            let of = [vec![second(40_000); served], vec![second(0); silent]].concat();
            seconds(of, slots, 0, hanging)
        };
        assert_eq!(run(2, 8, Some(4), hanging(4, 9)), 9);
        assert_eq!(run(2, 8, Some(4), None), 0, "slow, for all that is known");
        assert_eq!(run(3, 0, Some(4), hanging(4, 2)), 2, "in the drain");
        assert_eq!(run(3, 0, Some(4), hanging(4, 0)), 0);
        assert_eq!(run(3, 0, Some(4), hanging(1, 9)), 0, "one of four");
        assert_eq!(run(3, 0, None, hanging(4, 9)), 0, "four are few at any rate");
        assert_eq!(run(0, 3, Some(4), hanging(4, 9)), 0, "nothing succeeded at all");
        assert_eq!(
            seconds([Second { ok: 1, ..Second::default() }; 5], Some(4), 0, hanging(4, 3)),
            0,
            "one in a second"
        );
    }

    /// Ten slots in step, each download of which takes 30 s.
    #[test]
    fn operations_that_end_together_leave_no_outages_between_them() {
        let second = |ok, failed| Second { ok, failed, longest: 29 };
        let round = |ok, failed| [vec![second(0, 0); 28], vec![second(0, failed), second(ok, 0)]].concat();
        let run = [round(10, 0), round(5, 5), round(10, 0), round(10, 0)].concat();
        assert_eq!(seconds(run, Some(10), 30, None), 0);
        let dead = [round(10, 0), round(0, 10), round(0, 10), round(0, 10), round(10, 0)].concat();
        assert!(seconds(dead, Some(10), 30, None) >= 89);
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
