//! Chains: the operations that were redirected, hop by hop.
//!
//! A chain is cut into its requests, and the time of each into what passed before it was sent and what passed until its
//! answer was complete. Nothing lies between: together they are the response time, to the nanosecond, which the books
//! hold every run to ([`crate::books`]). Operations without a redirect are not looked at here at all.

use crate::bounded;
use crate::clock::Instant;
use crate::distribution::Distribution;
use crate::labels::Label;
use crate::outcome::OpOutcome;
use crate::sample::{LabelId, OpSample};
use serde::{Deserialize, Serialize};

/// Positions that are told apart; those further on are counted with the last.
const POSITIONS: u8 = 16;
/// Rows that are kept apart; hosts of further ones are counted as [`Label::Other`].
const ROWS_MAX: usize = 256;
/// A record never has more: the rows, and one of other hosts for each position.
const ROWS_IN_RECORD: usize = ROWS_MAX + POSITIONS as usize;

/// One request of a chain, with the resend after a stale connection when there was one.
#[derive(Clone, Copy, Debug)]
pub struct HopSample {
    /// The host that it went to.
    pub host: LabelId,
    /// When its first byte was handed to the kernel; `None` when it never was.
    pub sent: Option<Instant>,
    /// When its answer was complete, or when it failed.
    pub end: Instant,
    /// Attempts made: 1, or 2 with a resend.
    pub attempts: u64,
    /// Whether its answer was a redirect that was followed.
    pub redirected: bool,
    /// Connections opened for it.
    pub opened: u64,
    /// Status of its answer.
    pub status: Option<u16>,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Bytes of heads and framing received.
    pub overhead_bytes: u64,
}

/// The requests of all chains that stood at the same position and went to the same host.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct HopStats {
    /// Redirects followed before them, 15 at most: 0 is the first request of an operation.
    pub position: u8,
    /// The host.
    pub host: Label,
    /// Attempts made.
    pub attempts: u64,
    /// Those whose answer was a redirect that was followed.
    pub redirects: u64,
    /// Connections opened for them.
    pub opened: u64,
    /// Body bytes received.
    pub body_bytes: u64,
    /// Bytes of heads and framing received.
    pub overhead_bytes: u64,
    /// Time before they were sent, in chains that ended well, in nanoseconds: since the answer before, or for the first
    /// request since the operation's intended start.
    pub until_sent_nanos: u64,
    /// From sending to the end of the answer, in chains that ended well, in nanoseconds.
    pub service: Distribution,
}

/// All operations with at least one redirect that was followed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Chains {
    /// How many.
    pub ops: u64,
    /// Those that ended well. Times are of these alone.
    pub ok: u64,
    /// Attempts of all of them.
    pub attempts: u64,
    /// Redirects that the longest one followed.
    pub hops_max: u64,
    /// Response time of those that ended well, in nanoseconds.
    pub response: Distribution,
    /// Service time of those that ended well, in nanoseconds.
    pub service: Distribution,
    /// Time that they waited for answers which were only redirects, in nanoseconds.
    pub redirect_nanos: u64,
    /// Time from the end of each redirect until the next request was sent (name, connection, TLS), in nanoseconds.
    pub reach_nanos: u64,
    /// Body bytes of redirects, of all chains.
    pub redirect_body_bytes: u64,
    /// Bytes of heads and framing of redirects, of all chains.
    pub redirect_overhead_bytes: u64,
    /// The same operations by position and host.
    #[serde(deserialize_with = "bounded::list::<_, _, ROWS_IN_RECORD>")]
    pub rows: Vec<HopStats>,
}

impl HopStats {
    /// None yet.
    #[must_use]
    pub fn new(position: u8, host: Label) -> Self {
        Self {
            position,
            host,
            attempts: 0,
            redirects: 0,
            opened: 0,
            body_bytes: 0,
            overhead_bytes: 0,
            until_sent_nanos: 0,
            service: Distribution::default(),
        }
    }

    fn merge(&mut self, other: &Self) {
        self.attempts = self.attempts.saturating_add(other.attempts);
        self.redirects = self.redirects.saturating_add(other.redirects);
        self.opened = self.opened.saturating_add(other.opened);
        self.body_bytes = self.body_bytes.saturating_add(other.body_bytes);
        self.overhead_bytes = self.overhead_bytes.saturating_add(other.overhead_bytes);
        self.until_sent_nanos = self.until_sent_nanos.saturating_add(other.until_sent_nanos);
        self.service.merge(&other.service);
    }

    /// Its part of the response times: before sending and until the answer, in nanoseconds.
    #[must_use]
    pub fn nanos(&self) -> u128 {
        self.service.moments().sum.saturating_add(u128::from(self.until_sent_nanos))
    }
}

impl Chains {
    /// Adds the figures of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.ops = self.ops.saturating_add(other.ops);
        self.ok = self.ok.saturating_add(other.ok);
        self.attempts = self.attempts.saturating_add(other.attempts);
        self.hops_max = self.hops_max.max(other.hops_max);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.redirect_nanos = self.redirect_nanos.saturating_add(other.redirect_nanos);
        self.reach_nanos = self.reach_nanos.saturating_add(other.reach_nanos);
        self.redirect_body_bytes = self.redirect_body_bytes.saturating_add(other.redirect_body_bytes);
        self.redirect_overhead_bytes = self.redirect_overhead_bytes.saturating_add(other.redirect_overhead_bytes);
        for row in &other.rows {
            self.row_mut(row.position, &row.host).merge(row);
        }
    }

    /// A time as a share of the response times of the chains that ended well, in 0..=1; `None` without any.
    #[must_use]
    pub fn share(&self, nanos: u128) -> Option<f64> {
        let whole = self.response.moments().sum;
        (whole > 0).then(|| nanos as f64 / whole as f64)
    }

    /// The row of a position and host, made when first asked for; that of other hosts when there are too many.
    fn row_mut(&mut self, position: u8, host: &Label) -> &mut HopStats {
        let position = position.min(POSITIONS - 1);
        let find =
            |rows: &[HopStats], host: &Label| rows.iter().position(|row| row.position == position && row.host == *host);
        let full = self.rows.len() >= ROWS_MAX;
        let found = find(&self.rows, host);
        let found = found.or_else(|| if full { find(&self.rows, &Label::Other) } else { None });
        let index = found.unwrap_or_else(|| {
            self.rows.push(HopStats::new(position, if full { Label::Other } else { host.clone() }));
            self.rows.len() - 1
        });
        &mut self.rows[index]
    }
}

/// The chains of the running interval of one thread.
#[derive(Debug, Default)]
pub(crate) struct ChainTable {
    all: Chains,
    /// Rows by position and label, in place of names.
    rows: Vec<(u8, LabelId, HopStats)>,
}

impl ChainTable {
    /// Counts an operation with all its requests.
    pub(crate) fn count(&mut self, op: &OpSample, attempts: u64, hops: &[HopSample]) {
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

    /// The figures with the names of the hosts.
    pub(crate) fn finish(self, name: impl Fn(LabelId) -> Label) -> Chains {
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
    use crate::sample::OpKind;
    use crate::stats::Stats;

    fn ms(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn op(intended: u64, sent: u64, end: u64, outcome: OpOutcome) -> OpSample {
        OpSample {
            kind: OpKind::Get,
            intended: ms(intended),
            started: ms(intended),
            sent: Some(ms(sent)),
            sent_all: None,
            agreement_nanos: None,
            first_byte: Some(ms(end)),
            end: ms(end),
            slot_wait_nanos: 0,
            connect_nanos: None,
            handshake_nanos: None,
            outcome,
            body_bytes: 1000,
            window: crate::sample::Moved { received: 1000, sent: 0 },
            host: LabelId(0),
            header: None,
            affected_by: None,
            handing_nanos: 0,
            unread: None,
        }
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
    fn the_parts_of_a_chain_are_its_response_time() {
        let mut table = ChainTable::default();
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
    fn rows_have_a_limit_and_nothing_is_lost() {
        let mut whole = Chains::default();
        for host in 0..1000 {
            let mut table = ChainTable::default();
            let hops: Vec<_> = (0..40).map(|at| hop(host, 10 * at, 10 * at + 5, at < 39)).collect();
            table.count(&op(0, 0, 395, OpOutcome::Ok), 40, &hops);
            whole.merge(&table.finish(named));
        }
        assert!(whole.rows.len() <= ROWS_IN_RECORD, "{}", whole.rows.len());
        assert_eq!(whole.rows.iter().map(|row| row.attempts).sum::<u64>(), 40_000);
        assert!(whole.rows.iter().all(|row| row.position < POSITIONS));
        let text = serde_json::to_string(&whole).unwrap();
        let again: Chains = serde_json::from_str(&text).unwrap();
        assert_eq!(again.rows.len(), whole.rows.len());
        whole.rows.resize(ROWS_IN_RECORD + 1, HopStats::new(0, Label::Other));
        assert!(serde_json::from_str::<Chains>(&serde_json::to_string(&whole).unwrap()).is_err());
    }

    #[test]
    fn runs_that_were_saved_without_it_are_read() {
        let mut old = serde_json::to_value(Stats::default()).unwrap();
        assert_eq!(old.get("chains"), None, "nothing is written where there is nothing");
        old["connections"].as_object_mut().unwrap().remove("hosts").unwrap();
        let read: Stats = serde_json::from_value(old).unwrap();
        assert!(read.chains.is_none() && read.connections.hosts.is_empty());
    }
}
