//! Requests before or after a run: either a single request, or one request for each object. The usual run loop makes
//! these requests.

use crate::control::{Control, StopReason};
use crate::plan::{
    BatchSize, Choice, LoadModel, Mix, Pick, Plan, RequestPlan, ResponseBody, ResumedUploads, StopAfter, Subject,
    Targets,
};
use crate::run::{Observer, RunError, run};
use crate::run_loop::OpEntry;
use crate::schedule::Profile;
use measure::{AttemptOutcome, Cause, Instant, Interval};
use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;
use wire::s3::{DeleteResult, ErrorCode};

#[derive(Default)]
struct Last(Option<OpEntry>);

impl Observer for Last {
    fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}

    fn ops(&mut self, ops: &[OpEntry]) {
        self.0 = ops.last().cloned().or(self.0.take());
    }

    fn tick(&mut self, _: &Control, _: Instant) {}
}

/// Sends `request` once, with the connections and the authentication of `plan`. Returns the operation, including the
/// body of the response. A body that exceeds the limit for messages is kept only if `request` keeps lists
/// (`ResponseBody::KeptList`). Returns `None` if the run ended before the operation ended.
///
/// # Errors
/// Fails if no request could be sent at all.
pub fn exchange(plan: &Plan, request: RequestPlan) -> Result<Option<OpEntry>, RunError> {
    let response_body = match request.response_body {
        ResponseBody::KeptList => ResponseBody::KeptList,
        _ => ResponseBody::Kept,
    };
    let request = RequestPlan { response_body, ..request };
    let mut last = Last::default();
    run(&counted(plan, request, NonZeroU64::MIN, NonZeroU64::MIN), &Control::new(None), &mut last)?;
    Ok(last.0)
}

/// Numbers of objects whose requests succeeded or failed.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// Number of objects whose request succeeded.
    pub good: u64,
    /// Number of objects that do not exist (404). The response to a batch deletion does not report missing objects.
    pub missing: u64,
    /// Number of objects whose request failed for another reason.
    pub failed: u64,
    /// The last request that failed.
    pub example: Option<OpEntry>,
    /// `true` if the user interrupted the requests.
    pub interrupted: bool,
}

impl Ended {
    /// Returns the number of objects with a result.
    fn objects(&self) -> u64 {
        self.good + self.missing + self.failed
    }

    fn note(&mut self, op: &OpEntry) {
        match op.status {
            Some(200..300) => self.good += 1,
            Some(404) => self.missing += 1,
            _ => self.note_failed(op, 1),
        }
    }

    /// Adds the result of a request that deletes a batch of `objects` objects.
    fn note_batch(&mut self, op: &OpEntry, objects: u64) {
        let message = || DeleteResult::parse(op.message.as_deref()?).ok();
        let (missing, failed) = match op.outcome {
            AttemptOutcome::OK => (0, 0),
            AttemptOutcome { cause: Cause::ErrorWithin200, .. } => message().map_or((0, objects), |result| {
                let missing = result.errors.iter().filter(|error| error.code == ErrorCode::NoSuchKey).count() as u64;
                (missing, result.errors.len() as u64 - missing)
            }),
            _ => (0, objects),
        };
        // A hostile server may report more objects than were requested.
        let failed = failed.min(objects);
        let missing = missing.min(objects - failed);
        self.good += objects - failed - missing;
        self.missing += missing;
        if failed > 0 {
            self.note_failed(op, failed);
        }
    }

    fn note_failed(&mut self, op: &OpEntry, objects: u64) {
        self.failed += objects;
        self.example = Some(op.clone());
    }
}

struct Counting<'a> {
    ended: Ended,
    /// Number of objects.
    count: u64,
    batch: Option<BatchSize>,
    tick: &'a mut dyn FnMut(u64, &Control, Instant),
}

impl Observer for Counting<'_> {
    fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}

    fn ops(&mut self, ops: &[OpEntry]) {
        for op in ops {
            match self.batch.map(BatchSize::get) {
                None => self.ended.note(op),
                Some(most) => {
                    let before = op.number.saturating_mul(most);
                    self.ended.note_batch(op, self.count.saturating_sub(before).min(most));
                }
            }
        }
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        (self.tick)(self.ended.objects(), control, now);
    }
}

/// Sends `request` once for each object of the plan, or for each batch of objects. `tick` is called about every 50 ms
/// with the number of objects that have a result.
///
/// # Errors
/// Fails if no request could be sent at all.
pub fn each(
    plan: &Plan,
    request: RequestPlan,
    concurrency: NonZeroU64,
    tick: &mut dyn FnMut(u64, &Control, Instant),
) -> Result<Ended, RunError> {
    let count = plan.targets.count();
    let batch = match request.pick {
        Pick::Batch(batch) => Some(batch.size_max),
        Pick::Target | Pick::Fresh | Pick::Written { .. } | Pick::Container => None,
    };
    let requests = count.div_ceil(batch.map_or(1, BatchSize::get));
    let Some(requests) = NonZeroU64::new(requests) else { return Ok(Ended::default()) };
    let control = Control::new(None);
    let mut counting = Counting { ended: Ended::default(), count, batch, tick };
    run(&counted(plan, request, requests, concurrency), &control, &mut counting)?;
    let interrupted = control.reason() == Some(StopReason::Interrupted);
    Ok(Ended { interrupted, ..counting.ended })
}

/// Result of the request for one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestOutcome {
    /// Outcome of the request's last attempt.
    pub outcome: AttemptOutcome,
    /// Status of the response, if there was one.
    pub status: Option<u16>,
}

/// Results of the requests for all objects of a plan, one by one.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    /// The results, by index of the target; `None` for a request that did not end.
    pub outcomes: Vec<Option<RequestOutcome>>,
    /// The last request that failed.
    pub example: Option<OpEntry>,
    /// `true` if the user interrupted the requests.
    pub interrupted: bool,
}

struct Trying<'a> {
    tried: Tried,
    ended: u64,
    tick: &'a mut dyn FnMut(u64, &Control, Instant),
}

impl Observer for Trying<'_> {
    fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}

    fn ops(&mut self, ops: &[OpEntry]) {
        for op in ops {
            if let Subject::Target(index) = op.subject
                && let Some(place) = self.tried.outcomes.get_mut(index as usize)
            {
                *place = Some(RequestOutcome { outcome: op.outcome, status: op.status });
                self.ended += 1;
            }
        }
        let failed = ops.iter().rfind(|op| op.outcome != AttemptOutcome::OK);
        self.tried.example = failed.cloned().or(self.tried.example.take());
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        (self.tick)(self.ended, control, now);
    }
}

/// Sends `request` once for each object of the plan, like [`each`], and returns the result of each request. This
/// function is for few objects, because all results are kept in memory.
///
/// # Errors
/// Fails if no request could be sent at all.
pub fn try_each(
    plan: &Plan,
    request: RequestPlan,
    concurrency: NonZeroU64,
    tick: &mut dyn FnMut(u64, &Control, Instant),
) -> Result<Tried, RunError> {
    let count = plan.targets.count();
    let Some(requests) = NonZeroU64::new(count) else { return Ok(Tried::default()) };
    let control = Control::new(None);
    let tried = Tried { outcomes: vec![None; count as usize], ..Tried::default() };
    let mut trying = Trying { tried, ended: 0, tick };
    run(&counted(plan, request, requests, concurrency), &control, &mut trying)?;
    let interrupted = control.reason() == Some(StopReason::Interrupted);
    Ok(Tried { interrupted, ..trying.tried })
}

/// Returns a plan that aborts multipart uploads. Each upload is given by the index of its origin, the encoded path of
/// its object, and its ID. The plan must be passed to [`each`] with a DELETE request. A 404 means that the upload no
/// longer exists.
#[must_use]
pub fn aborting<'u>(plan: &Plan, uploads: impl IntoIterator<Item = (usize, String, &'u str)>) -> Plan {
    let path = |(origin, path, id): (usize, String, &str)| {
        (origin, format!("{path}?uploadId={}", wire::percent::parameter(id)).into())
    };
    let targets = Targets::of_paths(plan.targets.origins().to_vec(), uploads.into_iter().map(path));
    Plan { targets: Arc::new(targets), ..plan.clone() }
}

/// Returns a plan that makes `count` operations with the same request, for the objects in their order.
pub(crate) fn counted(plan: &Plan, request: RequestPlan, count: NonZeroU64, concurrency: NonZeroU64) -> Plan {
    Plan {
        choice: Choice::RoundRobin,
        mix: Mix::one(request),
        load: LoadModel::Closed { slots: Profile::slots(count.min(concurrency)), think: Duration::ZERO },
        stop: StopAfter { ops: Some(count), ..StopAfter::default() },
        warmup: Duration::ZERO,
        retry: None,
        resumed_uploads: ResumedUploads::default(),
        group_by: None,
        log_ops: true,
        slices: None,
        nic_speed: None,
        ..plan.clone()
    }
}
