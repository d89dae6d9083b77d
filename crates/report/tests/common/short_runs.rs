//! Short closed runs on unusual targets.

use super::simulation::{CALM, Op, PLAIN, Texts, begin, ended, loaded, simulate};
use super::{MS, SECOND};
use measure::recorder::Pacing;
use measure::{AttemptClass, Cause, Flag, Instant, Model, Phase, Timeline};
use std::time::Duration;
use store::{Begin, End, EndReason, SavedRun, Tls};

fn short(ops: &[Op], texts: &Texts, change: impl FnOnce(&mut Begin, &mut End)) -> SavedRun {
    let last = ops.iter().map(|op| op.end).max().unwrap_or(SECOND);
    let mut begin = begin(Model::Closed { concurrency: 4 }, "closed, 4 slots", None);
    let mut end = ended(EndReason::Completed, last + MS);
    change(&mut begin, &mut end);
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_nanos(last + MS)));
    SavedRun::of(begin, &loaded(simulate(timeline, Pacing::Immediate, ops, &[], texts), CALM), Some(end))
}

/// Returns a run on a target that is as fast under load as without load.
pub fn concurrency() -> SavedRun {
    let op = |index: u64| Op::ok(index * MS, index * MS + 900_000 + index % 7 * 1000, 4096);
    let ops: Vec<Op> = (0..2000).map(op).collect();
    short(&ops, &PLAIN, |begin, _| {
        begin.model = Model::Closed { concurrency: 1 };
        begin.load = "closed, 1 slot, 2,000 operations".into();
    })
}

/// Returns a run on a server that sends a different header value in every response.
pub fn many_labels() -> SavedRun {
    let value = |index: u64| Some(&*Box::leak(format!("node-{index}").into_boxed_str()));
    let op = |index: u64| Op { header: value(index % 80), ..Op::ok(index * MS, index * MS + 800_000, 512) };
    let ops: Vec<Op> = (0..800).map(op).collect();
    short(&ops, &PLAIN, |begin, _| begin.header = Some("x-served-by".into()))
}

/// Returns a run with four objects. Three of them are redirected to another server, and one of these three does not
/// exist there.
pub fn redirected() -> SavedRun {
    let owners = ["localhost:8081", "localhost:8082", "localhost:8083"];
    let op = |index: u64| {
        let start = index * 2 * MS;
        let op = Op { connect: (index < 8).then_some(MS / 10), ..Op::ok(start, start + MS, 100_000) };
        match index % 4 {
            0 => op,
            place => Op { moved: Some((start + MS / 2, owners[place as usize - 1])), ..op },
        }
    };
    let mut ops: Vec<Op> = (0..800).map(op).collect();
    ops[401] = ops[401].clone().failed(AttemptClass::Http4xx, Cause::Status, Phase::Head, Some(404));
    short(&ops, &PLAIN, |_, _| ())
}

pub fn all_failed() -> SavedRun {
    let refused = |index: u64| {
        let op = Op { bytes: 0, ..Op::ok(index * 300_000, index * 300_000 + 200_000, 0) };
        op.failed(AttemptClass::ConnectRefused, Cause::Refused, Phase::Connect, None)
    };
    let ops: Vec<Op> = (0..100).map(refused).collect();
    let texts = Texts { url: PLAIN.url, detail: "connection refused (os error 111)" };
    short(&ops, &texts, |_, end| {
        (end.server, end.reason) = (None, EndReason::Unreachable { detail: "connection refused, 100 times".into() });
    })
}

pub fn nothing_ended() -> SavedRun {
    let ops: Vec<Op> = (0..4).map(|slot| Op::ok(slot * 1000, 20 * SECOND, 0).unfinished()).collect();
    let begin = begin(Model::Closed { concurrency: 4 }, "closed, 4 slots, 10s", Some(10 * SECOND));
    let timeline = Timeline::new(Instant::ZERO, Duration::ZERO, Some(Duration::from_secs(10)));
    let intervals = simulate(timeline, Pacing::Immediate, &ops, &[], &PLAIN);
    let end = End { server: None, ..ended(EndReason::Completed, 20 * SECOND) };
    SavedRun::of(begin, &loaded(intervals, CALM), Some(end))
}

pub fn one_sample() -> SavedRun {
    short(&[Op { connect: Some(210_000), ..Op::ok(0, 1_234_567, 1_024) }], &PLAIN, |begin, _| {
        begin.model = Model::Closed { concurrency: 1 };
        begin.load = "closed, 1 slot, 1 operation".into();
    })
}

pub fn empty_objects() -> SavedRun {
    let ops: Vec<Op> = (0..400).map(|index| Op::ok(index * MS, index * MS + 700_000 + index * 100, 0)).collect();
    short(&ops, &PLAIN, |_, end| end.server.as_mut().unwrap().document_bytes = 0)
}

/// Returns a run with objects of 9.3 GB. Such a size exceeds 32 bits. Multiplied by the nanoseconds of a second, it
/// also exceeds a signed 64-bit number.
pub fn huge_objects() -> SavedRun {
    let op = |index: u64| Op::ok(index * SECOND, index * SECOND + 8 * SECOND + index * MS, 9_300_000_000 + index);
    let ops: Vec<Op> = (0..42).map(op).collect();
    short(&ops, &PLAIN, |_, end| end.server.as_mut().unwrap().document_bytes = 9_300_000_000)
}

pub const HOSTILE: &str = "evil\u{1b}]0;owned\u{7}\r\n\u{202e}gnp.exe\u{0}\u{feff}<script>";

/// Returns a run on a server that sends control sequences for the reader's terminal in every field.
pub fn hostile() -> SavedRun {
    let op = |index: u64| {
        let op = Op { header: Some(HOSTILE), ..Op::ok(index * MS, index * MS + 800_000, 512) };
        match index % 4 {
            0 => op.failed(AttemptClass::Protocol, Cause::BadHead, Phase::Head, Some(999)),
            1 => Op { header: Some("HIT"), host: "other.example:443", flags: &[Flag::ExcessBytes, Flag::Http10], ..op },
            _ => op,
        }
    };
    let ops: Vec<Op> = (0..80).map(op).collect();
    let long: &'static str = Box::leak(format!("{HOSTILE}{}", "A".repeat(5_000)).into_boxed_str());
    let texts = Texts { url: "http://localhost:8080/\u{1b}[2Jobject", detail: long };
    short(&ops, &texts, |begin, end| {
        begin.header = Some("x-cache\u{1b}[1m".into());
        begin.targets = vec!["http://localhost:8080/\u{1b}[2Jobject".into(); 10];
        begin.urls = 25_000;
        let server = end.server.as_mut().unwrap();
        server.software = Some(long.into());
        server.http_version = HOSTILE.into();
        server.tls = Some(Tls {
            version: "TLSv1.3".into(),
            cipher: "TLS13_AES_256_GCM_SHA384".into(),
            protocol: Some(HOSTILE.into()),
            server_name: "localhost".into(),
            subject: Some(format!("CN={HOSTILE}")),
            issuer: Some(String::new()),
        });
    })
}

/// Returns a run that was killed within its first second.
pub fn begin_only() -> SavedRun {
    SavedRun::of(begin(Model::Closed { concurrency: 4 }, "closed, 4 slots, 10s", Some(10 * SECOND)), &[], None)
}
