//! Closed runs with different loads on the client, different limits, and different ends.

use super::simulation::{CALM, Op, PLAIN, begin, ended, loaded, simulate};
use super::{MS, SECOND};
use measure::evidence::{Evidence, PathSample, Probe, Probes};
use measure::path::{DirectionTraffic, EmulatedPath, Emulation, EmulatorHealth, Lateness, MeasuredPath, PathTraffic};
use measure::recorder::Pacing;
use measure::units::DataRate;
use measure::{AttemptClass, AttemptOutcome, Cause, ClientLoad, Instant, Interval, Model, OpOutcome, Phase, Timeline};
use std::time::Duration;
use store::{Begin, End, EndReason, SavedRun};

/// Returns the next number of a pseudorandom sequence. The sequence is the same on every machine (Knuth's MMIX
/// constants).
fn noise(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

fn closed_ops(slots: u64, until: u64) -> Vec<Op> {
    let mut state = 7;
    let mut ops = Vec::new();
    for slot in 0..slots {
        let (mut now, mut first) = (slot * 1000, true);
        while now < until {
            let dice = noise(&mut state);
            let length = 900_000 + dice % 2_500_000 + if dice.is_multiple_of(500) { 20 * MS } else { 0 };
            let bytes = [10_240, 10_240, 100_000][(dice % 3) as usize];
            let op = Op { connect: first.then_some(180_000 + dice % 90_000), ..Op::ok(now, now + length, bytes) };
            let too_busy = AttemptOutcome::failed(AttemptClass::Throttled, Cause::Status, Phase::Head);
            let throttled = Op { outcome: OpOutcome::Failed(too_busy), status: Some(503), bytes: 19, ..op.clone() };
            ops.push(if dice.is_multiple_of(997) { throttled } else { op });
            (now, first) = (now + length + 1000, false);
        }
    }
    ops
}

fn closed_run(client: ClientLoad, reason: EndReason, window: u64) -> (Begin, Vec<Interval>, End) {
    let mut begin =
        begin(Model::Closed { concurrency: 8 }, "closed, 8 slots, 10s, after 1s of warm-up", Some(10 * SECOND));
    begin.warmup_ms = 1000;
    let timeline = Timeline::new(Instant::ZERO, Duration::from_secs(1), Some(Duration::from_nanos(window)));
    let intervals = simulate(timeline, Pacing::Immediate, &closed_ops(8, SECOND + window), &[], &PLAIN);
    (begin, loaded(intervals, client), ended(reason, SECOND + window + 30 * MS))
}

pub fn closed() -> SavedRun {
    let (begin, intervals, end) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    SavedRun::of(begin, &intervals, Some(end))
}

/// Returns a closed run without measurements of queueing.
pub fn not_determined() -> SavedRun {
    let (begin, mut intervals, end) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    intervals.iter_mut().for_each(|interval| interval.evidence = Evidence::default());
    SavedRun::of(begin, &intervals, Some(end))
}

/// Returns the same run with a probe, which had twice the slots and did not reach a higher rate.
pub fn probed() -> SavedRun {
    let (begin, mut intervals, mut end) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    intervals.iter_mut().for_each(|interval| interval.evidence = Evidence::default());
    let probe = |slots, per_second| Some(Probe { slots, operations: 9000, per_second, client_limited: false });
    end.probes = Some(Probes { lower: probe(4, 3500.0), higher: probe(16, 3700.0) });
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn client_limited() -> SavedRun {
    let busy = ClientLoad { busy: 0.995, unread: 0.93, ..CALM };
    let (mut begin, intervals, end) = closed_run(busy, EndReason::Completed, 10 * SECOND);
    (begin.debug_build, begin.insecure) = (true, true);
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn client_nic() -> SavedRun {
    let (begin, intervals, end) = closed_run(ClientLoad { nic: 0.97, ..CALM }, EndReason::Completed, 10 * SECOND);
    SavedRun::of(begin, &intervals, Some(end))
}

fn path(kilobits: u64) -> EmulatedPath {
    EmulatedPath {
        emulation: Emulation::Packets,
        down: "8.5Mbit/s,40ms,loss=0.1%".into(),
        up: "0s".into(),
        congestion: Some("cubic".into()),
        larger_buffers: true,
        measured: Some(MeasuredPath {
            round_trip: Duration::from_micros(40_137),
            down: Some(DataRate::bits_per_second(kilobits * 1000)),
            up: None,
            down_lost_ppm: Some(1_050),
            up_lost_ppm: Some(0),
        }),
        differences: Vec::new(),
    }
}

fn traffic(emulator: EmulatorHealth) -> PathTraffic {
    let down =
        DirectionTraffic { bytes: 10_520_000, queue_drops: 12, lost: 7, busy_share: 0.0123, emulator, lateness: None };
    PathTraffic { down, up: DirectionTraffic { bytes: 312_000, ..DirectionTraffic::default() } }
}

/// Returns a run with bodies of 100 kB that uses the rate of an emulated path.
pub fn emulated_path() -> SavedRun {
    let (mut begin, intervals, mut end) = over_link();
    begin.path = Some(path(8_490));
    end.path = Some(traffic(EmulatorHealth::Good));
    SavedRun::of(begin, &intervals, Some(end))
}

/// Returns a run over an emulated path whose emulator was late, by a mean of `late` for the late bytes.
pub fn late_path(late: Duration) -> SavedRun {
    let (mut begin, intervals, mut end) = over_link();
    begin.path = Some(path(8_490));
    let mut traffic = traffic(EmulatorHealth::CpuTooSlow);
    traffic.down.lateness = Some(Lateness { of_late: late, of_all: Duration::from_millis(1) });
    end.path = Some(traffic);
    SavedRun::of(begin, &intervals, Some(end))
}

/// Returns a run over an emulated path that differs from the requested path, and whose emulator did not keep up.
pub fn other_path() -> SavedRun {
    let (mut begin, intervals, mut end) = over_link();
    let mut path = path(7_650);
    path.differences = vec!["rate down: asked 8.5Mbit/s, measured 7.7Mbit/s (-10.0 %)".into()];
    begin.path = Some(path);
    end.path = Some(traffic(EmulatorHealth::CpuTooSlow));
    SavedRun::of(begin, &intervals, Some(end))
}

/// Returns the records of a run with bodies of 100 kB, ten per second.
fn over_link() -> (Begin, Vec<Interval>, End) {
    let op = |index: u64| Op::ok(index * 100 * MS, index * 100 * MS + 95 * MS + index % 7 * 1000, 100_000);
    let ops: Vec<Op> = (0..100).map(op).collect();
    let begin = begin(Model::Closed { concurrency: 1 }, "closed, 1 slot, 100 operations", None);
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(10)));
    let intervals = loaded(simulate(timeline, Pacing::Immediate, &ops, &[], &PLAIN), CALM);
    (begin, intervals, ended(EndReason::Completed, 10 * SECOND))
}

/// Returns a run with bodies of 100 kB over a link with a queue of 80 ms.
pub fn link_full() -> SavedRun {
    let (begin, mut intervals, end) = over_link();
    let waiting = PathSample { round_trip: 80 * MS, shortest: MS / 10, ..PathSample::default() };
    intervals.iter_mut().for_each(|interval| interval.evidence.network_paths.add(&waiting));
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn shared_host() -> SavedRun {
    let crowded = ClientLoad { busy: 0.68, unread: 0.8, run_delay: 0.3, ..CALM };
    let (begin, intervals, end) = closed_run(crowded, EndReason::Completed, 10 * SECOND);
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn interrupted() -> SavedRun {
    let (begin, intervals, end) = closed_run(CALM, EndReason::Interrupted { signal: 2 }, 3_200 * MS);
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn counters_disagree() -> SavedRun {
    let (begin, mut intervals, end) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    intervals[4].stats.traffic.body -= 12_345;
    intervals[4].stats.measured.dropped += 3;
    SavedRun::of(begin, &intervals, Some(end))
}

pub fn partial() -> SavedRun {
    let (begin, intervals, _) = closed_run(CALM, EndReason::Completed, 10 * SECOND);
    let mut run = SavedRun::of(begin, &intervals[..5], None);
    run.torn_bytes = 1_234;
    run
}
