//! Tests of retries, on simulated time.

use crate::bucket::{self, Bucket, Fault, Request, State, dataset, fill, in_parts, whole};
use crate::frames;
use crate::support::{self, closed, ms, respond_at, summary};
use engine::OpEntry;
use engine::plan::*;
use engine::sim::{Accept, Reply, SimNetwork, simulate, simulate_until};
use measure::result::accounting::audit;
use measure::{AttemptClass, Cause, Instant, Summary};
use proptest::prelude::*;
use std::cell::RefCell;
use std::num::{NonZeroU32, NonZeroU64};
use std::rc::Rc;
use std::time::Duration;
use wire::s3::ErrorCode;

/// The results of a run.
struct Outcome {
    summary: Summary,
    ops: Vec<OpEntry>,
    state: State,
}

impl Outcome {
    /// Returns the times between each request and the next.
    fn pauses(&self) -> Vec<Duration> {
        self.state.requests.windows(2).map(|pair| pair[1].at.since(pair[0].at)).collect()
    }

    fn count(&self, short: &str) -> usize {
        self.state.requests.iter().filter(|request| request.short() == short).count()
    }
}

/// Carries out a plan with a bucket that has these faults.
fn carry_out(plan: &Plan, fault: impl FnMut(u64, &Request) -> Fault, accepts: fn(Instant) -> Accept) -> Outcome {
    let state = Rc::new(RefCell::new(State::default()));
    let fault = &RefCell::new(fault);
    let (intervals, ops) = simulate(plan, |_| {
        let mut count = 0;
        let counted = move |request: &Request| {
            count += 1;
            (*fault.borrow_mut())(count, request)
        };
        SimNetwork::new(Bucket { accepts, ..Bucket::new(&state, counted) })
    });
    let summary = summary(plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    let state = state.take();
    Outcome { summary, ops, state }
}

fn accepts(_: Instant) -> Accept {
    Accept::After(Duration::from_micros(100))
}

/// Asserts that the bucket has all objects of the plan, with the right bytes, and nothing else.
fn assert_complete(plan: &Plan, state: &State) {
    let dataset = plan.targets.area().unwrap().set.dataset().unwrap();
    assert_eq!(state.objects.len() as u64, dataset.count());
    for number in 0..dataset.count() {
        let path = format!("/bucket/{}", dataset.object(number).unwrap().key);
        assert!(state.objects[&path] == bucket::bytes_of(dataset, number), "{path} has other bytes");
    }
}

#[test]
fn pauses_grow_and_are_random_but_reproducible() {
    let plan = fill(dataset(1, 100), 1, whole());
    let busy = |count, _: &Request| if count <= 12 { Fault::Refused(ErrorCode::SlowDown, None) } else { Fault::None };
    let outcome = carry_out(&plan, busy, accepts);
    let tally = &outcome.summary.stats.measured;
    assert_eq!((tally.ok, tally.attempts, tally.retries, tally.resends), (1, 13, 12, 0));
    assert_eq!((tally.classes.get(AttemptClass::Throttled), outcome.ops[0].attempts), (12, 13));
    let pauses = outcome.pauses();
    for (pause, doublings) in pauses.iter().zip(0..) {
        // A response takes 1 ms.
        let most = ms(200 << doublings.min(6)).min(ms(10_000)) + ms(1);
        assert!(*pause <= most, "pause {doublings} is {pause:?}");
    }
    assert!(pauses.iter().max() > Some(&ms(2_000)), "{pauses:?}");
    assert_eq!(carry_out(&plan, busy, accepts).pauses(), pauses);
    let other = carry_out(&Plan { seed: 2, ..plan.clone() }, busy, accepts).pauses();
    assert_ne!(other, pauses);
    let service = Duration::from_nanos(outcome.summary.all.service.max().unwrap());
    assert!(service >= pauses.iter().sum::<Duration>(), "pauses are part of the service time: {service:?}");
}

#[test]
fn without_a_policy_nothing_is_retried() {
    let plan = Plan { retry: None, ..fill(dataset(3, 100), 1, whole()) };
    let outcome = carry_out(&plan, |_, _| Fault::Refused(ErrorCode::SlowDown, None), accepts);
    let tally = &outcome.summary.stats.measured;
    assert_eq!((tally.failed, tally.attempts, tally.retries), (3, 3, 0));
}

#[test]
fn a_stopped_run_does_not_wait_for_the_next_retry() {
    let state = Rc::new(RefCell::new(State::default()));
    let refuse = |_: &Request| Fault::Refused(ErrorCode::SlowDown, Some(3600));
    let network = |_| SimNetwork::new(Bucket { accepts, ..Bucket::new(&state, refuse) });
    let mut end = Instant::ZERO;
    let ops = simulate_until(&fill(dataset(1, 100), 1, whole()), network, |interval| {
        end = end.max(interval.end);
        true
    });
    assert!(end.since(Instant::ZERO) < ms(2_000), "the run ended at {end:?}, but the retry was due at 10 s");
    assert_eq!(ops.iter().map(|op| op.outcome.class).collect::<Vec<_>>(), [AttemptClass::InflightAtEnd]);
    assert_eq!(state.borrow().requests.len(), 1);
}

#[test]
fn the_pause_that_the_server_asks_for_is_kept() {
    for (asked, pause) in [(3, 3_001), (3600, 10_001)] {
        let refuse = |count, _: &Request| match count {
            1 => Fault::Refused(ErrorCode::SlowDown, Some(asked)),
            _ => Fault::None,
        };
        let outcome = carry_out(&fill(dataset(1, 100), 1, whole()), refuse, accepts);
        assert_eq!(outcome.pauses(), [ms(pause)], "asked for {asked} s");
    }
}

#[test]
fn refusals_have_a_limit() {
    use ErrorCode::{AccessDenied, BadDigest, NoSuchBucket, NotImplemented};
    for (code, attempts, class) in [
        (NoSuchBucket, 5, AttemptClass::Http4xx),
        (BadDigest, 5, AttemptClass::Http4xx),
        (NotImplemented, 5, AttemptClass::Http5xx),
        (AccessDenied, 1, AttemptClass::Auth),
    ] {
        let plan = fill(dataset(2, 100), 1, whole());
        let outcome = carry_out(&plan, |_, _| Fault::Refused(code.clone(), None), accepts);
        let tally = &outcome.summary.stats.measured;
        assert_eq!((tally.failed, tally.attempts, tally.classes.get(class)), (2, 2 * attempts, 2 * attempts), "{code}");
    }
    // Transient failures do not count towards the limit.
    let mixed = |count, _: &Request| match count {
        ..40 if count % 10 == 0 => Fault::Refused(BadDigest, None),
        ..40 => Fault::Reset,
        _ => Fault::None,
    };
    let outcome = carry_out(&fill(dataset(1, 100), 1, whole()), mixed, accepts);
    assert_eq!(outcome.summary.stats.measured.ok, 1);
}

#[test]
fn an_hour_without_a_network_loses_nothing() {
    /// Ten seconds after the start, the network fails for an hour.
    fn is_gone(now: Instant) -> bool {
        (Instant::ZERO + ms(10_000)..Instant::ZERO + ms(3_610_000)).contains(&now)
    }
    let accepts = |now| match is_gone(now) {
        false => Accept::After(ms(1)),
        true if now.as_nanos() % 2 == 0 => Accept::Refuse,
        true => Accept::Ignore,
    };
    for mix in [whole(), in_parts(40, 2)] {
        let plan = fill(dataset(60, 100), 4, mix);
        let state = Rc::new(RefCell::new(State::default()));
        let (intervals, ops) = simulate(&plan, |_| {
            let fault = |request: &Request| if is_gone(request.at) { Fault::Silence } else { Fault::None };
            SimNetwork::new(Bucket { accepts, delay: ms(1000), ..Bucket::new(&state, fault) })
        });
        let summary = summary(&plan, &intervals);
        assert_eq!(audit(&summary, true).violations, []);
        let tally = &summary.stats.measured;
        let indeterminate = ops.iter().filter(|op| op.outcome.class == AttemptClass::Indeterminate).count() as u64;
        assert_eq!((tally.ok + indeterminate, tally.unfinished, tally.dropped), (60, 0, 0), "{tally:?}");
        assert_eq!(tally.failed, indeterminate);
        assert_complete(&plan, &state.borrow());
        assert!(tally.retries > 4 * 200 && tally.retries < 8 * 1800, "{}", tally.retries);
        let end = ops.iter().map(|op| op.end).max().unwrap();
        assert!((3_610..3_700).contains(&(end.as_nanos() / 1_000_000_000)), "{end:?}");
    }
}

#[test]
fn parts_are_retried_alone() {
    let plan = fill(dataset(3, 95), 2, in_parts(10, 3));
    // The first request for each part with an even number fails. The bucket refuses some of these requests after it has
    // received the body, and resets the connections of the others.
    let mut seen = std::collections::BTreeSet::new();
    let fault =
        |count, request: &Request| match request.parameter("partNumber").map(|part| part.parse::<u64>().unwrap()) {
            Some(part) if part % 2 == 0 && seen.insert((request.path.clone(), part)) => {
                if count % 2 == 0 {
                    Fault::Refused(ErrorCode::InternalError, None)
                } else {
                    Fault::Reset
                }
            }
            _ => Fault::None,
        };
    let outcome = carry_out(&plan, fault, accepts);
    let tally = &outcome.summary.stats.measured;
    assert_eq!((tally.ok, tally.failed), (3, 0));
    // Each object has ten parts, one initiation and one completion. The five parts with an even number failed once.
    assert_eq!((outcome.count("begin"), outcome.count("complete"), outcome.count("abort")), (3, 3, 0));
    assert_eq!(tally.retries + tally.resends, 15, "{tally:?}");
    assert_eq!(outcome.ops.iter().map(|op| op.body_bytes).sum::<u64>(), 3 * 95, "retried parts must count once");
    assert!(outcome.summary.stats.traffic.wasted_sent >= 10, "{:?}", outcome.summary.stats.traffic);
    assert_complete(&plan, &outcome.state);
    assert!(outcome.state.uploads.is_empty());
}

#[test]
fn a_part_that_is_refused_for_good_aborts_the_upload() {
    let plan = fill(dataset(1, 95), 1, in_parts(10, 3));
    let fault = |_, request: &Request| match request.parameter("partNumber") {
        Some("2") => Fault::Refused(ErrorCode::BadDigest, None),
        Some("3") => Fault::Reset,
        _ => Fault::None,
    };
    let outcome = carry_out(&plan, fault, accepts);
    assert_eq!(outcome.count("PUT 2"), 5);
    assert_eq!((outcome.count("abort"), outcome.count("complete")), (1, 0), "{:?}", outcome.state.short());
    assert!(outcome.state.uploads.is_empty());
    assert_eq!((outcome.ops[0].outcome.class, outcome.ops[0].outcome.cause), (AttemptClass::Http4xx, Cause::Status));
}

#[test]
fn aborts_are_retried() {
    let plan = fill(dataset(1, 95), 1, in_parts(100, 1));
    for fault_of_abort in [Fault::Reset, Fault::AckLost, Fault::Refused(ErrorCode::InternalError, None)] {
        let mut aborts = 0;
        let fault = |_, request: &Request| match request.short().as_str() {
            "abort" => {
                aborts += 1;
                if aborts < 4 { fault_of_abort.clone() } else { Fault::None }
            }
            "complete" => Fault::Refused(ErrorCode::InvalidPart, None),
            _ => Fault::None,
        };
        let outcome = carry_out(&plan, fault, accepts);
        assert!(outcome.state.uploads.is_empty(), "{:?}", outcome.state.short());
        assert_eq!((outcome.count("complete"), outcome.ops.len()), (5, 1));
        assert_eq!(outcome.ops[0].outcome.class, AttemptClass::Http4xx);
    }
}

#[test]
fn an_abort_that_the_server_fails_again_and_again_is_given_up() {
    let plan = fill(dataset(1, 95), 1, in_parts(10, 3));
    let faults = |_, request: &Request| match request.short().as_str() {
        "complete" => Fault::Refused(ErrorCode::InvalidPart, None),
        "abort" => Fault::Refused(ErrorCode::InternalError, None),
        _ => Fault::None,
    };
    let outcome = carry_out(&plan, faults, accepts);
    assert_eq!((outcome.count("abort"), outcome.ops[0].outcome.class), (5, AttemptClass::Http4xx));
}

#[test]
fn a_completion_whose_acknowledgement_is_lost_is_indeterminate() {
    for fault in [Fault::AckLost, Fault::Silence] {
        let plan = fill(dataset(1, 95), 1, in_parts(10, 3));
        let mut completions = 0;
        let faults = |_, request: &Request| match request.short().as_str() {
            "complete" => {
                completions += 1;
                if completions == 1 { fault.clone() } else { Fault::None }
            }
            _ => Fault::None,
        };
        let outcome = carry_out(&plan, faults, accepts);
        assert_complete(&plan, &outcome.state);
        assert!(outcome.state.uploads.is_empty());
        assert_eq!((outcome.count("complete"), outcome.count("abort")), (2, 0));
        let class = if fault == Fault::AckLost { AttemptClass::Indeterminate } else { AttemptClass::Ok };
        assert_eq!(outcome.ops[0].outcome.class, class, "{fault:?}");
        assert!(outcome.ops[0].completed_again, "{fault:?}: only reading the object shows whether it is stored");
    }
    // If the server does not know the upload, and no earlier request can have completed it, the response is a refusal.
    let plan = fill(dataset(1, 95), 1, in_parts(10, 3));
    let faults = |_, request: &Request| match request.short().as_str() {
        "complete" => Fault::Refused(ErrorCode::NoSuchUpload, None),
        _ => Fault::None,
    };
    let outcome = carry_out(&plan, faults, accepts);
    assert_eq!((outcome.ops[0].outcome.class, outcome.count("complete")), (AttemptClass::Http4xx, 5));
    assert!(!outcome.ops[0].completed_again);
}

#[test]
fn operations_that_pause_at_the_end_of_the_run_are_unfinished() {
    let stop = StopAfter { time: Some(ms(3_000)), ..StopAfter::default() };
    let plan = Plan { stop, drain: ms(500), ..fill(dataset(100, 95), 5, whole()) };
    let outcome = carry_out(&plan, |_, _| Fault::Refused(ErrorCode::SlowDown, None), accepts);
    let tally = &outcome.summary.stats.measured;
    assert_eq!((tally.started, tally.unfinished, tally.failed), (5, 5, 0));
    let drained = Instant::ZERO + ms(3_500);
    let is_cut = |op: &OpEntry| op.outcome.class == AttemptClass::InflightAtEnd && op.end.since(drained) < ms(100);
    assert!(outcome.ops.iter().all(is_cut), "{:?}", outcome.ops);
    assert!((outcome.summary.mean_in_flight().unwrap() - 5.0).abs() < 1e-6, "operations that pause are in flight");
    // Uploads in parts are not aborted, because a later run can continue them.
    let plan = Plan { mix: in_parts(10, 2), ..plan };
    let fault = |_, request: &Request| match request.parameter("partNumber") {
        Some("4") => Fault::Refused(ErrorCode::SlowDown, None),
        _ => Fault::None,
    };
    let outcome = carry_out(&plan, fault, accepts);
    assert_eq!((outcome.summary.stats.measured.unfinished, outcome.state.uploads.len()), (5, 5));
    assert_eq!((outcome.count("abort"), outcome.count("complete")), (0, 0));
    let attempts: u64 = outcome.ops.iter().map(|op| u64::from(op.attempts)).sum();
    let tally = &outcome.summary.stats.measured;
    assert_eq!(attempts, tally.attempts, "operations that are cut off count the attempts of their parts");
}

#[test]
fn a_retry_goes_to_the_first_server_and_not_to_the_target_of_a_redirect() {
    // The first of two workers does not respond. After that, the master redirects to the other worker.
    let server = || {
        let mut asked = 0;
        move |now: Instant, request: &str| {
            if request.contains("Host: sim\r\n") {
                asked += 1;
                let to = format!("HTTP/1.1 307 Go\r\nLocation: http://w{asked}/x\r\nContent-Length: 0\r\n\r\n");
                return vec![(now, Reply::Bytes(to.into_bytes()))];
            }
            if request.contains("Host: w2\r\n") { respond_at(now + ms(1), 5) } else { vec![(now, Reply::Reset)] }
        }
    };
    let stop = StopAfter { ops: NonZeroU64::new(1), ..StopAfter::default() };
    let plan = Plan { stop, retry: Some(RetryPolicy::default()), log_ops: true, ..support::plan() };
    let (intervals, ops) = simulate(&plan, |_| SimNetwork::new(server()));
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    let tally = &summary.stats.measured;
    assert_eq!((tally.ok, tally.attempts, tally.hops, tally.retries), (1, 4, 2, 1));
    assert_eq!((ops[0].attempts, ops[0].hops), (4, 2));
}

#[test]
fn requests_on_streams_are_retried() {
    let stop = StopAfter { ops: NonZeroU64::new(60), ..StopAfter::default() };
    let mut plan = Plan { stop, load: closed(4), retry: Some(RetryPolicy::default()), ..support::plan() };
    plan.connections.http2 = Some(Http2Plan { streams: NonZeroU32::MIN.saturating_add(3) });
    let (intervals, _) = simulate(&plan, |_| {
        let mut count = 0;
        let server = frames::Frames::new(move |request: frames::StreamRequest| {
            count += 1;
            let reply = match count {
                _ if count % 7 == 0 => Reply::Reset,
                _ if count % 3 == 0 => Reply::Bytes(frames::head(request.stream, 503, true)),
                _ => Reply::Bytes(frames::head(request.stream, 200, true)),
            };
            vec![(request.now + ms(1), reply)]
        });
        SimNetwork::new(server)
    });
    let summary = summary(&plan, &intervals);
    assert_eq!(audit(&summary, true).violations, []);
    let tally = &summary.stats.measured;
    assert_eq!((tally.ok, tally.failed), (60, 0), "{tally:?}");
    assert!(tally.retries >= 20 && tally.classes.get(AttemptClass::Throttled) >= 15, "{tally:?}");
}

fn faults() -> impl Strategy<Value = Vec<Fault>> {
    let fault = prop_oneof![
        6 => Just(Fault::None),
        1 => Just(Fault::Reset),
        1 => Just(Fault::AckLost),
        1 => Just(Fault::Silence),
        1 => prop::sample::select(vec![ErrorCode::SlowDown, ErrorCode::InternalError])
            .prop_map(|code| Fault::Refused(code, None)),
    ];
    prop::collection::vec(fault, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Transient faults of any kind must lose no object, and the counters must agree.
    #[test]
    fn transient_faults_lose_nothing(
        faults in faults(),
        slots in 1_u64..6,
        part_bytes in 10_u64..200,
        parallel in 1_u32..5,
        parts in any::<bool>(),
        refuse_every in 0_u64..6,
    ) {
        let mix = if parts { in_parts(part_bytes, parallel) } else { whole() };
        let mut plan = fill(dataset(12, 150), slots, mix);
        plan.timeouts = Timeouts { connect: ms(500), head: ms(500), idle: ms(500), total: None };
        let accepts: fn(Instant) -> Accept = match refuse_every {
            0 => accepts,
            1 => |now| if now.as_nanos() / 1_000_000 % 3 == 0 { Accept::Ignore } else { accepts(now) },
            _ => |now| if now.as_nanos() / 1_000_000 % 2 == 0 { Accept::Refuse } else { accepts(now) },
        };
        // After the last fault of the list, all responses are good.
        let fault = |count: u64, _: &Request| {
            faults.get(usize::try_from(count).unwrap() - 1).cloned().unwrap_or(Fault::None)
        };
        let outcome = carry_out(&plan, fault, accepts);
        let class = |class| outcome.ops.iter().filter(|op| op.outcome.class == class).count();
        prop_assert_eq!(class(AttemptClass::Ok) + class(AttemptClass::Indeterminate), 12);
        assert_complete(&plan, &outcome.state);
        // Only uploads whose ID never arrived are left open.
        let lost = faults.iter().filter(|fault| **fault == Fault::AckLost).count();
        prop_assert!(outcome.state.uploads.len() <= lost, "{:?}", outcome.state.short());
    }
}
