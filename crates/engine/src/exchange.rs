//! Requests before or after a run: one with its answer, or one for each object. Both are runs of the one loop.

use crate::control::{Control, StopReason};
use crate::plan::{Answers, Choice, LoadModel, Mix, Plan, RequestPlan, StopAfter};
use crate::run::{Observer, RunError, run};
use crate::run_loop::log::OpEntry;
use crate::schedule::Profile;
use measure::{Instant, Interval};
use std::num::NonZeroU64;
use std::time::Duration;

#[derive(Default)]
struct Last(Option<OpEntry>);

impl Observer for Last {
    fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}

    fn ops(&mut self, ops: &[OpEntry]) {
        self.0 = ops.last().cloned().or(self.0.take());
    }

    fn tick(&mut self, _: &Control, _: Instant) {}
}

/// Sends `request` once, as `plan` reaches its servers and says who asks, and gives what came back with the body of a good
/// answer. `None` when the run ended before.
///
/// # Errors
/// When a request can not be made at all.
pub fn exchange(plan: &Plan, request: RequestPlan) -> Result<Option<OpEntry>, RunError> {
    let request = RequestPlan { answers: Answers::Kept, ..request };
    let mut last = Last::default();
    run(&counted(plan, request, NonZeroU64::MIN, NonZeroU64::MIN), &Control::new(None), &mut last)?;
    Ok(last.0)
}

/// How the requests for all objects ended.
#[derive(Clone, Debug, Default)]
pub struct Ended {
    /// With a success.
    pub good: u64,
    /// With 404: the object is not there.
    pub missing: u64,
    /// Otherwise.
    pub failed: u64,
    /// One of those.
    pub example: Option<OpEntry>,
    /// The user has interrupted.
    pub interrupted: bool,
}

struct Counting<'a> {
    ended: Ended,
    tick: &'a mut dyn FnMut(u64, &Control, Instant),
}

impl Observer for Counting<'_> {
    fn interval(&mut self, _: &Interval, _: &Control, _: Instant) {}

    fn ops(&mut self, ops: &[OpEntry]) {
        for op in ops {
            match op.status {
                Some(200..300) => self.ended.good += 1,
                Some(404) => self.ended.missing += 1,
                _ => {
                    self.ended.failed += 1;
                    self.ended.example = Some(op.clone());
                }
            }
        }
    }

    fn tick(&mut self, control: &Control, now: Instant) {
        let ended = &self.ended;
        (self.tick)(ended.good + ended.missing + ended.failed, control, now);
    }
}

/// Sends `request` once for each object of the plan. `tick` is called about every 50 ms with the number of answers so far.
///
/// # Errors
/// When requests can not be made at all.
pub fn each(
    plan: &Plan,
    request: RequestPlan,
    concurrency: NonZeroU64,
    tick: &mut dyn FnMut(u64, &Control, Instant),
) -> Result<Ended, RunError> {
    let Some(count) = NonZeroU64::new(plan.targets.count()) else { return Ok(Ended::default()) };
    let control = Control::new(None);
    let mut counting = Counting { ended: Ended::default(), tick };
    run(&counted(plan, request, count, concurrency), &control, &mut counting)?;
    let interrupted = control.reason() == Some(StopReason::Interrupted);
    Ok(Ended { interrupted, ..counting.ended })
}

/// So many operations of one kind, in the order of the objects.
pub(crate) fn counted(plan: &Plan, request: RequestPlan, count: NonZeroU64, concurrency: NonZeroU64) -> Plan {
    Plan {
        choice: Choice::RoundRobin,
        mix: Mix::one(request),
        load: LoadModel::Closed { slots: Profile::slots(count.min(concurrency)), think: Duration::ZERO },
        stop: StopAfter { ops: Some(count), ..StopAfter::default() },
        warmup: Duration::ZERO,
        group_by: None,
        log_ops: true,
        slices: None,
        ..plan.clone()
    }
}
