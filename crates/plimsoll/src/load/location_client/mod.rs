//! Single requests to a dataset's location, outside of any run. These requests read and write the record of the
//! dataset, and list objects and unfinished uploads.
//!
//! The record is a small object next to the objects of the dataset. The record describes the dataset for later
//! commands, and defines which objects `cleanup` may delete.

mod listing;
mod mix_record;

use super::dataset_location::DatasetLocation;
use super::retry::{Retries, Retry, RetryLimit};
use super::{Args, Workload, checks, headers, plan_outside_run};
use crate::execute;
use crate::failure::Failure;
use crate::progress::requests_failed;
use content::Dataset;
use engine::plan::{BodyPlan, Choice, Follow, Mix, Plan, RequestPlan, fresh_number, fresh_prefix, is_transient};
use engine::single_requests::exchange;
use measure::{AttemptOutcome, OpKind};
use report::escape::escape;
use std::cell::Cell;
use std::sync::Arc;
use wire::s3::{ErrorBody, ErrorCode, ListResult, ListedPart, ListedParts, MAX_PARTS, OpenUploads};

/// Key of the object that describes the dataset, below the prefix.
pub const DESCRIPTION_KEY: &str = ".plimsoll-dataset.json";
/// Maximum number of pages of open uploads to read. A page has up to 1000 uploads.
const UPLOAD_PAGES_MAX: usize = 1000;

/// A client for single requests to a dataset's location.
pub struct LocationClient<'a> {
    location: &'a DatasetLocation,
    plan: Plan,
    /// Handling of transient failures.
    patience: Patience,
    /// `true` once a response has arrived, which shows that the address is right.
    reached: Cell<bool>,
}

/// Handling of transient failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Failures are final.
    Once,
    /// Transient failures are retried, with pauses.
    Repeat(RetryLimit),
}

/// An open multipart upload of the bucket.
pub struct Upload {
    /// Key in the bucket.
    pub key: Box<str>,
    /// The server's identifier of the upload.
    pub id: Box<str>,
}

/// The response to one request.
struct Reply {
    status: u16,
    message: Box<[u8]>,
}

impl Reply {
    /// Returns the status, with S3's error code and message if there are any.
    fn description(&self) -> String {
        format!("status {}{}", self.status, s3_error(&self.message))
    }
}

/// Returns S3's error code and message as the end of a sentence, or an empty text if there are none.
pub fn s3_error(message: &[u8]) -> String {
    match ErrorBody::parse(message) {
        Ok(error) if error.message.is_empty() => format!(", {}", escape(error.code.as_str())),
        Ok(error) => format!(", {} ({})", escape(error.code.as_str()), escape(&error.message)),
        Err(_) => String::new(),
    }
}

impl<'a> LocationClient<'a> {
    /// Returns a client that sends requests to the location, as the flags specify.
    pub fn new(args: &Args, location: &'a DatasetLocation, patience: Patience) -> Result<Self, Failure> {
        let request = RequestPlan { headers: headers(&args.requests, location.credentials.clone())?, ..get() };
        let workload = Workload {
            targets: location.one(DESCRIPTION_KEY)?,
            choice: Choice::RoundRobin,
            once: true,
            mix: Mix::one(request),
            auth: location.auth.clone(),
            spread: location.spread,
        };
        let mut plan = plan_outside_run(args, workload)?;
        execute::prepare(&mut plan)?;
        Ok(Self { location, plan, patience, reached: Cell::new(false) })
    }

    /// Returns the same client, whose requests follow redirects in this way.
    pub fn following(mut self, follow: Follow) -> Self {
        self.plan.follow = follow;
        self
    }

    /// Treats the address as correct, because an earlier session has reached the target. The client therefore waits for
    /// a target that does not respond, even at the first request.
    pub fn note_reached_before(&self) {
        self.reached.set(true);
    }

    /// Returns the plan with the settings of all requests.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Returns the numbers of up to 1000 objects that runs of `mix` wrote next to this dataset.
    pub fn list_mix_objects(&self, dataset: &Dataset) -> Result<Vec<u64>, Failure> {
        let prefix = format!("{}{}", self.location.prefix, fresh_prefix(dataset.description().seed.0));
        let query = format!("list-type=2&max-keys=1000&prefix={}", wire::percent::parameter(&prefix));
        let reply = self.send(&RequestPlan { query: Some(query.into()), ..get() }, "")?;
        if reply.status != 200 {
            return Err(Failure::could_not_run(format!("cannot list objects: {}", reply.description())));
        }
        let page = ListResult::parse(&reply.message)
            .map_err(|error| Failure::could_not_run(format!("cannot parse the listing: {error}")))?;
        let seed = dataset.description().seed.0;
        let below = page.objects.iter().filter_map(|object| object.key.strip_prefix(self.location.prefix.as_str()));
        Ok(below.filter_map(|key| fresh_number(seed, key)).collect())
    }

    /// Returns the open multipart uploads below the prefix. Some servers cannot list uploads, so callers may have to
    /// ignore a failure.
    pub fn open_uploads(&self) -> Result<Vec<Upload>, Failure> {
        let mut filter = format!("&prefix={}", wire::percent::parameter(&self.location.prefix));
        let mut uploads = Vec::new();
        let mut from = String::new();
        for _ in 0..UPLOAD_PAGES_MAX {
            let query = format!("uploads=&max-uploads=1000{filter}{from}");
            let reply = self.send(&RequestPlan { query: Some(query.into()), ..get() }, "")?;
            match reply.status {
                200 => {}
                // renterd lists open uploads only for a whole bucket, and not for a prefix.
                501 if !filter.is_empty() => {
                    filter.clear();
                    continue;
                }
                _ => return Err(Failure::could_not_run(reply.description())),
            }
            let page = OpenUploads::parse(&reply.message).map_err(Failure::could_not_run)?;
            let below = page.uploads.into_iter().filter(|upload| upload.key.starts_with(&self.location.prefix));
            uploads.extend(below.map(|upload| Upload { key: upload.key, id: upload.upload_id }));
            let Some(next) = page.next else { return Ok(uploads) };
            from = format!("&key-marker={}", wire::percent::parameter(&next.key));
            if !next.upload_id.is_empty() {
                from += &format!("&upload-id-marker={}", wire::percent::parameter(&next.upload_id));
            }
        }
        Err(Failure::could_not_run(format!("there are more than {}", UPLOAD_PAGES_MAX * 1000)))
    }

    /// Returns the parts of an open multipart upload, or `None` if the server does not know the upload.
    pub fn parts(&self, upload: &Upload) -> Result<Option<Vec<ListedPart>>, Failure> {
        let key = upload.key.strip_prefix(self.location.prefix.as_str()).unwrap_or(&upload.key);
        let id = wire::percent::parameter(&upload.id);
        let (mut parts, mut from) = (Vec::new(), String::new());
        let mut last = 0;
        while parts.len() <= usize::from(MAX_PARTS) {
            let query = format!("uploadId={id}&max-parts=1000{from}");
            let reply = self.send(&RequestPlan { query: Some(query.into()), ..get() }, key)?;
            match reply.status {
                200 => {}
                404 => return Ok(None),
                _ => {
                    let why = reply.description();
                    return Err(Failure::could_not_run(format!("cannot list the parts of an upload of {key}: {why}")));
                }
            }
            let page = ListedParts::parse(&reply.message).map_err(Failure::could_not_run)?;
            parts.extend(page.parts);
            let Some(next) = page.next else { return Ok(Some(parts)) };
            if next <= last {
                return Err(Failure::could_not_run(format!(
                    "the server repeats pages of the list of the parts of {key}"
                )));
            }
            last = next;
            from = format!("&part-number-marker={next}");
        }
        Err(Failure::could_not_run(format!("the server lists more than {MAX_PARTS} parts for an upload of {key}")))
    }

    /// Fails if the target does not respond, or if a bucket cannot be listed.
    pub fn check_reachable(&self) -> Result<(), Failure> {
        if !self.location.can_list {
            return self.send(&RequestPlan::new("HEAD", OpKind::Head), DESCRIPTION_KEY).map(|_| ());
        }
        let prefix = wire::percent::parameter(&self.location.prefix);
        let query = format!("list-type=2&max-keys=1&prefix={prefix}");
        let reply = self.send(&RequestPlan { query: Some(query.into()), ..get() }, "")?;
        match reply.status {
            // A user with permission to write does not always have permission to list.
            200..300 | 403 | 405 | 501 => Ok(()),
            _ => {
                Err(Failure::could_not_run(format!("cannot use the bucket: {}; {}", reply.description(), fix(&reply))))
            }
        }
    }

    /// Returns the dataset that was prepared at the location, or `None` if there is none.
    pub fn dataset(&self) -> Result<Option<Dataset>, Failure> {
        let Some(json) = self.read(DESCRIPTION_KEY)? else { return Ok(None) };
        serde_json::from_slice(&json).map(Some).map_err(|error| {
            Failure::could_not_run(format!(
                "cannot read {DESCRIPTION_KEY}: {error}; describe the dataset, for example --count 100 --size 1MiB"
            ))
        })
    }

    /// Writes the record of the dataset.
    pub fn write_dataset(&self, dataset: &Dataset) -> Result<(), Failure> {
        self.write(DESCRIPTION_KEY, serde_json::to_vec(dataset))
    }

    /// Deletes the record of the dataset.
    pub fn delete_dataset_record(&self) -> Result<(), Failure> {
        self.modify(&RequestPlan::new("DELETE", OpKind::Delete), DESCRIPTION_KEY)
    }

    /// Creates the bucket, unless it exists.
    pub fn create_bucket(&self) -> Result<(), Failure> {
        let body = Some(BodyPlan::of_bytes(Arc::from([])));
        let reply = self.send(&RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Request) }, "")?;
        match reply.status {
            200..300 | 409 => Ok(()),
            _ => Err(Failure::could_not_run(format!("cannot create the bucket: {}", reply.description()))),
        }
    }

    /// Returns the content of a small object, or `None` if there is none.
    fn read(&self, key: &str) -> Result<Option<Box<[u8]>>, Failure> {
        let reply = self.send(&get(), key)?;
        match reply.status {
            200 => Ok(Some(reply.message)),
            404 if is_about_the_key(&reply) => Ok(None),
            _ => Err(Failure::could_not_run(format!("cannot read {key}: {}; {}", reply.description(), fix(&reply)))),
        }
    }

    fn write(&self, key: &str, json: serde_json::Result<Vec<u8>>) -> Result<(), Failure> {
        let json = json.map_err(|error| Failure::could_not_run(error.to_string()))?;
        let body = Some(BodyPlan::of_bytes(Arc::from(json)));
        self.modify(&RequestPlan { body, ..RequestPlan::new("PUT", OpKind::Put) }, key)
    }

    fn modify(&self, request: &RequestPlan, key: &str) -> Result<(), Failure> {
        let reply = self.send(request, key)?;
        match reply.status {
            200..300 => Ok(()),
            _ => {
                let method = &request.method;
                Err(Failure::could_not_run(format!("{method} of {key} failed: {}", reply.description())))
            }
        }
    }

    /// Sends a request for the object with this key, or for the bucket, and retries it after a transient failure.
    fn send(&self, request: &RequestPlan, key: &str) -> Result<Reply, Failure> {
        let targets = if key.is_empty() { self.location.bucket()? } else { self.location.one(key)? };
        let own = self.plan.mix.requests().first();
        let headers = own.map(|own| own.headers.clone()).unwrap_or_default();
        let plan = Plan { targets: Arc::new(targets), ..self.plan.clone() };
        let request = RequestPlan { headers, ..request.clone() };
        let limit = match self.patience {
            Patience::Once => None,
            Patience::Repeat(limit) => Some(limit),
        };
        let mut retries = Retries::new(limit.unwrap_or_default());
        loop {
            let entry = exchange(&plan, request.clone()).map_err(|error| Failure::could_not_run(error.to_string()))?;
            let Some(entry) = entry else { return Err(Failure::could_not_run("interrupted")) };
            self.reached.set(self.reached.get() || entry.status.is_some());
            let may_pass = limit.is_some() && is_transient(entry.outcome, entry.status);
            let next =
                if may_pass && self.reached.get() { retries.pause(entry.status.is_some()) } else { Retry::GiveUp };
            if next == Retry::Again {
                continue;
            }
            if let Some(status) = entry.status {
                return Ok(Reply { status, message: entry.message.unwrap_or_default() });
            }
            let AttemptOutcome { cause, .. } = entry.outcome;
            let url = crate::redact::url_text(&plan.targets.url(engine::plan::Subject::Target(0)));
            let message = format!("no response from {url}: {}", cause.about());
            return Err(if next == Retry::TargetGone {
                Failure::TargetGone(message)
            } else {
                requests_failed(message)
            });
        }
    }
}

/// Returns the fix for a bucket that cannot be used.
fn fix(reply: &Reply) -> &'static str {
    if reply.status == 404 && !is_about_the_key(reply) {
        "check the name of the bucket, or create it with `plimsoll prepare --make-bucket`"
    } else {
        "check bucket, keys and server"
    }
}

/// Returns whether a response with status 404 means that the object is missing, and not its bucket.
fn is_about_the_key(reply: &Reply) -> bool {
    ErrorBody::parse(&reply.message).map_or(true, |error| error.code != ErrorCode::NoSuchBucket)
}

fn get() -> RequestPlan {
    RequestPlan::new("GET", OpKind::Get)
}

/// Returns the dataset that the flags describe. Without such flags, returns the dataset that was prepared at the
/// location.
pub fn dataset(
    args: &Args,
    location: &DatasetLocation,
    objects: &super::dataset::Args,
    seed: u64,
) -> Result<Dataset, Failure> {
    if objects.is_given() {
        return objects.dataset(seed);
    }
    LocationClient::new(args, location, Patience::Once)?.dataset()?.ok_or_else(|| {
        Failure::usage(
            "this location has no dataset: run `plimsoll prepare` with the same location first, or describe a dataset, for example --count 100 --size 1MiB",
        )
    })
}

/// Returns a request for use in a run, with the header fields and checks that the flags specify.
pub fn request(args: &Args, location: &DatasetLocation, method: &str, kind: OpKind) -> Result<RequestPlan, Failure> {
    let headers = headers(&args.requests, location.credentials.clone())?;
    let checks = checks(&args.checks, &headers)?;
    Ok(RequestPlan { headers, checks, ..RequestPlan::new(method, kind) })
}
