//! Everything that is counted and timed, in a form that adds up.
//!
//! [`Stats`] is what an interval of one thread holds, what all threads' intervals of a second hold together, and what
//! the whole run holds: merging is the same operation at every level, associative and commutative.

pub use crate::affected::Affected;
pub use crate::unread::{DatedTimes, Unread};

use crate::bounded;
use crate::chains::Chains;
use crate::clock::Instant;
use crate::distribution::Distribution;
use crate::enumerated;
use crate::enumerated::{Counts, Enumerated};
use crate::labels::Label;
use crate::outcome::{AttemptClass, Cause, Flag};
use crate::sample::{Example, OpKind};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

/// Different values of one dimension that are kept when figures of threads and intervals are added up. Each thread
/// keeps fewer (`labels.rs`), so that only many threads with values of their own, or a damaged record, have more.
pub const GROUPS_MAX: usize = 256;

/// Lists in a record are never longer. Each member of a list may hold histograms, which take up to 400 kB when unpacked.
const KINDS_IN_RECORD: usize = OpKind::ALL.len();
const GROUPS_IN_RECORD: usize = Dimension::ALL.len() * (GROUPS_MAX + SPECIAL_LABELS);
/// Labels that are no value: no value, and other ones.
const SPECIAL_LABELS: usize = 2;
const HOSTS_IN_RECORD: usize = GROUPS_MAX + 1;
const EXAMPLES_IN_RECORD: usize = Cause::ALL.len();
/// Status codes have three digits.
const STATUS_CODES: usize = 1000;

/// Status codes and how often each came.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct StatusCounts(Vec<(u16, u64)>);

impl<'de> Deserialize<'de> for StatusCounts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let codes: Vec<(u16, u64)> = bounded::list::<_, _, STATUS_CODES>(deserializer)?;
        match codes.iter().find(|(code, _)| usize::from(*code) >= STATUS_CODES) {
            Some((code, _)) => Err(D::Error::custom(format!("{code} is no status code"))),
            None => Ok(Self(codes)),
        }
    }
}

impl StatusCounts {
    #[inline]
    pub(crate) fn add(&mut self, status: u16, count: u64) {
        match self.0.iter_mut().find(|(code, _)| *code == status) {
            Some((_, seen)) => *seen = seen.saturating_add(count),
            None => self.0.push((status, count)),
        }
    }

    fn merge(&mut self, other: &Self) {
        for (status, count) in &other.0 {
            self.add(*status, *count);
        }
    }

    /// Codes and counts, by code.
    #[must_use]
    pub fn sorted(&self) -> Vec<(u16, u64)> {
        let mut codes = self.0.clone();
        codes.sort_unstable();
        codes
    }
}

/// Counts of operations and attempts. Kept twice: for operations that belong to the window, and for all others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Operations that the schedule asked for (open), or that slots asked for (closed).
    pub scheduled: u64,
    /// Operations that the client took.
    pub started: u64,
    /// Operations that were scheduled and never started.
    pub dropped: u64,
    /// Those of the dropped ones that were due in the window and that this client had not taken when it ended, for
    /// reasons of its own: they did not wait for a slot at `in_flight_max`.
    #[serde(default)]
    pub missed_by_client: u64,
    /// Operations that ended well.
    pub ok: u64,
    /// Operations whose last attempt failed.
    pub failed: u64,
    /// Operations in flight when the drain was over.
    pub unfinished: u64,
    /// Those of the unfinished ones that had not received a byte of an answer.
    #[serde(default)]
    pub unanswered: u64,
    /// Attempts made.
    pub attempts: u64,
    /// Attempts that followed a redirect.
    pub hops: u64,
    /// Attempts that went on with an operation of several requests.
    #[serde(default)]
    pub steps: u64,
    /// Attempts that sent an operation again after a stale kept connection.
    pub resends: u64,
    /// Attempts by class.
    pub classes: Counts<AttemptClass>,
    /// Attempts by cause, without [`Cause::None`].
    pub causes: Counts<Cause>,
    /// Oddities.
    pub flags: Counts<Flag>,
    /// Attempts by status code.
    pub statuses: StatusCounts,
    /// Body bytes of the attempts.
    pub body_bytes: u64,
    /// Bytes of heads, framing and trailers of the attempts.
    pub overhead_bytes: u64,
    /// Bytes that the attempts sent.
    pub sent_bytes: u64,
    /// Body bytes of requests among them.
    #[serde(default)]
    pub sent_body: u64,
}

impl Tally {
    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        self.scheduled = self.scheduled.saturating_add(other.scheduled);
        self.started = self.started.saturating_add(other.started);
        self.dropped = self.dropped.saturating_add(other.dropped);
        self.missed_by_client = self.missed_by_client.saturating_add(other.missed_by_client);
        self.ok = self.ok.saturating_add(other.ok);
        self.failed = self.failed.saturating_add(other.failed);
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
        self.unanswered = self.unanswered.saturating_add(other.unanswered);
        self.attempts = self.attempts.saturating_add(other.attempts);
        self.hops = self.hops.saturating_add(other.hops);
        self.steps = self.steps.saturating_add(other.steps);
        self.resends = self.resends.saturating_add(other.resends);
        self.classes.merge(&other.classes);
        self.causes.merge(&other.causes);
        self.flags.merge(&other.flags);
        self.statuses.merge(&other.statuses);
        self.body_bytes = self.body_bytes.saturating_add(other.body_bytes);
        self.overhead_bytes = self.overhead_bytes.saturating_add(other.overhead_bytes);
        self.sent_bytes = self.sent_bytes.saturating_add(other.sent_bytes);
        self.sent_body = self.sent_body.saturating_add(other.sent_body);
    }

    /// Operations that ended, well or not.
    #[must_use]
    pub fn completed(&self) -> u64 {
        self.ok.saturating_add(self.failed)
    }
}

/// Bytes by their arrival (or departure) in the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    /// Body bytes received.
    pub body: u64,
    /// Bytes of heads, framing and trailers received, and what TLS added.
    pub overhead: u64,
    /// Bytes sent.
    pub sent: u64,
    /// Body bytes of requests among them.
    #[serde(default)]
    pub sent_body: u64,
    /// Body bytes that arrived inside the window for attempts that turned out not to be good: failed ones and hops.
    /// Counted when the operation ends.
    pub wasted: u64,
    /// Body bytes of requests that were sent inside the window for such attempts.
    #[serde(default)]
    pub wasted_sent: u64,
}

impl Traffic {
    /// Body bytes in both directions.
    #[must_use]
    pub fn moved(&self) -> u64 {
        self.body.saturating_add(self.sent_body)
    }

    /// Adds the bytes of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.body = self.body.saturating_add(other.body);
        self.overhead = self.overhead.saturating_add(other.overhead);
        self.sent = self.sent.saturating_add(other.sent);
        self.sent_body = self.sent_body.saturating_add(other.sent_body);
        self.wasted = self.wasted.saturating_add(other.wasted);
        self.wasted_sent = self.wasted_sent.saturating_add(other.wasted_sent);
    }
}

/// Connections to one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostConnections {
    /// The host. At most [`GROUPS_MAX`] different ones.
    pub host: Label,
    /// Opened.
    pub opened: u64,
}

/// Connections.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Connections {
    /// Opened.
    pub opened: u64,
    /// Could not be opened.
    pub failed: u64,
    /// Time that opening took, without the TLS handshake, in nanoseconds.
    pub connect: Distribution,
    /// TLS handshakes among them in which certificates were exchanged.
    #[serde(default)]
    pub handshakes_full: u64,
    /// TLS handshakes among them that took up an earlier session.
    #[serde(default)]
    pub handshakes_resumed: u64,
    /// Time that TLS handshakes took, in nanoseconds.
    #[serde(default)]
    pub handshake: Distribution,
    /// Those that were opened, by host.
    #[serde(default, deserialize_with = "bounded::list::<_, _, HOSTS_IN_RECORD>")]
    pub hosts: Vec<HostConnections>,
}

impl Connections {
    fn merge(&mut self, other: &Self) {
        self.opened = self.opened.saturating_add(other.opened);
        self.failed = self.failed.saturating_add(other.failed);
        self.connect.merge(&other.connect);
        self.handshakes_full = self.handshakes_full.saturating_add(other.handshakes_full);
        self.handshakes_resumed = self.handshakes_resumed.saturating_add(other.handshakes_resumed);
        self.handshake.merge(&other.handshake);
        for host in &other.hosts {
            self.add_host(&host.host, host.opened);
        }
    }

    /// Counts connections that were opened to a host; to other ones when there are too many.
    pub(crate) fn add_host(&mut self, host: &Label, opened: u64) {
        let find = |hosts: &[HostConnections], host: &Label| hosts.iter().position(|known| known.host == *host);
        let full = self.hosts.len() >= GROUPS_MAX;
        let known = find(&self.hosts, host).or_else(|| if full { find(&self.hosts, &Label::Other) } else { None });
        match known {
            Some(index) => self.hosts[index].opened = self.hosts[index].opened.saturating_add(opened),
            None => {
                let host = if full { Label::Other } else { host.clone() };
                self.hosts.push(HostConnections { host, opened });
            }
        }
    }

    /// All TLS handshakes that succeeded.
    #[must_use]
    pub fn handshakes(&self) -> u64 {
        self.handshakes_full.saturating_add(self.handshakes_resumed)
    }
}

/// Times and speeds of the measured operations of one kind, in nanoseconds and bytes per second.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct KindStats {
    /// Ended well.
    pub ok: u64,
    /// Failed.
    pub failed: u64,
    /// In flight when the drain was over.
    pub unfinished: u64,
    /// Body bytes of the operations that ended well.
    pub ok_bytes: u64,
    /// Response time of those that ended well.
    pub response: Distribution,
    /// Service time of those that ended well.
    pub service: Distribution,
    /// TTFB of those that ended well.
    pub ttfb: Distribution,
    /// Transfer time of those that ended well.
    pub transfer: Distribution,
    /// Sending of those uploads that ended well: from the first byte of the request to its last, without that wait.
    #[serde(default)]
    pub sending: Distribution,
    /// Wait for the server to agree to a body, of those that ended well and asked (`Expect: 100-continue`).
    #[serde(default)]
    pub agreement: Distribution,
    /// Waiting of those uploads that ended well: from the last byte of the request to the end.
    #[serde(default)]
    pub waiting: Distribution,
    /// Time spent on opening connections, of those that ended well and opened one.
    pub connect: Distribution,
    /// Time spent on TLS handshakes, of those that ended well and had one.
    #[serde(default)]
    pub handshake: Distribution,
    /// Both together, of those that ended well and had a TLS handshake.
    #[serde(default)]
    pub secured: Distribution,
    /// Speed of those that ended well and had a body.
    pub speed: Distribution,
    /// Lateness of all that started (open model or think time).
    pub lateness: Distribution,
    /// Wait for a slot of all that started and had to wait.
    pub slot_wait: Distribution,
    /// Response time of the failed ones, until they failed.
    pub failed_response: Distribution,
    /// What the unfinished ones had waited, from their intended start.
    pub unfinished_wait: Distribution,
    /// The same of those that had not received a byte of a response.
    #[serde(default)]
    pub unanswered_wait: Distribution,
    /// TTFB of the failed ones whose first byte came.
    #[serde(default)]
    pub failed_ttfb: Distribution,
    /// TTFB of the unfinished ones whose first byte came.
    #[serde(default)]
    pub unfinished_ttfb: Distribution,
    /// The operations among them that a client stall affected.
    #[serde(default, skip_serializing_if = "Affected::is_empty")]
    pub affected: Affected,
    /// Response time of those that ended well and whose end was dated.
    #[serde(default, skip_serializing_if = "DatedTimes::is_empty")]
    pub dated: DatedTimes,
}

/// An operation without a byte of a response hangs once it has waited so many times as long as the slowest success took.
const HANGING_FACTOR: f64 = 2.0;

impl KindStats {
    /// Adds the figures of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.ok = self.ok.saturating_add(other.ok);
        self.failed = self.failed.saturating_add(other.failed);
        self.unfinished = self.unfinished.saturating_add(other.unfinished);
        self.ok_bytes = self.ok_bytes.saturating_add(other.ok_bytes);
        self.response.merge(&other.response);
        self.service.merge(&other.service);
        self.ttfb.merge(&other.ttfb);
        self.transfer.merge(&other.transfer);
        self.sending.merge(&other.sending);
        self.agreement.merge(&other.agreement);
        self.waiting.merge(&other.waiting);
        self.connect.merge(&other.connect);
        self.handshake.merge(&other.handshake);
        self.secured.merge(&other.secured);
        self.speed.merge(&other.speed);
        self.lateness.merge(&other.lateness);
        self.slot_wait.merge(&other.slot_wait);
        self.failed_response.merge(&other.failed_response);
        self.unfinished_wait.merge(&other.unfinished_wait);
        self.unanswered_wait.merge(&other.unanswered_wait);
        self.failed_ttfb.merge(&other.failed_ttfb);
        self.unfinished_ttfb.merge(&other.unfinished_ttfb);
        self.affected.merge(&other.affected);
        self.dated.merge(&other.dated);
    }

    /// Unfinished operations that count as failures of the target: they had not received a byte when the run ended, after
    /// waiting far longer than every operation that succeeded. The others were healthy and cut off by the end of the run.
    #[must_use]
    pub fn hanging(&self) -> u64 {
        self.unanswered_wait.beyond(self.hangs_from()).0
    }

    /// Those of [`KindStats::hanging`] that waited for so long at most.
    #[must_use]
    pub fn hanging_for_at_most(&self, wait: Duration) -> u64 {
        let longer = self.hangs_from().max(wait.as_nanos() as f64);
        self.hanging().saturating_sub(self.unanswered_wait.beyond(longer).0)
    }

    /// The wait above which an operation without a byte of a response hangs, in nanoseconds.
    fn hangs_from(&self) -> f64 {
        self.response.max().map_or(-1.0, |slowest| HANGING_FACTOR * slowest as f64)
    }
}

enumerated! {
    /// What figures are broken down by.
    pub enum Dimension {
        Host => "host", "host of the URL";
        Size => "size", "size of the body";
        Header => "header", "value of a response header";
    }
}

/// Figures of the measured operations that share a label.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GroupStats {
    /// Ended well.
    pub ok: u64,
    /// Failed or unfinished.
    pub failed: u64,
    /// Body bytes of the operations that ended well.
    pub ok_bytes: u64,
    /// Response time of those that ended well, in nanoseconds.
    pub response: Distribution,
}

impl GroupStats {
    fn merge(&mut self, other: &Self) {
        self.ok = self.ok.saturating_add(other.ok);
        self.failed = self.failed.saturating_add(other.failed);
        self.ok_bytes = self.ok_bytes.saturating_add(other.ok_bytes);
        self.response.merge(&other.response);
    }
}

/// A label with its figures.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Group {
    /// What the label is of.
    pub dimension: Dimension,
    /// The label. At most [`GROUPS_MAX`] different values, then [`Label::Other`].
    pub label: Label,
    /// Its figures.
    pub stats: GroupStats,
}

/// All that was counted and timed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Operations that belong to the window, and their attempts.
    pub measured: Tally,
    /// Operations of the warm-up, and their attempts.
    pub outside: Tally,
    /// Times of the measured operations, by kind.
    #[serde(deserialize_with = "bounded::list::<_, _, KINDS_IN_RECORD>")]
    pub kinds: Vec<(OpKind, KindStats)>,
    /// Bytes by arrival.
    pub traffic: Traffic,
    /// Connections opened.
    pub connections: Connections,
    /// Figures by host, size and header.
    #[serde(deserialize_with = "bounded::list::<_, _, GROUPS_IN_RECORD>")]
    pub groups: Vec<Group>,
    /// ∫ in-flight dt over the window, from the run loop's gauge, in nanoseconds.
    pub in_flight_nanos: u64,
    /// Σ over all operations of the time from start to end that lies in the window, in nanoseconds.
    pub overlap_nanos: u64,
    /// Time for which slots of a closed run paused in the window since the target could not be reached, in nanoseconds.
    #[serde(default)]
    pub back_off_nanos: u64,
    /// When the last operation ended that succeeded, and the last one that failed.
    #[serde(default)]
    pub last: LastEnds,
    /// At most one example of each cause.
    #[serde(deserialize_with = "bounded::list::<_, _, EXAMPLES_IN_RECORD>")]
    pub examples: Vec<Example>,
    /// The measured operations that were redirected; `None` when there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chains: Option<Box<Chains>>,
    /// For how long responses waited unread in this client, on a sample.
    #[serde(default, skip_serializing_if = "Unread::is_empty")]
    pub unread: Unread,
}

/// When the last operations ended, whenever they were due.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastEnds {
    /// The last one that succeeded.
    pub ok: Option<Instant>,
    /// The last one that failed.
    pub failed: Option<Instant>,
}

impl LastEnds {
    fn merge(&mut self, other: Self) {
        self.ok = self.ok.max(other.ok);
        self.failed = self.failed.max(other.failed);
    }
}

impl Stats {
    /// Adds the figures of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.measured.merge(&other.measured);
        self.outside.merge(&other.outside);
        for (kind, stats) in &other.kinds {
            self.kind_mut(*kind).merge(stats);
        }
        self.traffic.merge(&other.traffic);
        self.connections.merge(&other.connections);
        for group in &other.groups {
            self.group_mut(group.dimension, &group.label).merge(&group.stats);
        }
        self.in_flight_nanos = self.in_flight_nanos.saturating_add(other.in_flight_nanos);
        self.overlap_nanos = self.overlap_nanos.saturating_add(other.overlap_nanos);
        self.back_off_nanos = self.back_off_nanos.saturating_add(other.back_off_nanos);
        self.last.merge(other.last);
        for example in &other.examples {
            self.keep_example(example);
        }
        if let Some(chains) = &other.chains {
            self.chains.get_or_insert_default().merge(chains);
        }
        self.unread.merge(&other.unread);
    }

    /// Keeps `example` unless there is one of its cause.
    pub fn keep_example(&mut self, example: &Example) {
        if !self.examples.iter().any(|kept| kept.cause() == example.cause()) {
            self.examples.push(example.clone());
        }
    }

    /// The figures of one kind, made when first asked for.
    pub fn kind_mut(&mut self, kind: OpKind) -> &mut KindStats {
        let index = self.kinds.iter().position(|(k, _)| *k == kind).unwrap_or_else(|| {
            self.kinds.push((kind, KindStats::default()));
            self.kinds.len() - 1
        });
        &mut self.kinds[index].1
    }

    /// The figures of all kinds together.
    #[must_use]
    pub fn all_kinds(&self) -> KindStats {
        let mut all = KindStats::default();
        for (_, stats) in &self.kinds {
            all.merge(stats);
        }
        all
    }

    /// The figures of a label, made when first asked for; those of [`Label::Other`] when there are too many values.
    fn group_mut(&mut self, dimension: Dimension, label: &Label) -> &mut GroupStats {
        let (mut values, mut found, mut other) = (0, None, None);
        for (index, group) in self.groups.iter().enumerate().filter(|(_, group)| group.dimension == dimension) {
            values += usize::from(group.label.value().is_some());
            found = found.or_else(|| (group.label == *label).then_some(index));
            other = other.or_else(|| (group.label == Label::Other).then_some(index));
        }
        let one_too_many = label.value().is_some() && values >= GROUPS_MAX;
        let index = found.or(other.filter(|_| one_too_many)).unwrap_or_else(|| {
            let label = if one_too_many { Label::Other } else { label.clone() };
            self.groups.push(Group { dimension, label, stats: GroupStats::default() });
            self.groups.len() - 1
        });
        &mut self.groups[index].stats
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::labels::VALUE_BYTES_MAX;

    fn labelled(labels: std::ops::Range<usize>) -> Stats {
        let group = |index| Group {
            dimension: Dimension::Header,
            label: Label::Value(format!("value {index}")),
            stats: GroupStats { ok: 1, ..GroupStats::default() },
        };
        Stats { groups: labels.map(group).collect(), ..Stats::default() }
    }

    #[test]
    fn labels_beyond_the_limit_are_counted_together_and_none_is_lost() {
        let mut whole = Stats::default();
        for index in 0..10 {
            whole.merge(&labelled(index * 64..index * 64 + 64));
        }
        whole.merge(&labelled(3..4));
        assert_eq!(whole.groups.len(), GROUPS_MAX + 1);
        let of = |label: Label| whole.groups.iter().find(|group| group.label == label).map(|group| group.stats.ok);
        let value = |index: u64| of(Label::Value(format!("value {index}")));
        assert_eq!((value(3), value(255), value(256)), (Some(2), Some(1), None));
        assert_eq!(of(Label::Other), Some(10 * 64 - 256));
        let mut without = labelled(0..1);
        without.groups[0].label = Label::Absent;
        whole.merge(&without);
        assert_eq!(whole.groups.last().map(|group| &group.label), Some(&Label::Absent), "it has a row in any case");
        assert!(whole.groups.len() <= GROUPS_IN_RECORD);
    }

    #[test]
    fn records_larger_than_any_that_is_written_are_refused() {
        let refused = |change: fn(&mut Stats)| {
            let mut stats = Stats::default();
            change(&mut stats);
            let text = serde_json::to_string(&stats).unwrap();
            serde_json::from_str::<Stats>(&text).map(|_| ()).unwrap_err().to_string()
        };
        let kinds = refused(|stats| stats.kinds = vec![(OpKind::Get, KindStats::default()); KINDS_IN_RECORD + 1]);
        assert!(kinds.contains("list of at most"), "{kinds}");
        let groups = refused(|stats| *stats = labelled(0..GROUPS_IN_RECORD + 1));
        assert!(groups.contains("list of at most"), "{groups}");
        let label = refused(|stats| {
            *stats = labelled(0..1);
            stats.groups[0].label = Label::Value("x".repeat(VALUE_BYTES_MAX + 1));
        });
        assert!(label.contains("where at most 256 can be"), "{label}");
        let status = refused(|stats| stats.measured.statuses.add(1000, 1));
        assert!(status.contains("1000 is no status code"), "{status}");
    }
}
