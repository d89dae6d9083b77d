//! Tests of the checks of response sizes.

use crate::support::*;
use engine::plan::*;
use engine::sim::{SimNetwork, simulate};
use measure::result::accounting::audit;
use measure::{AttemptOutcome, Cause, Instant, OpKind};
use std::num::NonZeroU64;
use std::sync::Arc;

/// Returns the outcome of a request for an object of 1000 bytes, if the response has `answered` bytes.
fn outcome(request: RequestPlan, answered: u64) -> AttemptOutcome {
    let mut plan = Plan { log_ops: true, mix: Mix::one(request), ..plan() };
    plan.stop = StopAfter { ops: NonZeroU64::new(1), ..StopAfter::default() };
    Arc::make_mut(&mut plan.targets).items_mut()[0].size = Some(1000);
    let network = || SimNetwork::new(move |now: Instant, _: &str| respond_at(now + ms(1), answered));
    let (intervals, ops) = simulate(&plan, |_| network());
    assert_eq!(audit(&summary(&plan, &intervals), true).violations, []);
    ops[0].outcome
}

#[test]
fn a_response_must_have_the_known_size_of_its_object() {
    let get = || RequestPlan::new("GET", OpKind::Get);
    assert_eq!(outcome(get(), 1000), AttemptOutcome::OK);
    assert_eq!(outcome(get(), 999).cause, Cause::SizeDiffers);
    assert_eq!(outcome(get(), 1001).cause, Cause::SizeDiffers);
}

/// The response to a deletion is a message, which may have any size.
#[test]
fn other_responses_have_any_size() {
    for answered in [0, 17, 5000] {
        assert_eq!(outcome(RequestPlan::new("DELETE", OpKind::Delete), answered), AttemptOutcome::OK);
    }
}
