//! Tests with simulated closed runs against targets that pause. The tests check the conclusions about whether
//! operations waited for each other.

use measure::limits::queueing::{Odds, Queueing, queueing_odds};
use measure::recorder::{Pacing, Recorder};
use measure::sample::OpSample;
use measure::values::random::Random;
use measure::{Instant, Interval, Model, Summary, Timeline};
use std::time::Duration;

/// A target that serves a limited number of operations at a time, and none during its pauses. Times are in seconds.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// Minimum time of one operation.
    least: f64,
    /// Mean of the exponentially distributed time that is added to [`Self::least`].
    spread: f64,
    /// Operations served at a time.
    workers: usize,
    /// Length of a pause.
    pause: f64,
    /// Time from the start of one pause to the start of the next.
    period: f64,
    /// `true` if a pause interrupts the work on operations. `false` if work continues during the pause, but an
    /// operation that would end in the pause ends when the pause ends.
    suspended: bool,
}

impl Target {
    /// Returns the end of an operation that starts at `from` and takes `work`. The first pause starts at `phase`.
    fn end(&self, from: f64, work: f64, phase: f64) -> f64 {
        if self.pause == 0.0 {
            return from + work;
        }
        let paused_until = |at: f64| {
            let inside = (at - phase).rem_euclid(self.period);
            if inside < self.pause { at + self.pause - inside } else { at }
        };
        if !self.suspended {
            return paused_until(paused_until(from) + work);
        }
        let (mut at, mut left) = (paused_until(from), work);
        loop {
            let until_pause = self.period - (at - phase).rem_euclid(self.period);
            if left < until_pause {
                return at + left;
            }
            left -= until_pause;
            at += until_pause + self.pause;
        }
    }
}

const THREADS: usize = 2;

fn at(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9) as u64)
}

/// Simulates a closed run with `slots` slots for `seconds`, and returns the log-odds that its operations waited for each
/// other.
fn odds(target: Target, slots: usize, seconds: f64, seed: u64) -> Odds {
    let mut random = Random::new(measure::values::random::mix(seed));
    let phase = random.unit() * target.period;
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs_f64(seconds)));
    let mut recorders: Vec<Recorder> = (0..THREADS).map(|_| Recorder::new(timeline, Pacing::Immediate)).collect();
    let mut workers = vec![0.0_f64; target.workers];
    let mut serve = |sent: f64| {
        let worker = workers.iter_mut().min_by(|a, b| a.total_cmp(b)).unwrap();
        let work = target.least - target.spread * random.unit().max(1e-12).ln();
        let noise = 20e-6 * random.unit();
        *worker = target.end(worker.max(sent), work, phase) + noise;
        *worker + 50e-6 * random.unit()
    };
    // For each slot, the times at which its operation was sent and will end.
    let mut ops: Vec<(f64, f64)> = Vec::new();
    for slot in 0..slots {
        let sent = slot as f64 * 5e-6;
        recorders[slot % THREADS].started(at(sent), at(sent));
        ops.push((sent, serve(sent)));
    }
    let next_end = |ops: &[(f64, f64)]| {
        let in_flight = ops.iter().copied().enumerate().filter(|(_, op)| op.1 < f64::MAX);
        in_flight.min_by(|a, b| a.1.1.total_cmp(&b.1.1))
    };
    while let Some((slot, (sent, end))) = next_end(&ops) {
        let recorder = &mut recorders[slot % THREADS];
        let host = recorder.host_label("a:80");
        recorder.advance(at(end));
        recorder.ended(&OpSample::simulated(host, at(sent), at(end)));
        let next = end + 3e-6;
        ops[slot] = (f64::MAX, f64::MAX);
        if next < seconds {
            recorder.started(at(next), at(next));
            ops[slot] = (next, serve(next));
        }
    }
    let mut intervals: Vec<Interval> = Vec::new();
    for recorder in &mut recorders {
        recorder.finish(at(seconds + 10.0));
        for interval in recorder.take_finished() {
            match intervals.iter_mut().find(|known| known.start == interval.start) {
                Some(known) => known.merge(&interval),
                None => intervals.push(interval),
            }
        }
    }
    intervals.sort_by_key(|interval| interval.start);
    let model = Model::Closed { concurrency: slots as u64 };
    queueing_odds(&Summary::of(&model, &intervals))
}

/// Numbers of right, wrong and missing conclusions about runs against one target.
#[derive(Clone, Copy, Debug, Default)]
struct Conclusions {
    right: u32,
    wrong: u32,
    unknown: u32,
}

/// Simulates runs of 3 s with different seeds.
fn conclusions(target: Target, slots: usize) -> Conclusions {
    let truth = if target.workers < slots { Queueing::Queued } else { Queueing::Independent };
    let mut conclusions = Conclusions::default();
    for seed in 1..=RUNS {
        match odds(target, slots, 3.0, seed).conclusion() {
            Queueing::Unknown => conclusions.unknown += 1,
            other if other == truth => conclusions.right += 1,
            _ => conclusions.wrong += 1,
        }
    }
    conclusions
}

const RUNS: u64 = 10;
/// Times of operations in seconds: the minimum, and the mean of the exponentially distributed rest.
const TIMES: [(f64, f64); 5] = [(0.005, 0.0), (0.02, 0.0), (0.1, 0.0), (0.0, 0.02), (0.002, 0.005)];

/// Returns the conclusions about targets with these pauses, in total and by target.
fn against_pauses(pause: f64, period: f64) -> (Conclusions, Vec<(Target, usize, Conclusions)>) {
    let mut each = Vec::new();
    for suspended in [false, true] {
        for (least, spread) in TIMES {
            for (slots, workers) in [(4, 1), (4, 1000), (16, 1), (16, 4), (16, 1000), (64, 1), (64, 4), (64, 1000)] {
                let target = Target { least, spread, workers, pause, period, suspended };
                each.push((target, slots, conclusions(target, slots)));
            }
        }
    }
    let all = each.iter().fold(Conclusions::default(), |sum, (_, _, of)| Conclusions {
        right: sum.right + of.right,
        wrong: sum.wrong + of.wrong,
        unknown: sum.unknown + of.unknown,
    });
    (all, each)
}

/// Asserts how often conclusions are right. A wrong conclusion is allowed in at most `wrong_max` of 10 runs against one
/// target, and in at most 1 % of all runs. At least `right_min` of all runs must have the right conclusion.
fn check(pause: f64, period: f64, wrong_max: u32, right_min: f64) {
    let (all, each) = against_pauses(pause, period);
    let runs = f64::from(all.right + all.wrong + all.unknown);
    println!("pauses of {pause} s every {period} s: {all:?}");
    for (target, slots, of) in each {
        assert!(of.wrong <= wrong_max, "{target:?}, {slots} slots: {of:?}");
    }
    assert!(f64::from(all.wrong) <= 0.01 * runs, "{all:?}");
    assert!(f64::from(all.right) >= right_min * runs, "{all:?}");
}

#[test]
fn conclusions_about_steady_targets_are_right() {
    check(0.0, 1.0, 1, 0.9);
}

#[test]
fn long_pauses_are_not_a_queue() {
    check(0.2, 1.0, 1, 0.6);
}

#[test]
fn short_pauses_are_not_a_queue() {
    check(0.03, 0.3, 2, 0.8);
}
