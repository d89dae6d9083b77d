//! Counts of operations, attempts and bytes.

use crate::sample::outcome::{AttemptClass, Cause, Flag};
use crate::values::{Counts, add, bounded};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// Upper bound of status codes, which have at most three digits.
const STATUS_CODES: usize = 1000;

/// Number of responses by status code.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct StatusCounts(Vec<(u16, u64)>);

impl<'de> Deserialize<'de> for StatusCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let codes: Vec<(u16, u64)> = bounded::list::<_, _, STATUS_CODES>(deserializer)?;
        match codes.iter().find(|(code, _)| usize::from(*code) >= STATUS_CODES) {
            Some((code, _)) => Err(D::Error::custom(format!("{code} is not a status code"))),
            None => Ok(Self(codes)),
        }
    }
}

impl StatusCounts {
    #[inline]
    pub(crate) fn add(&mut self, status: u16, count: u64) {
        match self.0.iter_mut().find(|(code, _)| *code == status) {
            Some((_, known)) => add(known, count),
            None => self.0.push((status, count)),
        }
    }

    fn merge(&mut self, other: &Self) {
        let Self(codes) = other;
        for (status, count) in codes {
            self.add(*status, *count);
        }
    }

    /// Returns status codes with their counts, sorted by code.
    #[must_use]
    pub fn sorted(&self) -> Vec<(u16, u64)> {
        let mut codes = self.0.clone();
        codes.sort_unstable();
        codes
    }
}

/// Counts of operations and attempts. [`super::Stats`] contains two tallies. One tally is for operations that belong to
/// the measured window, and the other is for all other operations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Operations that were requested by the schedule (open model) or the slots (closed model).
    pub scheduled: u64,
    /// Operations that the client started.
    pub started: u64,
    /// Operations that were scheduled but never started.
    pub dropped: u64,
    /// Dropped operations that were due in the measured window and that the client failed to start, although a slot was
    /// free. `in_flight_max` is therefore not the reason.
    #[serde(default)]
    pub missed_by_client: u64,
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations whose last attempt failed.
    pub failed: u64,
    /// Operations still in flight at the end of the drain.
    pub unfinished: u64,
    /// Unfinished operations that had not received a byte of a response.
    #[serde(default)]
    pub unanswered: u64,
    /// Attempts made.
    pub attempts: u64,
    /// Attempts that followed a redirect.
    pub hops: u64,
    /// Attempts for the second and later requests of an operation that consists of several requests.
    #[serde(default)]
    pub steps: u64,
    /// Attempts that repeated a request after a stale kept-alive connection.
    pub resends: u64,
    /// Attempts that repeated a failed request after a pause.
    #[serde(default)]
    pub retries: u64,
    /// Attempts by class.
    pub classes: Counts<AttemptClass>,
    /// Attempts by cause, without [`Cause::None`].
    pub causes: Counts<Cause>,
    /// Flags of the attempts.
    pub flags: Counts<Flag>,
    /// Attempts by status code.
    pub statuses: StatusCounts,
    /// Response body bytes of the attempts.
    pub body_bytes: u64,
    /// Bytes of response heads, framing and trailers of the attempts.
    pub overhead_bytes: u64,
    /// Bytes sent by the attempts.
    pub sent_bytes: u64,
    /// Number of request body bytes in [`Self::sent_bytes`].
    #[serde(default)]
    pub sent_body: u64,
}

impl Tally {
    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            scheduled,
            started,
            dropped,
            missed_by_client,
            ok,
            failed,
            unfinished,
            unanswered,
            attempts,
            hops,
            steps,
            resends,
            retries,
            classes,
            causes,
            flags,
            statuses,
            body_bytes,
            overhead_bytes,
            sent_bytes,
            sent_body,
        } = other;
        add(&mut self.scheduled, *scheduled);
        add(&mut self.started, *started);
        add(&mut self.dropped, *dropped);
        add(&mut self.missed_by_client, *missed_by_client);
        add(&mut self.ok, *ok);
        add(&mut self.failed, *failed);
        add(&mut self.unfinished, *unfinished);
        add(&mut self.unanswered, *unanswered);
        add(&mut self.attempts, *attempts);
        add(&mut self.hops, *hops);
        add(&mut self.steps, *steps);
        add(&mut self.resends, *resends);
        add(&mut self.retries, *retries);
        self.classes.merge(classes);
        self.causes.merge(causes);
        self.flags.merge(flags);
        self.statuses.merge(statuses);
        add(&mut self.body_bytes, *body_bytes);
        add(&mut self.overhead_bytes, *overhead_bytes);
        add(&mut self.sent_bytes, *sent_bytes);
        add(&mut self.sent_body, *sent_body);
    }

    /// Returns the number of operations that ended, whether they succeeded or failed.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.ok.saturating_add(self.failed)
    }
}

/// Bytes counted in the interval in which they arrived or were sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Response body bytes received.
    pub body: u64,
    /// Bytes received for heads, framing and trailers, and bytes added by TLS.
    pub overhead: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Number of request body bytes in [`Self::sent`].
    #[serde(default)]
    pub sent_body: u64,
    /// Response body bytes that arrived inside the measured window for attempts that failed or were redirects. These
    /// bytes are counted when the operation ends.
    pub wasted: u64,
    /// Request body bytes that were sent inside the measured window for attempts that failed or were redirects.
    #[serde(default)]
    pub wasted_sent: u64,
}

impl Traffic {
    /// Returns the number of body bytes in both directions.
    #[must_use]
    pub fn moved(&self) -> u64 {
        self.body.saturating_add(self.sent_body)
    }

    /// Adds the bytes of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self { body, overhead, sent, sent_body, wasted, wasted_sent } = *other;
        add(&mut self.body, body);
        add(&mut self.overhead, overhead);
        add(&mut self.sent, sent);
        add(&mut self.sent_body, sent_body);
        add(&mut self.wasted, wasted);
        add(&mut self.wasted_sent, wasted_sent);
    }
}
