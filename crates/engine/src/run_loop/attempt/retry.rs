//! Retries of failed requests, for plans with a [`RetryPolicy`]. Every request of an operation is retried in the same
//! way. For a multipart upload, this applies to the initiation, the parts, the completion and the abort.

use super::Reuse;
use super::exchange::EXCHANGE_EXISTS;
use super::failures::Prospect;
use crate::network::Network;
use crate::plan::{Retried, RetryPolicy, Then, is_transient};
use crate::run_loop::RunLoop;
use crate::run_loop::invariant::Invariant;
use measure::sample::AttemptKind;
use measure::{AttemptClass, AttemptOutcome, Cause, Instant};
use wire::s3::ErrorCode;

/// From this number of redirects on, a retry goes directly to the target of the last redirect. With fewer redirects, a
/// retry starts again at the operation's own target. The limit keeps the list of an operation's requests short.
const REDIRECTS_MAX: u16 = 100;

/// Returns the likelihood that a request succeeds if it is sent again. `code` is the error code in the response.
fn prospect(outcome: AttemptOutcome, status: Option<u16>, code: Option<&ErrorCode>) -> Prospect {
    use ErrorCode::{InternalError, RequestTimeout, ServiceUnavailable, SlowDown};
    let is_busy = matches!(code, Some(InternalError | RequestTimeout | ServiceUnavailable | SlowDown));
    match outcome.class {
        // The wall clock is read once per second, so the first signatures after a suspension of the host have a wrong
        // time. A request with a new signature may succeed.
        AttemptClass::Auth if outcome.cause == Cause::ClockSkew => Prospect::Poor,
        AttemptClass::LocalFile if outcome.cause == Cause::SourceChanged => Prospect::None,
        AttemptClass::Auth | AttemptClass::Internal | AttemptClass::Interrupted => Prospect::None,
        // S3 also reports errors in the body of a 200.
        AttemptClass::S3Error | AttemptClass::Http4xx if is_busy => Prospect::Good,
        _ if is_transient(outcome, status) => Prospect::Good,
        _ => Prospect::Poor,
    }
}

/// Returns whether the server may have processed a request that was sent and then failed with this class.
pub(in crate::run_loop) fn may_be_done(class: AttemptClass) -> bool {
    use AttemptClass::{
        ClosedEarly, Incomplete, Indeterminate, InflightAtEnd, Interrupted, Protocol, Reset, StaleReuse, TimeoutHead,
        TimeoutIdle, TimeoutTotal,
    };
    matches!(
        class,
        ClosedEarly
            | Incomplete
            | Indeterminate
            | InflightAtEnd
            | Interrupted
            | Protocol
            | Reset
            | StaleReuse
            | TimeoutHead
            | TimeoutIdle
            | TimeoutTotal
    )
}

impl<N: Network> RunLoop<'_, N> {
    /// Handles the slot's failed attempt according to the plan's retry policy. Returns `false` if there is no retry.
    /// The attempt is not recorded in this case.
    #[inline]
    pub(in crate::run_loop) fn retry_later(
        &mut self,
        net: &mut N,
        slot: u32,
        outcome: AttemptOutcome,
        reuse: Reuse,
        now: Instant,
    ) -> bool {
        match self.plan.retry {
            Some(policy) if outcome != AttemptOutcome::OK => self.retry_by(policy, net, slot, (outcome, reuse), now),
            _ => false,
        }
    }

    #[cold]
    fn retry_by(
        &mut self,
        policy: RetryPolicy,
        net: &mut N,
        slot: u32,
        (outcome, reuse): (AttemptOutcome, Reuse),
        now: Instant,
    ) -> bool {
        let status = self.status_of_attempt(slot);
        let Some(op) = self.slots.op_mut(slot) else { return false };
        let code = op.error_code();
        if code == Some(ErrorCode::NoSuchUpload) && op.may_be_complete() {
            self.end_forgotten(net, slot, outcome, reuse, now);
            return true;
        }
        let prospect = match prospect(outcome, status, code.as_ref()) {
            // renterd responds with 500 if it does not know the upload to abort, so retrying may never succeed.
            Prospect::Good if op.is_aborting() && outcome.class == AttemptClass::Http5xx => Prospect::Poor,
            prospect => prospect,
        };
        if !op.failures.add(prospect, &policy) {
            return false;
        }
        self.note_unclear(slot, outcome);
        let Some(op) = self.slots.op_mut(slot) else { return false };
        let part = op.part.map_or(0, |part| part.index + 1);
        let retried = Retried { number: op.number, part, failures: op.failures.all };
        let pause = policy.pause(self.plan.seed, retried, op.attempt.refusal.pause());
        let wasted = self.record_attempt(net, slot, outcome, reuse, now);
        self.recorder.wasted(wasted);
        if let Some(op) = self.slots.op_mut(slot).filter(|op| op.redirects < REDIRECTS_MAX) {
            op.redirect = None;
        }
        self.pause(slot, now + pause, AttemptKind::Retry);
        true
    }

    /// Returns the status of the response to the slot's attempt.
    fn status_of_attempt(&self, slot: u32) -> Option<u16> {
        let id = self.slots.op(slot)?.attempt.exchange?;
        let exchange = self.pool.exchange(id).assert_some(EXCHANGE_EXISTS)?;
        exchange.reader.head().map(|head| head.status)
    }

    /// Ends an operation whose upload the server does not know any more. An earlier request to complete the upload may
    /// have succeeded, so it is unknown whether the object exists. The upload need not be aborted.
    fn end_forgotten(&mut self, net: &mut N, slot: u32, outcome: AttemptOutcome, reuse: Reuse, now: Instant) {
        let multipart = self.slots.op_mut(slot).and_then(|op| op.multipart.as_mut());
        if let Some(multipart) = multipart.assert_some("an operation that completes an upload has an upload") {
            multipart.aborted = true;
        }
        let class = AttemptClass::Indeterminate;
        self.end_op(net, slot, AttemptOutcome { class, ..outcome }, reuse, now);
    }

    /// Records that a failed request, which will be retried, may have had an effect at the server.
    fn note_unclear(&mut self, slot: u32, outcome: AttemptOutcome) {
        let Some(op) = self.slots.op_mut(slot) else { return };
        let (request, failed) = (op.request, outcome.class == AttemptClass::Http5xx || may_be_done(outcome.class));
        if !failed || op.attempt.sent.is_none() {
            return;
        }
        match &mut op.multipart {
            Some(multipart) if request == multipart.plan.complete => multipart.completion_is_unclear = true,
            None if matches!(self.plan.mix.requests()[request].then, Then::Parts(_)) => self.written.note_lost_upload(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::failures::Failures;
    use super::*;
    use measure::Phase;

    fn of(class: AttemptClass, status: u16, code: Option<&ErrorCode>) -> Prospect {
        prospect(AttemptOutcome::failed(class, Cause::Status, Phase::Head), Some(status), code)
    }

    #[test]
    fn prospects_follow_class_status_and_code() {
        use AttemptClass::{Auth, Http3xx, Http4xx, Http5xx, Indeterminate, Integrity, Internal, S3Error, Throttled};
        assert_eq!(of(Throttled, 503, None), Prospect::Good);
        assert_eq!(of(Http5xx, 500, None), Prospect::Good);
        assert_eq!(of(Indeterminate, 0, None), Prospect::Good);
        assert_eq!(of(S3Error, 200, Some(&ErrorCode::InternalError)), Prospect::Good);
        assert_eq!(of(Http4xx, 400, Some(&ErrorCode::RequestTimeout)), Prospect::Good);
        for class in [S3Error, Http4xx, Http3xx, Integrity] {
            assert_eq!(of(class, 400, Some(&ErrorCode::BadDigest)), Prospect::Poor, "{class}");
        }
        assert_eq!(of(Http5xx, 501, None), Prospect::Poor);
        assert_eq!((of(Auth, 403, None), of(Internal, 0, None)), (Prospect::None, Prospect::None));
        let skewed = AttemptOutcome::failed(Auth, Cause::ClockSkew, Phase::Head);
        assert_eq!(prospect(skewed, Some(403), Some(&ErrorCode::RequestTimeTooSkewed)), Prospect::Poor);
    }

    #[test]
    fn refusals_have_a_limit_and_transient_failures_have_none() {
        let policy = RetryPolicy::default();
        let mut failures = Failures::default();
        assert!((0..100_000).all(|_| failures.add(Prospect::Good, &policy)));
        let again: Vec<bool> = (0..5).map(|_| failures.add(Prospect::Poor, &policy)).collect();
        assert_eq!(again, [true, true, true, true, false]);
        assert!(!Failures::default().add(Prospect::None, &policy));
    }
}
