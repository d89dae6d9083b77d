//! Tests of the counts and times of recorded events.

use super::*;
use crate::sample::OpSample;
use crate::sample::outcome::{AttemptClass, AttemptOutcome, Cause, OpOutcome, Phase};
use proptest::prelude::*;
use std::time::Duration;

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn sample(recorder: &mut Recorder, started: u64, end: u64, outcome: OpOutcome) -> OpSample {
    let host = recorder.host_label("a:80");
    OpSample { outcome, ..OpSample::simulated(host, ms(started), ms(end)) }
}

proptest! {
    /// The integral over time and the sum over samples must agree for any order of starts and ends.
    #[test]
    fn littles_law_holds_exactly(ops in prop::collection::vec((0_u64..4000, 0_u64..3000), 1..60)) {
        let timeline = Timeline::new(Instant::ZERO, Duration::from_millis(700), Some(Duration::from_millis(2500)));
        let mut recorder = Recorder::new(timeline, Pacing::Immediate);
        let mut events: Vec<(u64, bool, usize)> = Vec::new();
        for (index, (start, length)) in ops.iter().enumerate() {
            events.push((*start, false, index));
            events.push((start + length, true, index));
        }
        events.sort_unstable();
        for (at, is_end, index) in events {
            recorder.advance(ms(at));
            if is_end {
                let sample = sample(&mut recorder, ops[index].0, at, OpOutcome::Ok);
                recorder.ended(&sample);
            } else {
                recorder.scheduled(ms(at), 1);
                recorder.started(ms(at), ms(at));
            }
        }
        recorder.finish(ms(8000));
        let mut total = Stats::default();
        for interval in recorder.take_finished() {
            total.merge(&interval.stats);
        }
        prop_assert_eq!(total.in_flight_nanos, total.residence_nanos);
        let measured = ops.iter().filter(|(start, _)| (700..3200).contains(start)).count() as u64;
        prop_assert_eq!(total.measured.ok, measured);
        prop_assert_eq!(total.outside.ok, ops.len() as u64 - measured);
        prop_assert_eq!(total.all_kinds().response.count(), measured);
    }
}

#[test]
fn bytes_of_failed_operations_are_wasted() {
    let mut recorder = Recorder::new(Timeline::new(Instant::ZERO, Duration::ZERO, None), Pacing::Immediate);
    let failure = AttemptOutcome::failed(AttemptClass::Incomplete, Cause::BodyCutShort, Phase::Body);
    for outcome in [OpOutcome::Ok, OpOutcome::Failed(failure), OpOutcome::Unfinished] {
        recorder.started(ms(0), ms(0));
        recorder.received(1000, 200);
        let sample = sample(&mut recorder, 0, 10, outcome);
        recorder.ended(&sample);
    }
    recorder.finish(ms(10));
    let interval = recorder.take_finished().next().unwrap();
    assert_eq!((interval.stats.traffic.body, interval.stats.traffic.wasted), (3000, 1000));
    assert_eq!(interval.stats.all_kinds().response.count(), 1);
}

#[test]
fn all_periods_in_which_the_thread_was_kept_from_running_count() {
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(3)));
    let mut recorder = Recorder::new(timeline, Pacing::Immediate);
    for (from, to) in [(100, 500), (600, 900), (950, 2_200), (2_300, 2_500)] {
        recorder.frozen(ms(from), ms(to));
        recorder.advance(ms(to));
    }
    recorder.finish(ms(3_000));
    let frozen: Vec<f64> = recorder.take_finished().map(|interval| interval.client.frozen).collect();
    assert_eq!(frozen, [0.75, 1.0, 0.4]);
}
