//! When the kernel dates what comes.
//!
//! Reading the clock for each segment costs some 2 % of the CPU time of a client that does nothing but small requests. So
//! where there are many reads, the kernel dates by turns: for one turn of eight, which one is random. What came in such a turn
//! stands for eight times as many, whenever it is read. As soon as this thread stood still, everything is dated for a while: a
//! client that stops does so again and again, and few reads show it.

use measure::Instant;
use measure::values::random;
use std::time::Duration;
use sys::arrival::ArrivalDates;

/// The kernel dates by turns where it is at most one read of so many that is looked at.
const EVERY_MIN: u32 = 16;
/// Short next to an interval, and long next to what switching costs.
const TURN: Duration = Duration::from_millis(50);
/// One turn of so many is dated.
const TURNS: u32 = 8;
/// Between two looks at the clock there are some 0.5 ms where there are so many reads. On a busy host gaps of 2 ms are usual: what
/// happens so often shows in an eighth of the turns as well.
const STILL: Duration = Duration::from_millis(5);
/// After standing still, everything is dated for so long: what stops a client (a quota, a pause of its machine) comes back sooner.
const WATCH: Duration = Duration::from_secs(2);
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
    /// Since when everything has been dated, while it is.
    all_since: Option<Instant>,
    /// When everything was dated before.
    all_before: (Instant, Instant),
    /// When this thread last stood still.
    still: (Instant, Instant),
}

impl Turns {
    /// Begins with dating everything.
    pub fn start() -> Self {
        let never = (Instant::ZERO, Instant::ZERO);
        Self {
            dates: ArrivalDates::start().ok(),
            is_on: true,
            looked: None,
            watch_until: Instant::ZERO,
            all_since: Some(Instant::ZERO),
            all_before: never,
            still: never,
        }
    }

    /// Switches to what is due `now`, when one read of `every` is looked at. Returns whether the read that follows may have a date.
    pub fn look(&mut self, now: Instant, every: u32) -> bool {
        let Some(dates) = &self.dates else { return false };
        match self.looked.replace(now) {
            None => self.watch_until = now + START,
            Some(before) if now.since(before) > STILL => {
                self.still = (before, now);
                self.watch_until = self.watch_until.max(now + WATCH);
            }
            Some(_) => {}
        }
        let all = every < EVERY_MIN || now < self.watch_until;
        match (all, self.all_since) {
            (true, None) => self.all_since = Some(now),
            (false, Some(since)) => (self.all_since, self.all_before) = (None, (since, now)),
            _ => {}
        }
        let on = all || is_in_turn(now);
        if on != self.is_on && dates.set(on).is_ok() {
            self.is_on = on;
        }
        true
    }

    /// Returns for how many reads one stands whose bytes came at that time, when one of `every` is looked at: fewer came at a time at
    /// which everything was dated. `None` when nothing was: other threads may have had the kernel date it.
    ///
    /// What came while this thread stood still is not counted several times over. Where that was in a turn, what it shows would be
    /// several times too much, and otherwise nothing: a single stop is known from the clock (`run_loop/stall.rs`), and the next ones
    /// are dated all.
    pub fn stands_for(&self, came: Instant, every: u32) -> Option<u32> {
        let within = |(from, to): (Instant, Instant)| from < came && came <= to;
        let all = self.all_since.is_some_and(|since| since <= came) || within(self.all_before);
        match all || within(self.still) {
            true => Some(every),
            false => is_in_turn(came).then_some(every * TURNS),
        }
    }
}

/// Whether a time lies in a turn that is dated. The same for all threads of a run: the kernel dates for all sockets or for none.
fn is_in_turn(at: Instant) -> bool {
    let turn = at.as_nanos() / TURN.as_nanos() as u64;
    let (round, place) = (turn / u64::from(TURNS), turn % u64::from(TURNS));
    random::mix(round) % u64::from(TURNS) == place
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1000)
    }

    /// What is found of the waits of reads at such times, in microseconds: how many were dated, for how many these stand, and the sum of
    /// their waits, each as often as the reads that it stands for.
    fn found(every: u32, reads: impl Iterator<Item = (u64, u64)>) -> (usize, u64, u64) {
        let mut turns = Turns::start();
        let mut on: Vec<(Instant, bool)> = Vec::new();
        let (mut dated, mut stand_for, mut waits) = (0, 0, 0);
        for (read, wait) in reads {
            turns.look(at(read), every);
            on.push((at(read), turns.is_on));
            let came = at(read.saturating_sub(wait));
            // The kernel dates by how it was switched when the bytes came.
            let switched = on.partition_point(|(since, _)| *since <= came).checked_sub(1).map(|index| on[index].1);
            let stands_for = turns.stands_for(came, every).filter(|_| switched == Some(true));
            if let Some(stands_for) = stands_for.map(u64::from) {
                (dated, stand_for, waits) = (dated + 1, stand_for + stands_for, waits + stands_for * wait);
            }
        }
        (dated, stand_for, waits)
    }

    #[test]
    fn few_reads_are_dated_all_the_time() {
        assert_eq!(found(1, (1..10_000).map(|ms| (ms * 1000, 10))).1, 9_998);
    }

    #[test]
    fn many_reads_are_dated_by_turns_and_stand_for_all() {
        let (dated, stand_for, waits) = found(64, (0..80_000).map(|look| (look * 500, 100)));
        assert!((10_000..=10_900).contains(&dated), "{dated}: the first 250 ms and an eighth of the others");
        assert!((4_980_000..=5_260_000).contains(&stand_for), "{stand_for} of 5,120,000");
        assert_eq!(waits, stand_for * 100);
    }

    /// Waits are as long as turns, and longer.
    #[test]
    fn long_waits_are_found_as_often_as_short_ones() {
        let (_, stand_for, waits) = found(64, (0..60_000).map(|look| (look * 500, random::mix(look) % 100_000)));
        let mean = waits as f64 / stand_for as f64 / 1000.0;
        assert!((47.0..53.0).contains(&mean), "{mean} ms");
        assert!((0.95..1.05).contains(&(stand_for as f64 / (64.0 * 60_000.0))), "{stand_for}");
    }

    /// A client that stands still for 100 ms of each second, with 64 responses that came when that began.
    #[test]
    fn stops_that_come_again_are_found() {
        let second = |second: u64| {
            let running = (0..1_800).map(move |look| (second * 1_000_000 + look * 500, 10));
            running.chain((0..64).map(move |look| (second * 1_000_000 + 1_000_000 + look, 100_000 - 500)))
        };
        let reads: Vec<(u64, u64)> = (0..20).flat_map(second).collect();
        let truth: u64 = reads.iter().map(|(_, wait)| wait * 64).sum();
        let (.., waits) = found(64, reads.into_iter());
        let share = waits as f64 / truth as f64;
        assert!((0.9..1.02).contains(&share), "{share}: all but the first, which may have come in no turn");
    }

    #[test]
    fn no_turn_is_left_out() {
        let places: Vec<u64> = (0..400).filter(|turn| is_in_turn(at(turn * 50_000))).collect();
        assert_eq!(places.len(), 50, "one of each eight");
        for place in 0..8 {
            assert!(places.iter().filter(|turn| *turn % 8 == place).count() > 1, "{places:?}");
        }
    }

    #[test]
    fn a_thread_that_stood_still_dates_everything_for_a_while() {
        let mut turns = Turns::start();
        let looks = (0..5_000).filter(|ms| !(1_000..1_010).contains(ms));
        let all = looks.filter(|ms| turns.look(at(ms * 1000), 64) && turns.all_since.is_some());
        let wanted: Vec<u64> = (0..250).chain(1_010..3_010).collect();
        assert_eq!(all.collect::<Vec<_>>(), wanted);
    }
}
