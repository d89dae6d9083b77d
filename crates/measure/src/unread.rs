//! For how long responses waited unread in this client's receive queues.
//!
//! The kernel dates what it receives. On a sample of the reads that end a response, the client compares that date with
//! the instant of the read. The difference is time that service time contains and the target did not take
//! (docs/measurement.md).

use crate::distribution::Distribution;
use crate::sample::OpSample;
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

impl ReadSample {
    /// The same, with a wait of at least so many nanoseconds.
    #[must_use]
    pub fn at_least(self, least: u64) -> Self {
        match self {
            Self::Dated { nanos, stands_for } => Self::Dated { nanos: nanos.max(least), stands_for },
            Self::Discarded => self,
        }
    }
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

/// Times of operations whose end was dated, in nanoseconds. Each counts as often as the reads that its sample
/// stands for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DatedTimes {
    /// Response time until the end was read.
    pub read: Distribution,
    /// Response time until the end came.
    pub came: Distribution,
    /// The same, from the instant at which the kernel had the request.
    #[serde(default)]
    pub outside: Distribution,
    /// Service time until the end was read.
    #[serde(default)]
    pub service_read: Distribution,
    /// Service time until the end came.
    #[serde(default)]
    pub service_came: Distribution,
}

impl DatedTimes {
    /// Whether no end was dated.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.read.count() == 0
    }

    /// Adds an operation that ended well, if its end was dated.
    pub(crate) fn add(&mut self, sample: &OpSample) {
        if let Some(ReadSample::Dated { nanos, stands_for }) = sample.unread {
            // What came before the request was sent is no part of its time.
            let service = sample.service_nanos().unwrap_or(0);
            let starting = sample.lateness_nanos().saturating_add(sample.handing_nanos);
            self.record((sample.response_nanos(), service), starting, nanos.min(service), stands_for.into());
        }
    }

    pub(crate) fn record(
        &mut self,
        (response_nanos, service_nanos): (u64, u64),
        starting: u64,
        waited: u64,
        times: u64,
    ) {
        let came = response_nanos.saturating_sub(waited);
        self.read.record_many(response_nanos, times);
        self.came.record_many(came, times);
        self.outside.record_many(came.saturating_sub(starting), times);
        self.service_read.record_many(service_nanos, times);
        self.service_came.record_many(service_nanos.saturating_sub(waited), times);
    }

    /// By how much quantile `q` of the service time is longer for responses that waited to be read, in nanoseconds.
    #[must_use]
    pub fn waited(&self, q: f64) -> u64 {
        // Of runs that were saved before, only response times are known.
        if self.service_read.count() == 0 {
            return longer(&self.read, &self.came, q);
        }
        longer(&self.service_read, &self.service_came, q)
    }

    /// The same of the response time, with what the client took to hand over the request.
    #[must_use]
    pub fn inside(&self, q: f64) -> u64 {
        // Of runs that were saved before, only the waits are known.
        longer(&self.read, &self.outside, q).max(longer(&self.read, &self.came, q))
    }

    /// Adds the operations of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self { read, came, outside, service_read, service_came } = other;
        self.read.merge(read);
        self.came.merge(came);
        self.outside.merge(outside);
        self.service_read.merge(service_read);
        self.service_came.merge(service_came);
    }
}

/// By how much quantile `q` is longer than in `without`.
fn longer(with: &Distribution, without: &Distribution, q: f64) -> u64 {
    let at = |times: &Distribution| times.quantile(q).unwrap_or(0);
    if without.count() == 0 { 0 } else { at(with).saturating_sub(at(without)) }
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
        assert_eq!(whole.discarded, 1);
    }

    #[test]
    fn a_percentile_is_compared_with_that_of_the_ends_as_they_came() {
        let mut times = DatedTimes::default();
        assert!(times.is_empty() && times.waited(0.5) == 0 && times.inside(0.5) == 0);
        let both = |nanos| (nanos, nanos);
        // Of the slow ones, each second one was fast and read late.
        (0..900).for_each(|_| times.record(both(5_000_000), 1_000_000, 0, 1));
        (0..50).for_each(|_| times.record(both(20_000_000), 0, 0, 1));
        (0..25).for_each(|_| times.record(both(20_000_000), 0, 15_000_000, 2));
        let at = |q| (times.waited(q) as f64 / 1e6).round();
        assert_eq!([0.5, 0.94, 0.96, 1.0].map(at), [0.0, 15.0, 0.0, 0.0]);
        let inside = |q| (times.inside(q) as f64 / 1e6).round();
        assert_eq!([0.5, 0.94, 0.96, 1.0].map(inside), [1.0, 15.0, 0.0, 0.0]);
        let mut sum = DatedTimes::default();
        sum.merge(&times);
        assert!(!sum.is_empty() && sum.waited(0.94) == times.waited(0.94));
    }

    /// What a handshake adds to response times hides nothing of service times.
    #[test]
    fn service_times_are_compared_with_service_times() {
        let mut times = DatedTimes::default();
        for number in 0..1000_u64 {
            let handshake = number * 100_000;
            let late = if number % 33 == 0 { 5_000_000 } else { 0 };
            times.record((handshake + 2_000_000 + late, 2_000_000 + late), 0, late, 1);
        }
        assert!(times.waited(0.99).abs_diff(5_000_000) < 50_000, "{}", times.waited(0.99));
        assert!(times.inside(0.99) < 1_000_000);
    }
}
