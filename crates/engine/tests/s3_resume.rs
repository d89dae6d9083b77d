//! Tests of uploads to the embedded S3 server over real sockets. A run with faults is cut off, and another run
//! continues its uploads.

use crate::bucket::{dataset, fill, in_parts};
use crate::support::{ms, summary};
use content::{Content, Seed};
use engine::plan::*;
use engine::single_requests::exchange;
use engine::{Control, CreatedUpload, Left, Observer, OpEntry};
use measure::result::accounting::audit;
use measure::{AttemptClass, Instant, Interval, OpKind};
use server::{Config, Delay, Faults, HyperServer, S3Config, StoreIn};
use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::sync::Arc;
use wire::s3::OpenUploads;

const COUNT: u64 = 8;
/// Size of each object in bytes. An object has seven parts. With this number of parts, the run is cut off in the middle
/// of an object even on a busy machine.
const SIZE: u64 = 32 << 20;

/// Observer that keeps everything, and cuts the run off some time after a number of uploads was created.
#[derive(Default)]
struct Watch {
    intervals: Vec<Interval>,
    ops: Vec<OpEntry>,
    uploads: Vec<CreatedUpload>,
    /// Number of created uploads after which the run is cut off.
    cuts_after: Option<usize>,
    since: Option<Instant>,
    left: Left,
}

impl Observer for Watch {
    fn interval(&mut self, interval: &Interval, _: &Control, _: Instant) {
        self.intervals.push(interval.clone());
    }

    fn ops(&mut self, ops: &[OpEntry]) {
        self.ops.extend_from_slice(ops);
    }

    fn uploads_created(&mut self, uploads: &[CreatedUpload]) {
        self.uploads.extend_from_slice(uploads);
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        if self.cuts_after.is_some_and(|most| self.uploads.len() >= most) {
            let since = *self.since.get_or_insert(now);
            if now.since(since) >= ms(250) {
                control.abandon(now);
            }
        }
    }
}

fn carry_out(plan: &Plan, cuts_after: Option<usize>) -> Watch {
    let mut watch = Watch { cuts_after, ..Watch::default() };
    watch.left = engine::run(plan, &Control::new(None), &mut watch).unwrap().left;
    let summary = summary(plan, &watch.intervals);
    assert_eq!(audit(&summary, true).violations, []);
    watch
}

/// Sends a request until it is not throttled.
fn send(plan: &Plan, method: &str, path: &str) -> OpEntry {
    let targets = Targets::of_paths(plan.targets.origins().to_vec(), [(0, path.into())]);
    let plan = Plan { targets: Arc::new(targets), ..plan.clone() };
    loop {
        let entry = exchange(&plan, RequestPlan::new(method, OpKind::Request)).unwrap().unwrap();
        if entry.outcome.class != AttemptClass::Throttled {
            return entry;
        }
    }
}

/// Sends a request that must succeed. Returns the body of the response.
fn ask(plan: &Plan, method: &str, path: &str) -> Vec<u8> {
    let entry = send(plan, method, path);
    assert_eq!(entry.outcome.class, AttemptClass::Ok, "{method} {path}: {entry:?}");
    entry.message.unwrap_or_default().into()
}

/// Returns the texts of the elements with this name, in order.
fn texts<'a>(xml: &'a str, name: &str) -> Vec<&'a str> {
    let (begin, end) = (format!("<{name}>"), format!("</{name}>"));
    xml.split(begin.as_str()).skip(1).filter_map(|rest| Some(rest.split_once(end.as_str())?.0)).collect()
}

/// Returns the parts of an upload that the server has. Returns `None` if the server completed the upload. The server
/// may have done so if the response was in flight when the run was cut off.
fn parts_at_server(plan: &Plan, upload: &CreatedUpload) -> Option<ResumedUpload> {
    let url = plan.targets.url(Subject::Target(upload.object));
    let path = url.split_once("/bucket/").unwrap().1;
    let id = wire::percent::parameter(&upload.upload_id);
    let listing = format!("/bucket/{path}?uploadId={id}");
    if send(plan, "GET", &listing).status == Some(404) {
        ask(plan, "HEAD", &format!("/bucket/{path}"));
        return None;
    }
    let list = String::from_utf8(ask(plan, "GET", &listing)).unwrap();
    let numbers = texts(&list, "PartNumber").into_iter().map(|number| number.parse().unwrap());
    let etags = texts(&list, "ETag").into_iter().map(|etag| etag.replace("&quot;", "\"").into());
    Some(ResumedUpload {
        upload_id: upload.upload_id.clone(),
        parts: numbers.zip(etags).collect(),
        may_be_complete: false,
    })
}

#[test]
fn a_run_that_was_cut_off_is_completed_by_another_one() {
    let faults = Faults { error_every: NonZeroU64::new(7), delay: Delay::Constant(ms(100)), ..Faults::default() };
    let keys = ("someone".to_owned(), "secret".to_owned());
    let s3 = S3Config { store: StoreIn::Memory, store_max: None, bucket: None, access_key: keys.0, secret_key: keys.1 };
    let front = HyperServer::start_s3(&Config { faults, ..Config::default() }, None, &s3).unwrap();
    let origin = wire::Url::parse(&format!("http://{}/", front.addresses()[0])).unwrap().origin().clone();
    let area = |objects| Area {
        set: dataset(COUNT, SIZE).into(),
        objects,
        container: "/bucket".into(),
        prefix: "".into(),
        query: ObjectQuery::None,
    };
    let targets = |objects| Arc::new(Targets::of_set(vec![origin.clone()], area(objects)));
    let first = Plan { targets: targets(Members::All), ..fill(dataset(COUNT, SIZE), 2, in_parts(5 << 20, 2)) };
    ask(&first, "PUT", "/bucket");
    let cut = carry_out(&first, Some(5));
    let mut done: BTreeSet<u64> =
        cut.ops.iter().filter(|op| op.outcome.class == AttemptClass::Ok).map(|op| op.number).collect();
    assert!(!done.is_empty() && (done.len() as u64) < COUNT, "{done:?}");
    let mut resumed = BTreeMap::new();
    for upload in &cut.uploads {
        if !done.contains(&upload.object) {
            match parts_at_server(&first, upload) {
                Some(parts) => _ = resumed.insert(upload.object, parts),
                None => _ = done.insert(upload.object),
            }
        }
    }
    let known: usize = resumed.values().map(|upload| upload.parts.len()).sum();
    assert!(known > 0, "the server has no part of an unfinished object: {resumed:?}");
    let from = cut.uploads.iter().map(|upload| upload.object + 1).max().unwrap();
    let chosen: Box<[u64]> = (0..from).filter(|number| !done.contains(number)).collect();
    let rest = targets(Members::Rest { chosen, from });
    let stop = StopAfter { ops: NonZeroU64::new(rest.count()), ..StopAfter::default() };
    let second = Plan { targets: rest, stop, resumed_uploads: Arc::new(resumed), ..first.clone() };
    let completed = carry_out(&second, None);
    let results = summary(&second, &completed.intervals);
    let tally = &results.stats.measured;
    assert_eq!((tally.ok, tally.failed), (COUNT - done.len() as u64, 0), "{:?}", results.stats.examples);
    assert!(tally.retries > 0);
    let sent = tally.ok * (SIZE) - known as u64 * (5 << 20);
    let sent_of_ops: u64 = completed.ops.iter().map(|op| op.body_bytes).sum();
    assert!(sent_of_ops >= sent && sent_of_ops <= tally.ok * (SIZE), "{sent_of_ops} bytes, {known} known parts");
    let read = RequestPlan {
        response_body: ResponseBody::Compared(Arc::new(Content::new(Seed(7)))),
        ..RequestPlan::new("GET", OpKind::Get)
    };
    let verified = carry_out(&Plan { mix: Mix::one(read), ..first.clone() }, None);
    assert_eq!(verified.ops.iter().filter(|op| op.outcome.class == AttemptClass::Ok).count() as u64, COUNT);
    // An upload remains only if its initiation was in flight when the run was cut off.
    let left = OpenUploads::parse(&ask(&first, "GET", "/bucket?uploads=")).unwrap();
    assert!(left.uploads.len() as u64 <= cut.left.uploads.unknown, "{left:?}");
    assert!(front.stop().requests() > 0);
}
