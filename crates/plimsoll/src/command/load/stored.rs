//! What is remembered of a dataset where it lies: a small object beside the others says which dataset was prepared there, so
//! that later commands need not be told, and none deletes what this one did not make.

mod mixed;

use super::place::Place;
use super::retry::{Retries, is_transient};
use super::{Args, Asked, aside, checks, headers};
use crate::execute;
use crate::failure::Failure;
use content::Dataset;
use engine::plan::{BodyPlan, Choice, Mix, Plan, RequestPlan, fresh_number, fresh_prefix};
use engine::single_requests::exchange;
use measure::{AttemptOutcome, OpKind};
use report::escape::escape;
use std::cell::Cell;
use std::sync::Arc;
use wire::s3::{ErrorBody, ErrorCode, ListResult, OpenUploads};

/// The object that describes the others, below their prefix.
pub const DESCRIPTION_KEY: &str = ".plimsoll-dataset.json";
/// Pages of open uploads that are read, at most: each has up to 1000.
const UPLOAD_PAGES_MAX: usize = 1000;

/// A place, and how requests get there that belong to no run.
pub struct Stored<'a> {
    place: &'a Place,
    plan: Plan,
    /// Whether requests are repeated that fail for the moment.
    patience: Patience,
    /// A response has come, so that the address is right.
    reached: Cell<bool>,
}

/// Whether requests are repeated that fail for the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// They are not.
    Once,
    /// They are, with pauses.
    Repeat,
}

/// A multipart upload that is open in the bucket.
pub struct Upload {
    /// Key in the bucket.
    pub key: Box<str>,
    /// By which the server knows it.
    pub id: Box<str>,
}

/// The response to one request.
struct Reply {
    status: u16,
    message: Box<[u8]>,
}

impl Reply {
    /// Status, and S3's code and message where there are any.
    fn told(&self) -> String {
        format!("status {}{}", self.status, s3_error(&self.message))
    }
}

/// Code and message of S3's error, for the end of a sentence; empty where a response has none.
pub fn s3_error(message: &[u8]) -> String {
    match ErrorBody::parse(message) {
        Ok(error) if error.message.is_empty() => format!(", {}", escape(error.code.as_str())),
        Ok(error) => format!(", {}: {}", escape(error.code.as_str()), escape(&error.message)),
        Err(_) => String::new(),
    }
}

impl<'a> Stored<'a> {
    /// Reaches the place as the flags say.
    pub fn reach(args: &Args, place: &'a Place, patience: Patience) -> Result<Self, Failure> {
        let request = RequestPlan { headers: headers(&args.requests, place.credentials.clone())?, ..get() };
        let asked = Asked {
            targets: place.one(DESCRIPTION_KEY)?,
            choice: Choice::RoundRobin,
            once: true,
            mix: Mix::one(request),
            auth: place.auth.clone(),
            spread: place.spread,
        };
        let mut plan = aside(args, asked)?;
        execute::prepare(&mut plan)?;
        Ok(Self { place, plan, patience, reached: Cell::new(false) })
    }

    /// How requests get there.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The numbers of up to 1000 objects that runs with this dataset wrote beside it.
    pub fn fresh(&self, dataset: &Dataset) -> Result<Vec<u64>, Failure> {
        let prefix = format!("{}{}", self.place.prefix, fresh_prefix(dataset.description().seed.0));
        let query = format!("list-type=2&max-keys=1000&prefix={}", wire::percent::parameter(&prefix));
        let reply = self.ask(&RequestPlan { query: Some(query.into()), ..get() }, "")?;
        if reply.status != 200 {
            return Err(Failure::could_not_run(format!("listing was answered with {}", reply.told())));
        }
        let page = ListResult::parse(&reply.message)
            .map_err(|error| Failure::could_not_run(format!("the listing can not be understood: {error}")))?;
        let seed = dataset.description().seed.0;
        let below = page.objects.iter().filter_map(|object| object.key.strip_prefix(self.place.prefix.as_str()));
        Ok(below.filter_map(|key| fresh_number(seed, key)).collect())
    }

    /// The multipart uploads that are open below the prefix. The error says why they are not known, which need not end what
    /// else is done: not every server lists them.
    pub fn open_uploads(&self) -> Result<Vec<Upload>, Failure> {
        let prefix = wire::percent::parameter(&self.place.prefix);
        let mut uploads = Vec::new();
        let mut from = String::new();
        for _ in 0..UPLOAD_PAGES_MAX {
            let query = format!("uploads=&max-uploads=1000&prefix={prefix}{from}");
            let reply = self.ask(&RequestPlan { query: Some(query.into()), ..get() }, "")?;
            if reply.status != 200 {
                return Err(Failure::could_not_run(reply.told()));
            }
            let page = OpenUploads::parse(&reply.message).map_err(Failure::could_not_run)?;
            uploads.extend(page.uploads.into_iter().map(|upload| Upload { key: upload.key, id: upload.upload_id }));
            let Some(next) = page.next else { return Ok(uploads) };
            from = format!("&key-marker={}", wire::percent::parameter(&next.key));
            if !next.upload_id.is_empty() {
                from += &format!("&upload-id-marker={}", wire::percent::parameter(&next.upload_id));
            }
        }
        Err(Failure::could_not_run(format!("there are more than {} of them", UPLOAD_PAGES_MAX * 1000)))
    }

    /// The dataset that was prepared there, if any was.
    pub fn dataset(&self) -> Result<Option<Dataset>, Failure> {
        let Some(json) = self.read(DESCRIPTION_KEY)? else { return Ok(None) };
        serde_json::from_slice(&json).map(Some).map_err(|error| {
            Failure::could_not_run(format!(
                "{DESCRIPTION_KEY} can not be read: {error}; describe the dataset, like --count 100 --size 1MiB"
            ))
        })
    }

    /// Remembers the dataset.
    pub fn keep(&self, dataset: &Dataset) -> Result<(), Failure> {
        self.write(DESCRIPTION_KEY, serde_json::to_vec(dataset))
    }

    /// Forgets it.
    pub fn forget(&self) -> Result<(), Failure> {
        self.change(&RequestPlan::new("DELETE", OpKind::Delete), DESCRIPTION_KEY)
    }

    /// Makes the bucket, unless it is there.
    pub fn make_bucket(&self) -> Result<(), Failure> {
        let body = Some(BodyPlan::of_bytes(Arc::from([])));
        let reply = self.ask(&RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Request) }, "")?;
        match reply.status {
            200..300 | 409 => Ok(()),
            _ => Err(Failure::could_not_run(format!("the bucket could not be made: {}", reply.told()))),
        }
    }

    /// The content of a small object; `None` where there is none.
    fn read(&self, key: &str) -> Result<Option<Box<[u8]>>, Failure> {
        let reply = self.ask(&get(), key)?;
        match reply.status {
            200 => Ok(Some(reply.message)),
            404 if is_about_the_key(&reply) => Ok(None),
            _ => Err(Failure::could_not_run(format!(
                "asking for {key} was answered with {}: check keys, bucket and server",
                reply.told()
            ))),
        }
    }

    fn write(&self, key: &str, json: serde_json::Result<Vec<u8>>) -> Result<(), Failure> {
        let json = json.map_err(|error| Failure::could_not_run(error.to_string()))?;
        let body = Some(BodyPlan::of_bytes(Arc::from(json)));
        self.change(&RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Put) }, key)
    }

    fn change(&self, request: &RequestPlan, key: &str) -> Result<(), Failure> {
        let reply = self.ask(request, key)?;
        match reply.status {
            200..300 => Ok(()),
            _ => {
                let method = &request.method;
                Err(Failure::could_not_run(format!("{method} of {key} was answered with {}", reply.told())))
            }
        }
    }

    /// Sends a request for the object of that key, or for the bucket, and again where that may help.
    fn ask(&self, request: &RequestPlan, key: &str) -> Result<Reply, Failure> {
        let targets = if key.is_empty() { self.place.bucket()? } else { self.place.one(key)? };
        let own = self.plan.mix.requests().first();
        let headers = own.map(|own| own.headers.clone()).unwrap_or_default();
        let plan = Plan { targets: Arc::new(targets), ..self.plan.clone() };
        let request = RequestPlan { headers, ..request.clone() };
        let mut retries = Retries::default();
        loop {
            let entry = exchange(&plan, request.clone()).map_err(|error| Failure::could_not_run(error.to_string()))?;
            let Some(entry) = entry else { return Err(Failure::could_not_run("interrupted")) };
            self.reached.set(self.reached.get() || entry.status.is_some());
            let may_pass = self.patience == Patience::Repeat && is_transient(entry.outcome, entry.status);
            if may_pass && self.reached.get() && retries.pause() {
                continue;
            }
            return match entry.status {
                Some(status) => Ok(Reply { status, message: entry.message.unwrap_or_default() }),
                None => {
                    let AttemptOutcome { cause, .. } = entry.outcome;
                    let url = crate::redact::url_text(&plan.targets.url(engine::plan::Subject::Target(0)));
                    Err(Failure::could_not_run(format!("{url} could not be asked: {}", cause.about())))
                }
            };
        }
    }
}

/// Whether a 404 says that the object is missing, and not its bucket.
fn is_about_the_key(reply: &Reply) -> bool {
    ErrorBody::parse(&reply.message).map_or(true, |error| error.code != ErrorCode::NoSuchBucket)
}

fn get() -> RequestPlan {
    RequestPlan::new("GET", OpKind::Get)
}

/// The dataset that the flags describe, or else the one that was prepared there.
pub fn dataset(
    args: &Args,
    place: &Place,
    objects: &crate::command::dataset::Args,
    seed: u64,
) -> Result<Dataset, Failure> {
    if objects.is_given() {
        return objects.dataset(seed);
    }
    Stored::reach(args, place, Patience::Once)?.dataset()?.ok_or_else(|| {
        Failure::usage(
            "no dataset was prepared there: run `plimsoll prepare` with the same location first, or describe one, like --count 100 --size 1MiB",
        )
    })
}

/// What a good answer to a request of the run is, with the headers that all have.
pub fn request(args: &Args, place: &Place, method: &str, kind: OpKind) -> Result<RequestPlan, Failure> {
    let headers = headers(&args.requests, place.credentials.clone())?;
    let checks = checks(&args.checks, &headers)?;
    Ok(RequestPlan { headers, checks, ..RequestPlan::new(method, kind) })
}
