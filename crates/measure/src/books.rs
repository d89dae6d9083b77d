//! Do the books balance? The identities checked at the end of every run.
//!
//! Each compares two figures that were counted along different ways: what the loop started with what the recorder saw
//! end, bytes by arrival with bytes by attempt, the gauge of operations in flight with the residence of each one. A
//! violation means that a figure of this run is wrong, and the run UNUSABLE.

use crate::chains::{Chains, HopStats};
use crate::enumerated;
use crate::stats::Tally;
use crate::summary::Summary;
use serde::{Deserialize, Serialize};

enumerated! {
    /// An identity that must hold.
    pub enum Identity {
        Scheduled => "scheduled", "scheduled = started + dropped";
        Started => "started", "started = ok + failed + unfinished";
        Attempts => "attempts", "attempts = started + redirect hops + further requests + resends";
        Classes => "classes", "attempts = Σ of their classes";
        Bytes => "bytes", "bytes by arrival = bytes by attempt";
        Uploaded => "uploaded", "body bytes of requests as they were sent = those of the attempts";
        Samples => "samples", "operations that ended well = response times recorded";
        Groups => "groups", "operations = Σ of the figures by host";
        Hops => "hops", "response time of redirected operations = Σ of their requests' times; their attempts and hops likewise";
        Goodput => "goodput", "wasted bytes ≤ bytes received in the window";
        LittlesLaw => "littles_law", "∫ in-flight dt = Σ time in flight, within 0.1 %";
    }
}

/// An identity that does not hold, with its two sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// Which one.
    pub identity: Identity,
    /// Left side.
    pub left: u64,
    /// Right side.
    pub right: u64,
}

/// Whether the independent counters of a run agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accounting {
    /// Comparisons made.
    pub checks: u32,
    /// Those that failed.
    pub violations: Vec<Violation>,
}

/// Whether the figures can be used.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The run is whole and the books balance.
    Valid,
    /// The run was cut off; what was recorded until then is all there is.
    Partial,
    /// The books do not balance.
    Invalid(Vec<Violation>),
}

/// Little's law is judged from so many operations on.
const OPERATIONS_MIN: u64 = 20;
/// Relative difference that clock reads at the edges of the window may cause.
const LITTLES_LAW_SLACK: f64 = 1e-3;

/// Checks all identities. The records of a run that was cut off hold operations without an end, so only identities
/// among finished things are asked of it.
#[must_use]
pub fn audit(summary: &Summary, whole: bool) -> Accounting {
    let mut accounting = Accounting::default();
    let mut must = |identity, left: u64, right: u64, holds: bool| {
        accounting.checks += 1;
        if !holds {
            accounting.violations.push(Violation { identity, left, right });
        }
    };
    let stats = &summary.stats;
    for tally in [&stats.measured, &stats.outside] {
        must(Identity::Classes, tally.attempts, tally.classes.total(), tally.attempts == tally.classes.total());
        if whole {
            for (identity, left, right) in equalities(tally) {
                must(identity, left, right, left == right);
            }
        }
    }
    let all = &summary.all;
    let good = stats.measured.ok;
    must(Identity::Samples, good, all.response.count(), good == all.response.count() && good == all.ok);
    let hosts = stats.groups.iter().filter(|group| group.dimension == crate::stats::Dimension::Host);
    let grouped = sum(hosts.flat_map(|group| [group.stats.ok, group.stats.failed]));
    let operations = sum([all.ok, all.failed, all.unfinished]);
    must(Identity::Groups, operations, grouped, operations == grouped);
    if let Some(chains) = &stats.chains {
        for (left, right) in of_chains(chains, stats.measured.hops, whole) {
            must(Identity::Hops, left, right, left == right);
        }
    }
    if whole {
        let (arrived, attempted) = (stats.traffic.body, sum([stats.measured.body_bytes, stats.outside.body_bytes]));
        must(Identity::Bytes, arrived, attempted, arrived == attempted);
        let (arrived, attempted) =
            (stats.traffic.overhead, sum([stats.measured.overhead_bytes, stats.outside.overhead_bytes]));
        must(Identity::Bytes, arrived, attempted, arrived == attempted);
        let (left, attempted) = (stats.traffic.sent_body, sum([stats.measured.sent_body, stats.outside.sent_body]));
        must(Identity::Uploaded, left, attempted, left == attempted);
        let (wasted, sent) = (stats.traffic.wasted_sent, summary.measured.traffic.sent_body);
        must(Identity::Goodput, wasted, sent, wasted <= sent);
        let (wasted, received) = (stats.traffic.wasted, summary.measured.traffic.body);
        must(Identity::Goodput, wasted, received, wasted <= received);
        let (gauge, residence) = (stats.in_flight_nanos, stats.overlap_nanos);
        let close = gauge.abs_diff(residence) as f64 <= LITTLES_LAW_SLACK * gauge.max(residence) as f64;
        must(Identity::LittlesLaw, gauge, residence, close || operations < OPERATIONS_MIN);
    }
    accounting
}

/// The sum of saved counts, which may be damaged: it stays at the largest number instead of overflowing.
#[must_use]
pub fn sum(counts: impl IntoIterator<Item = u64>) -> u64 {
    counts.into_iter().fold(0, u64::saturating_add)
}

/// What was counted of redirected operations as a whole, and request by request.
fn of_chains(chains: &Chains, hops: u64, whole: bool) -> impl Iterator<Item = (u64, u64)> {
    let nanos = chains.rows.iter().map(HopStats::nanos).fold(0, u128::saturating_add);
    let low = |nanos: u128| u64::try_from(nanos).unwrap_or(u64::MAX);
    let attempts = (chains.attempts, sum(chains.rows.iter().map(|row| row.attempts)));
    let times = (low(chains.response.moments().sum), low(nanos));
    let hops = (hops, sum(chains.rows.iter().map(|row| row.redirects)));
    [attempts, times].into_iter().chain(whole.then_some(hops))
}

fn equalities(tally: &Tally) -> [(Identity, u64, u64); 3] {
    [
        (Identity::Scheduled, tally.scheduled, sum([tally.started, tally.dropped])),
        (Identity::Started, tally.started, sum([tally.ok, tally.failed, tally.unfinished])),
        (Identity::Attempts, tally.attempts, sum([tally.started, tally.hops, tally.steps, tally.resends])),
    ]
}

impl Summary {
    /// Whether the books balance. `whole` tells whether the run came to its own end.
    #[must_use]
    pub fn verdict(&self, whole: bool) -> Verdict {
        let Accounting { violations, .. } = audit(self, whole);
        match (violations.is_empty(), whole) {
            (false, _) => Verdict::Invalid(violations),
            (true, true) => Verdict::Valid,
            (true, false) => Verdict::Partial,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::enumerated::Enumerated;
    use crate::labels::Label;
    use crate::outcome::AttemptClass;
    use crate::sample::OpKind;
    use crate::stats::{Dimension, Group, GroupStats};

    /// A balanced run of 100 operations, 10 of which failed.
    fn balanced() -> Summary {
        let mut summary = Summary::default();
        let tally = &mut summary.stats.measured;
        (tally.scheduled, tally.started, tally.dropped) = (105, 100, 5);
        (tally.ok, tally.failed, tally.unfinished) = (80, 10, 10);
        (tally.attempts, tally.hops, tally.resends) = (103, 2, 1);
        for _ in 0..103 {
            tally.classes.add(AttemptClass::Ok);
        }
        (tally.body_bytes, tally.overhead_bytes) = (5000, 700);
        (summary.stats.traffic.body, summary.stats.traffic.overhead) = (5000, 700);
        summary.measured.traffic.body = 5000;
        (summary.stats.in_flight_nanos, summary.stats.overlap_nanos) = (1_000_000, 1_000_500);
        let kind = summary.stats.kind_mut(OpKind::Get);
        (kind.ok, kind.failed, kind.unfinished) = (80, 10, 10);
        for _ in 0..80 {
            kind.response.record(1_000_000);
        }
        let stats = GroupStats { ok: 80, failed: 20, ..GroupStats::default() };
        summary.stats.groups.push(Group { dimension: Dimension::Host, label: Label::Value("a".into()), stats });
        let mut chains = Chains { ops: 2, ok: 1, attempts: 3, ..Chains::default() };
        chains.response.record(1_000);
        for (position, redirects) in [(0, 2), (1, 0)] {
            let attempts = 2 - u64::from(position);
            let mut row =
                HopStats { attempts, redirects, until_sent_nanos: 100, ..HopStats::new(position, Label::Other) };
            row.service.record(400);
            chains.rows.push(row);
        }
        summary.stats.chains = Some(Box::new(chains));
        summary.all = summary.stats.all_kinds();
        summary
    }

    #[test]
    fn balanced_books_are_valid_or_partial() {
        assert_eq!(balanced().verdict(true), Verdict::Valid);
        assert_eq!(audit(&balanced(), true), Accounting { checks: 19, violations: Vec::new() });
        assert_eq!(balanced().verdict(false), Verdict::Partial);
    }

    type Damage = fn(&mut Summary);

    #[test]
    fn every_identity_can_be_violated() {
        let breaks: [(Identity, Damage); 11] = [
            (Identity::Scheduled, |s| s.stats.measured.dropped += 1),
            (Identity::Started, |s| s.stats.measured.unfinished += 1),
            (Identity::Attempts, |s| s.stats.measured.hops += 1),
            (Identity::Classes, |s| s.stats.measured.classes.add(AttemptClass::Reset)),
            (Identity::Bytes, |s| s.stats.traffic.body += 1),
            (Identity::Uploaded, |s| s.stats.traffic.sent_body += 1),
            (Identity::Samples, |s| s.all.response.record(1)),
            (Identity::Groups, |s| s.stats.groups[0].stats.ok -= 1),
            (Identity::Hops, |s| s.stats.chains.as_mut().unwrap().rows[1].until_sent_nanos += 1),
            (Identity::Goodput, |s| s.stats.traffic.wasted = 5001),
            (Identity::LittlesLaw, |s| s.stats.in_flight_nanos += 2_000),
        ];
        assert_eq!(breaks.len(), Identity::ALL.len());
        for (identity, damage) in breaks {
            let mut summary = balanced();
            damage(&mut summary);
            let Verdict::Invalid(found) = summary.verdict(true) else { panic!("{identity} went unseen") };
            assert!(found.iter().any(|violation| violation.identity == identity), "{identity}: {found:?}");
        }
    }
}
