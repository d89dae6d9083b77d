//! For how long responses waited unread in this client's receive queues.
//!
//! The kernel dates what it receives. On a sample of the reads that end a response, the client compares that date with
//! the instant of the read. The difference is time that service time contains and the target did not take
//! (docs/measurement.md).

use crate::distribution::Distribution;
use crate::summary::Summary;
use serde::{Deserialize, Serialize};

/// A read that ended a response, with the time for which the end had waited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSample {
    /// The end of the response had waited for this many nanoseconds. It stands for so many reads, this one among them.
    Dated {
        /// Nanoseconds.
        nanos: u64,
        /// One of how many reads was looked at.
        stands_for: u32,
    },
    /// The clock was stepped, or showed an arrival after its read.
    Discarded,
}

/// Samples of the waits of responses in the receive queue.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Unread {
    /// Responses that were looked at.
    pub sampled: u64,
    /// Those among them that fitted one segment, so that the kernel's date is that of the whole response. The others had
    /// waited for at least the time recorded.
    pub exact: u64,
    /// Sum of the times for which the ends of the sampled responses waited, in nanoseconds. Each counts as often as the
    /// reads that it stands for, since fewer are looked at where there are many.
    pub nanos: u64,
    /// Sum of the service times of the sampled responses, in nanoseconds, counted in the same way.
    pub service_nanos: u64,
    /// Reads that were not used, because the system clock was stepped.
    pub discarded: u64,
    /// Times for which the ends of the sampled responses waited, in nanoseconds, counted in the same way.
    #[serde(default)]
    pub waits: Distribution,
}

impl Unread {
    /// Whether nothing was looked at.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sampled == 0 && self.discarded == 0
    }

    /// Adds a response of that service time. `exact` says that it fitted one segment.
    pub(crate) fn add(&mut self, sample: ReadSample, service_nanos: u64, exact: bool) {
        match sample {
            ReadSample::Discarded => self.discarded += 1,
            ReadSample::Dated { nanos, stands_for } => {
                // What came before the request was sent is no part of the service time.
                let nanos = nanos.min(service_nanos);
                self.sampled += 1;
                self.exact += u64::from(exact);
                let weighed = |nanos: u64| nanos.saturating_mul(u64::from(stands_for));
                self.nanos = self.nanos.saturating_add(weighed(nanos));
                self.service_nanos = self.service_nanos.saturating_add(weighed(service_nanos));
                self.waits.record_many(nanos, stands_for.into());
            }
        }
    }

    /// Adds the samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.sampled = self.sampled.saturating_add(other.sampled);
        self.exact = self.exact.saturating_add(other.exact);
        self.nanos = self.nanos.saturating_add(other.nanos);
        self.service_nanos = self.service_nanos.saturating_add(other.service_nanos);
        self.discarded = self.discarded.saturating_add(other.discarded);
        self.waits.merge(&other.waits);
    }

    /// The client's share of the service time of the sampled responses. `None` without samples.
    #[must_use]
    pub fn share(&self) -> Option<ClientShare> {
        (self.sampled > 0 && self.service_nanos > 0).then(|| ClientShare {
            share: (self.nanos as f64 / self.service_nanos as f64).min(1.0),
            at_least: self.exact < self.sampled,
            samples: self.sampled,
        })
    }
}

/// The share of service time for which responses waited unread in this client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientShare {
    /// In 0..=1.
    pub share: f64,
    /// Whether it is a lower bound: some of the sampled responses did not fit one segment.
    pub at_least: bool,
    /// Responses that it was measured on.
    pub samples: u64,
}

impl Summary {
    /// The client's share of service time, measured on a sample of the responses in the window and the drain. `None`
    /// where nothing was sampled, as on unix sockets.
    #[must_use]
    pub fn client_share(&self) -> Option<ClientShare> {
        self.stats.unread.share()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_is_the_waits_among_the_service_times() {
        let mut unread = Unread::default();
        assert_eq!(unread.share(), None);
        let dated = |nanos, stands_for| ReadSample::Dated { nanos, stands_for };
        unread.add(dated(200, 1), 1000, true);
        unread.add(dated(9000, 1), 1000, true);
        unread.add(ReadSample::Discarded, 1000, true);
        assert_eq!(unread.share(), Some(ClientShare { share: 0.6, at_least: false, samples: 2 }));
        let mut whole = Unread::default();
        whole.add(dated(0, 2), 1000, false);
        whole.merge(&unread);
        assert_eq!(whole.share(), Some(ClientShare { share: 0.3, at_least: true, samples: 3 }));
        assert_eq!((whole.discarded, whole.waits.count(), whole.waits.max()), (1, 4, Some(1000)));
    }
}
