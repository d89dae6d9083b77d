//! A simulated S3 bucket with multipart uploads, and faults that the test chooses.

use content::{Content, Dataset, Description, Names, Seed};
use engine::plan::*;
use engine::sim::{Accept, Reply, SimServer};
use measure::{Instant, OpKind};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::num::{NonZeroU32, NonZeroU64};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;
use wire::s3::{CompletedUpload, ErrorBody, ErrorCode, InitiatedUpload, read_complete};

/// Reaction of the bucket to a request or a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The request is carried out and acknowledged.
    None,
    /// The request is refused with this code, and this number of seconds in `Retry-After`.
    Refused(ErrorCode, Option<u64>),
    /// The request is carried out, but the connection is closed before the response.
    AckLost,
    /// The request is not carried out, and the connection is reset.
    Reset,
    /// The request is not carried out, and there is no response.
    Silence,
}

/// A request as the bucket receives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub at: Instant,
    pub method: String,
    pub path: String,
    pub query: String,
    pub body: Vec<u8>,
}

impl Request {
    /// Returns a parameter of the query.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.query.split('&').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
    }

    /// Returns the request as a short text without the ID of the upload, such as `PUT 2` for the second part.
    pub fn short(&self) -> String {
        match (self.method.as_str(), self.parameter("partNumber"), self.parameter("uploads")) {
            ("PUT", Some(part), _) => format!("PUT {part}"),
            ("POST", _, Some(_)) => "begin".into(),
            ("POST", ..) => "complete".into(),
            ("DELETE", ..) => "abort".into(),
            (method, ..) => method.into(),
        }
    }
}

/// An open multipart upload.
#[derive(Clone, Debug, Default)]
pub struct OpenUpload {
    pub path: String,
    pub parts: BTreeMap<u16, Vec<u8>>,
}

/// Content of the bucket, and requests that it received.
#[derive(Debug, Default)]
pub struct State {
    pub objects: BTreeMap<String, Vec<u8>>,
    pub uploads: BTreeMap<String, OpenUpload>,
    pub requests: Vec<Request>,
    pub begun: u64,
}

impl State {
    /// Returns the requests as short texts.
    pub fn short(&self) -> Vec<String> {
        self.requests.iter().map(Request::short).collect()
    }

    /// Carries out a request. Returns the value of `ETag` and the body of the response, or the code of an error.
    fn carry_out(&mut self, request: &Request) -> Result<(Option<String>, String), ErrorCode> {
        let mut message = String::new();
        let id = request.parameter("uploadId").unwrap_or_default().to_owned();
        match (request.method.as_str(), request.parameter("partNumber")) {
            ("PUT", Some(number)) => {
                let upload = self.uploads.get_mut(&id).ok_or(ErrorCode::NoSuchUpload)?;
                upload.parts.insert(number.parse().unwrap(), request.body.clone());
                return Ok((Some(format!("\"{number}\"")), message));
            }
            ("PUT", None) => {
                self.objects.insert(request.path.clone(), request.body.clone());
                return Ok((Some("\"whole\"".into()), message));
            }
            ("POST", _) if request.parameter("uploads").is_some() => {
                let id = format!("upload-{}", self.begun);
                self.begun += 1;
                self.uploads.insert(id.clone(), OpenUpload { path: request.path.clone(), ..OpenUpload::default() });
                let began = InitiatedUpload { bucket: "b".into(), key: "k".into(), upload_id: id.into() };
                began.write(&mut message);
            }
            ("POST", _) => {
                let named = read_complete(&request.body).expect("it is a message");
                let is_its = |upload: &&OpenUpload| upload.path == request.path;
                let upload = self.uploads.get(&id).filter(is_its).ok_or(ErrorCode::NoSuchUpload)?;
                let known = |number: &u16| upload.parts.get(number).ok_or(ErrorCode::InvalidPart);
                let parts: Vec<_> = named.iter().map(|part| known(&part.number)).collect::<Result<_, _>>()?;
                let whole: Vec<u8> = parts.into_iter().flatten().copied().collect();
                self.objects.insert(request.path.clone(), whole);
                self.uploads.remove(&id);
                let etag = "\"done\"".into();
                CompletedUpload { location: None, bucket: "b".into(), key: "k".into(), etag }.write(&mut message);
            }
            ("DELETE", _) => {
                self.uploads.remove(&id).ok_or(ErrorCode::NoSuchUpload)?;
            }
            _ => return Err(ErrorCode::MethodNotAllowed),
        }
        Ok((None, message))
    }
}

/// A bucket. `fault` chooses the reaction to each request. `accepts` returns whether connections are possible at an
/// instant. Every response takes `delay`.
pub struct Bucket<F> {
    pub state: Rc<RefCell<State>>,
    pub fault: F,
    pub accepts: fn(Instant) -> Accept,
    pub delay: Duration,
}

impl<F: FnMut(&Request) -> Fault> Bucket<F> {
    pub fn new(state: &Rc<RefCell<State>>, fault: F) -> Self {
        let accepts = |_| Accept::After(Duration::from_micros(100));
        Self { state: Rc::clone(state), fault, accepts, delay: Duration::from_millis(1) }
    }

    fn respond(&mut self, request: &Request) -> Vec<(Instant, Reply)> {
        let at = request.at + self.delay;
        let fault = (self.fault)(request);
        self.state.borrow_mut().requests.push(request.clone());
        match fault {
            Fault::Silence => Vec::new(),
            Fault::Reset => vec![(at, Reply::Reset)],
            Fault::Refused(code, wait) => vec![(at, refusal(&code, wait))],
            Fault::AckLost => {
                let _ = self.state.borrow_mut().carry_out(request);
                vec![(at, Reply::End)]
            }
            Fault::None => {
                let reply = match self.state.borrow_mut().carry_out(request) {
                    Ok((etag, message)) => {
                        let etag = etag.map_or(String::new(), |etag| format!("ETag: {etag}\r\n"));
                        let length = message.len();
                        let text = format!("HTTP/1.1 200 OK\r\n{etag}Content-Length: {length}\r\n\r\n{message}");
                        Reply::Bytes(text.into_bytes())
                    }
                    Err(code) => refusal(&code, None),
                };
                vec![(at, reply)]
            }
        }
    }
}

fn refusal(code: &ErrorCode, wait: Option<u64>) -> Reply {
    let mut body = String::new();
    ErrorBody::new(code.clone(), "no", "1").write(&mut body);
    let wait = wait.map_or(String::new(), |seconds| format!("Retry-After: {seconds}\r\n"));
    let (status, length) = (code.status(), body.len());
    Reply::Bytes(format!("HTTP/1.1 {status} No\r\n{wait}Content-Length: {length}\r\n\r\n{body}").into_bytes())
}

impl<F: FnMut(&Request) -> Fault> SimServer for Bucket<F> {
    fn connect(&mut self, now: Instant) -> Accept {
        (self.accepts)(now)
    }

    fn request(&mut self, _: Instant, request: &str) -> Vec<(Instant, Reply)> {
        unreachable!("{request}")
    }

    fn received(&mut self, now: Instant, _: usize, bytes: &mut Vec<u8>) -> Vec<(Instant, Reply)> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Vec::new() };
        let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
        let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
        let length: usize = length.map_or(0, |length| length.parse().unwrap());
        if bytes.len() < end + 4 + length {
            return Vec::new();
        }
        let body = bytes.drain(..end + 4 + length).skip(end + 4).collect();
        let mut line = head.lines().next().unwrap().split(' ');
        let (method, target) = (line.next().unwrap(), line.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let [method, path, query] = [method, path, query].map(str::to_owned);
        self.respond(&Request { at: now, method, path, query, body })
    }
}

/// Returns a dataset of `count` objects of `bytes` bytes.
pub fn dataset(count: u64, bytes: u64) -> Dataset {
    Dataset::new(Description {
        seed: Seed(7),
        count,
        sizes: format!("{bytes}B").parse().unwrap(),
        names: Names::new("o-", 4, ".bin", None).unwrap(),
        last_bytes: None,
    })
}

/// Returns a plan that uploads each object of a dataset once, with `slots` uploads in flight and with retries.
pub fn fill(dataset: Dataset, slots: u64, mix: Mix) -> Plan {
    let count = NonZeroU64::new(dataset.count());
    let origin = wire::Url::parse("http://sim:80/").unwrap().origin().clone();
    let area = Area {
        set: dataset.into(),
        objects: Members::All,
        container: "/bucket".into(),
        prefix: "".into(),
        query: ObjectQuery::None,
    };
    let load = super::support::closed(slots);
    Plan {
        mix,
        auth: super::support::s3_auth(),
        stop: StopAfter { ops: count, ..StopAfter::default() },
        retry: Some(RetryPolicy::default()),
        log_ops: true,
        ..Plan::new(Targets::of_set(vec![origin], area), load)
    }
}

fn content() -> Option<BodyPlan> {
    Some(BodyPlan::of(Source::Content(Arc::new(Content::new(Seed(7))))))
}

/// Returns a request that uploads an object.
pub fn whole() -> Mix {
    Mix::one(RequestPlan { body: content(), ..RequestPlan::new("PUT", OpKind::Put) })
}

/// Returns the requests of a multipart upload with parts of `bytes` bytes. At most `parallel` parts are in flight.
pub fn in_parts(bytes: u64, parallel: u32) -> Mix {
    let (bytes, parallel) = (NonZeroU64::new(bytes).unwrap(), NonZeroU32::new(parallel).unwrap());
    let plan = Multipart { part: 1, complete: 2, abort: 3, bytes, parallel };
    let of = |method| RequestPlan::new(method, OpKind::PutMultipart);
    let begin = RequestPlan {
        body: Some(BodyPlan::of_bytes(Arc::from([]))),
        response_body: ResponseBody::Kept,
        then: Then::Parts(plan),
        query: Some("uploads=".into()),
        ..of("POST")
    };
    let part = RequestPlan { body: content(), ..of("PUT") };
    let own = Some(BodyPlan::of(Source::Own));
    let complete = RequestPlan { body: own, response_body: ResponseBody::Kept, ..of("POST") };
    Mix::of(vec![(1, begin), (0, part), (0, complete), (0, of("DELETE"))]).unwrap()
}

/// Returns the content of object `number`.
pub fn bytes_of(dataset: &Dataset, number: u64) -> Vec<u8> {
    let object = dataset.object(number).unwrap();
    let mut bytes = vec![0; usize::try_from(object.size.0).unwrap()];
    Content::new(Seed(7)).object(&object.key).fill(0, &mut bytes);
    bytes
}
