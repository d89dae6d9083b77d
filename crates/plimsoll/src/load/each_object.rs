//! One request for each object, with retries. Nothing is measured.

use super::Args;
use super::location_client::s3_error;
use super::retry::{Retries, Retry, RetryLimit};
use crate::failure::Failure;
use crate::progress::{requests_interrupted, with_progress};
use engine::OpEntry;
use engine::plan::{Plan, RequestPlan, Targets, is_transient};
use engine::single_requests::{RequestOutcome, try_each};
use measure::{AttemptClass, AttemptOutcome};
use report::number::count;
use std::num::NonZeroU64;
use std::sync::Arc;

/// Number of objects per chunk. A chunk starts when the previous chunk is complete, which limits the memory for
/// outcomes.
const CHUNK: u64 = 1 << 16;
/// Number of requests in flight, unless the user sets a number.
const DEFAULT_CONCURRENCY: NonZeroU64 = NonZeroU64::new(16).expect("16 is not 0");

/// The outcome of a request for an object.
enum Consequence {
    /// The object exists and has the right content.
    Good,
    /// The object is missing or damaged.
    Bad,
    /// The request failed for a reason that may be temporary, and is retried.
    Retry,
    /// The server refused the request, so the command ends.
    Refused,
}

/// One pass over the objects, with the same request for each.
pub struct Pass {
    /// The request for each object.
    pub request: RequestPlan,
    /// Name of this work in the live line, for example `preparing`.
    pub doing: &'static str,
    /// End of an error message that begins with a count of objects, such as `3 of 10 objects`. An example is
    /// `are written; the same command writes all of them again`.
    pub done: &'static str,
    /// Handling of missing and damaged objects.
    pub search: Search,
}

/// Handling of missing and damaged objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// A missing object ends the command.
    No,
    /// Missing and damaged objects are collected. If the server refuses a request, the command ends.
    Strict,
    /// Missing and damaged objects are collected. If the server refuses or cannot return an object, it counts as
    /// missing.
    Lenient,
}

/// A sender of requests for numbered objects.
pub struct ObjectRequests<'a> {
    plan: &'a Plan,
    /// Returns the objects with these numbers as targets.
    targets: &'a dyn Fn(&[u64]) -> Targets,
    concurrency: NonZeroU64,
    /// Counts of retried requests.
    pub retries: Retries,
}

impl<'a> ObjectRequests<'a> {
    /// Returns a sender with the connections and the authentication of a plan, and the concurrency of the flags.
    pub fn new(args: &Args, plan: &'a Plan, targets: &'a dyn Fn(&[u64]) -> Targets, limit: RetryLimit) -> Self {
        let concurrency = args.load.concurrency.unwrap_or(DEFAULT_CONCURRENCY);
        Self { plan, targets, concurrency, retries: Retries::new(limit) }
    }

    /// Sends the request for the first `total` objects. Returns the numbers of missing and damaged objects.
    pub fn for_all(&mut self, pass: &Pass, total: u64) -> Result<Vec<u64>, Failure> {
        let mut bad = Vec::new();
        let mut first = 0;
        while first < total {
            let end = total.min(first.saturating_add(CHUNK));
            bad.extend(self.chunk(pass, (first..end).collect(), (first, total))?);
            first = end;
        }
        Ok(bad)
    }

    /// Sends the request for the objects with these numbers. Returns the numbers of missing and damaged objects.
    pub fn for_chosen(&mut self, pass: &Pass, numbers: &[u64]) -> Result<Vec<u64>, Failure> {
        let (mut done, mut bad) = (0, Vec::new());
        for chunk in numbers.chunks(CHUNK as usize) {
            bad.extend(self.chunk(pass, chunk.to_vec(), (done, numbers.len() as u64))?);
            done += chunk.len() as u64;
        }
        Ok(bad)
    }

    /// Sends the request for each of these objects, and retries until every object has an outcome. Returns the numbers
    /// of missing and damaged objects. `done` and `total` count objects for the progress.
    fn chunk(&mut self, pass: &Pass, numbers: Vec<u64>, (mut done, total): (u64, u64)) -> Result<Vec<u64>, Failure> {
        let (mut open, mut bad) = (numbers, Vec::new());
        while !open.is_empty() {
            let targets = Arc::new((self.targets)(&open));
            let plan = Plan { targets, ..self.plan.clone() };
            let describe = |seen, _| format!("{}: {} of {}", pass.doing, count(done + seen), count(total));
            let tried = with_progress(describe, |tick| try_each(&plan, pass.request.clone(), self.concurrency, tick));
            let tried = tried.map_err(|error| Failure::could_not_run(error.to_string()))?;
            let (before, mut again, mut refused) = (open.len(), Vec::new(), false);
            for (number, result) in open.iter().zip(&tried.outcomes) {
                match result.map(|result| (pass.consequence(result), result)) {
                    Some((Consequence::Good, _)) => {}
                    Some((Consequence::Bad, _)) => bad.push(*number),
                    Some((Consequence::Refused, _)) => refused = true,
                    Some((Consequence::Retry, result)) => {
                        self.retries.count(result.outcome.cause);
                        again.push(*number);
                    }
                    None => again.push(*number),
                }
            }
            done += (before - again.len()) as u64;
            let progress = || format!("{} of {} objects {}", count(done), count(total), pass.done);
            if tried.interrupted {
                return Err(requests_interrupted(format!("interrupted: {}", progress())));
            }
            if refused {
                return Err(self.failure(pass, tried.example.as_ref(), &plan, &progress()));
            }
            if again.len() < before {
                self.retries.note_success();
            }
            open = again;
            if open.is_empty() {
                break;
            }
            let responded = tried.outcomes.iter().flatten().any(|result| result.status.is_some());
            let next = self.retries.pause(responded);
            let failure = || self.failure(pass, tried.example.as_ref(), &plan, &progress());
            match next {
                Retry::Again => {}
                Retry::GiveUp if sys::signals::interrupts().count > 0 => {
                    return Err(requests_interrupted(format!("interrupted: {}", progress())));
                }
                Retry::GiveUp if pass.search == Search::Lenient => {
                    bad.append(&mut open);
                }
                Retry::GiveUp => return Err(failure()),
                Retry::TargetGone => return Err(Failure::TargetGone(failure().into_message())),
            }
        }
        Ok(bad)
    }

    /// Returns the failure that ends the command.
    fn failure(&self, pass: &Pass, example: Option<&OpEntry>, plan: &Plan, progress: &str) -> Failure {
        let why = example.map_or_else(
            || "no request completed".to_owned(),
            |example| {
                let url = crate::redact::url_text(&plan.targets.url(example.subject));
                let status = example.status.map_or(String::new(), |status| format!(", status {status}"));
                let error = s3_error(example.message.as_deref().unwrap_or_default());
                let method = &pass.request.method;
                format!("{method} of {url} failed: {}{status}{error}", example.outcome.cause.about())
            },
        );
        Failure::could_not_run(format!("{why}; {progress}{}", self.retries.description()))
    }
}

impl Pass {
    /// Returns the consequence of a response for its object.
    fn consequence(&self, RequestOutcome { outcome, status }: RequestOutcome) -> Consequence {
        match (outcome, status) {
            (AttemptOutcome::OK, _) => Consequence::Good,
            (AttemptOutcome { class: AttemptClass::Integrity, .. }, _) | (_, Some(404 | 410))
                if self.search != Search::No =>
            {
                Consequence::Bad
            }
            _ if is_transient(outcome, status) => Consequence::Retry,
            _ if self.search == Search::Lenient => Consequence::Bad,
            _ => Consequence::Refused,
        }
    }
}
