//! Turns, which are periods with or without arrival timestamps of the kernel.
//!
//! For each timestamp of a segment, the kernel reads a clock. If a client only sends small requests, these clock reads
//! take about 2 % of the client's CPU time. At high read rates, time is therefore divided into turns. The kernel takes
//! timestamps in only one of eight turns, chosen at random. If the bytes of a sampled read arrived in such a turn, the
//! read represents eight times as many reads. It does not matter when the bytes were read. A thread that has stood
//! still is likely to stand still again, and only a few reads show each of these stops. After a stop, the kernel
//! therefore takes all timestamps for some time.

use crate::plan::ArrivalTimes;
use measure::Instant;
use measure::values::random;
use std::time::Duration;
use sys::arrival::ArrivalTimestamps;

/// If only one of at least this many reads is sampled, the kernel takes timestamps in only some of the turns. If a
/// larger share of the reads is sampled, it takes timestamps all the time.
const EVERY_MIN: u32 = 16;
/// Length of a turn. A turn is much shorter than an interval, and much longer than it takes to switch timestamps on or
/// off.
const TURN: Duration = Duration::from_millis(50);
/// On average, one in this many turns has timestamps.
const TURNS: u32 = 8;
/// Longest normal gap between two checks. If a gap is longer, the thread stood still. At high read rates, a thread
/// makes a check about every 0.5 ms. Shorter gaps need no special treatment. Gaps of 2 ms, for example, are so frequent
/// on a busy host that enough of them fall into turns with timestamps.
const STILL: Duration = Duration::from_millis(5);
/// Time after a standstill during which the kernel takes all timestamps. The usual reasons for a standstill, such as a
/// CPU quota or a pause of the machine, recur within this time.
const WATCH: Duration = Duration::from_secs(2);
/// Time at the start of a run during which the kernel takes all timestamps, so that a short run has samples too.
const START: Duration = Duration::from_millis(250);

/// Switch for the kernel's timestamps.
#[derive(Debug)]
pub(super) struct Turns {
    /// The kernel's timestamps; `None` if the kernel does not support them, or if the plan does not use them.
    timestamps: Option<ArrivalTimestamps>,
    is_on: bool,
    /// Time of the last check.
    checked: Option<Instant>,
    /// Instant until which timestamps are taken all the time, because this thread stood still or the run has just
    /// begun.
    watch_until: Instant,
    /// Start of the current period in which timestamps are taken all the time.
    all_since: Option<Instant>,
    /// Start and end of the previous period in which timestamps were taken all the time.
    all_before: (Instant, Instant),
    /// Start and end of the last time in which this thread stood still.
    still: (Instant, Instant),
}

impl Turns {
    /// Returns the state at the start of a period in which timestamps are taken all the time.
    pub fn start(arrival_times: ArrivalTimes) -> Self {
        let never = (Instant::ZERO, Instant::ZERO);
        Self {
            timestamps: match arrival_times {
                ArrivalTimes::Sampled => ArrivalTimestamps::start().ok(),
                ArrivalTimes::NotRecorded => None,
            },
            is_on: true,
            checked: None,
            watch_until: Instant::ZERO,
            all_since: Some(Instant::ZERO),
            all_before: never,
            still: never,
        }
    }

    /// Switches timestamps on or off, as needed at `now`. One in `every` reads is sampled. Returns whether the next
    /// read may have a timestamp.
    pub fn advance(&mut self, now: Instant, every: u32) -> bool {
        let Some(timestamps) = &self.timestamps else { return false };
        match self.checked.replace(now) {
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
        if on != self.is_on && timestamps.set(on).is_ok() {
            self.is_on = on;
        }
        true
    }

    /// Returns how many reads a sample represents. The sampled bytes arrived at `arrived`, and one of `every` reads is
    /// sampled. Returns `None` if the sample must not be used, because this thread had switched timestamps off when the
    /// bytes arrived. The bytes may still have a timestamp if another thread had switched timestamps on.
    ///
    /// A sample that arrived while this thread stood still represents only `every` reads. If such a sample were
    /// multiplied by [`TURNS`], a stop in a turn with timestamps would count eight times, and a stop in another turn
    /// would not count at all. The clock alone detects a single stop, even without timestamps
    /// (`run_loop/observation/client_stalls.rs`). During later stops, timestamps are taken all the time.
    pub fn stands_for(&self, arrived: Instant, every: u32) -> Option<u32> {
        let within = |(from, to): (Instant, Instant)| from < arrived && arrived <= to;
        let all = self.all_since.is_some_and(|since| since <= arrived) || within(self.all_before);
        match all || within(self.still) {
            true => Some(every),
            false => is_in_turn(arrived).then_some(every * TURNS),
        }
    }
}

/// Returns whether the turn that contains this instant is a turn with timestamps. All threads of a run must choose the
/// same turns, because the kernel takes timestamps either for all sockets or for no socket.
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

    /// Samples reads, given by their times and waits in microseconds. Returns the number of samples, the number of
    /// reads that they represent, and the sum of the waits of these reads.
    fn sampled(every: u32, reads: impl Iterator<Item = (u64, u64)>) -> (usize, u64, u64) {
        let mut turns = Turns::start(ArrivalTimes::Sampled);
        let mut on: Vec<(Instant, bool)> = Vec::new();
        let (mut samples, mut stand_for, mut waits) = (0, 0, 0);
        for (read, wait) in reads {
            turns.advance(at(read), every);
            on.push((at(read), turns.is_on));
            let arrived = at(read.saturating_sub(wait));
            // Bytes have a timestamp if timestamps were switched on when they arrived.
            let switched = on.partition_point(|(since, _)| *since <= arrived).checked_sub(1).map(|index| on[index].1);
            let stands_for = turns.stands_for(arrived, every).filter(|_| switched == Some(true));
            if let Some(stands_for) = stands_for.map(u64::from) {
                (samples, stand_for, waits) = (samples + 1, stand_for + stands_for, waits + stands_for * wait);
            }
        }
        (samples, stand_for, waits)
    }

    #[test]
    fn few_reads_all_have_timestamps() {
        assert_eq!(sampled(1, (1..10_000).map(|ms| (ms * 1000, 10))).1, 9_998);
    }

    #[test]
    fn samples_of_turns_represent_all_reads() {
        let (samples, stand_for, waits) = sampled(64, (0..80_000).map(|look| (look * 500, 100)));
        assert!(
            (10_000..=10_900).contains(&samples),
            "{samples}: reads of the first 250 ms and an eighth of the others must be sampled"
        );
        assert!((4_980_000..=5_260_000).contains(&stand_for), "{stand_for} of 5,120,000");
        assert_eq!(waits, stand_for * 100);
    }

    /// Some waits are longer than turns.
    #[test]
    fn long_waits_are_sampled_as_often_as_short_ones() {
        let (_, stand_for, waits) = sampled(64, (0..60_000).map(|look| (look * 500, random::mix(look) % 100_000)));
        let mean = waits as f64 / stand_for as f64 / 1000.0;
        assert!((47.0..53.0).contains(&mean), "{mean} ms");
        assert!((0.95..1.05).contains(&(stand_for as f64 / (64.0 * 60_000.0))), "{stand_for}");
    }

    /// A client stands still for 100 ms of each second. At the start of each stop, 64 responses arrive.
    #[test]
    fn recurring_stops_are_sampled() {
        let second = |second: u64| {
            let running = (0..1_800).map(move |look| (second * 1_000_000 + look * 500, 10));
            running.chain((0..64).map(move |look| (second * 1_000_000 + 1_000_000 + look, 100_000 - 500)))
        };
        let reads: Vec<(u64, u64)> = (0..20).flat_map(second).collect();
        let truth: u64 = reads.iter().map(|(_, wait)| wait * 64).sum();
        let (.., waits) = sampled(64, reads.into_iter());
        let share = waits as f64 / truth as f64;
        assert!((0.9..1.02).contains(&share), "{share}: all stops but the first must be sampled");
    }

    #[test]
    fn no_turn_is_left_out() {
        let places: Vec<u64> = (0..400).filter(|turn| is_in_turn(at(turn * 50_000))).collect();
        assert_eq!(places.len(), 50, "one turn of each eight");
        for place in 0..8 {
            assert!(places.iter().filter(|turn| *turn % 8 == place).count() > 1, "{places:?}");
        }
    }

    #[test]
    fn a_thread_that_stood_still_gets_all_timestamps_for_a_while() {
        let mut turns = Turns::start(ArrivalTimes::Sampled);
        let looks = (0..5_000).filter(|ms| !(1_000..1_010).contains(ms));
        let all = looks.filter(|ms| turns.advance(at(ms * 1000), 64) && turns.all_since.is_some());
        let wanted: Vec<u64> = (0..250).chain(1_010..3_010).collect();
        assert_eq!(all.collect::<Vec<_>>(), wanted);
    }
}
