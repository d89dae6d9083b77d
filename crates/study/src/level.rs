//! A level of a search: how long it lasts, and its result.

use crate::decision::{Evidence, Hold, Offered, needed};
use measure::Objective;
use measure::load_line::Outcome;
use measure::objective::Judgement;
use measure::statistics::drift::Drift;
use std::time::Duration;

/// Operations of a schedule after which the drift of a backlog is decided, for all but levels within a percent or two of the
/// capacity of the target: with exponential service times, a level at 95 % of it needs 5,000, and one that exceeds it by 2 % 30,000.
const OPS_MOST: f64 = 60_000.0;
/// A level on a rate may always last so long: pauses of client and host do not become shorter as the rate grows.
const MOST_AT_LEAST: Duration = Duration::from_secs(30);

/// How long a level lasts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// At least this long, unless it fails before.
    pub least: Duration,
    /// At most this long: what is not decided then is not decided.
    pub most: Duration,
}

/// How long a level lasts that is to be held for `held`, and may take `limit`. At a low rate it takes long until enough
/// operations have ended for a percentile.
#[must_use]
pub fn times(objectives: &[Objective], rate: Option<f64>, held: Duration, limit: Duration) -> Times {
    let limit = limit.max(held);
    let Some(rate) = rate else { return Times { least: held, most: limit } };
    let of_ops = |ops: f64| Duration::try_from_secs_f64(ops / rate.max(f64::MIN_POSITIVE)).unwrap_or(limit).min(limit);
    let samples = objectives.iter().filter_map(needed).max().unwrap_or(0);
    let least = held.max(of_ops(samples as f64));
    Times { least, most: of_ops(OPS_MOST).max(MOST_AT_LEAST.min(limit)).max(least) }
}

impl Times {
    /// How a level of that length is decided.
    #[must_use]
    pub fn hold(self, offered: Option<Offered>, in_full: bool) -> Hold {
        Hold { least: self.least, may_end_early: !in_full, offered }
    }
}

/// Why the numbers of a level must not be used, in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unusable<'a> {
    /// Counters disagree.
    Wrong(&'a str),
    /// This client did not offer what it was to.
    Client(&'a str),
}

/// What a level has shown when its run is over.
#[derive(Clone, Debug)]
pub struct Shown<'a> {
    /// What was known when it ended.
    pub evidence: Evidence,
    /// All objectives, judged by the whole run.
    pub judged: &'a [(Objective, Judgement)],
    /// Why it was ended before its time; `None` when it was not, or was ended since it passes.
    pub ended: Option<&'a str>,
    /// A fault of the target that no objective allows, like wrong content.
    pub fault: Option<&'a str>,
    /// What of this client or its host set the limit.
    pub client: Option<&'a str>,
    /// Why its numbers must not be used whatever the target did.
    pub unusable: Option<Unusable<'a>>,
    /// Whether the client makes a backlog grow: most of the service time is time in which responses waited for it to read them, it did
    /// not run for most of the level, or its descriptors allow too few slots.
    pub holds_up: bool,
    /// Whether any operation ended.
    pub any_ended: bool,
}

/// The result of a level. This is the only place that decides it.
#[must_use]
pub fn outcome(shown: &Shown) -> Outcome {
    let missed = shown.judged.iter().find(|(_, judgement)| *judgement == Judgement::Missed);
    let open = shown.judged.iter().find(|(_, judgement)| *judgement == Judgement::NotEnoughData);
    let failed = |why: String| Outcome::Failed { why };
    if let Some(fault) = shown.fault {
        return failed(fault.to_owned());
    }
    if let Some(Unusable::Wrong(why)) = shown.unusable {
        return Outcome::NotDecided { why: why.to_owned() };
    }
    if shown.evidence.drift == Some(Drift::Growing) {
        let why = "the backlog grows".to_owned();
        let by_client = shown.evidence.client_behind || shown.holds_up;
        return if by_client { Outcome::ClientLimited { why } } else { failed(why) };
    }
    let by_client = shown.judged.iter().find(|(_, judgement)| *judgement == Judgement::ClientLimited);
    // While a level runs, operations are counted with what the client added to them. In the end it may have added all of it.
    let ended = shown.ended.filter(|_| missed.is_some() || by_client.is_none());
    let missed = ended.map(str::to_owned).or_else(|| missed.map(|(objective, _)| objective.to_string()));
    match (missed, shown.client) {
        (Some(missed), Some(client)) => {
            return Outcome::ClientLimited { why: format!("{missed}; limited by {client}") };
        }
        (Some(missed), None) => return failed(missed),
        (None, _) if !shown.any_ended => return failed("no operation ended".to_owned()),
        (None, _) => {}
    }
    if let Some(Unusable::Client(why)) = shown.unusable {
        return Outcome::ClientLimited { why: why.to_owned() };
    }
    if let Some((objective, _)) = by_client {
        return Outcome::ClientLimited { why: format!("{objective} depends on delays of this client") };
    }
    if let Some((objective, have, needed)) = shown.evidence.too_few {
        return Outcome::NotDecided { why: format!("{objective}: {have} of the {needed} operations it needs") };
    }
    if let Some((objective, _)) = open {
        return Outcome::NotDecided { why: objective.to_string() };
    }
    if shown.evidence.drift == Some(Drift::Undecided) {
        return Outcome::NotDecided { why: "whether the backlog grows".to_owned() };
    }
    Outcome::Passed
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEADY: Evidence =
        Evidence { drift: Some(Drift::Steady), client_behind: false, too_few: None, certain: false };

    fn result(evidence: Evidence, judgement: Judgement, client: Option<&str>) -> Outcome {
        let judged = [("response p99 <= 50ms".parse().unwrap(), judgement)];
        outcome(&shown(evidence, &judged, client))
    }

    fn shown<'a>(evidence: Evidence, judged: &'a [(Objective, Judgement)], client: Option<&'a str>) -> Shown<'a> {
        let (ended, fault, unusable) = (None, None, None);
        Shown { evidence, judged, ended, fault, client, unusable, holds_up: false, any_ended: true }
    }

    #[test]
    fn a_level_whose_numbers_must_not_be_used_does_not_pass() {
        let is_limited = |outcome: &Outcome| matches!(outcome, Outcome::ClientLimited { .. });
        let missed = Shown { unusable: Some(Unusable::Client("it missed 3 %")), ..shown(STEADY, &[], None) };
        assert!(is_limited(&outcome(&missed)));
        let wrong = Shown { unusable: Some(Unusable::Wrong("counters")), ..shown(STEADY, &[], None) };
        assert!(matches!(outcome(&wrong), Outcome::NotDecided { .. }));
        // What this client has not read looks like a backlog of the target.
        let growing = Evidence { drift: Some(Drift::Growing), ..STEADY };
        assert!(is_limited(&outcome(&Shown { holds_up: true, ..shown(growing, &[], None) })));
        assert!(!is_limited(&outcome(&shown(growing, &[], None))));
    }

    #[test]
    fn a_level_that_ended_early_for_what_the_client_added_has_not_failed() {
        let objective: Objective = "response p99 <= 50ms".parse().unwrap();
        let early = |judgement| {
            let judged = [(objective, judgement)];
            outcome(&Shown { ended: Some("response p99 <= 50ms"), ..shown(STEADY, &judged, None) })
        };
        assert!(matches!(early(Judgement::ClientLimited), Outcome::ClientLimited { .. }));
        assert!(matches!(early(Judgement::Missed), Outcome::Failed { .. }));
        // It may be met by a hair when what was in flight has ended.
        assert!(matches!(early(Judgement::Met), Outcome::Failed { .. }));
    }

    #[test]
    fn a_level_has_one_of_four_results() {
        let growing = Evidence { drift: Some(Drift::Growing), ..STEADY };
        let undecided = Evidence { drift: Some(Drift::Undecided), ..STEADY };
        let objective: Objective = "response p99 <= 50ms".parse().unwrap();
        let few = Evidence { too_few: Some((objective, 5, 299)), ..STEADY };
        assert_eq!(result(STEADY, Judgement::Met, None), Outcome::Passed);
        assert_eq!(result(STEADY, Judgement::Met, Some("client CPU")), Outcome::Passed, "it has passed all the same");
        let why = || "response p99 <= 50ms".to_owned();
        assert_eq!(result(STEADY, Judgement::Missed, None), Outcome::Failed { why: why() });
        assert!(matches!(result(STEADY, Judgement::Missed, Some("client CPU")), Outcome::ClientLimited { .. }));
        assert!(matches!(result(growing, Judgement::Met, Some("shared host")), Outcome::Failed { .. }));
        let behind = Evidence { client_behind: true, ..growing };
        assert!(matches!(result(behind, Judgement::Met, None), Outcome::ClientLimited { .. }));
        assert!(matches!(result(undecided, Judgement::Met, None), Outcome::NotDecided { .. }));
        let few = result(few, Judgement::Met, None);
        assert_eq!(few.why(), Some("response p99 <= 50ms: 5 of the 299 operations it needs"));
        assert_eq!(result(STEADY, Judgement::NotEnoughData, None), Outcome::NotDecided { why: why() });
        assert!(matches!(result(STEADY, Judgement::ClientLimited, None), Outcome::ClientLimited { .. }));
    }

    #[test]
    fn the_time_needed_grows_as_the_rate_falls() {
        let objectives = ["success >= 99%".parse().unwrap(), "response p99 <= 50ms".parse().unwrap()];
        let seconds = |rate| {
            let times = times(&objectives, rate, Duration::from_secs(5), Duration::from_secs(300));
            (times.least.as_secs_f64().round(), times.most.as_secs_f64().round())
        };
        assert_eq!(seconds(Some(5000.0)), (5.0, 30.0));
        assert_eq!(seconds(Some(800.0)), (5.0, 75.0));
        assert_eq!(seconds(Some(50.0)), (6.0, 300.0));
        assert_eq!(seconds(Some(5.0)), (60.0, 300.0));
        assert_eq!(seconds(None), (5.0, 300.0), "nobody knows how many operations a closed level has");
    }
}
