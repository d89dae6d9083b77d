//! All counts and times of a run, in a form that can be merged.
//!
//! [`Stats`] contains the results of one thread in one interval, of all threads in one interval, or of a whole run.
//! Merging works in the same way at every level. Merging is associative and commutative.

pub mod affected_operations;
mod connections;
mod groups;
mod kinds;
pub mod label;
pub mod quantile_range;
pub mod redirect_chains;
pub(crate) mod size_class;
mod tally;
pub mod unread_responses;

pub use connections::{Connections, HostConnections};
pub use groups::{Dimension, GROUPS_MAX, Group, GroupStats};
pub use kinds::KindStats;
pub use tally::{StatusCounts, Tally, Traffic};

use crate::sample::outcome::Cause;
use crate::sample::{Example, OpKind};
use crate::time::Instant;
use crate::values::{Distribution, Enumerated, add, bounded};
use label::Label;
use redirect_chains::RedirectChains;
use serde::{Deserialize, Serialize};
use unread_responses::UnreadResponses;

/// Maximum length of the list of kinds in a record. Lists in records are limited because each of their members may
/// contain histograms, which take up to 400 kB when unpacked.
const KINDS_IN_RECORD: usize = OpKind::ALL.len();
/// Maximum length of the list of groups in a record.
const GROUPS_IN_RECORD: usize = Dimension::ALL.len() * (GROUPS_MAX + SPECIAL_LABELS);
/// Number of labels that are not values, which are [`Label::Absent`] and [`Label::Other`].
const SPECIAL_LABELS: usize = 2;
/// Maximum length of the list of examples in a record.
const EXAMPLES_IN_RECORD: usize = Cause::ALL.len();

/// Counts and times.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stats {
    /// Operations that belong to the measured window, and their attempts.
    pub measured: Tally,
    /// Operations of the warm-up, and their attempts.
    pub outside: Tally,
    /// Times of the measured operations, by kind.
    #[serde(deserialize_with = "bounded::list::<_, _, KINDS_IN_RECORD>")]
    pub kinds: Vec<(OpKind, KindStats)>,
    /// Bytes, counted in the interval in which they arrived or were sent.
    pub traffic: Traffic,
    /// Connections opened.
    pub connections: Connections,
    /// Results by host, size and header.
    #[serde(deserialize_with = "bounded::list::<_, _, GROUPS_IN_RECORD>")]
    pub groups: Vec<Group>,
    /// Integral of the number of operations in flight over the measured window, in nanoseconds. The integral is
    /// computed from starts and ends.
    pub in_flight_nanos: u64,
    /// Sum of the times for which operations were in flight inside the measured window, in nanoseconds.
    pub residence_nanos: u64,
    /// Time inside the measured window for which slots of a closed run paused because the target could not be reached.
    /// The time is summed over the slots, in nanoseconds.
    #[serde(default)]
    pub back_off_nanos: u64,
    /// Ends of the last operations.
    #[serde(default)]
    pub last: LastEnds,
    /// First success, and the failures before the first success and after the last one.
    #[serde(default, skip_serializing_if = "SuccessEdges::is_empty")]
    pub edges: SuccessEdges,
    /// Examples of failures, at most one of each cause.
    #[serde(deserialize_with = "bounded::list::<_, _, EXAMPLES_IN_RECORD>")]
    pub examples: Vec<Example>,
    /// Measured operations that were redirected; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_chains: Option<Box<RedirectChains>>,
    /// Waits of unread responses in this client, measured on a sample.
    #[serde(default, skip_serializing_if = "UnreadResponses::is_empty")]
    pub unread_responses: UnreadResponses,
}

/// Instants at which the last operations ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LastEnds {
    /// End of the last operation that succeeded.
    pub ok: Option<Instant>,
    /// End of the last operation that failed.
    pub failed: Option<Instant>,
}

impl LastEnds {
    fn merge(&mut self, other: Self) {
        let Self { ok, failed } = other;
        self.ok = self.ok.max(ok);
        self.failed = self.failed.max(failed);
    }
}

/// The first success of an interval, and the failures before the first success and after the last one. [`LastEnds`]
/// contains the time of the last success. If an outage begins or ends within the interval, the time after the last
/// success or before the first success is part of the outage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SuccessEdges {
    /// End of the first operation that succeeded.
    pub first_ok: Option<Instant>,
    /// Operations that failed before the first success.
    pub failed_before: u64,
    /// Operations that failed after the last success. With several threads, a failure counts if it came after the last
    /// success of the same thread.
    pub failed_after: u64,
}

impl SuccessEdges {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Records an operation that succeeded at `end`.
    #[inline]
    pub(crate) fn succeeded(&mut self, end: Instant) {
        if self.first_ok.is_none() {
            (self.first_ok, self.failed_before) = (Some(end), self.failed_after);
        }
        self.failed_after = 0;
    }

    /// Records an operation that failed.
    #[inline]
    pub(crate) fn failed(&mut self) {
        self.failed_after += 1;
    }

    fn merge(&mut self, other: Self) {
        let Self { first_ok, failed_before, failed_after } = other;
        self.first_ok = [self.first_ok, first_ok].into_iter().flatten().min();
        add(&mut self.failed_before, failed_before);
        add(&mut self.failed_after, failed_after);
    }
}

impl Stats {
    /// Adds the results of `other`.
    pub fn merge(&mut self, other: &Self) {
        let Self {
            measured,
            outside,
            kinds,
            traffic,
            connections,
            groups,
            in_flight_nanos,
            residence_nanos,
            back_off_nanos,
            last,
            edges,
            examples,
            redirect_chains,
            unread_responses,
        } = other;
        self.measured.merge(measured);
        self.outside.merge(outside);
        for (kind, stats) in kinds {
            self.kind_mut(*kind).merge(stats);
        }
        self.traffic.merge(traffic);
        self.connections.merge(connections);
        for Group { dimension, label, stats } in groups {
            self.group_mut(*dimension, label).merge(stats);
        }
        add(&mut self.in_flight_nanos, *in_flight_nanos);
        add(&mut self.residence_nanos, *residence_nanos);
        add(&mut self.back_off_nanos, *back_off_nanos);
        self.last.merge(*last);
        self.edges.merge(*edges);
        for example in examples {
            self.keep_example(example);
        }
        if let Some(chains) = redirect_chains {
            self.redirect_chains.get_or_insert_default().merge(chains);
        }
        self.unread_responses.merge(unread_responses);
    }

    /// Keeps an example of a failure, unless there is already one with the same cause.
    pub fn keep_example(&mut self, example: &Example) {
        if !self.examples.iter().any(|kept| kept.cause() == example.cause()) {
            self.examples.push(example.clone());
        }
    }

    /// Returns the results of one kind. Creates them if they do not exist yet.
    pub fn kind_mut(&mut self, kind: OpKind) -> &mut KindStats {
        let index = self.kinds.iter().position(|(k, _)| *k == kind).unwrap_or_else(|| {
            self.kinds.push((kind, KindStats::default()));
            self.kinds.len() - 1
        });
        &mut self.kinds[index].1
    }

    /// Returns the merged results of all kinds.
    #[must_use]
    pub fn all_kinds(&self) -> KindStats {
        let mut all = KindStats::default();
        for (_, stats) in &self.kinds {
            all.merge(stats);
        }
        all
    }

    /// Returns one distribution of all kinds together. This method is much faster than [`Self::all_kinds`].
    pub fn of_all_kinds(&self, of: impl Fn(&KindStats) -> &Distribution) -> Distribution {
        let mut all = Distribution::default();
        self.kinds.iter().for_each(|(_, stats)| all.merge(of(stats)));
        all
    }

    /// Returns the results of a label. Creates them if they do not exist yet. If there are too many values, returns the
    /// results of [`Label::Other`].
    fn group_mut(&mut self, dimension: Dimension, label: &Label) -> &mut GroupStats {
        let (mut values, mut found, mut other) = (0, None, None);
        for (index, group) in self.groups.iter().enumerate().filter(|(_, group)| group.dimension == dimension) {
            values += usize::from(group.label.value().is_some());
            found = found.or_else(|| (group.label == *label).then_some(index));
            other = other.or_else(|| (group.label == Label::Other).then_some(index));
        }
        let is_beyond_limit = label.value().is_some() && values >= GROUPS_MAX;
        let index = found.or(other.filter(|_| is_beyond_limit)).unwrap_or_else(|| {
            let label = if is_beyond_limit { Label::Other } else { label.clone() };
            self.groups.push(Group { dimension, label, stats: GroupStats::default() });
            self.groups.len() - 1
        });
        &mut self.groups[index].stats
    }
}

#[cfg(test)]
mod tests {
    use super::label::VALUE_BYTES_MAX;
    use super::*;

    fn labelled(labels: std::ops::Range<usize>) -> Stats {
        let group = |index| Group {
            dimension: Dimension::Header,
            label: Label::Value(format!("value {index}")),
            stats: GroupStats { ok: 1, ..GroupStats::default() },
        };
        Stats { groups: labels.map(group).collect(), ..Stats::default() }
    }

    #[test]
    fn labels_beyond_the_limit_are_counted_as_other() {
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
        assert_eq!(
            whole.groups.last().map(|group| &group.label),
            Some(&Label::Absent),
            "operations without a value keep a group of their own"
        );
        assert!(whole.groups.len() <= GROUPS_IN_RECORD);
    }

    #[test]
    fn records_larger_than_any_written_one_are_rejected() {
        let rejected = |change: fn(&mut Stats)| {
            let mut stats = Stats::default();
            change(&mut stats);
            let text = serde_json::to_string(&stats).unwrap();
            serde_json::from_str::<Stats>(&text).map(|_| ()).unwrap_err().to_string()
        };
        let kinds = rejected(|stats| stats.kinds = vec![(OpKind::Get, KindStats::default()); KINDS_IN_RECORD + 1]);
        assert!(kinds.contains("list of at most"), "{kinds}");
        let groups = rejected(|stats| *stats = labelled(0..GROUPS_IN_RECORD + 1));
        assert!(groups.contains("list of at most"), "{groups}");
        let label = rejected(|stats| {
            *stats = labelled(0..1);
            stats.groups[0].label = Label::Value("x".repeat(VALUE_BYTES_MAX + 1));
        });
        assert!(label.contains("longer than 256"), "{label}");
        let status = rejected(|stats| stats.measured.statuses.add(1000, 1));
        assert!(status.contains("1000 is not a status code"), "{status}");
    }
}
