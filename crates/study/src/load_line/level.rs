//! The duration and the outcome of a level in a search.

use crate::objective_monitor::{LevelEvidence, LevelRules, Missed, OfferedLoad, operations_needed};
use measure::Objective;
use measure::objective::ObjectiveOutcome;
use measure::result::load_line::{Lack, Outcome};
use measure::statistics::drift::Drift;
use std::time::Duration;

/// Maximum number of scheduled operations in a level. This number is enough to decide whether the backlog drifts,
/// unless the rate is within one or two percent of the target's capacity. For example, with exponential service times,
/// a level at 95 % of the capacity needs 5,000 operations, and a level at 102 % needs 30,000 operations.
const OPS_MAX: f64 = 60_000.0;
/// With exponential service times, it takes about this number divided by d² operations to decide whether the backlog
/// drifts. d is the distance between the rate and the capacity, as a share of the capacity.
const OPS_TIMES_SQUARED_DISTANCE: f64 = 12.0;
/// Lower bound for the maximum duration of a level with a fixed rate. Without this bound, levels with high rates would
/// be too short, because pauses of client and host do not become shorter at higher rates.
const MAX_AT_LEAST: Duration = Duration::from_secs(30);

/// Duration of a level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelDuration {
    /// Minimum duration, unless the level fails earlier.
    pub min: Duration,
    /// Maximum duration. A level without an outcome after this time counts as not decided.
    pub max: Duration,
}

/// Returns the duration of a level. The duration is normally `usual`. At a low rate, it is longer (up to `limit`),
/// because a percentile needs enough operations. `rate` is in operations per second, and `None` in the closed model.
#[must_use]
pub fn level_duration(objectives: &[Objective], rate: Option<f64>, usual: Duration, limit: Duration) -> LevelDuration {
    let limit = limit.max(usual);
    let Some(rate) = rate else { return LevelDuration { min: usual, max: limit } };
    let of_ops = |ops: f64| Duration::try_from_secs_f64(ops / rate.max(f64::MIN_POSITIVE)).unwrap_or(limit).min(limit);
    let samples = objectives.iter().filter_map(operations_needed).max().unwrap_or(0);
    let min = usual.max(of_ops(samples as f64));
    LevelDuration { min, max: of_ops(OPS_MAX).max(MAX_AT_LEAST.min(limit)).max(min) }
}

impl LevelDuration {
    /// Estimates the duration of a level with a fixed rate, if the service times vary exponentially. `distance` is the
    /// distance between the rate and the capacity of the target, as a share of the capacity.
    #[must_use]
    pub fn estimated(self, rate: f64, distance: f64) -> Duration {
        let seconds = OPS_TIMES_SQUARED_DISTANCE / (distance * distance * rate);
        Duration::try_from_secs_f64(seconds).unwrap_or(self.max).clamp(self.min, self.max)
    }

    /// Returns the rules for a level of this duration. If `in_full` is `true`, the level may not pass early.
    #[must_use]
    pub fn rules(self, offered: Option<OfferedLoad>, in_full: bool) -> LevelRules {
        LevelRules { min_duration: self.min, may_pass_early: !in_full, offered }
    }
}

/// Reason, as text, why the numbers of a level must not be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable<'a> {
    /// The counters of the run contradict each other.
    CountersDisagree(&'a str),
    /// This client did not offer the requested load.
    Client(&'a str),
}

/// A level whose run has ended.
#[derive(Clone, Debug)]
pub struct FinishedLevel<'a> {
    /// Results of the monitor at the end of the level.
    pub evidence: LevelEvidence,
    /// All objectives, with their outcomes for the whole run.
    pub objectives: &'a [(Objective, ObjectiveOutcome)],
    /// Missed objective that stopped the run early, if any.
    pub stopped_for: Option<&'a str>,
    /// A fault of the target, such as wrong content, that fails the level whatever its objectives are.
    pub target_fault: Option<&'a str>,
    /// Description of the limit if this client or its host limited the run.
    pub client_limit: Option<&'a str>,
    /// Reason why the numbers of the level must not be used, independent of the objectives.
    pub unusable: Option<Unusable<'a>>,
    /// `true` if the client itself makes a backlog grow. This is the case if responses wait unread for most of the
    /// service time, if the client does not run for most of the level, or if the limit on its file descriptors allows
    /// too few operations in flight.
    pub client_delays: bool,
    /// `true` if any operation ended.
    pub any_ended: bool,
}

/// Returns the outcome of a level. Only this function decides outcomes.
#[must_use]
pub fn outcome(level: &FinishedLevel) -> Outcome {
    let missed = level.objectives.iter().find(|(_, outcome)| *outcome == ObjectiveOutcome::Missed);
    let open = level.objectives.iter().find(|(_, outcome)| *outcome == ObjectiveOutcome::NotEnoughData);
    let failed = |why: String| Outcome::Failed { why };
    let undecided = |lack: Lack, why: String| Outcome::NotDecided { lack, why };
    if let Some(fault) = level.target_fault {
        return failed(fault.to_owned());
    }
    if let Some(Unusable::CountersDisagree(why)) = level.unusable {
        return undecided(Lack::Other, why.to_owned());
    }
    if level.evidence.drift == Some(Drift::Growing) {
        let why = Missed::Backlog.to_string();
        let by_client = level.evidence.client_behind || level.client_delays;
        return if by_client { Outcome::ClientLimited { why } } else { failed(why) };
    }
    let by_client = level.objectives.iter().find(|(_, outcome)| *outcome == ObjectiveOutcome::ClientLimited);
    // While a level runs, its times include delays by the client. At the end, the results of the whole run may show
    // that times exceeded the bound only because of these delays. The reason for the early stop then does not count.
    let stopped_for = level.stopped_for.filter(|_| missed.is_some() || by_client.is_none());
    let missed = stopped_for.map(str::to_owned).or_else(|| missed.map(|(objective, _)| objective.to_string()));
    match (missed, level.client_limit) {
        (Some(missed), Some(client)) => {
            return Outcome::ClientLimited { why: format!("{missed}; limited by {client}") };
        }
        (Some(missed), None) => return failed(missed),
        (None, _) if !level.any_ended => return failed("no operation ended".to_owned()),
        (None, _) => {}
    }
    if let Some(Unusable::Client(why)) = level.unusable {
        return Outcome::ClientLimited { why: why.to_owned() };
    }
    if let Some((objective, _)) = by_client {
        return Outcome::ClientLimited { why: format!("{objective} depends on delays of this client") };
    }
    if let Some((objective, have, needed)) = level.evidence.too_few {
        return undecided(Lack::Operations, format!("only {have} of the {needed} operations that {objective} needs"));
    }
    if let Some((objective, _)) = open {
        return undecided(Lack::Operations, objective.to_string());
    }
    if level.evidence.drift == Some(Drift::Undecided) {
        return undecided(Lack::Other, "the backlog may grow".to_owned());
    }
    Outcome::Passed
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: LevelEvidence =
        LevelEvidence { drift: Some(Drift::Steady), client_behind: false, too_few: None, certain: false };

    /// With exponential service times, a level at 95 % of the capacity needs about 5,000 operations, and a level at
    /// 98 % needs about 30,000. A level lasts neither less than its minimum nor longer than its maximum.
    #[test]
    fn levels_near_the_capacity_and_levels_with_low_rates_take_longer() {
        let level = level_duration(&[], Some(500.0), Duration::from_secs(5), Duration::from_secs(300));
        let seconds = |rate, distance| level.estimated(rate, distance).as_secs_f64();
        assert!((9.0..11.0).contains(&seconds(500.0, 0.05)), "{}", seconds(500.0, 0.05));
        assert!((55.0..65.0).contains(&seconds(500.0, 0.02)), "{}", seconds(500.0, 0.02));
        assert!((90.0..110.0).contains(&seconds(50.0, 0.05)), "{}", seconds(50.0, 0.05));
        assert_eq!(level.estimated(500.0, 0.5), level.min);
        assert_eq!(level.estimated(500.0, 0.0), level.max);
    }

    fn result(evidence: LevelEvidence, of_objective: ObjectiveOutcome, client: Option<&str>) -> Outcome {
        let objectives = [("response p99 <= 50ms".parse().unwrap(), of_objective)];
        outcome(&finished(evidence, &objectives, client))
    }

    fn finished<'a>(
        evidence: LevelEvidence,
        objectives: &'a [(Objective, ObjectiveOutcome)],
        client_limit: Option<&'a str>,
    ) -> FinishedLevel<'a> {
        FinishedLevel {
            evidence,
            objectives,
            stopped_for: None,
            target_fault: None,
            client_limit,
            unusable: None,
            client_delays: false,
            any_ended: true,
        }
    }

    #[test]
    fn an_unusable_level_does_not_pass() {
        let is_limited = |outcome: &Outcome| matches!(outcome, Outcome::ClientLimited { .. });
        let missed = FinishedLevel { unusable: Some(Unusable::Client("it missed 3 %")), ..finished(STEADY, &[], None) };
        assert!(is_limited(&outcome(&missed)));
        let wrong =
            FinishedLevel { unusable: Some(Unusable::CountersDisagree("counters")), ..finished(STEADY, &[], None) };
        assert!(matches!(outcome(&wrong), Outcome::NotDecided { .. }));
        // Responses that this client has not read yet look like a backlog of the target.
        let growing = LevelEvidence { drift: Some(Drift::Growing), ..STEADY };
        assert!(is_limited(&outcome(&FinishedLevel { client_delays: true, ..finished(growing, &[], None) })));
        assert!(!is_limited(&outcome(&finished(growing, &[], None))));
    }

    #[test]
    fn a_level_that_stopped_early_because_of_client_delays_has_not_failed() {
        let objective: Objective = "response p99 <= 50ms".parse().unwrap();
        let early = |of_objective| {
            let objectives = [(objective, of_objective)];
            outcome(&FinishedLevel { stopped_for: Some("response p99 <= 50ms"), ..finished(STEADY, &objectives, None) })
        };
        assert!(matches!(early(ObjectiveOutcome::ClientLimited), Outcome::ClientLimited { .. }));
        assert!(matches!(early(ObjectiveOutcome::Missed), Outcome::Failed { .. }));
        // When a level is stopped early, its last operations may change a narrow miss into a narrow pass.
        assert!(matches!(early(ObjectiveOutcome::Met), Outcome::Failed { .. }));
    }

    #[test]
    fn a_level_has_one_of_four_outcomes() {
        let growing = LevelEvidence { drift: Some(Drift::Growing), ..STEADY };
        let undecided = LevelEvidence { drift: Some(Drift::Undecided), ..STEADY };
        let objective: Objective = "response p99 <= 50ms".parse().unwrap();
        let few = LevelEvidence { too_few: Some((objective, 5, 299)), ..STEADY };
        assert_eq!(result(STEADY, ObjectiveOutcome::Met, None), Outcome::Passed);
        assert_eq!(
            result(STEADY, ObjectiveOutcome::Met, Some("client CPU")),
            Outcome::Passed,
            "a limit of the client does not matter if the level passes"
        );
        let why = || "response p99 <= 50ms".to_owned();
        assert_eq!(result(STEADY, ObjectiveOutcome::Missed, None), Outcome::Failed { why: why() });
        assert!(matches!(result(STEADY, ObjectiveOutcome::Missed, Some("client CPU")), Outcome::ClientLimited { .. }));
        assert!(matches!(result(growing, ObjectiveOutcome::Met, Some("shared host")), Outcome::Failed { .. }));
        let behind = LevelEvidence { client_behind: true, ..growing };
        assert!(matches!(result(behind, ObjectiveOutcome::Met, None), Outcome::ClientLimited { .. }));
        assert!(matches!(result(undecided, ObjectiveOutcome::Met, None), Outcome::NotDecided { .. }));
        let few = result(few, ObjectiveOutcome::Met, None);
        assert_eq!(few.why(), Some("only 5 of the 299 operations that response p99 <= 50ms needs"));
        assert_eq!(
            result(STEADY, ObjectiveOutcome::NotEnoughData, None),
            Outcome::NotDecided { lack: Lack::Operations, why: why() }
        );
        assert!(matches!(result(STEADY, ObjectiveOutcome::ClientLimited, None), Outcome::ClientLimited { .. }));
    }

    #[test]
    fn the_duration_grows_as_the_rate_falls() {
        let objectives = ["success >= 99%".parse().unwrap(), "response p99 <= 50ms".parse().unwrap()];
        let seconds = |rate| {
            let duration = level_duration(&objectives, rate, Duration::from_secs(5), Duration::from_secs(300));
            (duration.min.as_secs_f64().round(), duration.max.as_secs_f64().round())
        };
        assert_eq!(seconds(Some(5000.0)), (5.0, 30.0));
        assert_eq!(seconds(Some(800.0)), (5.0, 75.0));
        assert_eq!(seconds(Some(50.0)), (6.0, 300.0));
        assert_eq!(seconds(Some(5.0)), (60.0, 300.0));
        assert_eq!(seconds(None), (5.0, 300.0), "the number of operations in a closed level is not known in advance");
    }
}
