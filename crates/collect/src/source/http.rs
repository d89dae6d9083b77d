//! HTTP endpoints that report metrics.

use super::Reading;
use super::json::{self, JsonPath};
use super::metrics::{self, Selector};
use super::numbers::Numbers;
use super::picked::Picked;
use engine::plan::{BodyPlan, Follow, Plan, RequestPlan, Timeouts};
use engine::{OpEntry, single_requests};
use measure::series::{Column, FailureClass, PollFailure};
use measure::{AttemptClass, Cause, OpKind};
use std::sync::Arc;
use std::time::Duration;

/// Maximum number of bytes of an error response that are used as its message.
const MESSAGE_BYTES: usize = 1000;

/// An HTTP endpoint, with the authentication and connections of a plan.
#[derive(Clone, Debug)]
pub struct Endpoint {
    plan: Plan,
    request: RequestPlan,
    shown: String,
}

/// A response, or the reason why there is none.
pub(super) struct Response {
    /// Time from the start of the request to the end of the response.
    pub time: Duration,
    /// The body.
    pub body: Result<Box<[u8]>, PollFailure>,
}

impl Endpoint {
    /// Creates the endpoint of the first target of a plan. `shown` is its URL without secrets.
    #[must_use]
    pub fn new(plan: Plan, shown: String) -> Self {
        let request = plan.mix.requests().first().cloned();
        let request = request.unwrap_or_else(|| RequestPlan::new("GET", OpKind::Get));
        Self { plan, request, shown }
    }

    /// Changes the requests to POST requests with this body.
    #[must_use]
    pub fn posting(self, body: &[u8]) -> Self {
        let body = Some(BodyPlan::of_bytes(Arc::from(body)));
        let request = RequestPlan { method: "POST".into(), kind: OpKind::Request, body, ..self.request };
        Self { request, ..self }
    }

    /// Returns the URL without secrets.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// Sends the request once, and waits at most about `bound` for the response. Does not follow redirects, because
    /// redirects would extend this time.
    pub(super) fn get(&self, bound: Duration) -> Response {
        if bound.is_zero() {
            let failure = PollFailure::new(FailureClass::TimedOut, "no time was left for this request");
            return Response { time: Duration::ZERO, body: Err(failure) };
        }
        let least = |timeout: Duration| timeout.min(bound);
        let Timeouts { connect, head, idle, total: _ } = self.plan.timeouts;
        let timeouts = Timeouts { connect: least(connect), head: least(head), idle: least(idle), total: Some(bound) };
        let plan = Plan { timeouts, follow: Follow::Never, threads: 1, ..self.plan.clone() };
        match single_requests::exchange(&plan, self.request.clone()) {
            Ok(Some(op)) => Response { time: op.end.since(op.started), body: body(op) },
            Ok(None) => {
                Response { time: bound, body: Err(PollFailure::new(FailureClass::TimedOut, "the request did not end")) }
            }
            Err(error) => Response {
                time: Duration::ZERO,
                body: Err(PollFailure::new(FailureClass::Internal, &error.to_string())),
            },
        }
    }
}

/// Returns the body of a successful response, or the failure.
fn body(op: OpEntry) -> Result<Box<[u8]>, PollFailure> {
    let message = op.message.unwrap_or_default();
    if op.outcome.class == AttemptClass::Ok {
        return Ok(message);
    }
    let class = if op.outcome.cause == Cause::MessageTooLarge { FailureClass::TooLarge } else { FailureClass::Request };
    let text = String::from_utf8_lossy(&message[..message.len().min(MESSAGE_BYTES)]);
    // An error page in HTML is not readable as a message.
    let detail = if text.trim_start().starts_with('<') { "" } else { &text };
    Err(PollFailure { cause: Some(op.outcome.cause), status: op.status, ..PollFailure::new(class, detail) })
}

/// The format of a response, and the columns that are picked from it.
#[derive(Clone, Debug)]
pub enum Format {
    /// JSON. A value is a number, a text that is a number, or a boolean.
    Json(Vec<Picked<JsonPath>>),
    /// The text format of Prometheus, or OpenMetrics. The first selector that matches a series determines the value.
    Metrics(Vec<Picked<Vec<Selector>>>),
    /// Text that always contains the same count of numbers.
    Numbers(Numbers),
}

/// An HTTP endpoint, and the values in its responses.
#[derive(Clone, Debug)]
pub struct HttpSource {
    endpoint: Endpoint,
    format: Format,
}

impl HttpSource {
    /// Creates a source.
    #[must_use]
    pub fn new(endpoint: Endpoint, format: Format) -> Self {
        Self { endpoint, format }
    }

    /// Returns the endpoint.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    pub(super) fn columns(&self) -> Vec<Column> {
        match &self.format {
            Format::Json(picked) => picked.iter().map(|picked| picked.column.clone()).collect(),
            Format::Metrics(picked) => picked.iter().map(|picked| picked.column.clone()).collect(),
            Format::Numbers(numbers) => numbers.picked.iter().map(|picked| picked.column.clone()).collect(),
        }
    }

    pub(super) fn read(&mut self, bound: Duration) -> Reading {
        let Response { time, body } = self.endpoint.get(bound);
        let reading = match body {
            Ok(body) => self.parse(&body),
            Err(failure) => Reading::failed(self.columns().len(), failure),
        };
        Reading { requests: time, ..reading }
    }

    fn parse(&self, body: &[u8]) -> Reading {
        let parsed = match &self.format {
            Format::Json(picked) => json::values(body, picked),
            Format::Metrics(picked) => metrics::values(body, picked),
            Format::Numbers(numbers) => numbers.values(body),
        };
        match parsed {
            Ok((values, failure)) => Reading { failure, ..Reading::known(values) },
            Err(failure) => Reading::failed(self.columns().len(), failure),
        }
    }
}
