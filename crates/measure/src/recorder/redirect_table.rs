//! Redirected operations of one thread in the current interval.

use crate::sample::outcome::OpOutcome;
use crate::sample::{HopSample, LabelId, OpSample};
use crate::stats::label::Label;
use crate::stats::redirect_chains::{HopStats, POSITIONS, RedirectChains};

/// Results of redirected operations. Hosts are stored as labels instead of names.
#[derive(Debug, Default)]
pub(super) struct RedirectTable {
    all: RedirectChains,
    /// Results by position in the chain of requests and by host.
    rows: Vec<(u8, LabelId, HopStats)>,
}

impl RedirectTable {
    /// Counts a redirected operation. `hops` contains its requests in order.
    pub fn count(&mut self, op: &OpSample, attempts: u64, hops: &[HopSample]) {
        let ok = op.outcome == OpOutcome::Ok;
        let mut since = op.intended;
        for (position, hop) in hops.iter().enumerate() {
            let sent = hop.sent.unwrap_or(hop.end);
            let (until_sent, service) = (sent.nanos_since(since), hop.end.nanos_since(sent));
            since = hop.end;
            if ok {
                self.all.redirect_nanos += if hop.redirected { service } else { 0 };
                self.all.reach_nanos += if position > 0 { until_sent } else { 0 };
            }
            if hop.redirected {
                self.all.redirect_body_bytes += hop.body_bytes;
                self.all.redirect_overhead_bytes += hop.overhead_bytes;
            }
            let row = self.row(position, hop.host);
            row.attempts += hop.attempts;
            row.redirects += u64::from(hop.redirected);
            row.opened += hop.opened;
            row.body_bytes += hop.body_bytes;
            row.overhead_bytes += hop.overhead_bytes;
            if ok {
                row.until_sent_nanos += until_sent;
                row.service.record(service);
            }
        }
        self.all.ops += 1;
        self.all.attempts += attempts;
        self.all.hops_max = self.all.hops_max.max(hops.len().saturating_sub(1) as u64);
        if ok {
            self.all.ok += 1;
            self.all.response.record(op.response_nanos());
            if let Some(service) = op.service_nanos() {
                self.all.service.record(service);
            }
        }
    }

    fn row(&mut self, position: usize, host: LabelId) -> &mut HopStats {
        let position = position.min(usize::from(POSITIONS) - 1) as u8;
        let known = self.rows.iter().position(|(at, label, _)| *at == position && *label == host);
        let index = known.unwrap_or_else(|| {
            self.rows.push((position, host, HopStats::new(position, Label::Other)));
            self.rows.len() - 1
        });
        &mut self.rows[index].2
    }

    /// Returns the results with the names of the hosts.
    pub fn finish(self, name: impl Fn(LabelId) -> Label) -> RedirectChains {
        let mut all = self.all;
        for (position, host, row) in self.rows {
            all.row_mut(position, &name(host)).merge(&row);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Stats;
    use crate::time::Instant;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn op(intended: u64, sent: u64, end: u64, outcome: OpOutcome) -> OpSample {
        OpSample { sent: Some(ms(sent)), outcome, ..OpSample::simulated(LabelId(0), ms(intended), ms(end)) }
    }

    fn named(label: LabelId) -> Label {
        Label::Value(format!("host {}", label.0))
    }

    fn hop(host: u16, sent: u64, end: u64, redirected: bool) -> HopSample {
        HopSample {
            host: LabelId(host),
            sent: Some(ms(sent)),
            end: ms(end),
            attempts: 1,
            redirected,
            opened: 1,
            status: Some(307),
            body_bytes: 5,
            overhead_bytes: 100,
        }
    }

    #[test]
    fn times_of_requests_add_up_to_the_response_time() {
        let mut table = RedirectTable::default();
        let hops = [hop(0, 12, 15, true), hop(1, 16, 30, true), hop(0, 33, 90, false)];
        table.count(&op(10, 12, 90, OpOutcome::Ok), 3, &hops);
        table.count(&op(20, 22, 100, OpOutcome::Unfinished), 2, &hops[..2]);
        let chains = table.finish(named);
        assert_eq!((chains.ops, chains.ok, chains.attempts, chains.hops_max), (2, 1, 5, 2));
        assert_eq!((chains.redirect_nanos, chains.reach_nanos), (17_000_000, 4_000_000));
        assert_eq!((chains.redirect_body_bytes, chains.redirect_overhead_bytes), (20, 400));
        let parts: u128 = chains.rows.iter().map(HopStats::nanos).sum();
        assert_eq!((parts, chains.response.moments().sum), (80_000_000, 80_000_000));
        let rows: Vec<_> =
            chains.rows.iter().map(|row| (row.position, row.host.value().unwrap(), row.attempts)).collect();
        assert_eq!(rows, [(0, "host 0", 2), (1, "host 1", 2), (2, "host 0", 1)]);
        assert_eq!(chains.share(40_000_000), Some(0.5));
    }

    #[test]
    fn requests_beyond_the_row_limit_are_still_counted() {
        let mut whole = RedirectChains::default();
        for host in 0..1000 {
            let mut table = RedirectTable::default();
            let hops: Vec<_> = (0..40).map(|at| hop(host, 10 * at, 10 * at + 5, at < 39)).collect();
            table.count(&op(0, 0, 395, OpOutcome::Ok), 40, &hops);
            whole.merge(&table.finish(named));
        }
        assert!(whole.rows.len() <= 256 + usize::from(POSITIONS), "{}", whole.rows.len());
        assert_eq!(whole.rows.iter().map(|row| row.attempts).sum::<u64>(), 40_000);
        assert!(whole.rows.iter().all(|row| row.position < POSITIONS));
        let text = serde_json::to_string(&whole).unwrap();
        let again: RedirectChains = serde_json::from_str(&text).unwrap();
        assert_eq!(again.rows.len(), whole.rows.len());
        whole.rows.resize(1 + 256 + usize::from(POSITIONS), HopStats::new(0, Label::Other));
        assert!(serde_json::from_str::<RedirectChains>(&serde_json::to_string(&whole).unwrap()).is_err());
    }

    #[test]
    fn runs_saved_without_redirects_are_read() {
        let mut old = serde_json::to_value(Stats::default()).unwrap();
        assert_eq!(old.get("redirect_chains"), None, "a record without redirects must not contain the field");
        old["connections"].as_object_mut().unwrap().remove("hosts").unwrap();
        let read: Stats = serde_json::from_value(old).unwrap();
        assert!(read.redirect_chains.is_none() && read.connections.hosts.is_empty());
    }
}
