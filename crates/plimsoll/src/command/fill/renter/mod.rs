//! Sia's renters as targets of a fill. This module sends requests to their control API, outside of any run.
//!
//! The module [`readiness`] checks a renter before the first upload. The module [`ledger`] takes snapshots of the
//! renter before and after the phases of a session, and samples in between.

mod ledger;
mod readiness;
mod siad_files;

pub use ledger::{ActualSpending, LedgerRecord};
pub use siad_files::SiadFiles;

use super::Args;
use super::objects::Objects;
use crate::load::dialect;
use crate::saved::unix_ms;
use engine::plan::{Mix, Pick, Plan, RequestPlan, ResponseBody};
use engine::single_requests::exchange;
use measure::{AttemptOutcome, OpKind};
use report::escape::escape;
use sia::snapshot::{Document, Snapshot, System};
use std::time::{Duration, Instant};

/// Maximum number of attempts to read a document of a snapshot.
const ATTEMPTS: u32 = 3;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(500);
/// Timeout of a request. With a timeout, an interrupted session ends even if the renter hangs.
const REQUEST_MAX: Duration = Duration::from_secs(60);
/// Interval at which a pause checks for interrupts.
const LOOK: Duration = Duration::from_millis(50);

/// A renter of Sia that is the target of a fill.
pub struct Renter {
    system: System,
    /// The plan with the connection settings of the requests.
    plan: Plan,
    /// A request with the header fields that the renter needs.
    request: RequestPlan,
    /// Bucket of the objects, encoded as in a query. Only renterd has buckets.
    bucket: Option<Box<str>>,
}

/// A document that could not be read.
struct Unread {
    /// Status of the response, if there was one.
    status: Option<u16>,
    /// The reason, in one line.
    about: String,
}

impl Unread {
    fn without_response(about: impl Into<String>) -> Self {
        Self { status: None, about: about.into() }
    }
}

impl Renter {
    /// Returns the renter that the flags name, or `None` if the target is another system.
    pub fn of(args: &Args, objects: &Objects) -> Option<Self> {
        let system = match args.put.dialect.system? {
            dialect::System::Siad => System::Siad,
            dialect::System::Renterd => System::Renterd,
            _ => return None,
        };
        let upload = objects.upload.mix.requests().first();
        let headers = upload.map(|upload| upload.headers.clone()).unwrap_or_default();
        let bucket = upload.and_then(|upload| upload.query.as_deref()?.strip_prefix("bucket=")).map(Into::into);
        let request = RequestPlan {
            headers,
            // Do not check the size, because a document is not an object of the dataset.
            pick: Pick::Container,
            response_body: ResponseBody::KeptList,
            ..RequestPlan::new("GET", OpKind::Request)
        };
        let mut plan = Plan { mix: Mix::one(request.clone()), ..objects.upload.clone() };
        plan.timeouts.total = Some(plan.timeouts.total.map_or(REQUEST_MAX, |total| total.min(REQUEST_MAX)));
        Some(Self { system, plan, request, bucket })
    }

    /// Returns a snapshot with these documents, except those that cannot be read. If the renter does not respond, no
    /// further document is requested.
    pub fn snapshot(&self, documents: &[Document]) -> Snapshot {
        let mut snapshot = Snapshot::new(self.system);
        let mut silent: Option<String> = None;
        for document in documents {
            if let Some(about) = &silent {
                snapshot.add(*document, Err(about.clone()));
                continue;
            }
            let body = self.get_patiently(*document);
            if let Err(Unread { status: None, about }) = &body {
                silent = Some(about.clone());
            }
            snapshot.add(*document, body.as_deref().map_err(|unread| unread.about.clone()));
        }
        snapshot.unix_ms = unix_ms();
        snapshot
    }

    /// Reads a document. Retries failures that may be temporary.
    fn get_patiently(&self, document: Document) -> Result<Box<[u8]>, Unread> {
        let mut body = self.get(document.path);
        for _ in 1..ATTEMPTS {
            let may_pass = body.as_ref().is_err_and(|unread| unread.status.is_none_or(|status| status >= 500));
            if !may_pass || is_interrupted() {
                break;
            }
            pause(PAUSE);
            body = self.get(document.path);
        }
        body
    }

    /// Reads the document at a path once.
    fn get(&self, path: &str) -> Result<Box<[u8]>, Unread> {
        let entry = exchange(&self.plan, self.request_for(path));
        let entry = entry.map_err(|error| Unread::without_response(error.to_string()))?;
        let entry = entry.ok_or_else(|| Unread::without_response("the request did not end"))?;
        let message = entry.message.unwrap_or_default();
        let about = match (entry.outcome, entry.status) {
            (AttemptOutcome::OK, _) => return Ok(message),
            (_, Some(status)) => format!("status {status}{}", self.reason(&message)),
            (outcome, None) => outcome.cause.about().to_owned(),
        };
        Err(Unread { status: entry.status, about })
    }

    fn request_for(&self, path: &str) -> RequestPlan {
        RequestPlan { path: Some(path.into()), ..self.request.clone() }
    }

    /// Returns the renter's error message as the end of a sentence, or an empty text if there is none.
    fn reason(&self, message: &[u8]) -> String {
        let text = match self.system {
            System::Siad => sia::siad::error_message(message).unwrap_or_default(),
            System::Renterd => sia::renterd::error_message(message),
        };
        if text.is_empty() { text } else { format!(", {}", escape(&text)) }
    }
}

fn is_interrupted() -> bool {
    sys::signals::interrupts().count > 0
}

/// Waits. An interrupt ends the wait.
fn pause(time: Duration) {
    let until = Instant::now() + time;
    while Instant::now() < until && !is_interrupted() {
        std::thread::sleep(LOOK.min(until.saturating_duration_since(Instant::now())));
    }
}
