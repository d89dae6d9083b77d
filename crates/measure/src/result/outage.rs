//! Outages, which are periods in which a target failed all requests, although it had served requests before.
//!
//! The share of successes hides outages of a closed run, because slots that wait for a timeout start few operations. If
//! operations hang until the end of the run, they do not even count as failed.

use crate::values::sum;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Operations in one whole second of the measured window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Second {
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed for a reason other than a delay of the client.
    pub failed: u64,
    /// Longest duration of a failed operation, in whole seconds.
    pub longest: u64,
    /// Time before the first success; empty without a success.
    #[serde(default, skip_serializing_if = "Edge::is_empty")]
    pub before: Edge,
    /// Time after the last success; empty without a success.
    #[serde(default, skip_serializing_if = "Edge::is_empty")]
    pub after: Edge,
}

/// Part of a second without a success. These parts are needed because an outage rarely begins and ends exactly on a
/// full second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edge {
    /// Length of this part in whole tenths of a second, at most 10.
    pub tenths: u8,
    /// Operations that failed in this part for a reason other than a delay of the client.
    pub failed: u64,
}

/// Tenths in a second.
const TENTHS: u64 = 10;

impl Edge {
    /// Returns a part of this length. Parts of less than a tenth of a second are empty.
    #[must_use]
    pub fn of(length: Duration, failed: u64) -> Self {
        let tenths = (length.as_millis() / 100).min(TENTHS.into()) as u8;
        if tenths == 0 { Self::default() } else { Self { tenths, failed } }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// The end of the run, after the last sign of service. A sign of service is a success, or the transfer of body bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Silence {
    /// Time from the last sign of service to the end of the run.
    pub time: Duration,
    /// Number of operations that hang because the target no longer serves. These operations were in flight at the end,
    /// had not received a byte of a response, and had waited far longer than any successful operation took. Operations
    /// that started before the last sign of service usually do not count. After their start, the target still served
    /// other operations, so they hang for another reason. They count only if all slots of a closed run hang.
    pub hanging: u64,
    /// Number of operations in flight at the end of the measured window.
    pub in_flight: u64,
    /// Time from the last sign of service to the last failure in the measured window.
    pub failing: Duration,
    /// Number of operations that failed after the last sign of service, or in the same interval as that sign. Failures
    /// that a delay of the client may have caused are not included.
    pub failed: u64,
    /// Longest time that a failed operation took.
    pub longest: Duration,
}

impl Second {
    fn is_silent(&self) -> bool {
        self.ok == 0
    }
}

/// Minimum number of failures in an outage. In addition, the period must be so long that at least this number of
/// operations would have succeeded in it at the usual rate. A few failures in a row at one operation per second are
/// therefore not an outage.
const OPERATIONS_MIN: u64 = 5;

/// Minimum number of failures per slot in an outage. This minimum applies to runs with so few slots that
/// [`OPERATIONS_MIN`] failures would be too many.
const ROUNDS_MIN: u64 = 2;

/// An outage at the end of a run requires that at least one in this many operations in flight hangs. If fewer hang, the
/// target still serves.
const HANGING_PART: u64 = 2;

/// Minimum length of an outage at the end of a run. In the middle of a run, an outage takes at least one second.
const FAILING_MIN: Duration = Duration::from_millis(500);

impl Silence {
    /// Returns the length of the outage at the end of a run, if there was one.
    fn outage(&self, slots: Option<u64>) -> Option<Duration> {
        let all = slots.unwrap_or(OPERATIONS_MIN).min(OPERATIONS_MIN);
        let hangs = self.hanging >= all && self.hanging.saturating_mul(HANGING_PART) >= self.in_flight;
        // If failed operations took longer than half of the time without service, they may have started while the
        // target still served requests.
        let fails = self.failed >= failures_needed(slots) && self.failing >= FAILING_MIN.max(self.longest * 2);
        let (hanging, failing) = (hangs.then_some(self.time), fails.then_some(self.failing));
        hanging.max(failing)
    }
}

/// Returns the minimum number of failures in an outage.
fn failures_needed(slots: Option<u64>) -> u64 {
    slots.map_or(OPERATIONS_MIN, |slots| slots.saturating_mul(ROUNDS_MIN).min(OPERATIONS_MIN))
}

/// Part of a period without successes: the end of a second, a whole second, or the beginning of a second.
#[derive(Clone, Copy)]
struct Part {
    tenths: u64,
    failed: u64,
    /// Longest time that a failed operation took.
    longest: u64,
}

/// Period without successes, from the start of the first failed operation to the last failure.
struct Failing {
    tenths: u64,
    failed: u64,
}

impl Failing {
    fn of(parts: &[Part]) -> Option<Self> {
        let ends = parts.iter().scan(0, |end, part| {
            *end += part.tenths;
            Some((*end - part.tenths, *end, part))
        });
        let failing: Vec<(u64, u64, &Part)> = ends.filter(|(_, _, part)| part.failed > 0).collect();
        // While operations wait for their timeouts, there may be seconds in which no operation ends. The period
        // therefore starts with the first operation that failed. The period ends with the last failure, because later
        // time in which no operation ends does not show an outage.
        let first =
            failing.iter().map(|(start, _, part)| start.saturating_sub(part.longest.saturating_mul(TENTHS))).min()?;
        let (_, last, _) = failing.last()?;
        Some(Self { tenths: last - first, failed: sum(failing.iter().map(|(_, _, part)| part.failed)) })
    }

    fn time(&self) -> Duration {
        tenths(self.tenths)
    }
}

fn tenths(count: u64) -> Duration {
    Duration::from_millis(count.saturating_mul(100))
}

/// A period without successes: its parts, and how many of them are whole seconds.
struct Period {
    parts: Vec<Part>,
    seconds: usize,
}

impl Period {
    fn tenths(&self) -> u64 {
        sum(self.parts.iter().map(|part| part.tenths))
    }
}

/// Returns the periods without successes, with the parts of the seconds before and after them.
fn periods(seconds: &[Second]) -> Vec<Period> {
    let part = |edge: Edge| Part { tenths: edge.tenths.into(), failed: edge.failed, longest: 0 };
    let (mut periods, mut open) = (Vec::new(), Period { parts: Vec::new(), seconds: 0 });
    for second in seconds {
        if second.is_silent() {
            open.parts.push(Part { tenths: TENTHS, failed: second.failed, longest: second.longest });
            open.seconds += 1;
        } else {
            open.parts.push(part(second.before));
            let next = Period { parts: vec![part(second.after)], seconds: 0 };
            periods.push(std::mem::replace(&mut open, next));
        }
    }
    periods.push(open);
    periods.retain(|period| period.tenths() >= TENTHS);
    periods
}

/// Returns the total length of pauses. A pause is a period of at least a second between two successes in which no
/// operation failed. The result includes only the parts of seconds at both ends of a pause. The caller adds the whole
/// seconds, because it knows in which of them operations were in flight. If `with_long` is false, no whole second had
/// operations in flight, and the result includes only pauses without a whole second.
pub fn pauses(of: impl IntoIterator<Item = Second>, with_long: bool) -> Duration {
    let seconds: Vec<Second> = of.into_iter().collect();
    let is_pause =
        |period: &&Period| (with_long || period.seconds == 0) && period.parts.iter().all(|part| part.failed == 0);
    let edges = |period: &Period| tenths(period.tenths().saturating_sub(period.seconds as u64 * TENTHS));
    periods(&seconds).iter().filter(is_pause).map(edges).sum()
}

/// Returns the total length of the outages. An outage is a period without successes that has enough failures and is too
/// long to be chance. At the usual rate, several operations would have succeeded in such a period. If no operation of
/// the run succeeded, the result is zero, because that case is reported separately.
///
/// `ok` is the number of operations that succeeded in the whole measured window, including its last fraction of a
/// second. `slots` is the number of slots of a closed run. `usual` is the time that a successful operation takes. A
/// period without successes is significant only if it is longer than `usual`. `silence` describes the end of the run.
pub fn length(
    of: impl IntoIterator<Item = Second>,
    ok: u64,
    slots: Option<u64>,
    usual: Duration,
    silence: Silence,
) -> Duration {
    let mut seconds: Vec<Second> = of.into_iter().collect();
    if ok == 0 {
        return Duration::ZERO;
    }
    let last = silence.outage(slots).map(|time| {
        let served = seconds.iter().rposition(|second| !second.is_silent()).map_or(0, |at| at + 1);
        let silent = seconds.split_off(served);
        let parts: Vec<Part> = periods(&silent).into_iter().flat_map(|period| period.parts).collect();
        time.max(Failing::of(&parts).map_or(Duration::ZERO, |failing| failing.time()))
    });
    let times: Vec<Failing> = periods(&seconds).iter().filter_map(|period| Failing::of(&period.parts)).collect();
    let failing_seconds: f64 = times.iter().map(|time| time.time().as_secs_f64()).sum();
    let serving = (seconds.len() as f64 - failing_seconds).max(1.0);
    let rate = ok as f64 / serving;
    let are_missing = |time: &Duration| time.saturating_sub(usual).as_secs_f64() * rate >= OPERATIONS_MIN as f64;
    let failing = times.iter().filter(|time| time.failed >= failures_needed(slots) && time.tenths >= TENTHS);
    failing.map(Failing::time).chain(last).filter(are_missing).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(seconds: &[(u64, u64)]) -> u64 {
        among(seconds, None)
    }

    /// Returns the outage seconds of a run in which failed operations took very long.
    fn among(seconds: &[(u64, u64)], slots: Option<u64>) -> u64 {
        whole(
            seconds.iter().map(|&(ok, failed)| Second { ok, failed, longest: 1000, ..Second::default() }).collect(),
            slots,
            0,
            NONE,
        )
    }

    const NONE: Silence = Silence {
        time: Duration::ZERO,
        hanging: 0,
        in_flight: 0,
        failing: Duration::ZERO,
        failed: 0,
        longest: Duration::ZERO,
    };

    /// Returns the outage seconds of a run that lasts whole seconds.
    fn whole(of: Vec<Second>, slots: Option<u64>, usual: u64, silence: Silence) -> u64 {
        let ok = of.iter().map(|second| second.ok).sum();
        let length = length(of, ok, slots, Duration::from_secs(usual), silence);
        assert_eq!(length.subsec_nanos(), 0);
        length.as_secs()
    }

    /// The schedule or the client pauses, and the operations after the pause fail immediately.
    #[test]
    fn silence_before_failures_is_not_part_of_the_outage() {
        let second = |ok, failed, longest| Second { ok, failed, longest, ..Second::default() };
        let paused = [vec![second(100, 0, 0); 60], vec![second(0, 0, 0); 60], vec![second(0, 50, 0)]].concat();
        assert_eq!(whole(paused.clone(), None, 0, NONE), 1);
        let hung = [paused[..120].to_vec(), vec![second(0, 50, 5)]].concat();
        assert_eq!(whole(hung, None, 0, NONE), 6);
    }

    #[test]
    fn hanging_until_the_end_is_an_outage() {
        let secs = Duration::from_secs;
        let hanging = |hanging, seconds| Silence { hanging, in_flight: 4, time: secs(seconds), ..NONE };
        let run = |served: usize, silent: usize, slots, silence| {
            let second = |ok| Second { ok, ..Second::default() };
            whole([vec![second(40_000); served], vec![second(0); silent]].concat(), slots, 0, silence)
        };
        assert_eq!(run(2, 8, Some(4), hanging(4, 9)), 9);
        assert_eq!(run(2, 8, Some(4), NONE), 0, "without hanging operations, the target may just be slow");
        assert_eq!(run(3, 0, Some(4), hanging(4, 2)), 2, "hanging in the drain is an outage");
        assert_eq!(run(3, 0, Some(4), hanging(4, 0)), 0);
        assert_eq!(run(3, 0, Some(4), hanging(1, 9)), 0, "one hanging operation of four is not an outage");
        assert_eq!(run(3, 0, None, hanging(4, 9)), 0, "four hanging operations are too few for an open run");
        assert_eq!(run(0, 3, Some(4), hanging(4, 9)), 0, "a target that never served has no outage");
        let slow = vec![Second { ok: 1, ..Second::default() }; 5];
        assert_eq!(
            whole(slow, Some(4), 0, hanging(4, 3)),
            0,
            "at one operation per second, three seconds show nothing"
        );
        assert_eq!(
            length([], 20_000, Some(4), Duration::ZERO, hanging(4, 9)),
            secs(9),
            "the target stopped serving within the first second"
        );
    }

    #[test]
    fn failing_everything_at_the_end_is_an_outage() {
        let ms = Duration::from_millis;
        let of = |failing, failed, longest| {
            let silence = Silence { failing: ms(failing), failed, longest: ms(longest), ..NONE };
            length([Second { ok: 1000, failed, ..Second::default() }; 3], 3000, Some(4), Duration::ZERO, silence)
        };
        assert_eq!(of(900, 32, 160), ms(900));
        assert_eq!(of(400, 32, 160), Duration::ZERO, "failures of 400 ms are too short");
        assert_eq!(of(900, 3, 160), Duration::ZERO, "three failures are too few");
        assert_eq!(of(900, 32, 1000), Duration::ZERO, "the failed operations started while others succeeded");
    }

    /// Ten slots start and end their downloads of 30 s at the same times.
    #[test]
    fn operations_that_end_together_leave_no_outages_in_between() {
        let second = |ok, failed| Second { ok, failed, longest: 29, ..Second::default() };
        let round = |ok, failed| [vec![second(0, 0); 28], vec![second(0, failed), second(ok, 0)]].concat();
        let run = [round(10, 0), round(5, 5), round(10, 0), round(10, 0)].concat();
        assert_eq!(whole(run, Some(10), 30, NONE), 0);
        let dead = [round(10, 0), round(0, 10), round(0, 10), round(0, 10), round(10, 0)].concat();
        assert!(whole(dead, Some(10), 30, NONE) >= 89);
    }

    /// A few slots each wait for a timeout. The seconds between the failures belong to the outage.
    #[test]
    fn slow_failures_are_an_outage() {
        let dead: Vec<_> = [[(0, 0); 4].to_vec(), vec![(0, 4)]].concat().repeat(6);
        let run = [vec![(100, 0); 60], dead, vec![(100, 0); 60]].concat();
        assert_eq!(among(&run, Some(4)), 30);
        let one = [vec![(100, 0)], [[(0, 0); 4].to_vec(), vec![(0, 1)]].concat().repeat(2), vec![(100, 0)]].concat();
        assert_eq!(among(&one, Some(1)), 10);
        assert_eq!(among(&one[..6], Some(1)), 0, "a single slow failure is not an outage");
        assert_eq!(of(&[(100, 0), (0, 0), (0, 9), (0, 0), (0, 0)]), 2, "silence after the last failure does not count");
    }

    #[test]
    fn a_second_without_a_success_is_an_outage_if_many_were_due() {
        assert_eq!(of(&[(500, 0), (0, 40), (0, 60), (500, 3)]), 2);
        assert_eq!(of(&[(500, 0), (0, 40), (500, 0), (0, 5)]), 2);
    }

    #[test]
    fn single_failures_at_one_operation_per_second_are_not_an_outage() {
        assert_eq!(of(&[(1, 0), (1, 0), (0, 1), (1, 0)]), 0);
        // Five failures in a row are an outage.
        assert_eq!(of(&[(1, 0), (0, 1), (0, 1), (0, 1), (0, 1), (0, 1), (1, 0)]), 5);
        // One failure between two bursts of slow successes is not an outage.
        assert_eq!(of(&[(100, 0), (0, 0), (0, 1), (100, 0)]), 0);
    }

    #[test]
    fn runs_without_any_success_have_no_outage() {
        assert_eq!(of(&[(0, 10), (0, 10)]), 0);
        assert_eq!(of(&[]), 0);
    }

    #[test]
    fn an_outage_need_not_begin_and_end_with_a_second() {
        let edge = |tenths, failed| Edge { tenths, failed };
        let second = |before, after| Second { ok: 1, before, after, ..Second::default() };
        let served = second(Edge::default(), Edge::default());
        let silent = Second { failed: 40, ..Second::default() };
        let of = |seconds: &[Second]| length(seconds.iter().copied(), 400, Some(4), Duration::ZERO, NONE);
        let (before, after) = (second(edge(9, 30), Edge::default()), second(Edge::default(), edge(9, 30)));
        assert_eq!(of(&[served, after, before, served]), Duration::from_millis(1800));
        assert_eq!(of(&[served, after, silent, before, served]), Duration::from_millis(2800));
        assert_eq!(of(&[served, served, before, served]), Duration::ZERO, "less than a second");
        // Failures between two successes of a second do not belong to an edge. An edge without failures does not belong
        // to an outage.
        let pause = second(Edge::default(), edge(9, 0));
        assert_eq!(of(&[served, pause, silent, second(edge(5, 0), Edge::default())]), Duration::from_secs(1));
        assert_eq!(of(&[served, pause, second(edge(9, 0), Edge::default())]), Duration::ZERO);
    }

    #[test]
    fn pauses_between_two_successes_are_measured() {
        let edge = |tenths, failed| Edge { tenths, failed };
        let second = |before, after| Second { ok: 1, before, after, ..Second::default() };
        let of =
            |failed| pauses([second(Edge::default(), edge(9, 0)), second(edge(9, failed), Edge::default())], false);
        assert_eq!(of(0), Duration::from_millis(1800));
        assert_eq!(of(1), Duration::ZERO, "the target responded");
        let short = [second(Edge::default(), edge(4, 0)), second(edge(5, 0), Edge::default())];
        assert_eq!(pauses(short, false), Duration::ZERO);
        let long = [second(Edge::default(), edge(6, 0)), Second::default(), second(edge(7, 0), Edge::default())];
        assert_eq!([false, true].map(|with_long| pauses(long, with_long)), [0, 1300].map(Duration::from_millis));
        assert_eq!(Edge::of(Duration::from_millis(99), 5), Edge::default());
        assert_eq!(Edge::of(Duration::from_millis(1999), 5), edge(10, 5));
    }
}
