//! Accounting, which checks the identities that the counters of a run must satisfy.
//!
//! Each identity compares two numbers that were counted independently. Examples are:
//!
//! * operations that the run loop started, and operations whose end the recorder counted,
//! * bytes counted on arrival, and bytes counted by attempt,
//! * the integral of the number of operations in flight, and the sum of their times in flight.
//!
//! A violation means that a number of the run is wrong, so the run is UNUSABLE.

use crate::enumerated;
use crate::stats::redirect_chains::{HopStats, RedirectChains};
use crate::stats::{Dimension, Tally};
use crate::summary::Summary;
use crate::values::sum;
use serde::{Deserialize, Serialize};

enumerated! {
    /// An identity between counters.
    pub enum Identity {
        Scheduled => "scheduled", "scheduled = started + dropped";
        Started => "started", "started = ok + failed + unfinished";
        Attempts => "attempts", "attempts = started + redirect hops + further requests + resends + retries";
        Classes => "classes", "attempts = Σ attempts by class";
        Bytes => "bytes", "bytes by arrival = bytes by attempt";
        Uploaded => "uploaded", "request body bytes by sending = request body bytes by attempt";
        Samples => "samples", "operations that succeeded = response times recorded";
        Groups => "groups", "operations = Σ operations by host";
        Hops => "hops", "response time of redirected operations = Σ times of their requests; the same for attempts and hops";
        Goodput => "goodput", "wasted bytes ≤ bytes received in the window";
        LittlesLaw => "littles_law", "∫ in-flight dt = Σ time in flight, within 0.1 %";
    }
}

/// An identity that is not satisfied, with its two sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Violation {
    /// The identity.
    pub identity: Identity,
    /// Value of the left side.
    pub left: u64,
    /// Value of the right side.
    pub right: u64,
}

/// Result of the comparison of independent counters.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Accounting {
    /// Number of comparisons made.
    pub checks: u32,
    /// Comparisons that failed.
    pub violations: Vec<Violation>,
}

impl Accounting {
    fn check(&mut self, identity: Identity, left: u64, right: u64, holds: bool) {
        self.checks += 1;
        if !holds {
            self.violations.push(Violation { identity, left, right });
        }
    }

    fn check_equal(&mut self, identity: Identity, left: u64, right: u64) {
        self.check(identity, left, right, left == right);
    }
}

/// Minimum number of operations for a check of Little's law.
const OPERATIONS_MIN: u64 = 20;
/// Maximum relative difference in the check of Little's law. Reading the clock at the edges of the measured window
/// causes small differences.
const LITTLES_LAW_SLACK: f64 = 1e-3;

/// Checks all identities. `whole` means that the run reached its regular end. A run that was cut off has operations
/// without an end in its records, so only identities among finished operations are checked.
#[must_use]
pub fn audit(summary: &Summary, whole: bool) -> Accounting {
    let mut accounting = Accounting::default();
    let stats = &summary.stats;
    for tally in [&stats.measured, &stats.outside] {
        accounting.check_equal(Identity::Classes, tally.attempts, tally.classes.total());
        if whole {
            for (identity, left, right) in operation_identities(tally) {
                accounting.check_equal(identity, left, right);
            }
        }
    }
    let all = &summary.all;
    let (good, times) = (stats.measured.ok, all.response.count());
    accounting.check(Identity::Samples, good, times, good == times && good == all.ok);
    let hosts = stats.groups.iter().filter(|group| group.dimension == Dimension::Host);
    let grouped = sum(hosts.flat_map(|group| [group.stats.ok, group.stats.failed]));
    let operations = sum([all.ok, all.failed, all.unfinished]);
    accounting.check_equal(Identity::Groups, operations, grouped);
    if let Some(chains) = &stats.redirect_chains {
        for (left, right) in redirect_identities(chains, stats.measured.hops, whole) {
            accounting.check_equal(Identity::Hops, left, right);
        }
    }
    if whole {
        check_traffic(&mut accounting, summary);
        let (gauge, residence) = (stats.in_flight_nanos, stats.residence_nanos);
        let close = gauge.abs_diff(residence) as f64 <= LITTLES_LAW_SLACK * gauge.max(residence) as f64;
        accounting.check(Identity::LittlesLaw, gauge, residence, close || operations < OPERATIONS_MIN);
    }
    accounting
}

fn operation_identities(tally: &Tally) -> [(Identity, u64, u64); 3] {
    [
        (Identity::Scheduled, tally.scheduled, sum([tally.started, tally.dropped])),
        (Identity::Started, tally.started, sum([tally.ok, tally.failed, tally.unfinished])),
        (
            Identity::Attempts,
            tally.attempts,
            sum([tally.started, tally.hops, tally.steps, tally.resends, tally.retries]),
        ),
    ]
}

/// Returns pairs of numbers that must be equal. In each pair, the first number is a count or a time of redirected
/// operations as a whole. The second number is the sum of the same quantity over the single requests of these
/// operations.
fn redirect_identities(chains: &RedirectChains, hops: u64, whole: bool) -> impl Iterator<Item = (u64, u64)> {
    let nanos = chains.rows.iter().map(HopStats::nanos).fold(0, u128::saturating_add);
    let low = |nanos: u128| u64::try_from(nanos).unwrap_or(u64::MAX);
    let attempts = (chains.attempts, sum(chains.rows.iter().map(|row| row.attempts)));
    let times = (low(chains.response.moments().sum), low(nanos));
    let hops = (hops, sum(chains.rows.iter().map(|row| row.redirects)));
    [attempts, times].into_iter().chain(whole.then_some(hops))
}

/// Compares bytes counted on arrival with bytes counted by attempt.
fn check_traffic(accounting: &mut Accounting, summary: &Summary) {
    let (traffic, measured, outside) = (&summary.stats.traffic, &summary.stats.measured, &summary.stats.outside);
    accounting.check_equal(Identity::Bytes, traffic.body, sum([measured.body_bytes, outside.body_bytes]));
    accounting.check_equal(Identity::Bytes, traffic.overhead, sum([measured.overhead_bytes, outside.overhead_bytes]));
    accounting.check_equal(Identity::Uploaded, traffic.sent_body, sum([measured.sent_body, outside.sent_body]));
    let window = &summary.measured.traffic;
    for (wasted, moved) in [(traffic.wasted_sent, window.sent_body), (traffic.wasted, window.body)] {
        accounting.check(Identity::Goodput, wasted, moved, wasted <= moved);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::OpKind;
    use crate::sample::outcome::AttemptClass;
    use crate::stats::label::Label;
    use crate::stats::{Group, GroupStats};
    use crate::values::Enumerated;

    /// Returns a run whose counters agree. The run has 100 operations, and 10 of them failed.
    fn consistent() -> Summary {
        let mut summary = Summary::default();
        let tally = &mut summary.stats.measured;
        (tally.scheduled, tally.started, tally.dropped) = (105, 100, 5);
        (tally.ok, tally.failed, tally.unfinished) = (80, 10, 10);
        (tally.attempts, tally.hops, tally.resends, tally.retries) = (107, 2, 1, 4);
        for _ in 0..107 {
            tally.classes.add(AttemptClass::Ok);
        }
        (tally.body_bytes, tally.overhead_bytes) = (5000, 700);
        (summary.stats.traffic.body, summary.stats.traffic.overhead) = (5000, 700);
        summary.measured.traffic.body = 5000;
        (summary.stats.in_flight_nanos, summary.stats.residence_nanos) = (1_000_000, 1_000_500);
        let kind = summary.stats.kind_mut(OpKind::Get);
        (kind.ok, kind.failed, kind.unfinished) = (80, 10, 10);
        for _ in 0..80 {
            kind.response.record(1_000_000);
        }
        let stats = GroupStats { ok: 80, failed: 20, ..GroupStats::default() };
        summary.stats.groups.push(Group { dimension: Dimension::Host, label: Label::Value("a".into()), stats });
        let mut chains = RedirectChains { ops: 2, ok: 1, attempts: 3, ..RedirectChains::default() };
        chains.response.record(1_000);
        for (position, redirects) in [(0, 2), (1, 0)] {
            let attempts = 2 - u64::from(position);
            let mut row =
                HopStats { attempts, redirects, until_sent_nanos: 100, ..HopStats::new(position, Label::Other) };
            row.service.record(400);
            chains.rows.push(row);
        }
        summary.stats.redirect_chains = Some(Box::new(chains));
        summary.all = summary.stats.all_kinds();
        summary
    }

    #[test]
    fn consistent_counters_have_no_violations() {
        assert_eq!(audit(&consistent(), true), Accounting { checks: 19, violations: Vec::new() });
        assert_eq!(audit(&consistent(), false).violations, []);
    }

    type Damage = fn(&mut Summary);

    #[test]
    fn every_identity_can_be_violated() {
        let breaks: [(Identity, Damage); 11] = [
            (Identity::Scheduled, |s| s.stats.measured.dropped += 1),
            (Identity::Started, |s| s.stats.measured.unfinished += 1),
            (Identity::Attempts, |s| s.stats.measured.retries += 1),
            (Identity::Classes, |s| s.stats.measured.classes.add(AttemptClass::Reset)),
            (Identity::Bytes, |s| s.stats.traffic.body += 1),
            (Identity::Uploaded, |s| s.stats.traffic.sent_body += 1),
            (Identity::Samples, |s| s.all.response.record(1)),
            (Identity::Groups, |s| s.stats.groups[0].stats.ok -= 1),
            (Identity::Hops, |s| s.stats.redirect_chains.as_mut().unwrap().rows[1].until_sent_nanos += 1),
            (Identity::Goodput, |s| s.stats.traffic.wasted = 5001),
            (Identity::LittlesLaw, |s| s.stats.in_flight_nanos += 2_000),
        ];
        assert_eq!(breaks.len(), Identity::ALL.len());
        for (identity, damage) in breaks {
            let mut summary = consistent();
            damage(&mut summary);
            let found = audit(&summary, true).violations;
            assert!(found.iter().any(|violation| violation.identity == identity), "{identity}: {found:?}");
        }
    }
}
