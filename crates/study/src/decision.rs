//! Whether a run has shown already what it was to show: a controller that looks at slices while they come.
//!
//! A level that fails is ended as soon as that is certain: its time is saved, and a target that is pushed too far is not pushed any
//! longer. A level on a rate goes on until its backlog is known to grow or to be steady, since a backlog grows slowly where the
//! rate is only a little too high.

use measure::objective::{Metric, Objective};
use measure::statistics::drift::{Backlog, Drift};
use measure::statistics::samples_needed;
use measure::statistics::sequential::{self, Sequential};
use measure::{Instant, Interval, Stage};
use std::collections::VecDeque;
use std::fmt;
use std::time::Duration;

/// How often a controller looks at a run.
pub const SLICE: Duration = sequential::SLICE;
/// In the closed model nobody knows how many operations are still to come: at most as many again as the pace so far gives, times
/// this.
const PACE_MAX: f64 = 2.0;
/// Time before a pace is known.
const PACE_AFTER: Duration = Duration::from_millis(500);
/// The share of a backlog that waits in this client, with slots to spare, from which on the client is what falls behind.
const CLIENT_SHARE: f64 = 0.5;
/// The share of the slots that are in use at most where there are some to spare.
const SLOTS_TAKEN: f64 = 0.9;

/// Operations from which on a share of successes is judged.
const SUCCESS_MIN: u64 = 10;

/// What a run has shown.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Decided {
    /// All that was to be shown: the objectives can be judged.
    Met,
    /// This was missed.
    Broken(Missed),
}

/// What was missed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Missed {
    /// An objective.
    Objective(Objective),
    /// The operations that ended did not keep up with those that were offered.
    Backlog,
}

impl fmt::Display for Missed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Objective(objective) => objective.fmt(f),
            Self::Backlog => f.write_str("the backlog grows"),
        }
    }
}

/// How long a level lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hold {
    /// As long as this, unless it fails before.
    pub least: Duration,
    /// It may pass after half of that, when all objectives are certain to be met.
    pub may_end_early: bool,
    /// The schedule, for a level on a rate.
    pub offered: Option<Offered>,
}

/// What a schedule offers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offered {
    /// Operations per second.
    pub rate: f64,
    /// Whether they come at equal intervals, so that their number is known.
    pub regular: bool,
    /// Operations in flight at most.
    pub in_flight_max: u64,
}

/// Objectives that are being decided.
#[derive(Clone, Debug)]
pub struct Decision {
    tests: Vec<Test>,
    hold: Option<Hold>,
    seen: Duration,
    outstanding: Outstanding,
    backlog: Backlog,
    /// Operations that wait in this client though it has slots to spare, at the end of the last slice.
    held_back: u64,
    waiting: u64,
}

/// An objective that is being decided.
#[derive(Clone, Debug)]
struct Test {
    objective: Objective,
    /// `None` for rates.
    sequential: Option<Sequential>,
    /// Operations beyond the bound, and all.
    beyond: u64,
    all: u64,
}

/// What is known of a level when its run is over, apart from its summary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Evidence {
    /// What its backlog did; `None` without a schedule.
    pub drift: Option<Drift>,
    /// Whether more than half of the backlog waited in this client, which had slots to spare.
    pub client_behind: bool,
    /// An objective for whose percentile too few operations ended: how many did, and how many are needed.
    pub too_few: Option<(Objective, u64, u64)>,
    /// Whether all objectives are met, or one is missed, at the confidence that was asked for.
    pub certain: bool,
}

impl Decision {
    /// Looks for an objective that is missed, with a probability of at most `alpha` for each to be wrong. Rates bound no
    /// operation: they are judged at the end of the window, and until then not known to be met.
    #[must_use]
    pub fn new(objectives: &[Objective], alpha: f64) -> Self {
        let test = |objective: &Objective| Test {
            objective: *objective,
            sequential: objective.tolerated().map(|tolerated| Sequential::new(tolerated, alpha)),
            beyond: 0,
            all: 0,
        };
        let tests: Vec<Test> = objectives.iter().map(test).collect();
        let longest = objectives.iter().filter_map(Objective::overdue_after).max();
        let outstanding = Outstanding { longest: longest.unwrap_or_default(), ..Outstanding::default() };
        let backlog = Backlog::default();
        Self { tests, hold: None, seen: Duration::ZERO, outstanding, backlog, held_back: 0, waiting: 0 }
    }

    /// Ends a level as well when it was held for its time, has the samples that its objectives need, and has a backlog that is
    /// known to be steady or to grow.
    #[must_use]
    pub fn holding(mut self, hold: Hold) -> Self {
        for test in &mut self.tests {
            test.sequential = test.sequential.take().map(|sequential| sequential.over(hold.least));
        }
        Self { hold: Some(hold), ..self }
    }

    /// Adds the next slice; what is decided with it.
    pub fn slice(&mut self, slice: &Interval) -> Option<Decided> {
        if slice.stage != Stage::Measured {
            return None;
        }
        self.seen += slice.end.since(slice.start);
        self.outstanding.add(slice);
        self.follow_backlog(slice);
        for test in &mut self.tests {
            let (beyond, all) = test.objective.beyond(&slice.stats);
            test.beyond = test.beyond.saturating_add(beyond);
            test.all = test.all.saturating_add(all);
            if let Some(sequential) = &mut test.sequential {
                sequential.add(beyond, all);
            }
        }
        if let Some(test) = self.tests.iter().find(|test| test.is_beyond() || self.is_lost(test)) {
            return Some(Decided::Broken(Missed::Objective(test.objective)));
        }
        if self.drift() == Some(Drift::Growing) || self.is_hanging() {
            return Some(Decided::Broken(Missed::Backlog));
        }
        self.is_met().then_some(Decided::Met)
    }

    /// What is known when the run is over.
    #[must_use]
    pub fn evidence(&self) -> Evidence {
        let drift = if self.is_hanging() { Some(Drift::Growing) } else { self.drift() };
        let missed = self.tests.iter().any(Test::is_beyond) || drift == Some(Drift::Growing);
        Evidence {
            drift,
            client_behind: self.held_back as f64 > CLIENT_SHARE * self.backlog.now(),
            too_few: self.tests.iter().find_map(Test::too_few),
            certain: missed || self.tests.iter().all(Test::is_within),
        }
    }

    fn follow_backlog(&mut self, slice: &Interval) {
        let Some(offered) = self.hold.and_then(|hold| hold.offered) else { return };
        let tally = &slice.stats.measured;
        self.backlog.add(tally.scheduled, tally.ok.saturating_add(tally.failed));
        self.waiting = self.waiting.saturating_add(tally.scheduled).saturating_sub(tally.started);
        let to_spare = (slice.in_flight as f64) < SLOTS_TAKEN * offered.in_flight_max as f64;
        self.held_back = if to_spare { self.waiting } else { 0 };
    }

    /// What the backlog does; `None` without a schedule.
    fn drift(&self) -> Option<Drift> {
        self.hold.and_then(|hold| hold.offered).map(|_| self.backlog.drift())
    }

    /// Whether nothing has ended in the time for which a level on a rate is held.
    fn is_hanging(&self) -> bool {
        let held = self.hold.filter(|hold| hold.offered.is_some()).is_some_and(|hold| self.seen >= hold.least);
        held && self.outstanding.ended == 0 && self.backlog.now() > 0.0
    }

    /// Whether more operations lie beyond the bound, or are overdue, than may of all that the level can have.
    fn is_lost(&self, test: &Test) -> bool {
        let (Some(hold), Some(tolerated)) = (self.hold, test.objective.tolerated()) else { return false };
        let least = hold.least.as_secs_f64();
        let most = match hold.offered {
            Some(offered) if offered.regular => offered.rate * least,
            // How many arrive is a matter of chance.
            Some(offered) => PACE_MAX * offered.rate * least,
            None if self.seen < PACE_AFTER => return false,
            None => PACE_MAX * test.all as f64 * least / self.seen.as_secs_f64(),
        };
        let overdue = match hold.offered {
            Some(_) => test.objective.overdue_after().map_or(0, |after| self.outstanding.overdue(after)),
            None => 0,
        };
        test.beyond.saturating_add(overdue) as f64 > tolerated * most.max(test.all as f64)
    }

    fn is_met(&self) -> bool {
        let Some(hold) = self.hold else { return false };
        let decided = matches!(self.drift(), None | Some(Drift::Steady));
        let enough = self.tests.iter().all(|test| test.too_few().is_none());
        let certain = hold.may_end_early && self.seen >= hold.least / 2 && self.tests.iter().all(Test::is_within);
        decided && enough && (certain || self.seen >= hold.least)
    }
}

impl Test {
    fn is_beyond(&self) -> bool {
        self.sequential.as_ref().and_then(Sequential::decision) == Some(sequential::Decision::Beyond)
    }

    fn is_within(&self) -> bool {
        self.sequential.as_ref().and_then(Sequential::decision) == Some(sequential::Decision::Within)
    }

    /// The operations that ended and those that are needed, where they are too few to judge the objective.
    fn too_few(&self) -> Option<(Objective, u64, u64)> {
        let needed = needed(&self.objective)?;
        (self.all < needed).then_some((self.objective, self.all, needed))
    }
}

/// Operations that an objective needs before it can be judged; `None` for rates. A percentile needs those of which the largest
/// lies beyond it with 95 % certainty.
#[must_use]
pub fn needed(objective: &Objective) -> Option<u64> {
    match objective.metric() {
        Metric::Time(_, q) => Some(samples_needed(q)),
        Metric::Speed(q) => Some(samples_needed(1.0 - q)),
        Metric::Success => Some(SUCCESS_MIN),
        Metric::Rate | Metric::Goodput => None,
    }
}

/// Operations that were scheduled and have not ended.
#[derive(Clone, Debug, Default)]
struct Outstanding {
    count: u64,
    ended: u64,
    /// What was scheduled in each of the last slices, with their ends.
    recent: VecDeque<(Instant, u64)>,
    /// How far back is asked at most.
    longest: Duration,
    now: Instant,
}

impl Outstanding {
    fn add(&mut self, slice: &Interval) {
        let tally = &slice.stats.measured;
        let ended = tally.completed().saturating_add(tally.dropped);
        self.count = self.count.saturating_add(tally.scheduled).saturating_sub(ended);
        self.ended = self.ended.saturating_add(ended);
        self.now = slice.end;
        self.recent.push_back((slice.end, tally.scheduled));
        while self.recent.front().is_some_and(|(end, _)| self.now.since(*end) >= self.longest) {
            self.recent.pop_front();
        }
    }

    /// Those that were scheduled so long ago, at least: all but as many as were scheduled since.
    fn overdue(&self, after: Duration) -> u64 {
        let since = self.recent.iter().rev().take_while(|(end, _)| self.now.since(*end) < after);
        self.count.saturating_sub(since.map(|(_, scheduled)| scheduled).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use measure::{OpKind, Stats};

    const OFFERED: Offered = Offered { rate: 200.0, regular: true, in_flight_max: 10_000 };

    /// A slice in which `slow` of 20 operations took 30 ms, and the others 5 ms.
    fn slice(number: u64, slow: u64) -> Interval {
        let at = |number: u64| Instant::from_nanos(number * 100_000_000);
        let mut slice = Interval::new(Stage::Measured, at(number), at(number + 1));
        let kind = slice.stats.kind_mut(OpKind::Get);
        (0..20).for_each(|op| kind.response.record(if op < slow { 30_000_000 } else { 5_000_000 }));
        slice.stats.measured.ok = 20;
        slice
    }

    /// A slice in which `scheduled` operations were offered and started, and `ended` ended in 5 ms.
    fn offered(number: u64, scheduled: u64, ended: u64) -> Interval {
        let mut slice = slice(number, 0);
        slice.stats = Stats::default();
        let tally = &mut slice.stats.measured;
        (tally.scheduled, tally.started, tally.ok) = (scheduled, scheduled, ended);
        (0..ended).for_each(|_| slice.stats.kind_mut(OpKind::Get).response.record(5_000_000));
        slice
    }

    fn objectives(texts: &[&str]) -> Vec<Objective> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    /// What is decided of a level of so many slices in the closed model, and after how many.
    fn decided(texts: &[&str], least: Option<u32>, slow: u64) -> Option<(Decided, u64)> {
        let mut decision = Decision::new(&objectives(texts), 0.05);
        if let Some(slices) = least {
            decision = decision.holding(Hold { least: SLICE * slices, may_end_early: true, offered: None });
        }
        (0..2000).find_map(|number| Some((decision.slice(&slice(number, slow))?, number + 1)))
    }

    #[test]
    fn a_missed_objective_ends_a_level_soon() {
        let (what, after) = decided(&["success >= 99%", "response p95 <= 20ms"], Some(50), 10).unwrap();
        assert_eq!(what, Decided::Broken(Missed::Objective("response p95 <= 20ms".parse().unwrap())));
        // Half are slow: 10 % of the time holds what may be slow in all of it, at this pace; at twice the pace, 20 %.
        assert!((6..=11).contains(&after), "{after}");
        let (_, after) = decided(&["response p95 <= 20ms"], None, 10).unwrap();
        assert!((120..=140).contains(&after), "without an end, slow operations fill three spells of 2 s: {after}");
        assert!(decided(&["response p50 <= 20ms"], None, 2).is_none(), "met ends nothing here");
    }

    #[test]
    fn a_level_is_held_for_its_time_or_half_of_it_when_certain() {
        let held = |texts: &[&str], least| decided(texts, Some(least), 0).unwrap();
        assert_eq!(held(&["success >= 90%", "response p90 <= 20ms"], 40), (Decided::Met, 40));
        assert_eq!(held(&["success >= 90%", "rate >= 1"], 40), (Decided::Met, 40));
        // 4 s of slowness take 40 s at a tolerated share of 10 %.
        assert_eq!(held(&["response p90 <= 20ms"], 1000), (Decided::Met, 500));
        let (met, after) = held(&["response p90 <= 20ms"], 600);
        assert!(met == Decided::Met && (400..=401).contains(&after), "{after}");
    }

    #[test]
    fn a_level_lasts_until_it_has_the_samples_that_its_objectives_need() {
        // 299 for p99, 2995 for p99.9; there are 20 in each slice.
        assert_eq!(decided(&["response p99 <= 20ms"], Some(5), 0), Some((Decided::Met, 15)));
        assert_eq!(decided(&["response p99.9 <= 20ms"], Some(5), 0), Some((Decided::Met, 150)));
        let mut decision = Decision::new(&objectives(&["response p99.9 <= 20ms"]), 0.05);
        decision.slice(&slice(0, 0));
        assert_eq!(decision.evidence().too_few.map(|(_, all, needed)| (all, needed)), Some((20, 2995)));
    }

    /// A level on a rate of 200/s, of which so many end in each slice. What is decided, after how many slices, and the evidence.
    fn on_a_rate(texts: &[&str], least: u32, ended: impl Fn(u64) -> u64) -> (Option<Decided>, u64, Evidence) {
        let hold = Hold { least: SLICE * least, may_end_early: true, offered: Some(OFFERED) };
        let mut decision = Decision::new(&objectives(texts), 0.05).holding(hold);
        for number in 0..400 {
            if let Some(decided) = decision.slice(&offered(number, 20, ended(number))) {
                return (Some(decided), number + 1, decision.evidence());
            }
        }
        (None, 400, decision.evidence())
    }

    /// Whatever the objective, a level whose operations do not keep up fails.
    #[test]
    fn a_growing_backlog_fails_a_level() {
        for texts in [&["success >= 99%"][..], &["response p99 <= 10s"], &["rate >= 10"], &["goodput >= 1B/s"]] {
            let (decided, after, evidence) = on_a_rate(texts, 50, |_| 10);
            assert_eq!(decided, Some(Decided::Broken(Missed::Backlog)), "{texts:?}");
            assert!(after <= 15 && evidence.drift == Some(Drift::Growing), "{texts:?}: {after}");
            assert!(!evidence.client_behind, "the client has started all");
        }
        let (decided, _, evidence) = on_a_rate(&["success >= 99%"], 50, |_| 20);
        assert_eq!((decided, evidence.drift), (Some(Decided::Met), Some(Drift::Steady)));
    }

    /// Ends come and go so widely that a drift could hide in them.
    #[test]
    fn a_level_lasts_until_its_drift_is_decided() {
        let (decided, after, evidence) = on_a_rate(&["success >= 99%"], 20, |number| 10 + 20 * ((number / 2) % 2));
        assert!(after > 20 && evidence.drift != Some(Drift::Growing), "{decided:?} after {after}, {evidence:?}");
    }

    #[test]
    fn a_backlog_in_this_client_is_its_own() {
        let hold = Hold { least: SLICE * 50, may_end_early: true, offered: Some(OFFERED) };
        let mut decision = Decision::new(&objectives(&["success >= 99%"]), 0.05).holding(hold);
        let decided = (0..50).find_map(|number| {
            let mut slice = offered(number, 20, 10);
            slice.stats.measured.started = 10;
            decision.slice(&slice)
        });
        assert_eq!(decided, Some(Decided::Broken(Missed::Backlog)));
        assert!(decision.evidence().client_behind);
    }

    /// 200 operations are scheduled in each slice, and from the fifth on none ends: soon more are overdue than may be slow of all.
    #[test]
    fn a_server_that_hangs_is_not_pushed_on() {
        let hangs = |seconds: u64| {
            let schedule = Offered { rate: 2000.0, ..OFFERED };
            let hold = Hold { least: Duration::from_secs(seconds), may_end_early: true, offered: Some(schedule) };
            let mut decision = Decision::new(&objectives(&["response p99 <= 200ms"]), 0.05).holding(hold);
            (0..50_u64)
                .find(|number| decision.slice(&offered(*number, 200, if *number < 5 { 200 } else { 0 })).is_some())
        };
        // 1 % of 10,000 is 100. Those of the slices 5, 6 and 7 have not ended at the end of 7; those of 5 are overdue.
        assert_eq!(hangs(5), Some(7));
        assert_eq!(hangs(15), Some(8));
    }

    #[test]
    fn the_warm_up_has_no_say() {
        let mut decision = Decision::new(&objectives(&["response max <= 1ms"]), 0.05);
        let warmup = Interval { stage: Stage::Warmup, ..slice(0, 20) };
        assert_eq!(decision.slice(&warmup), None);
        assert!(matches!(decision.slice(&slice(1, 20)), Some(Decided::Broken(_))));
    }
}
