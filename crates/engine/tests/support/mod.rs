//! Plans and simulated servers for the engine's tests.
#![allow(dead_code, reason = "each test program uses a part of it")]

use engine::plan::*;
use engine::schedule::{Profile, Spacing};
use engine::sim::Reply;
use measure::{Distribution, Instant, Interval, Summary};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use wire::Url;
use wire::sigv4::{Keys, Secret, Signer};

/// Returns a plan for one URL. The test can change the plan. The plan has the closed model with 1 slot, lasts 10 s, and
/// has no warm-up.
pub fn plan() -> Plan {
    let mut targets = Targets::default();
    assert!(targets.push(&Url::parse("http://sim:80/object").unwrap()));
    let stop = StopAfter { time: Some(Duration::from_secs(10)), ..StopAfter::default() };
    Plan { stop, ..Plan::new(targets, closed(1)) }
}

/// Returns S3 authentication with fixed keys.
pub fn s3_auth() -> Auth {
    let keys = Keys::new("someone", Secret::new("secret"), None).unwrap();
    let signer = Box::new(Signer::new(keys, "us-east-1", "s3"));
    Auth::S3 { signer, place: SignaturePlace::Header, payload: S3Payload::Unsigned }
}

pub fn closed(slots: u64) -> LoadModel {
    LoadModel::Closed { slots: Profile::constant(slots as f64).unwrap(), think: Duration::ZERO }
}

pub fn open(rate: f64, in_flight_max: u64) -> LoadModel {
    LoadModel::Open {
        rate: Profile::constant(rate).unwrap(),
        spacing: Spacing::Constant,
        in_flight_max: NonZeroU64::new(in_flight_max).unwrap(),
    }
}

pub fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Returns the plan with this URL as its only target.
pub fn at(plan: Plan, url: &str) -> Plan {
    let mut targets = Targets::default();
    assert!(targets.push(&Url::parse(url).unwrap()));
    Plan { targets: Arc::new(targets), ..plan }
}

/// An observer that keeps everything that a run measures.
#[derive(Default)]
pub struct Keep {
    pub intervals: Vec<Interval>,
    pub ops: Vec<engine::OpEntry>,
}

impl engine::Observer for Keep {
    fn interval(&mut self, interval: &Interval, _: &engine::Control, _: Instant) {
        self.intervals.push(interval.clone());
    }

    fn ops(&mut self, ops: &[engine::OpEntry]) {
        self.ops.extend_from_slice(ops);
    }

    fn tick(&mut self, _: &engine::Control, _: Instant) {}
}

/// Runs a plan over real sockets.
pub fn run(plan: &Plan) -> Keep {
    let mut keep = Keep::default();
    let control = engine::Control::new(plan.stop.bytes.map(NonZeroU64::get));
    engine::run(plan, &control, &mut keep).unwrap();
    keep
}

/// Maximum number of tries of a test whose server must close its connections in time.
pub const TRIES: usize = 20;

/// Returns whether the only attempt of an operation ended too late to count as an attempt on a stale connection. The
/// client then concludes that the server worked on the request. In a test whose server closes connections immediately,
/// this means that the host was busy.
pub fn closed_late(op: &engine::OpEntry) -> bool {
    op.attempts == 1 && op.sent.is_some_and(|sent| op.end.since(sent) > ms(5))
}

/// Returns a complete response of `bytes` body bytes.
pub fn response(bytes: u64) -> Vec<Reply> {
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {bytes}\r\n\r\n").into_bytes();
    if bytes == 0 { vec![Reply::Bytes(head)] } else { vec![Reply::Bytes(head), Reply::Filler(bytes)] }
}

/// Returns a complete response that arrives at `at`.
pub fn respond_at(at: Instant, bytes: u64) -> Vec<(Instant, Reply)> {
    response(bytes).into_iter().map(|reply| (at, reply)).collect()
}

pub fn summary(plan: &Plan, intervals: &[Interval]) -> Summary {
    Summary::of(&plan.load.model(), intervals)
}

/// Asserts that a quantile of a distribution is within `slack` of the true value.
pub fn near(times: &Distribution, q: f64, truth: Duration, slack: Duration) {
    let found = Duration::from_nanos(times.quantile(q).unwrap());
    let off = found.abs_diff(truth);
    assert!(off <= slack, "p{} is {found:?}, truth {truth:?}", q * 100.0);
}
