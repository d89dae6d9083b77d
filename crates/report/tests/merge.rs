//! Merges runs of several clients. The result must be the same as for one run with the operations of all clients.

use crate::common::SECOND;
use crate::common::simulation::{Op, Texts, begin, ended, simulate};
use measure::recorder::Pacing;
use measure::summary::common_time::{CommonTime, RunTimes, Span};
use measure::{Instant, Interval, Model, ResultWord, Stage, Timeline};
use proptest::prelude::*;
use report::json;
use std::collections::BTreeMap;
use std::time::Duration;
use store::{EndReason, SavedRun};

const START: u64 = 1_795_228_200_000;

/// Returns operations on a number of slots. The times of the operations are pseudorandom.
fn ops(seed: u64, slots: u64, until: u64, slowest_ms: u64) -> Vec<Op> {
    let mut state = seed;
    let mut ops = Vec::new();
    for slot in 0..slots {
        let mut now = slot * 1_000_000;
        while now < until {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let length = 500_000 + (state >> 33) % (slowest_ms * 1_000_000);
            ops.push(Op::ok(now, now + length, 1000));
            now += length + 1000;
        }
    }
    ops
}

/// A client: the start of its run, and its operations.
struct Client {
    started_unix_ms: u64,
    ops: Vec<Op>,
    intervals: Vec<Interval>,
    window: (u64, u64),
}

fn client(delay_ms: u64, seconds: u64, seed: u64, slowest_ms: u64) -> Client {
    let window = (SECOND / 2, SECOND / 2 + seconds * SECOND);
    let timeline = Timeline::new(Instant::ZERO, Duration::from_millis(500), Some(Duration::from_secs(seconds)));
    let ops = ops(seed, 3, window.1, slowest_ms);
    let texts = Texts { url: "http://localhost:8080/object", detail: "" };
    let intervals = simulate(timeline, Pacing::Immediate, &ops, &[], &texts);
    Client { started_unix_ms: START + delay_ms, ops, intervals, window }
}

fn merge(clients: &[Client]) -> Option<(CommonTime, Vec<Interval>)> {
    let times = |client: &Client| RunTimes {
        started_unix_ms: client.started_unix_ms,
        spans: client.intervals.iter().map(Span::of).collect(),
    };
    let overlap = CommonTime::of(&clients.iter().map(times).collect::<Vec<_>>())?;
    let mut merged: BTreeMap<(Instant, bool), Interval> = BTreeMap::new();
    for (index, client) in clients.iter().enumerate() {
        for interval in client.intervals.iter().filter_map(|interval| overlap.take(index, interval.clone())) {
            let key = (interval.start, interval.stage == Stage::Drain);
            merged.entry(key).and_modify(|known| known.merge(&interval)).or_insert(interval);
        }
    }
    Some((overlap, merged.into_values().collect()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn percentiles_are_those_of_all_operations_pooled(
        delays in prop::collection::vec(0_u64..4_000, 2..4), seed in any::<u64>(), slowest in 2_u64..300,
    ) {
        let clients: Vec<Client> =
            delays.iter().zip(0..).map(|(delay, index)| client(*delay, 6, seed ^ index, slowest << index)).collect();
        let (overlap, intervals) = merge(&clients).expect("runs of six seconds that start at most four seconds apart overlap");
        let begin = begin(Model::Closed { concurrency: 3 * clients.len() as u64 }, "closed", None);
        let end = ended(EndReason::Merged { runs: clients.len() as u64 }, 10 * SECOND);
        let run = SavedRun::of(begin, &intervals, Some(end));
        // Brute force: pool the operations that ended in a common second or in a common drain.
        let (mut pooled, mut bytes, mut in_window) = (Vec::new(), 0, 0);
        for (index, client) in clients.iter().enumerate() {
            for op in client.ops.iter().filter(|op| (client.window.0..client.window.1).contains(&op.intended)) {
                let at = |span: &&Interval| span.start.as_nanos() <= op.end && op.end < span.end.as_nanos();
                let Some(interval) = client.intervals.iter().find(at) else { continue };
                if overlap.place(index, Span::of(interval)).is_some() {
                    pooled.push(op.end - op.intended);
                    in_window += u64::from(interval.stage == Stage::Measured);
                }
            }
            let counts = |interval: &&Interval| overlap.place(index, Span::of(interval)).is_some();
            bytes += client.intervals.iter().filter(counts).map(|interval| interval.stats.traffic.body).sum::<u64>();
        }
        pooled.sort_unstable();
        let response = &run.summary().all.response;
        prop_assert_eq!(response.count(), pooled.len() as u64);
        prop_assert_eq!(response.moments().sum, pooled.iter().map(|nanos| u128::from(*nanos)).sum::<u128>());
        for q in [0.1, 0.5, 0.9, 0.99, 1.0] {
            let rank = ((q * pooled.len() as f64).ceil() as usize).clamp(1, pooled.len());
            let (found, truth) = (response.quantile(q).unwrap(), pooled[rank - 1]);
            prop_assert!(found.abs_diff(truth) as f64 <= truth as f64 * 1e-3 + 64.0, "{} of {}: {}", q, found, truth);
        }
        let report = json(&run);
        prop_assert_eq!(report.operations.window_seconds, overlap.seconds() as f64);
        let warm = run.summary().stats.outside.ok;
        let rate = run.summary().ok_rate().unwrap() * overlap.seconds() as f64;
        prop_assert!((rate - (in_window + warm) as f64).abs() < 1e-6, "{} {} {}", rate, in_window, warm);
        prop_assert_eq!(run.summary().stats.traffic.body, bytes);
        prop_assert_eq!(report::result::of(&run).word, ResultWord::Partial, "the counters disagree");
        // Each client keeps three slots busy without pauses.
        let in_flight = run.summary().mean_in_flight().unwrap();
        prop_assert!((in_flight - 3.0 * clients.len() as f64).abs() < 0.1, "not the sum of all clients: {in_flight}");
    }
}
