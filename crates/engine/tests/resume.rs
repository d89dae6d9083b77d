//! Tests of resumed runs. A resumed run needs stable object numbers, reserved numbers, and multipart uploads of an
//! earlier run that it can continue.

use crate::bucket::{Bucket, Fault, OpenUpload, Request, State, bytes_of, dataset, fill, in_parts, whole};
use crate::support::{ms, summary};
use engine::plan::*;
use engine::sim::{SimNetwork, simulate_under};
use engine::{Control, CreatedUpload, OpEntry, Sent};
use measure::result::accounting::audit;
use measure::{Instant, Interval, Summary};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

/// The results of a run.
struct Outcome {
    summary: Summary,
    ops: Vec<OpEntry>,
    uploads: Vec<CreatedUpload>,
    state: State,
    /// Attempts in flight after each handover.
    in_flight: Vec<Sent>,
}

/// Carries out a plan with a bucket that has this state. `each` is called with each interval when it ends.
fn carry_out(plan: &Plan, before: State, mut each: impl FnMut(&Control, &Interval)) -> Outcome {
    let state = Rc::new(RefCell::new(before));
    let control = Control::default();
    let (mut intervals, mut ops, mut uploads, mut in_flight) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    // Nothing starts before the test allows it.
    control.let_start_below(0);
    each(&control, &Interval::new(measure::Stage::Warmup, Instant::ZERO, Instant::ZERO));
    let network = |_| SimNetwork::new(Bucket { delay: ms(10), ..Bucket::new(&state, |_: &Request| Fault::None) });
    simulate_under(plan, &control, network, |results| {
        results.intervals.iter().for_each(|interval| each(&control, interval));
        intervals.extend(results.intervals);
        ops.extend(results.ops);
        uploads.extend(results.uploads);
        in_flight.push(results.in_flight);
    });
    let summary = summary(plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    let state = state.take();
    Outcome { summary, ops, uploads, state, in_flight }
}

fn start_all(control: &Control, _: &Interval) {
    control.let_start_below(u64::MAX);
}

#[test]
fn operations_start_only_below_the_bound() {
    // The bound rises to 10 at the start, to 35 after 3 s, and to 100 after 6 s.
    let steps = [(0, 10), (3_000, 35), (6_000, 100)];
    let raise = |control: &Control, interval: &Interval| {
        let (_, bound) = steps.iter().rfind(|(at, _)| interval.end >= Instant::ZERO + ms(*at)).unwrap();
        control.let_start_below(*bound);
    };
    let plan = fill(dataset(100, 50), 4, whole());
    let outcome = carry_out(&plan, State::default(), raise);
    assert_eq!(outcome.summary.stats.measured.ok, 100, "no operation may be lost at a bound");
    for op in &outcome.ops {
        let (at, _) = steps.iter().find(|(_, bound)| op.number < *bound).unwrap();
        let earliest = Instant::ZERO + ms(*at);
        assert!(op.started >= earliest, "operation {} started at {:?}", op.number, op.started);
        assert!(op.started.since(earliest) < ms(1_000), "operation {} started at {:?}", op.number, op.started);
    }
    let mut numbers: Vec<_> = outcome.ops.iter().map(|op| op.number).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..100).collect::<Vec<_>>());
}

#[test]
fn a_run_that_is_held_ends_with_its_window() {
    let stop = StopAfter { time: Some(ms(2_000)), ..StopAfter::default() };
    let outcome = carry_out(&Plan { stop, ..fill(dataset(100, 50), 4, whole()) }, State::default(), |control, _| {
        control.let_start_below(7);
    });
    assert_eq!((outcome.summary.stats.measured.scheduled, outcome.summary.stats.measured.ok), (7, 7));
}

#[test]
fn created_uploads_are_reported_with_the_numbers_of_their_objects() {
    let mut plan = fill(dataset(20, 95), 3, in_parts(10, 2));
    let Some(area) = plan.targets.area() else { unreachable!() };
    let rest = Area { objects: Members::Rest { chosen: [4, 1].into(), from: 15 }, ..area.clone() };
    plan.targets = Arc::new(Targets::of_set(plan.targets.origins().to_vec(), rest));
    plan.stop.ops = std::num::NonZeroU64::new(plan.targets.count());
    let outcome = carry_out(&plan, State::default(), start_all);
    assert_eq!(outcome.summary.stats.measured.ok, 7);
    let mut objects: Vec<_> = outcome.uploads.iter().map(|upload| upload.object).collect();
    objects.sort_unstable();
    assert_eq!(objects, [1, 4, 15, 16, 17, 18, 19]);
    for upload in &outcome.uploads {
        let path = format!("/bucket/{}", dataset(20, 95).object(upload.object).unwrap().key);
        let begun =
            outcome.state.requests.iter().find(|request| request.parameter("uploadId") == Some(&*upload.upload_id));
        assert_eq!(begun.map(|request| &request.path), Some(&path));
    }
    let measured = carry_out(&Plan { retry: None, ..plan }, State::default(), start_all);
    assert_eq!(measured.uploads, [], "measured load reports no uploads");
}

/// Returns a bucket with an open upload, and the value with which a plan resumes this upload. The upload has the ID
/// `known`, and consists of these parts of object `number`.
fn began(number: u64, parts: &[u16]) -> (State, ResumedUploads) {
    let dataset = dataset(4, 95);
    let bytes = bytes_of(&dataset, number);
    let part = |number: &u16| {
        let first = usize::from(*number - 1) * 10;
        (*number, bytes[first..(first + 10).min(95)].to_vec())
    };
    let path = format!("/bucket/{}", dataset.object(number).unwrap().key);
    let upload = OpenUpload { path, parts: parts.iter().map(part).collect() };
    let state = State { uploads: BTreeMap::from([("known".to_owned(), upload)]), ..State::default() };
    let parts = parts.iter().map(|number| (*number, format!("\"{number}\"").into())).collect();
    let resumed = ResumedUpload { upload_id: "known".into(), parts, may_be_complete: false };
    (state, Arc::new(BTreeMap::from([(number, resumed)])))
}

#[test]
fn a_resumed_upload_sends_the_missing_parts_and_completes() {
    for parts in [&[][..], &[1], &[2, 3, 10], &[1, 2, 3, 4, 5, 6, 7, 8, 9], &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]] {
        let (state, resumed_uploads) = began(2, parts);
        let plan = Plan { resumed_uploads, ..fill(dataset(4, 95), 2, in_parts(10, 3)) };
        let outcome = carry_out(&plan, state, start_all);
        assert_eq!(outcome.summary.stats.measured.ok, 4, "{parts:?}");
        for (number, object) in (0..4).zip(outcome.state.objects.values()) {
            assert!(*object == bytes_of(&dataset(4, 95), number), "{parts:?}: object {number} has other bytes");
        }
        assert_eq!((outcome.state.objects.len(), outcome.state.uploads.len(), outcome.uploads.len()), (4, 0, 3));
        let of_upload = |request: &&Request| request.parameter("uploadId") == Some("known");
        let sent: Vec<_> = outcome.state.requests.iter().filter(of_upload).filter(|it| it.method == "PUT").collect();
        assert_eq!(sent.len(), 10 - parts.len());
        let bytes: usize = sent.iter().map(|request| request.body.len()).sum();
        let op = outcome.ops.iter().find(|op| op.number == 2).unwrap();
        assert_eq!(op.body_bytes, bytes as u64, "parts that the server had must not count as sent");
        assert_eq!(outcome.summary.stats.traffic.sent_body, outcome.summary.stats.measured.sent_body);
        // The time of the operation begins with its first request.
        let first = outcome.state.requests.iter().find(of_upload).unwrap();
        assert_eq!(op.sent, Some(first.at));
    }
}

#[test]
fn a_resumed_upload_that_fails_is_aborted_and_one_that_does_not_end_is_kept() {
    let (mut state, resumed_uploads) = began(0, &[1, 2]);
    // The server has lost the upload.
    state.uploads.clear();
    let plan = Plan { resumed_uploads: Arc::clone(&resumed_uploads), ..fill(dataset(1, 95), 1, in_parts(10, 3)) };
    let lost = carry_out(&plan, state, start_all);
    assert_eq!((lost.summary.stats.measured.failed, lost.state.uploads.len()), (1, 0));
    assert_eq!(lost.ops[0].outcome.class, measure::AttemptClass::Http4xx);
    let (state, _) = began(0, &[1, 2]);
    let stop = StopAfter { time: Some(ms(15)), ..StopAfter::default() };
    let cut = carry_out(&Plan { stop, drain: ms(0), ..plan }, state, start_all);
    assert_eq!((cut.summary.stats.measured.unfinished, cut.state.uploads.len()), (1, 1), "{:?}", cut.state.short());
}

#[test]
fn attempts_in_flight_are_handed_over() {
    let plan = fill(dataset(20, 95), 3, in_parts(10, 2));
    let outcome = carry_out(&plan, State::default(), start_all);
    assert!(outcome.in_flight.iter().any(|sent| sent.attempts > 3 && sent.bytes > 0), "{:?}", outcome.in_flight);
    assert!(outcome.in_flight.iter().all(|sent| sent.bytes <= 3 * 95), "{:?}", outcome.in_flight);
    assert_eq!(outcome.in_flight.last(), Some(&Sent::default()), "no operation is left");
    let measured = carry_out(&Plan { retry: None, ..plan }, State::default(), start_all);
    assert!(measured.in_flight.iter().all(|sent| *sent == Sent::default()));
}

#[test]
fn a_resumed_upload_that_may_be_complete_is_not_confirmed_by_its_completion() {
    let all: Vec<u16> = (1..=10).collect();
    for may_be_complete in [false, true] {
        let (state, resumed) = began(2, &all);
        let upload = ResumedUpload { may_be_complete, ..resumed[&2].clone() };
        let resumed_uploads = Arc::new(BTreeMap::from([(2, upload)]));
        let plan = Plan { resumed_uploads, ..fill(dataset(4, 95), 2, in_parts(10, 3)) };
        let outcome = carry_out(&plan, state, start_all);
        let again: Vec<u64> = outcome.ops.iter().filter(|op| op.completed_again).map(|op| op.number).collect();
        assert_eq!(again, if may_be_complete { vec![2] } else { vec![] });
    }
}
