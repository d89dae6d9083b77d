//! Open runs.

use super::simulation::{CALM, Op, PLAIN, begin, ended, loaded, simulate};
use super::{MS, SECOND};
use measure::recorder::Pacing;
use measure::{ClientLoad, Instant, Model, Timeline};
use std::time::Duration;
use store::{EndReason, LevelStage, Levels, SavedRun};

/// Returns a run of 1,000 operations per second for 10 s. The target stops from 4 s to 5 s, and stops for good at 9.5
/// s.
pub fn open_stall() -> SavedRun {
    const IN_FLIGHT_MAX: u64 = 400;
    let mut begin = begin(
        Model::Open { in_flight_max: IN_FLIGHT_MAX },
        "open, 1000/s, evenly spaced, at most 400 in flight, 10s",
        Some(10 * SECOND),
    );
    begin.loopback = false;
    let (mut ops, mut dropped) = (Vec::new(), Vec::new());
    for index in 0..10_000_u64 {
        let intended = index * MS;
        let late = 5_000 + index % 7 * 1_000;
        let (stalled_first, gone_first) = (index.saturating_sub(4_000), index.saturating_sub(9_500));
        let op = Op::ok(intended + late, intended + late + 800_000 + index % 11 * 50_000, 4_096);
        let op = Op { intended, ..op };
        ops.push(match index {
            4_000..5_000 if stalled_first < IN_FLIGHT_MAX => {
                let end = 5 * SECOND + stalled_first * 10_000;
                Op { end, first_byte: end - 50_000, ..op }
            }
            4_000..5_000 => {
                let started = 5 * SECOND + 4 * MS + stalled_first * 10_000;
                let (end, slot_wait) = (started + MS, started - intended - late);
                Op { started, slot_wait, end, first_byte: end - 50_000, ..op }
            }
            9_500.. if gone_first < IN_FLIGHT_MAX => Op { end: 12 * SECOND, ..op }.unfinished(),
            9_500.. => {
                dropped.push(intended);
                continue;
            }
            _ => op,
        });
    }
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(10)));
    let intervals = simulate(timeline, Pacing::Scheduled, &ops, &dropped, &PLAIN);
    SavedRun::of(begin, &loaded(intervals, CALM), Some(ended(EndReason::Completed, 12 * SECOND)))
}

/// Returns a run of 100 operations per second for 4 s, then 200 per second for 6 s. Each operation starts `late`
/// nanoseconds late.
fn staged(late: u64, client: ClientLoad) -> SavedRun {
    let load = "open, up to 200/s in stages of 10s, evenly spaced, at most 50 in flight, 10s";
    let mut begin = begin(Model::Open { in_flight_max: 50 }, load, Some(10 * SECOND));
    let stages = [(4, 100.0), (0, 200.0), (6, 200.0)];
    let stage = |(seconds, level)| LevelStage { length_nanos: seconds * SECOND, level };
    begin.levels = Some(Levels { from: 100.0, stages: stages.map(stage).to_vec() });
    begin.loopback = false;
    let arrivals = (0..400).map(|index| index * 10 * MS).chain((0..1200).map(|index| 4 * SECOND + index * 5 * MS));
    let op = |intended: u64| {
        let started = intended + late + intended % 7_000;
        Op { intended, ..Op::ok(started, started + 800_000, 4096) }
    };
    let ops: Vec<Op> = arrivals.map(op).collect();
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(10)));
    let intervals = simulate(timeline, Pacing::Scheduled, &ops, &[], &PLAIN);
    SavedRun::of(begin, &loaded(intervals, client), Some(ended(EndReason::Completed, 10 * SECOND)))
}

pub fn rate() -> SavedRun {
    staged(20_000, CALM)
}

/// Returns a run with a client that starts all operations late, because it has no CPU time left.
pub fn open_late() -> SavedRun {
    staged(6 * MS, ClientLoad { busy: 0.995, unread: 0.93, ..CALM })
}
