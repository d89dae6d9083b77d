//! When the kernel dates what comes.
//!
//! Reading the clock for each segment costs some 2 % of the CPU time of a client that does nothing but small requests. So
//! where there are many reads, the kernel dates by turns: for one turn of four, which one is random. A read in such a turn
//! stands for four times as many. As soon as this thread stood still, everything is dated for a while: a client that
//! stops does so again and again, and few reads show it.

use measure::{Instant, random};
use std::time::Duration;
use sys::arrival::ArrivalDates;

/// The kernel dates by turns where it is at most one read of so many that is looked at.
const EVERY_MIN: u32 = 16;
/// Short next to an interval, and long next to what switching costs.
const TURN: Duration = Duration::from_millis(50);
/// One turn of so many is dated.
const TURNS: u32 = 4;
/// Between two looks at the clock there are some 0.5 ms where there are so many reads. On a busy host gaps of 2 ms are usual: what
/// happens so often shows in a quarter of the turns as well.
const STILL: Duration = Duration::from_millis(5);
/// After standing still, everything is dated for so long: the periods of quotas are shorter.
const WATCH: Duration = Duration::from_millis(500);
/// And at the start, so that a short run has dates.
const START: Duration = Duration::from_millis(250);

/// Has the kernel date what comes, all the time or by turns.
#[derive(Debug)]
pub(super) struct Turns {
    /// `None` where the kernel dates nothing.
    dates: Option<ArrivalDates>,
    is_on: bool,
    looked: Option<Instant>,
    watch_until: Instant,
}

impl Turns {
    /// Begins with dating everything.
    pub fn start() -> Self {
        Self { dates: ArrivalDates::start().ok(), is_on: true, looked: None, watch_until: Instant::ZERO }
    }

    /// For how many reads a dated one stands that is made `now`, when one of `every` is looked at; `None` when what comes
    /// is not dated.
    pub fn look(&mut self, now: Instant, every: u32) -> Option<u32> {
        let dates = self.dates.as_ref()?;
        match self.looked.replace(now) {
            None => self.watch_until = now + START,
            Some(before) if now.since(before) > STILL => self.watch_until = self.watch_until.max(now + WATCH),
            Some(_) => {}
        }
        let stands_for = weight(now, self.watch_until, every);
        if stands_for.is_some() != self.is_on && dates.set(stands_for.is_some()).is_ok() {
            self.is_on = !self.is_on;
        }
        stands_for.filter(|_| self.is_on)
    }
}

/// For how many reads one stands that is looked at: all the time until `watch_until`, and from then on by turns where
/// there are many. `None` outside a turn.
fn weight(now: Instant, watch_until: Instant, every: u32) -> Option<u32> {
    if every < EVERY_MIN || now < watch_until {
        return Some(every);
    }
    let turn = now.as_nanos() / TURN.as_nanos() as u64;
    let (round, place) = (turn / u64::from(TURNS), turn % u64::from(TURNS));
    // The same for all threads of a run: the kernel dates for all sockets or for none.
    (random::mix(round) % u64::from(TURNS) == place).then_some(every * TURNS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    /// Returns the number of looks that are dated, and the number of reads that these stand for.
    fn dated(turns: &mut Turns, every: u32, looks: impl Iterator<Item = u64>) -> (usize, u64) {
        let weights: Vec<u32> = looks.filter_map(|ms| turns.look(at(ms), every)).collect();
        (weights.len(), weights.into_iter().map(u64::from).sum())
    }

    #[test]
    fn few_reads_are_dated_all_the_time() {
        assert_eq!(dated(&mut Turns::start(), 1, 0..10_000), (10_000, 10_000));
    }

    #[test]
    fn many_reads_are_dated_by_turns_and_stand_for_all() {
        let (looked, stand_for) = dated(&mut Turns::start(), 64, 0..10_000);
        assert!((2_600..=2_850).contains(&looked), "{looked}: the first 250 ms and a quarter of the others");
        assert!((620_000..=650_000).contains(&stand_for), "{stand_for} of 640,000");
    }

    #[test]
    fn no_turn_is_left_out() {
        let places: Vec<u64> = (0..400).filter(|turn| weight(at(turn * 50), at(0), 64).is_some()).collect();
        assert_eq!(places.len(), 100, "one of each four");
        for place in 0..4 {
            assert!(places.iter().filter(|turn| *turn % 4 == place).count() > 10, "{places:?}");
        }
    }

    #[test]
    fn a_thread_that_stood_still_dates_everything_for_a_while() {
        let mut turns = Turns::start();
        let looks = (0..5_000).filter(|ms| !(1_000..1_010).contains(ms)).chain(5_000..6_000);
        let all: Vec<u64> = looks.filter(|ms| turns.look(at(*ms), 64) == Some(64)).collect();
        let wanted: Vec<u64> = (0..250).chain(1_010..1_510).collect();
        assert_eq!(all, wanted);
    }
}
