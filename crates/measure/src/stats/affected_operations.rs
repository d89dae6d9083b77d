//! Operations that a client stall affected.
//!
//! The run loop marks an operation as affected if it was due or in flight between the start of a client stall and the
//! recovery from it (docs/measurement.md). A percentile of all operations includes the time that the client added. A
//! percentile of the unaffected operations does not ([`super::quantile_range`]).
//!
//! Stalls add at most the sum of three times to an operation. The three times are the lateness of the operation, the
//! stalls since its start, and the longest stall. The longest stall is included because an earlier operation in the
//! target's queue may have been delayed by it. If a target processes requests in order, the delay of an operation is at
//! most the longest delay of this operation and of the operations before it. If the operation had to wait for a slot,
//! all stalls since the moment when all slots were in use are added, because each stall may have kept a slot in use for
//! longer.

use crate::sample::OpSample;
use crate::sample::outcome::{AttemptClass, AttemptOutcome, Cause, OpOutcome};
use crate::values::{Distribution, add};
use serde::{Deserialize, Serialize};

/// Operations of one kind that a client stall affected. The operations are a subset of the operations in the
/// [`super::KindStats`] that contains this value.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AffectedOperations {
    /// Operations that succeeded.
    pub ok: u64,
    /// Number of operations that failed in a way that a stall can cause. Such a failure is a timeout, or the loss of a
    /// connection after a stall that was long enough for the server to close it.
    pub failed: u64,
    /// Response times of the operations that succeeded, in nanoseconds.
    pub response: Distribution,
    /// Service times of the operations that succeeded, in nanoseconds.
    pub service: Distribution,
    /// TTFB of the operations that succeeded, in nanoseconds.
    pub ttfb: Distribution,
    /// Maximum time that stalls may have added to one of these operations, in nanoseconds.
    pub added_max: u64,
}

/// Minimum idle time after which a server may close a connection, in nanoseconds.
const CLOSED_AFTER: u64 = 1_000_000_000;

/// Returns whether an operation may have failed because stalls added `added` nanoseconds to its time.
fn may_be_from_delay(how: AttemptOutcome, added: u64) -> bool {
    use AttemptClass::{ClosedEarly, Incomplete, Indeterminate, Reset, StaleReuse};
    use AttemptClass::{ConnectTimeout, TimeoutHead, TimeoutIdle, TimeoutTotal};
    match how.class {
        // The write timed out, so the client does not know whether it took place.
        Indeterminate if matches!(how.cause, Cause::HeadTimedOut | Cause::TotalTimedOut) => true,
        ConnectTimeout | TimeoutHead | TimeoutIdle | TimeoutTotal => true,
        ClosedEarly | StaleReuse | Reset | Incomplete | Indeterminate => added >= CLOSED_AFTER,
        _ => false,
    }
}

impl AffectedOperations {
    /// Returns whether no operation was affected.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ok == 0 && self.failed == 0
    }

    /// Adds an operation that ended. `added` is the maximum time that stalls may have added to the operation, in
    /// nanoseconds. This time does not include lateness.
    pub(crate) fn add(&mut self, sample: &OpSample, added: u64) {
        let added = added.saturating_add(sample.lateness_nanos());
        self.added_max = self.added_max.max(added);
        match sample.outcome {
            OpOutcome::Ok => {
                self.ok += 1;
                self.response.record(sample.response_nanos());
                sample.service_nanos().into_iter().for_each(|nanos| self.service.record(nanos));
                sample.ttfb_nanos().into_iter().for_each(|nanos| self.ttfb.record(nanos));
            }
            OpOutcome::Failed(how) if may_be_from_delay(how, added) => self.failed += 1,
            OpOutcome::Failed(_) | OpOutcome::Unfinished | OpOutcome::CutOff => {}
        }
    }

    /// Adds the operations of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self { ok, failed, response, service, ttfb, added_max } = other;
        add(&mut self.ok, *ok);
        add(&mut self.failed, *failed);
        self.response.merge(response);
        self.service.merge(service);
        self.ttfb.merge(ttfb);
        self.added_max = self.added_max.max(*added_max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::outcome::Phase;

    const MS: u64 = 1_000_000;

    /// A target that refuses operations is responsible for these failures, even if the client stalled for long.
    #[test]
    fn stalls_explain_timeouts_and_from_one_second_on_lost_connections() {
        use AttemptClass::{Http5xx, Indeterminate, Reset, TimeoutHead};
        let explained = |(class, cause)| {
            let how = AttemptOutcome::failed(class, cause, Phase::Head);
            [MS, 1100 * MS].map(|added| may_be_from_delay(how, added))
        };
        let of = |class| explained((class, Cause::None));
        assert_eq!([TimeoutHead, Reset, Http5xx].map(of), [[true, true], [false, true], [false, false]]);
        assert_eq!(
            explained((Indeterminate, Cause::HeadTimedOut)),
            [true, true],
            "a stall explains a write that timed out"
        );
        assert_eq!(explained((Indeterminate, Cause::ResetInHead)), [false, true]);
    }
}
