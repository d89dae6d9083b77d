//! The sizes of objects. A run that requests random ranges must know the sizes of its objects beforehand.
//!
//! A size is never assumed. It is read from the response to HEAD. If the response does not contain the size, a second
//! request asks for the first byte of the object. The size is then in the `Content-Range` of the response. Both kinds
//! of requests are made by ordinary runs over the list of objects.

use crate::control::Control;
use crate::plan::{Checks, Plan, RangeChoice, RangeStatus, RequestPlan, Subject};
use crate::run::{Observer, RunError, run};
use crate::run_loop::OpEntry;
use crate::single_requests::counted;
use measure::{AttemptOutcome, Instant, Interval, OpKind};
use std::num::NonZeroU64;
use std::sync::Arc;
use wire::range::ByteRange;

/// Number of requests in flight while sizes are requested.
const CONCURRENCY: NonZeroU64 = NonZeroU64::new(16).unwrap();

/// Reason why the sizes could not be found.
#[derive(Debug, thiserror::Error)]
pub enum DiscoverError {
    /// The requests could not be made.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The response to HEAD contains no size, and neither does the `Content-Range` of a range request.
    #[error("cannot find the size of {url}: neither HEAD nor a range of one byte returned it ({outcome})", outcome = describe(*status, outcome))]
    Unknown {
        /// URL of the object.
        url: String,
        /// Status of the last response.
        status: Option<u16>,
        /// Outcome of the last request.
        outcome: AttemptOutcome,
    },
    /// The user interrupted the requests.
    #[error("interrupted while object sizes were requested")]
    Interrupted,
}

fn describe(status: Option<u16>, outcome: &AttemptOutcome) -> String {
    match status {
        Some(status) => format!("status {status}"),
        None => outcome.cause.about().to_owned(),
    }
}

/// Collector of the sizes in responses.
struct Sizes<'a> {
    found: Vec<Option<u64>>,
    last: Option<(Option<u16>, AttemptOutcome)>,
    responses: u64,
    tick: &'a mut dyn FnMut(u64, &Control, Instant),
}

impl Observer for Sizes<'_> {
    fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}

    fn ops(&mut self, ops: &[OpEntry]) {
        for op in ops {
            self.responses += 1;
            let succeeded = op.outcome == AttemptOutcome::OK;
            if let Subject::Target(index) = op.subject
                && let Some(found) = self.found.get_mut(index as usize)
            {
                *found = op.object_bytes.filter(|_| succeeded);
            }
            if !succeeded || op.object_bytes.is_none() {
                self.last = Some((op.status, op.outcome));
            }
        }
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        (self.tick)(self.responses, control, now);
    }
}

/// Finds and sets the unknown sizes of a plan's objects. `tick` is called about every 50 ms with the number of
/// responses so far.
///
/// # Errors
/// Fails if the size of an object cannot be found.
pub fn discover_sizes(plan: &mut Plan, tick: &mut dyn FnMut(u64, &Control, Instant)) -> Result<(), DiscoverError> {
    let first_byte = ByteRange::new(0, 0);
    let headers = plan.mix.requests().first().map(|request| request.headers.clone()).unwrap_or_default();
    let head = RequestPlan { headers, ..RequestPlan::new("HEAD", OpKind::Head) };
    let probe = RequestPlan {
        method: "GET".into(),
        kind: OpKind::GetRange,
        range: first_byte.map(RangeChoice::Fixed),
        checks: Checks { ranges: RangeStatus::Also200, ..Checks::default() },
        ..head.clone()
    };
    let mut last = None;
    for request in [head, probe] {
        let missing: Vec<usize> = plan
            .targets
            .items()
            .iter()
            .enumerate()
            .filter(|(_, item)| item.size.is_none())
            .map(|(index, _)| index)
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let (found, failure) = ask(plan, request, &missing, tick)?;
        let targets = Arc::make_mut(&mut plan.targets);
        for (index, size) in missing.into_iter().zip(found) {
            targets.items_mut()[index].size = size;
        }
        last = failure.or(last);
    }
    let unknown = plan.targets.items().iter().position(|item| item.size.is_none());
    match (unknown, last) {
        (Some(index), Some((status, outcome))) => {
            Err(DiscoverError::Unknown { url: plan.targets.url(Subject::Target(index as u64)), status, outcome })
        }
        (Some(_), None) => Err(DiscoverError::Interrupted),
        (None, _) => Ok(()),
    }
}

type FoundSizes = (Vec<Option<u64>>, Option<(Option<u16>, AttemptOutcome)>);

fn ask(
    plan: &Plan,
    request: RequestPlan,
    items: &[usize],
    tick: &mut dyn FnMut(u64, &Control, Instant),
) -> Result<FoundSizes, DiscoverError> {
    let control = Control::new(None);
    let plan = once_each(plan, request, items, CONCURRENCY);
    let mut sizes = Sizes { found: vec![None; items.len()], last: None, responses: 0, tick };
    run(&plan, &control, &mut sizes)?;
    if control.reason() == Some(crate::control::StopReason::Interrupted) {
        return Err(DiscoverError::Interrupted);
    }
    Ok((sizes.found, sizes.last))
}

/// Returns a plan that requests each of the given items of `plan` once, and logs every operation.
pub(crate) fn once_each(plan: &Plan, request: RequestPlan, items: &[usize], concurrency: NonZeroU64) -> Plan {
    let count = NonZeroU64::new(items.len() as u64).unwrap_or(NonZeroU64::MIN);
    let plan = Plan { targets: Arc::new(plan.targets.only(items)), ..plan.clone() };
    counted(&plan, request, count, concurrency)
}
