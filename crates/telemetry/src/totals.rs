//! Totals of all runs of a command.

use crate::BucketCounts;
use measure::stats::{Tally, Traffic};
use measure::{Interval, KindStats, OpKind, Stage};

/// Totals of the measured operations of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindTotals {
    /// Operations that succeeded.
    pub ok: u64,
    /// Operations that failed.
    pub failed: u64,
    /// Operations still in flight at the end of a run.
    pub unfinished: u64,
    /// Body bytes of the operations that succeeded.
    pub ok_bytes: u64,
    /// Response times of the operations that succeeded.
    pub response: BucketCounts,
    /// Service times of the operations that succeeded.
    pub service: BucketCounts,
    /// TTFB of the operations that succeeded.
    pub ttfb: BucketCounts,
    /// Lateness of all operations that started.
    pub lateness: BucketCounts,
}

impl KindTotals {
    fn add(&mut self, stats: &KindStats) {
        self.ok = self.ok.saturating_add(stats.ok);
        self.failed = self.failed.saturating_add(stats.failed);
        self.unfinished = self.unfinished.saturating_add(stats.unfinished);
        self.ok_bytes = self.ok_bytes.saturating_add(stats.ok_bytes);
        self.response.add(&stats.response);
        self.service.add(&stats.service);
        self.ttfb.add(&stats.ttfb);
        self.lateness.add(&stats.lateness);
    }
}

/// Totals of all runs of a command. The totals never decrease.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Runs that began.
    pub runs: u64,
    /// Measured operations by kind.
    pub kinds: Vec<(OpKind, KindTotals)>,
    /// Counts of the measured operations and their attempts.
    pub measured: Tally,
    /// Counts of the operations of warm-ups and their attempts.
    pub warmup: Tally,
    /// Bytes, in all stages.
    pub traffic: Traffic,
    /// Connections opened.
    pub connections_opened: u64,
    /// Connections that could not be opened.
    pub connections_failed: u64,
    /// Length of all measured windows so far, in seconds.
    pub measured_seconds: f64,
    /// CPU time of the threads that make the load, and gather and save its results, in nanoseconds.
    pub client_cpu_nanos: u64,
}

impl Totals {
    /// Adds the kind with zeros, so that its counters start at zero.
    pub fn add_kind(&mut self, kind: OpKind) -> &mut KindTotals {
        let index = self.kinds.iter().position(|(known, _)| *known == kind).unwrap_or_else(|| {
            self.kinds.push((kind, KindTotals::default()));
            self.kinds.len() - 1
        });
        &mut self.kinds[index].1
    }

    /// Adds an interval.
    pub fn add(&mut self, interval: &Interval) {
        let stats = &interval.stats;
        for (kind, of_kind) in &stats.kinds {
            self.add_kind(*kind).add(of_kind);
        }
        self.measured.merge(&stats.measured);
        self.warmup.merge(&stats.outside);
        self.traffic.merge(&stats.traffic);
        self.connections_opened = self.connections_opened.saturating_add(stats.connections.opened);
        self.connections_failed = self.connections_failed.saturating_add(stats.connections.failed);
        if interval.stage == Stage::Measured {
            self.measured_seconds += interval.seconds();
        }
        self.client_cpu_nanos = self.client_cpu_nanos.saturating_add(interval.client.cpu_nanos);
    }
}
