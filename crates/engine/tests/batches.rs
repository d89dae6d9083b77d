//! Tests of requests that delete several objects. A simulated bucket records each message.

use crate::support::*;
use content::{Dataset, Description, Names, Seed};
use engine::OpEntry;
use engine::plan::*;
use engine::sim::{Reply, SimNetwork, SimServer, simulate};
use measure::result::accounting::audit;
use measure::{AttemptClass, Cause, Instant, OpKind, Summary};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::num::NonZeroU64;
use std::rc::Rc;
use std::sync::Arc;
use wire::checksum::{Algorithm, Checksum};
use wire::s3::DeleteRequest;

/// Requests that a bucket has received, and their effect.
#[derive(Default)]
struct Seen {
    /// Existing keys, in the order in which they were written.
    keys: Vec<String>,
    requests: u64,
    /// The keys of each message.
    batches: Vec<Vec<String>>,
}

/// A bucket that sends the given responses to the first requests, and successful responses afterwards.
struct Bucket {
    seen: Rc<RefCell<Seen>>,
    answers: VecDeque<Reply>,
}

const GOOD: &str = "<DeleteResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"/>";

fn reply(status: &str, body: &str) -> Reply {
    Reply::Bytes(format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into_bytes())
}

fn field<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

impl Bucket {
    fn delete(&mut self, head: &str, body: &[u8]) -> Reply {
        assert!(head.starts_with("POST /bucket?delete= HTTP/1.1\r\n"), "{head}");
        let md5 = Checksum::from_base64(Algorithm::Md5, field(head, "Content-MD5").expect("S3 wants a checksum"));
        assert_eq!(md5, Some(Algorithm::Md5.of(body)));
        let signed = field(head, "authorization").is_none_or(|line| line.contains("SignedHeaders=content-md5;host;"));
        assert!(signed, "{head}");
        let message = DeleteRequest::parse(body).expect("it is a message");
        assert!(message.quiet);
        let keys: Vec<String> = message.keys.iter().map(ToString::to_string).collect();
        self.seen.borrow_mut().keys.retain(|key| !keys.contains(key));
        self.seen.borrow_mut().batches.push(keys);
        self.answers.pop_front().unwrap_or_else(|| reply("200 OK", GOOD))
    }
}

impl SimServer for Bucket {
    fn request(&mut self, _: Instant, request: &str) -> Vec<(Instant, Reply)> {
        unreachable!("{request}")
    }

    fn received(&mut self, now: Instant, _: usize, bytes: &mut Vec<u8>) -> Vec<(Instant, Reply)> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Vec::new() };
        let head = String::from_utf8(bytes[..end + 4].to_vec()).unwrap();
        let length: usize = field(&head, "Content-Length").map_or(0, |length| length.parse().unwrap());
        if bytes.len() < end + 4 + length {
            return Vec::new();
        }
        let body = bytes.drain(..).skip(end + 4).collect::<Vec<_>>();
        assert_eq!(body.len(), length);
        self.seen.borrow_mut().requests += 1;
        let reply = match head.strip_prefix("PUT /bucket/") {
            Some(rest) => {
                let key = rest.split(' ').next().unwrap().replace("%26", "&");
                self.seen.borrow_mut().keys.push(key);
                reply("200 OK", "")
            }
            None => self.delete(&head, &body),
        };
        vec![(now + ms(1), reply)]
    }
}

fn targets(count: u64) -> Targets {
    let description = Description {
        seed: Seed(7),
        count,
        sizes: "1KiB".parse().unwrap(),
        names: Names::new("o-", 2, ".bin", None).unwrap(),
        last_bytes: None,
    };
    let origin = wire::Url::parse("http://sim:80/").unwrap().origin().clone();
    let (dataset, objects) = (Dataset::new(description), Members::All);
    // The prefix contains a `&`, to test that this character is escaped in the XML of the message.
    Targets::of_set(
        vec![origin],
        Area {
            set: dataset.into(),
            objects,
            container: "/bucket".into(),
            prefix: "a&b/".into(),
            query: ObjectQuery::None,
        },
    )
}

fn batch(objects: BatchObjects, most: u64) -> RequestPlan {
    let size_max = BatchSize::new(NonZeroU64::new(most).unwrap()).unwrap();
    RequestPlan::delete_batch(Batch { objects, size_max })
}

/// Returns a plan of writes and deletions with these weights.
fn mixed(puts: u32, deletions: u32, most: u64, ops: u64) -> Plan {
    let body = BodyPlan::of_bytes(Arc::from(*b"body"));
    let put = RequestPlan { body: Some(body), pick: Pick::Fresh, ..RequestPlan::new("PUT", OpKind::Put) };
    let mix = Mix::of(vec![(puts, put), (deletions, batch(BatchObjects::Written { instead: 0 }, most))]).unwrap();
    counted(Plan { mix, ..plan() }, ops)
}

fn counted(plan: Plan, ops: u64) -> Plan {
    let stop = StopAfter { ops: NonZeroU64::new(ops), ..StopAfter::default() };
    Plan { targets: Arc::new(targets(2500)), stop, log_ops: true, ..plan }
}

fn carried_out(plan: &Plan, answers: &[Reply]) -> (Summary, Vec<OpEntry>, Seen) {
    let seen = Rc::new(RefCell::new(Seen::default()));
    let bucket = || Bucket { seen: Rc::clone(&seen), answers: answers.iter().cloned().collect() };
    let (intervals, ops) = simulate(plan, |_| SimNetwork::new(bucket()));
    (summary(plan, &intervals), ops, seen.take())
}

fn good(ops: &[OpEntry], kind: OpKind) -> usize {
    ops.iter().filter(|op| op.kind == kind && op.outcome.class == AttemptClass::Ok).count()
}

#[test]
fn each_object_is_deleted_once_and_each_message_is_one_operation() {
    for auth in [Auth::None, s3_auth()] {
        let plan = Plan { load: closed(3), auth, ..mixed(3, 1, 4, 2000) };
        let (summary, ops, seen) = carried_out(&plan, &[]);
        assert_eq!(audit(&summary, true).violations, []);
        let (puts, deletions) = (good(&ops, OpKind::Put), good(&ops, OpKind::Delete));
        assert_eq!((puts + deletions, ops.len()), (2000, 2000));
        assert_eq!((seen.batches.len(), seen.requests), (deletions, 2000));
        assert!(ops.iter().all(|op| op.attempts == 1));
        let mut deleted: Vec<_> = seen.batches.concat();
        assert_eq!(deleted.len() + seen.keys.len(), puts);
        deleted.sort();
        deleted.dedup();
        assert_eq!(deleted.len() + seen.keys.len(), puts, "no object may be deleted twice");
        assert!(deleted.iter().all(|key| key.starts_with("a&b/plimsoll-fresh-0000000000000007-")));
        for size in 1..=4 {
            assert!(seen.batches.iter().any(|keys| keys.len() == size), "no batch of {size}");
        }
        assert!(seen.batches.iter().all(|keys| keys.len() <= 4));
    }
}

#[test]
fn the_oldest_objects_are_deleted_first_and_missing_ones_are_written() {
    let (_, ops, seen) = carried_out(&mixed(5, 1, 7, 500), &[]);
    let deleted = seen.batches.concat();
    assert!(
        deleted.is_sorted() && deleted.last() < seen.keys.first(),
        "one slot must write and delete objects in the same order"
    );
    assert_eq!(good(&ops, OpKind::Put) + good(&ops, OpKind::Delete), 500);
    // Only deletions are requested. Half of the operations find no object to delete, and write one instead.
    let (_, ops, seen) = carried_out(&mixed(0, 1, 1000, 10), &[]);
    assert_eq!((good(&ops, OpKind::Put), good(&ops, OpKind::Delete)), (5, 5));
    assert_eq!(seen.batches.iter().map(Vec::len).collect::<Vec<_>>(), [1; 5]);
}

#[test]
fn outcomes_follow_the_response_and_no_object_is_deleted_twice() {
    use AttemptClass::{Http5xx, Ok, Protocol, S3Error};
    let refused =
        "<DeleteResult><Error><Key>k</Key><Code>AccessDenied</Code><Message>no</Message></Error></DeleteResult>";
    let error = "<Error><Code>InternalError</Code><Message>no</Message></Error>";
    let verbose = "<DeleteResult><Deleted><Key>k</Key></Deleted></DeleteResult>";
    let cases = [
        (reply("200 OK", GOOD), Ok, Cause::None),
        (reply("200 OK", verbose), Ok, Cause::None),
        (reply("200 OK", refused), S3Error, Cause::ErrorWithin200),
        (reply("200 OK", error), S3Error, Cause::ErrorWithin200),
        (reply("200 OK", "<Delete"), Protocol, Cause::BadMessage),
        (reply("200 OK", "<Other/>"), Protocol, Cause::BadMessage),
        (reply("200 OK", ""), Protocol, Cause::BadMessage),
        (reply("501 Not Implemented", error), Http5xx, Cause::Status),
    ];
    let answers: Vec<Reply> = cases.iter().map(|(answer, ..)| answer.clone()).collect();
    let plan = Plan { auth: s3_auth(), ..mixed(4, 1, 3, 400) };
    let (summary, ops, seen) = carried_out(&plan, &answers);
    assert_eq!(audit(&summary, true).violations, []);
    let deletions: Vec<_> = ops.iter().filter(|op| op.kind == OpKind::Delete).collect();
    for ((answer, class, cause), op) in cases.iter().zip(&deletions) {
        assert_eq!((op.outcome.class, op.outcome.cause, op.attempts), (*class, *cause, 1), "{answer:?}");
    }
    assert!(deletions.len() > cases.len() && deletions.len() == seen.batches.len());
    assert_eq!(summary.stats.measured.failed, 6);
    let example = summary.stats.examples.iter().find(|example| example.detail.starts_with("not deleted"));
    assert_eq!(example.map(|example| example.detail.as_str()), Some("not deleted: 1, the first for AccessDenied: no"));
    let (mut deleted, all) = (seen.batches.concat(), seen.batches.concat().len());
    deleted.sort();
    deleted.dedup();
    assert_eq!(deleted.len(), all);
}

#[test]
fn on_a_stale_connection_the_same_message_is_sent_again() {
    let (summary, ops, seen) = carried_out(&mixed(2, 1, 3, 40), &[Reply::End]);
    assert_eq!((audit(&summary, true).violations, summary.stats.measured.failed), (vec![], 0));
    assert_eq!(seen.batches[0], seen.batches[1]);
    let attempts: u64 = ops.iter().map(|op| u64::from(op.attempts)).sum();
    assert_eq!((attempts, seen.requests, ops.len()), (41, 41, 40));
}

#[test]
fn a_dataset_is_deleted_completely_and_nothing_else() {
    let plan = Plan { mix: Mix::one(batch(BatchObjects::Targets, 1000)), load: closed(2), ..plan() };
    let (_, ops, seen) = carried_out(&counted(plan, 3), &[]);
    assert_eq!(good(&ops, OpKind::Delete), 3);
    assert_eq!(seen.batches.iter().map(Vec::len).collect::<Vec<_>>(), [1000, 1000, 500]);
    let (targets, mut path) = (targets(2500), String::new());
    for (index, key) in seen.batches.concat().into_iter().enumerate() {
        path.clear();
        targets.write_path(Subject::Target(index as u64), &mut String::new(), &mut path);
        assert_eq!(path.replace("%26", "&"), format!("/bucket/{key}"));
    }
}
