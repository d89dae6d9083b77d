//! Times and speeds of the operations of one kind.

use super::affected_operations::AffectedOperations;
use super::unread_responses::TimestampedTimes;
use crate::sample::OpSample;
use crate::sample::outcome::OpOutcome;
use crate::values::{Distribution, add};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Times and speeds of the measured operations of one kind. Times are in nanoseconds, and speeds in bytes per second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KindStats {
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations still in flight at the end of the drain.
    pub unfinished: u64,
    /// Body bytes of the operations that succeeded.
    pub ok_bytes: u64,
    /// Response times of the operations that succeeded.
    pub response: Distribution,
    /// Service times of the operations that succeeded.
    pub service: Distribution,
    /// TTFB of the operations that succeeded.
    pub ttfb: Distribution,
    /// Transfer times of the operations that succeeded.
    pub transfer: Distribution,
    /// Sending times of the uploads that succeeded, from the first to the last byte of the request, without
    /// [`Self::expect_continue`].
    #[serde(default)]
    pub sending: Distribution,
    /// Waits for `100 Continue`, for operations that succeeded and had sent `Expect: 100-continue`.
    #[serde(default)]
    pub expect_continue: Distribution,
    /// Waits for the response of the uploads that succeeded, from the last byte of the request to the end.
    #[serde(default)]
    pub waiting: Distribution,
    /// Time spent on opening connections, for operations that succeeded and opened a connection.
    pub connect: Distribution,
    /// Time spent on TLS handshakes, for operations that succeeded and made a handshake.
    #[serde(default)]
    pub handshake: Distribution,
    /// Sum of [`Self::connect`] and [`Self::handshake`], for operations that succeeded and made a TLS handshake.
    #[serde(default)]
    pub connect_and_handshake: Distribution,
    /// Speeds of the operations that succeeded and had a body.
    pub speed: Distribution,
    /// Lateness of all operations that started. Recorded only in the open model, or with think time.
    pub lateness: Distribution,
    /// Waits for a slot, for all operations that started after such a wait.
    pub slot_wait: Distribution,
    /// Response times of the operations that failed, up to their failure.
    pub failed_response: Distribution,
    /// Time from the intended start to the end of the run, for unfinished operations.
    pub unfinished_wait: Distribution,
    /// Subset of [`Self::unfinished_wait`]: operations that had not received a byte of a response.
    #[serde(default)]
    pub unanswered_wait: Distribution,
    /// TTFB of the failed operations that received a first byte.
    #[serde(default)]
    pub failed_ttfb: Distribution,
    /// TTFB of the unfinished operations that received a first byte.
    #[serde(default)]
    pub unfinished_ttfb: Distribution,
    /// Operations that a client stall affected. These operations are also counted in the fields above.
    #[serde(default, skip_serializing_if = "AffectedOperations::is_empty")]
    pub affected: AffectedOperations,
    /// Times of those successful operations whose responses have an arrival timestamp. Only a sample of the responses
    /// has one.
    #[serde(default, skip_serializing_if = "TimestampedTimes::is_empty")]
    pub timestamped: TimestampedTimes,
}

/// Factor that defines hanging operations. An operation hangs if it has received no byte of a response, and has waited
/// at least this many times as long as the slowest successful operation took.
const HANGING_FACTOR: f64 = 2.0;

impl KindStats {
    /// Adds the results of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            ok,
            failed,
            unfinished,
            ok_bytes,
            response,
            service,
            ttfb,
            transfer,
            sending,
            expect_continue,
            waiting,
            connect,
            handshake,
            connect_and_handshake,
            speed,
            lateness,
            slot_wait,
            failed_response,
            unfinished_wait,
            unanswered_wait,
            failed_ttfb,
            unfinished_ttfb,
            affected,
            timestamped,
        } = other;
        add(&mut self.ok, *ok);
        add(&mut self.failed, *failed);
        add(&mut self.unfinished, *unfinished);
        add(&mut self.ok_bytes, *ok_bytes);
        self.response.merge(response);
        self.service.merge(service);
        self.ttfb.merge(ttfb);
        self.transfer.merge(transfer);
        self.sending.merge(sending);
        self.expect_continue.merge(expect_continue);
        self.waiting.merge(waiting);
        self.connect.merge(connect);
        self.handshake.merge(handshake);
        self.connect_and_handshake.merge(connect_and_handshake);
        self.speed.merge(speed);
        self.lateness.merge(lateness);
        self.slot_wait.merge(slot_wait);
        self.failed_response.merge(failed_response);
        self.unfinished_wait.merge(unfinished_wait);
        self.unanswered_wait.merge(unanswered_wait);
        self.failed_ttfb.merge(failed_ttfb);
        self.unfinished_ttfb.merge(unfinished_ttfb);
        self.affected.merge(affected);
        self.timestamped.merge(timestamped);
    }

    /// Records an operation that ended. `paced` means that the lateness of the operation is meaningful.
    pub(crate) fn record(&mut self, sample: &OpSample, paced: bool) {
        if paced {
            self.lateness.record(sample.lateness_nanos());
        }
        if sample.slot_wait_nanos > 0 {
            self.slot_wait.record(sample.slot_wait_nanos);
        }
        if let Some(added) = sample.affected_by {
            self.affected.add(sample, added);
        }
        match sample.outcome {
            OpOutcome::Ok => self.record_success(sample),
            OpOutcome::Failed(_) => {
                self.failed += 1;
                self.failed_response.record(sample.response_nanos());
                sample.ttfb_nanos().into_iter().for_each(|nanos| self.failed_ttfb.record(nanos));
            }
            OpOutcome::Unfinished | OpOutcome::CutOff => {
                self.unfinished += 1;
                self.unfinished_wait.record(sample.response_nanos());
                match sample.first_byte {
                    Some(_) => sample.ttfb_nanos().into_iter().for_each(|nanos| self.unfinished_ttfb.record(nanos)),
                    // Operations that the client itself ended show nothing about the target.
                    None if sample.outcome == OpOutcome::CutOff => {}
                    None => self.unanswered_wait.record(sample.response_nanos()),
                }
            }
        }
    }

    fn record_success(&mut self, sample: &OpSample) {
        self.ok += 1;
        self.ok_bytes += sample.body_bytes;
        self.response.record(sample.response_nanos());
        self.timestamped.add(sample);
        let timed = [
            (&mut self.service, sample.service_nanos()),
            (&mut self.ttfb, sample.ttfb_nanos()),
            (&mut self.transfer, sample.transfer_nanos()),
            (&mut self.sending, sample.sending_nanos()),
            (&mut self.expect_continue, sample.expect_continue_nanos),
            (&mut self.waiting, sample.waiting_nanos()),
            (&mut self.connect, sample.connect_nanos),
            (&mut self.handshake, sample.handshake_nanos),
            (&mut self.connect_and_handshake, sample.connect_and_handshake_nanos()),
            (&mut self.speed, sample.speed()),
        ];
        for (distribution, value) in timed {
            if let Some(value) = value {
                distribution.record(value);
            }
        }
    }

    /// Returns the number of hanging operations, which count as failures of the target. These operations had not
    /// received a byte of a response when the run ended, although they had waited far longer than any successful
    /// operation took. The other unfinished operations were healthy, but the end of the run interrupted them.
    #[must_use]
    pub fn hanging(&self) -> u64 {
        self.unanswered_wait.beyond(self.hangs_from()).0
    }

    /// Returns the number of [`Self::hanging`] operations that have waited for at most `wait`.
    #[must_use]
    pub fn hanging_for_at_most(&self, wait: Duration) -> u64 {
        let longer = self.hangs_from().max(wait.as_nanos() as f64);
        self.hanging().saturating_sub(self.unanswered_wait.beyond(longer).0)
    }

    /// Returns the wait after which an operation without a byte of a response counts as hanging, in nanoseconds.
    fn hangs_from(&self) -> f64 {
        self.response.max().map_or(-1.0, |slowest| HANGING_FACTOR * slowest as f64)
    }
}
