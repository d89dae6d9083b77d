//! Retries of failed requests. Measured load has no retries, because they would hide failures of the target. A fill
//! retries with growing pauses, because its aim is that every object arrives.

use crate::random::{Stream, below};
use measure::values::random::mix;
use measure::{AttemptClass, AttemptOutcome, Cause};
use std::num::NonZeroU32;
use std::time::Duration;

/// Rules for retries.
///
/// After a transient failure, as defined by [`is_transient`], a request is retried until it succeeds or the run ends. A
/// refused request is retried a few times. Some servers refuse requests at random. A server also refuses a signature
/// with a wrong time, for example just before the host's clock is corrected. A request with wrong credentials is not
/// retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Maximum pause before the first retry. The maximum doubles with each further retry, up to `longest`.
    pub first: Duration,
    /// Maximum pause before any retry, even if the server requests a longer pause.
    pub longest: Duration,
    /// Number of refusals after which a request is not sent again.
    pub refused_max: NonZeroU32,
}

impl Default for RetryPolicy {
    fn default() -> Self {
        let refused_max = NonZeroU32::MIN.saturating_add(4);
        Self { first: Duration::from_millis(200), longest: Duration::from_secs(10), refused_max }
    }
}

/// Request whose retry is planned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retried {
    /// Number of the operation.
    pub number: u64,
    /// Number of the part of a multipart upload, counted from 1; 0 for other requests.
    pub part: u32,
    /// Number of times that the request has failed.
    pub failures: u32,
}

impl RetryPolicy {
    /// Returns the pause before a retry. The pause is random ("full jitter"), so that requests that fail together are
    /// not repeated together. `asked` is the pause that the server requested.
    pub(crate) fn pause(&self, seed: u64, retried: Retried, asked: Option<Duration>) -> Duration {
        let Retried { number, part, failures } = retried;
        let doublings = failures.saturating_sub(1).min(31);
        let most = self.first.saturating_mul(1 << doublings).min(self.longest);
        let index = mix(number) ^ u64::from(failures);
        let nanos = u64::try_from(most.as_nanos()).unwrap_or(u64::MAX - 1);
        let pause = Duration::from_nanos(below(seed, Stream::Pause { part }, index, nanos + 1));
        pause.max(asked.map_or(Duration::ZERO, |asked| asked.min(self.longest)))
    }
}

/// Returns whether the same request may succeed a moment later, because the server was busy or the connection failed.
#[must_use]
pub fn is_transient(outcome: AttemptOutcome, status: Option<u16>) -> bool {
    use AttemptClass::{
        ClientResource, ClosedEarly, ConnectOther, ConnectRefused, ConnectTimeout, Dns, Http4xx, Http5xx, Incomplete,
        Indeterminate, InflightAtEnd, Reset, StaleReuse, Throttled, TimeoutHead, TimeoutIdle, TimeoutTotal,
        TlsHandshake,
    };
    match outcome.class {
        // 408 is Request Timeout, and 425 is Too Early.
        Http4xx => matches!(status, Some(408 | 425)),
        Http5xx => !matches!(status, Some(501 | 505)),
        Dns => outcome.cause == Cause::ResolverFailed,
        TlsHandshake => matches!(outcome.cause, Cause::TlsClosed | Cause::TlsReset),
        Throttled | ConnectRefused | ConnectTimeout | ConnectOther | ClosedEarly | StaleReuse | Reset | Incomplete
        | Indeterminate | InflightAtEnd | TimeoutHead | TimeoutIdle | TimeoutTotal | ClientResource => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::Phase;

    #[test]
    fn only_transient_failures_are_retried() {
        let of = |class, cause, status| is_transient(AttemptOutcome::failed(class, cause, Phase::Head), status);
        let status = |class, status| of(class, Cause::Status, status);
        assert!(status(AttemptClass::Throttled, Some(503)) && status(AttemptClass::Http5xx, Some(500)));
        assert!(status(AttemptClass::Reset, None) && status(AttemptClass::ConnectRefused, None));
        assert!(status(AttemptClass::Http4xx, Some(408)) && !status(AttemptClass::Http4xx, Some(404)));
        assert!(!status(AttemptClass::Http5xx, Some(501)) && !status(AttemptClass::Auth, Some(403)));
        assert!(
            !of(AttemptClass::TlsCert, Cause::CertExpired, None) && !of(AttemptClass::Internal, Cause::Defect, None)
        );
        assert!(
            of(AttemptClass::Dns, Cause::ResolverFailed, None) && !of(AttemptClass::Dns, Cause::NameNotFound, None)
        );
        assert!(of(AttemptClass::TlsHandshake, Cause::TlsReset, None));
    }

    #[test]
    fn pauses_double_up_to_the_longest_and_differ() {
        let policy = RetryPolicy::default();
        let pause = |number, part, failures| policy.pause(7, Retried { number, part, failures }, None);
        for (failures, most) in [(1, 200), (2, 400), (3, 800), (6, 6400), (7, 10_000), (40, 10_000), (u32::MAX, 10_000)]
        {
            let most = Duration::from_millis(most);
            let pauses: Vec<_> = (0..1000).map(|number| pause(number, 0, failures)).collect();
            assert!(pauses.iter().all(|pause| *pause <= most), "{failures}");
            let mean = pauses.iter().sum::<Duration>() / 1000;
            assert!(mean > most * 9 / 20 && mean < most * 11 / 20, "{failures}: {mean:?}");
        }
        assert_eq!(pause(5, 0, 3), pause(5, 0, 3), "pauses must be reproducible");
        assert!(pause(5, 0, 3) != pause(5, 1, 3) && pause(5, 0, 3) != pause(6, 0, 3));
    }

    #[test]
    fn the_pause_that_a_server_asks_for_is_kept_up_to_the_longest() {
        let policy = RetryPolicy::default();
        let asked =
            |seconds| policy.pause(7, Retried { number: 1, part: 0, failures: 1 }, Some(Duration::from_secs(seconds)));
        assert_eq!((asked(3), asked(86_400)), (Duration::from_secs(3), Duration::from_secs(10)));
        assert!(asked(0) <= Duration::from_millis(200));
    }
}
