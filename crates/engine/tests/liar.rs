//! Tests that each misbehavior of a server has one class and one cause, and that all bytes are counted.

use crate::support::*;
use engine::OpEntry;
use engine::plan::*;
use measure::result::accounting::audit;
use measure::{AttemptClass, Cause, Counts, Enumerated, Flag, OpKind};
use server::{Case, Liar, Upload, UploadContent};
use std::num::{NonZeroU32, NonZeroU64};
use std::sync::Mutex;

/// Number of cases that run at the same time. Each case spends most of its time waiting.
const AT_ONCE: usize = 8;

fn body(upload: &Upload) -> BodyPlan {
    BodyPlan {
        framing: if upload.chunked { Framing::Chunked } else { Framing::Length },
        expect_continue: upload.expect_continue,
        ..BodyPlan::of_bytes(upload.content.bytes().into())
    }
}

fn plan_for(case: &Case, address: std::net::SocketAddr) -> Plan {
    let client = &case.client;
    let mut plan = at(plan(), &format!("http://{address}/object"));
    let stop = NonZeroU64::new(u64::from(client.requests));
    plan.stop = StopAfter { ops: stop, ..StopAfter::default() };
    plan.log_ops = true;
    plan.mix.requests_mut()[0].method = client.method.clone();
    plan.mix.requests_mut()[0].headers = client.headers.iter().map(|line| wire::Header::parse(line).unwrap()).collect();
    plan.mix.requests_mut()[0].body = client.body.as_ref().map(body);
    plan.mix.requests_mut()[0].range = client.range.map(RangeChoice::Fixed);
    plan.mix.requests_mut()[0].kind = match (client.method.as_ref(), client.range) {
        ("GET", Some(_)) => OpKind::GetRange,
        ("GET", None) => OpKind::Get,
        ("HEAD", _) => OpKind::Head,
        _ => OpKind::Request,
    };
    plan.mix.requests_mut()[0].checks.size = client.expect_size;
    if let Some(hash) = client.expect_hash.as_deref() {
        plan.mix.requests_mut()[0].response_body = ResponseBody::Hashed(match hash {
            "etag" => ExpectedChecksum::Etag,
            "checksum" => ExpectedChecksum::FromResponse,
            given => ExpectedChecksum::Given(given.parse().unwrap()),
        });
    }
    plan.connections.http2 = client.http2.then_some(Http2Plan { streams: NonZeroU32::MIN });
    if client.s3 {
        plan.auth = s3_auth();
    }
    plan.timeouts = Timeouts {
        head: client.head_timeout,
        idle: client.idle_timeout,
        total: client.total_timeout,
        ..Timeouts::default()
    };
    plan
}

fn counts<E: Enumerated>(names: impl IntoIterator<Item = Box<str>>) -> Counts<E> {
    let mut counts = Counts::default();
    for name in names {
        counts.add(E::from_name(&name).unwrap_or_else(|| panic!("no such outcome: {name}")));
    }
    counts
}

/// A case that was played.
struct Played {
    liar: Liar,
    plan: Plan,
    kept: Keep,
}

impl Played {
    fn of(case: &Case) -> Self {
        let liar = Liar::start(case.clone()).unwrap();
        let plan = plan_for(case, liar.address());
        let kept = run(&plan);
        Self { liar, plan, kept }
    }

    /// Plays a case. If the server should have closed a stale connection but closed it late, plays the case again.
    fn in_time(case: &Case) -> Self {
        if !case.expected.has_class("stale_reuse") {
            return Self::of(case);
        }
        let mut tries = (0..TRIES).map(|_| Self::of(case));
        tries.find(|played| !closed_late(played.last())).expect("a server that closes connections in time")
    }

    fn last(&self) -> &OpEntry {
        self.kept.ops.iter().max_by_key(|op| op.number).unwrap()
    }
}

/// Returns the differences between the expected results of a case and the results that the client reports.
fn play(case: &Case) -> Vec<String> {
    let name = case.name.clone();
    let played = Played::in_time(case);
    let Played { liar, plan, kept } = &played;
    let summary = summary(plan, &kept.intervals);
    let (tally, expected) = (&summary.stats.measured, &case.expected);
    let mut wrong = Vec::new();
    let mut must = |what: &str, found: String, wanted: String| {
        if found != wanted {
            wrong.push(format!("{name}: {what}: found {found}, wanted {wanted}"));
        }
    };
    must("violations", format!("{:?}", audit(&summary, true).violations), "[]".to_owned());
    let ordinary = (1..case.client.requests).map(|_| Box::from("ok"));
    let ends = || expected.earlier.iter().chain([&expected.last]);
    let classes: Counts<AttemptClass> = counts(ordinary.chain(ends().map(|end| end.class.clone())));
    must(
        "classes",
        format!("{:?}", tally.classes.nonzero().collect::<Vec<_>>()),
        format!("{:?}", classes.nonzero().collect::<Vec<_>>()),
    );
    let causes: Counts<Cause> = counts(ends().map(|end| end.cause.clone()).filter(|cause| cause.as_ref() != "none"));
    must(
        "causes",
        format!("{:?}", tally.causes.nonzero().collect::<Vec<_>>()),
        format!("{:?}", causes.nonzero().collect::<Vec<_>>()),
    );
    let last = played.last();
    must("last class", last.outcome.class.name().into(), expected.last.class.to_string());
    must("last cause", last.outcome.cause.name().into(), expected.last.cause.to_string());
    must("attempts", last.attempts.to_string(), expected.attempts().to_string());
    must("success", (last.outcome.class == AttemptClass::Ok).to_string(), expected.ok.to_string());
    if let Some(bytes) = expected.body_bytes {
        must("body bytes", last.body_bytes.to_string(), bytes.to_string());
    }
    for flag in Flag::ALL.iter().filter(|flag| !matches!(flag, Flag::KeptAlive | Flag::Persistent)) {
        let wanted = expected.flags.iter().any(|name| name.as_ref() == flag.name());
        let found = tally.flags.get(*flag) > 0;
        // Earlier operations of a case may have other flags.
        if case.client.requests == 1 || wanted {
            must(flag.name(), found.to_string(), wanted.to_string());
        }
    }
    if let Some(UploadContent::Size(size)) = case.client.body.as_ref().map(|body| &body.content) {
        let sent = tally.sent_body;
        let (whole, wanted) = (sent == *size, expected.last.class.as_ref() == "indeterminate");
        must("whole upload sent", whole.to_string(), wanted.to_string());
    }
    let asked = case.client.body.as_ref().is_some_and(|body| body.expect_continue) && expected.ok;
    must("waits for agreement", summary.all.expect_continue.count().to_string(), u64::from(asked).to_string());
    if case.name.as_ref() == "29-no-continue" {
        let (expect_continue, sending) = (&summary.all.expect_continue, &summary.all.service);
        must(
            "second waited",
            expect_continue.min().is_some_and(|nanos| nanos >= 1_000_000_000).to_string(),
            "true".into(),
        );
        must("in the service time", (sending.min() >= expect_continue.min()).to_string(), "true".into());
    }
    if let Some(connections) = expected.connections {
        must("connections", liar.connections().to_string(), connections.to_string());
        must("connections counted", summary.stats.connections.opened.to_string(), connections.to_string());
    }
    if case.client.requests == 1 && expected.earlier.is_empty() {
        must("persistent", (tally.flags.get(Flag::Persistent) > 0).to_string(), expected.reused.to_string());
    }
    wrong
}

#[test]
fn every_case_has_the_expected_outcome() {
    let cases = Case::all();
    assert!(cases.len() >= 90, "{} cases", cases.len());
    let left = Mutex::new(cases.into_iter());
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some(case) = left.lock().unwrap().next() else { return };
                    let found = play(&case);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

#[test]
fn a_range_by_200_succeeds_where_the_user_accepts_it() {
    for (name, succeeds) in
        [("49-range-by-200", true), ("49-range-ignored-same-length", false), ("49-range-ignored", false)]
    {
        let case = Case::named(name).unwrap();
        let liar = Liar::start(case.clone()).unwrap();
        let mut plan = plan_for(&case, liar.address());
        plan.mix.requests_mut()[0].checks.ranges = RangeStatus::Also200;
        let tally = summary(&plan, &run(&plan).intervals).stats.measured;
        assert_eq!((tally.ok, tally.failed), if succeeds { (1, 0) } else { (0, 1) }, "{name}");
    }
}
