//! Waits of unread responses in the receive queues of this client.
//!
//! The kernel timestamps the data that it receives. The client samples some of the reads that complete a response. For
//! each sample, it compares the timestamp with the instant of the read. The difference is part of the service time, but
//! the target did not cause it (docs/measurement.md).

use crate::sample::{OpSample, ReadSample};
use crate::values::{Distribution, add};
use serde::{Deserialize, Serialize};

/// Sums of the waits of sampled responses.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct UnreadResponses {
    /// Number of sampled responses.
    pub sampled: u64,
    /// Number of sampled responses that fitted into one segment. The kernel's timestamp then applies to the whole
    /// response. Larger responses waited for at least the recorded time.
    pub exact: u64,
    /// Sum of the waits, in nanoseconds. Each wait is weighted by the number of reads that its sample represents. The
    /// client samples a smaller share if there are many reads.
    pub nanos: u64,
    /// Sum of the service times of the sampled responses, in nanoseconds, weighted in the same way.
    pub service_nanos: u64,
    /// Number of samples discarded because the system clock was set.
    pub discarded: u64,
}

impl UnreadResponses {
    /// Returns whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sampled == 0 && self.discarded == 0
    }

    /// Adds a sampled response with its service time. `exact` means that the response fitted into one segment.
    pub(crate) fn add(&mut self, sample: ReadSample, service_nanos: u64, exact: bool) {
        match sample {
            ReadSample::Discarded => self.discarded += 1,
            ReadSample::Timestamped { nanos, stands_for } => {
                // A response can arrive before its request was sent. It then waited for longer than the service time,
                // but only the service time counts.
                let nanos = nanos.min(service_nanos);
                self.sampled += 1;
                self.exact += u64::from(exact);
                let weighted = |nanos: u64| nanos.saturating_mul(u64::from(stands_for));
                add(&mut self.nanos, weighted(nanos));
                add(&mut self.service_nanos, weighted(service_nanos));
            }
        }
    }

    /// Adds the samples of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self { sampled, exact, nanos, service_nanos, discarded } = other;
        add(&mut self.sampled, *sampled);
        add(&mut self.exact, *exact);
        add(&mut self.nanos, *nanos);
        add(&mut self.service_nanos, *service_nanos);
        add(&mut self.discarded, *discarded);
    }

    /// Returns the share of service time for which the sampled responses waited unread. `None` without samples.
    #[must_use]
    pub fn share(&self) -> Option<ClientShare> {
        (self.sampled > 0 && self.service_nanos > 0).then(|| ClientShare {
            share: (self.nanos as f64 / self.service_nanos as f64).min(1.0),
            at_least: self.exact < self.sampled,
            samples: self.sampled,
        })
    }
}

/// Times of the operations whose response has an arrival timestamp, with and without the time inside the client, in
/// nanoseconds. The times are weighted by the number of reads that their samples represent.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TimestampedTimes {
    /// Response times that end when the client has read the end of the response.
    pub until_read: Distribution,
    /// Response times that end when the end of the response arrives.
    pub until_arrival: Distribution,
    /// Time from the instant at which the kernel had the request until the end of the response arrived.
    pub outside_client: Distribution,
    /// Service times that end when the client has read the end of the response.
    pub service_until_read: Distribution,
    /// Service times that end when the end of the response arrives.
    pub service_until_arrival: Distribution,
}

impl TimestampedTimes {
    /// Returns whether there are no samples.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.until_read.count() == 0
    }

    /// Adds an operation that succeeded, if its response has an arrival timestamp.
    pub(crate) fn add(&mut self, sample: &OpSample) {
        if let Some(ReadSample::Timestamped { nanos, stands_for }) = sample.unread {
            // A response can arrive before its request was sent. It then waited for longer than the service time, but
            // only the service time counts.
            let service = sample.service_nanos().unwrap_or(0);
            let starting = sample.lateness_nanos().saturating_add(sample.client_send_nanos);
            self.record((sample.response_nanos(), service), starting, nanos.min(service), stands_for.into());
        }
    }

    /// Records an operation once for each read that its sample represents. All times are in nanoseconds. The pair
    /// contains the response time and the service time. `starting` is the part of the response time before the kernel
    /// had the request. `unread` is the time for which the response waited unread.
    pub(crate) fn record(
        &mut self,
        (response_nanos, service_nanos): (u64, u64),
        starting: u64,
        unread: u64,
        times: u64,
    ) {
        let until_arrival = response_nanos.saturating_sub(unread);
        self.until_read.record_many(response_nanos, times);
        self.until_arrival.record_many(until_arrival, times);
        self.outside_client.record_many(until_arrival.saturating_sub(starting), times);
        self.service_until_read.record_many(service_nanos, times);
        self.service_until_arrival.record_many(service_nanos.saturating_sub(unread), times);
    }

    /// Returns the time that unread responses added to quantile `q` of the service time, in nanoseconds.
    #[must_use]
    pub fn unread(&self, q: f64) -> u64 {
        quantile_excess(&self.service_until_read, &self.service_until_arrival, q)
    }

    /// Returns the time that the client added to quantile `q` of the response time, in nanoseconds. This time consists
    /// of the time until the kernel had the request, and of the time for which the response waited unread.
    #[must_use]
    pub fn inside_client(&self, q: f64) -> u64 {
        quantile_excess(&self.until_read, &self.outside_client, q)
    }

    /// Adds the operations of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self { until_read, until_arrival, outside_client, service_until_read, service_until_arrival } = other;
        self.until_read.merge(until_read);
        self.until_arrival.merge(until_arrival);
        self.outside_client.merge(outside_client);
        self.service_until_read.merge(service_until_read);
        self.service_until_arrival.merge(service_until_arrival);
    }
}

/// Returns quantile `q` of `with` minus quantile `q` of `without`; 0 if the difference is negative or `without` is
/// empty.
fn quantile_excess(with: &Distribution, without: &Distribution, q: f64) -> u64 {
    let at = |times: &Distribution| times.quantile(q).unwrap_or(0);
    if without.count() == 0 { 0 } else { at(with).saturating_sub(at(without)) }
}

/// Share of service time for which responses waited unread in this client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClientShare {
    /// The share, in 0..=1.
    pub share: f64,
    /// `true` if the share is a lower bound, because some of the sampled responses did not fit into one segment.
    pub at_least: bool,
    /// Number of sampled responses.
    pub samples: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn share_is_waits_divided_by_service_times() {
        let mut unread = UnreadResponses::default();
        assert_eq!(unread.share(), None);
        let dated = |nanos, stands_for| ReadSample::Timestamped { nanos, stands_for };
        unread.add(dated(200, 1), 1000, true);
        unread.add(dated(9000, 1), 1000, true);
        unread.add(ReadSample::Discarded, 1000, true);
        assert_eq!(unread.share(), Some(ClientShare { share: 0.6, at_least: false, samples: 2 }));
        let mut whole = UnreadResponses::default();
        whole.add(dated(0, 2), 1000, false);
        whole.merge(&unread);
        assert_eq!(whole.share(), Some(ClientShare { share: 0.3, at_least: true, samples: 3 }));
        assert_eq!(whole.discarded, 1);
    }

    #[test]
    fn percentiles_of_reads_are_compared_with_those_of_arrivals() {
        let mut times = TimestampedTimes::default();
        assert!(times.is_empty() && times.unread(0.5) == 0 && times.inside_client(0.5) == 0);
        let both = |nanos| (nanos, nanos);
        // Half of the slow responses arrived early and were read late.
        (0..900).for_each(|_| times.record(both(5_000_000), 1_000_000, 0, 1));
        (0..50).for_each(|_| times.record(both(20_000_000), 0, 0, 1));
        (0..25).for_each(|_| times.record(both(20_000_000), 0, 15_000_000, 2));
        let at = |q| (times.unread(q) as f64 / 1e6).round();
        assert_eq!([0.5, 0.94, 0.96, 1.0].map(at), [0.0, 15.0, 0.0, 0.0]);
        let inside = |q| (times.inside_client(q) as f64 / 1e6).round();
        assert_eq!([0.5, 0.94, 0.96, 1.0].map(inside), [1.0, 15.0, 0.0, 0.0]);
        let mut sum = TimestampedTimes::default();
        sum.merge(&times);
        assert!(!sum.is_empty() && sum.unread(0.94) == times.unread(0.94));
    }

    /// Handshakes lengthen response times. The added time must not hide waits within service times.
    #[test]
    fn unread_waits_show_behind_slow_handshakes() {
        let mut times = TimestampedTimes::default();
        for number in 0..1000_u64 {
            let handshake = number * 100_000;
            let late = if number % 33 == 0 { 5_000_000 } else { 0 };
            times.record((handshake + 2_000_000 + late, 2_000_000 + late), 0, late, 1);
        }
        assert!(times.unread(0.99).abs_diff(5_000_000) < 50_000, "{}", times.unread(0.99));
        assert!(times.inside_client(0.99) < 1_000_000);
    }
}
