//! A fill that several hosts make together, as JSON: the sums over all agents, and what each agent reported.

use super::document::{FORMAT, JsonFill, JsonFillFailure, JsonVerified, json_costs};
use crate::fill::{Costs, end_text, is_about_the_target};
use crate::number::plural;
use measure::statistics::samples_needed;
use measure::{Distribution, ResultWord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use store::journal::{SessionEnd, Totals};

/// Maximum number of reasons for a result. Further reasons are only counted.
const REASONS_MAX: usize = 5;

/// The agents of a fill of several hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonFillFleet {
    /// Reason for the end of the command on all agents, as text.
    pub end: String,
    /// Times of the uploads of all agents; null if no agent has reported them. They are computed from the merged
    /// histograms of the agents.
    pub upload_times: Option<JsonUploadTimes>,
    /// The agents, in order of their numbers.
    pub agents: Vec<JsonFillAgent>,
}

/// Times of uploads that succeeded, from the start to the confirmation, with all retries. Without enough uploads, a
/// percentile is null.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct JsonUploadTimes {
    /// Number of uploads.
    pub uploads: u64,
    /// Median.
    pub p50_nanos: Option<u64>,
    /// 90th percentile.
    pub p90_nanos: Option<u64>,
    /// 99th percentile.
    pub p99_nanos: Option<u64>,
    /// Longest time.
    pub max_nanos: Option<u64>,
}

/// One agent of a fill of several hosts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JsonFillAgent {
    /// The host as the user named it, or the name of the agent on the bus.
    pub name: String,
    /// Number of the agent's share of the dataset, from 1.
    pub share: u32,
    /// Reason for the loss of the agent; null without a loss.
    pub lost: Option<String>,
    /// Times of the uploads of this agent; null if it has not reported them.
    pub upload_times: Option<JsonUploadTimes>,
    /// The fill of the agent's share, as the agent last reported it; null if it has reported nothing.
    pub fill: Option<Box<JsonFill>>,
}

/// The state of a fill of several hosts.
#[derive(Clone, Debug)]
pub struct FleetFill {
    /// Number of objects of all shares.
    pub objects: u64,
    /// Bytes of these objects.
    pub object_bytes: u64,
    /// The agents, in order of their numbers.
    pub agents: Vec<AgentOfFill>,
    /// Reason for the end of the command. `None` while it runs.
    pub end: Option<SessionEnd>,
    /// Number of agents that may be lost without making the result PARTIAL.
    pub tolerate_lost: usize,
}

/// The state of an agent of a fill.
#[derive(Clone, Debug)]
pub struct AgentOfFill {
    /// The host as the user named it, or the name of the agent on the bus.
    pub name: String,
    /// Number of the agent's share, from 1.
    pub share: u32,
    /// Reason for the loss of the agent.
    pub lost: Option<String>,
    /// The last report of the agent.
    pub fill: Option<JsonFill>,
    /// Times of the agent's uploads, if it has reported them.
    pub uploads: Option<Distribution>,
}

impl JsonUploadTimes {
    fn of(times: &Distribution) -> Self {
        let percentile = |q: f64| times.quantile(q).filter(|_| times.count() >= samples_needed(q));
        Self {
            uploads: times.count(),
            p50_nanos: percentile(0.5),
            p90_nanos: percentile(0.9),
            p99_nanos: percentile(0.99),
            max_nanos: times.max(),
        }
    }
}

impl FleetFill {
    /// Returns the sums of uploads over all agents, as far as they have reported.
    #[must_use]
    pub fn totals(&self) -> Totals {
        let mut sum = Totals::default();
        self.agents.iter().filter_map(|agent| agent.fill.as_ref()).for_each(|fill| sum.add(&totals(fill)));
        sum
    }

    /// Returns the longest time for which the sessions of an agent ran, in seconds.
    #[must_use]
    pub fn active_seconds(&self) -> f64 {
        let fills = self.agents.iter().filter_map(|agent| agent.fill.as_ref());
        fills.map(|fill| fill.active_seconds).fold(0.0, f64::max)
    }

    /// Returns the result and its reasons. A failure of one agent fails the fill. An agent is never replaced, so a lost
    /// agent makes the result PARTIAL unless this was tolerated.
    fn result(&self) -> (ResultWord, Vec<String>) {
        let of = |word: ResultWord, agent: &AgentOfFill| -> Vec<String> {
            let fill = agent.fill.as_ref().filter(|fill| fill.result == word);
            let reasons = fill.map_or(&[][..], |fill| &fill.reasons);
            reasons.iter().map(|reason| format!("{}: {reason}", agent.name)).collect()
        };
        let mut failures: Vec<String> = self.agents.iter().flat_map(|agent| of(ResultWord::Fail, agent)).collect();
        if let Some(end @ SessionEnd::StopRule { text }) = &self.end
            && is_about_the_target(end)
        {
            failures.push(format!("the fill was stopped, because `{text}`"));
        }
        if !failures.is_empty() {
            return (ResultWord::Fail, shortened(failures));
        }
        let mut reasons = Vec::new();
        let lost: Vec<&str> =
            self.agents.iter().filter(|agent| agent.lost.is_some()).map(|agent| agent.name.as_str()).collect();
        if lost.len() > self.tolerate_lost || lost.len() == self.agents.len() {
            let names = lost.iter().take(REASONS_MAX).copied().collect::<Vec<_>>().join(", ");
            let (number, all) = (lost.len(), self.agents.len());
            reasons.push(format!("lost {number} of {all} agents after the start ({names})"));
        }
        match &self.end {
            None => reasons.push("the command still runs, or was killed".to_owned()),
            Some(SessionEnd::Interrupted) => reasons.push("the fill was interrupted".to_owned()),
            // The coordinator has ended the sessions of the agents, which are `interrupted` there.
            Some(SessionEnd::StopRule { .. }) => {}
            Some(_) => {
                let agents = self.agents.iter().filter(|agent| agent.lost.is_none());
                reasons.extend(agents.clone().flat_map(|agent| of(ResultWord::Partial, agent)));
                let silent = agents.filter(|agent| agent.fill.is_none());
                reasons.extend(silent.map(|agent| format!("{}: it has reported nothing", agent.name)));
            }
        }
        let word = if reasons.is_empty() { ResultWord::Pass } else { ResultWord::Partial };
        (word, shortened(reasons))
    }
}

fn shortened(mut reasons: Vec<String>) -> Vec<String> {
    let more = reasons.len().saturating_sub(REASONS_MAX);
    reasons.truncate(REASONS_MAX);
    if more > 0 {
        reasons.push(format!("and {}", plural(more as u64, "further reason")));
    }
    reasons
}

/// Returns the sums of uploads of a fill.
pub(crate) fn totals(fill: &JsonFill) -> Totals {
    Totals {
        objects: fill.stored,
        file_bytes: fill.stored_bytes,
        found_on_resume: fill.found_on_resume,
        found_bytes: 0,
        attempts: fill.attempts,
        sent_bytes: fill.sent_bytes,
        failed_uploads: fill.failures.iter().map(|failure| failure.uploads).fold(0, u64::saturating_add),
    }
}

/// Returns a fill of several hosts as JSON. Counts and bytes are sums. Times are those of the agent with the longest
/// time. Percentiles come from the merged histograms.
#[must_use]
pub fn json_fleet_fill(fleet: &FleetFill, prices: &Costs) -> JsonFill {
    let mut sum = empty();
    let (mut uploads, mut stored_within) = (Distribution::default(), 0.0_f64);
    for agent in &fleet.agents {
        agent.uploads.iter().for_each(|times| uploads.merge(times));
        if let Some(fill) = &agent.fill {
            let within = fill.wall_bytes_per_second.filter(|rate| *rate > 0.0);
            stored_within = stored_within.max(within.map_or(0.0, |rate| fill.stored_bytes as f64 / rate));
            add(&mut sum, fill);
        }
    }
    let rate = |seconds: f64| (seconds > 0.0).then(|| sum.stored_bytes as f64 / seconds);
    let agent = |agent: &AgentOfFill| JsonFillAgent {
        name: agent.name.clone(),
        share: agent.share,
        lost: agent.lost.clone(),
        upload_times: agent.uploads.as_ref().map(JsonUploadTimes::of),
        fill: agent.fill.clone().map(Box::new),
    };
    let json = JsonFillFleet {
        end: end_text(fleet.end.as_ref()),
        upload_times: (!uploads.is_empty()).then(|| JsonUploadTimes::of(&uploads)),
        agents: fleet.agents.iter().map(agent).collect(),
    };
    let (result, reasons) = fleet.result();
    JsonFill {
        result,
        reasons,
        objects: fleet.objects,
        object_bytes: fleet.object_bytes,
        uploading_bytes_per_second: rate(sum.uploading_seconds),
        wall_bytes_per_second: rate(stored_within),
        costs: json_costs(&totals(&sum), prices),
        fleet: Some(Box::new(json)),
        ..sum
    }
}

/// Returns the same fill with its costs by these price sheets.
#[must_use]
pub fn fleet_fill_with_costs(fill: JsonFill, prices: &Costs) -> JsonFill {
    JsonFill { costs: json_costs(&totals(&fill), prices), ..fill }
}

/// Returns a fill in which nothing has happened.
fn empty() -> JsonFill {
    JsonFill {
        format: FORMAT,
        result: ResultWord::Partial,
        reasons: Vec::new(),
        target: String::new(),
        objects: 0,
        object_bytes: 0,
        stored: 0,
        stored_bytes: 0,
        found_on_resume: 0,
        attempts: 0,
        sent_bytes: 0,
        sent_again_bytes: 0,
        failed: 0,
        failures: Vec::new(),
        verified: None,
        deleted: 0,
        not_deleted: 0,
        active_seconds: 0.0,
        uploading_seconds: 0.0,
        wall_seconds: 0.0,
        uploading_bytes_per_second: None,
        wall_bytes_per_second: None,
        costs: Vec::new(),
        ledger: None,
        sessions: Vec::new(),
        events: Vec::new(),
        fleet: None,
    }
}

/// Adds the fill of another share to a sum. The caller computes what is not a sum or a maximum: results, rates and costs.
fn add(sum: &mut JsonFill, other: &JsonFill) {
    let JsonFill {
        format: _,
        result: _,
        reasons: _,
        target,
        objects,
        object_bytes,
        stored,
        stored_bytes,
        found_on_resume,
        attempts,
        sent_bytes,
        sent_again_bytes,
        failed,
        failures,
        verified,
        deleted,
        not_deleted,
        active_seconds,
        uploading_seconds,
        wall_seconds,
        uploading_bytes_per_second: _,
        wall_bytes_per_second: _,
        costs: _,
        // Fills of several hosts have no ledger. Sessions and events stay with their agent.
        ledger: _,
        sessions: _,
        events: _,
        fleet: _,
    } = other;
    if sum.target.is_empty() {
        sum.target.clone_from(target);
    }
    let sums = [
        (&mut sum.objects, objects),
        (&mut sum.object_bytes, object_bytes),
        (&mut sum.stored, stored),
        (&mut sum.stored_bytes, stored_bytes),
        (&mut sum.found_on_resume, found_on_resume),
        (&mut sum.attempts, attempts),
        (&mut sum.sent_bytes, sent_bytes),
        (&mut sum.sent_again_bytes, sent_again_bytes),
        (&mut sum.failed, failed),
        (&mut sum.deleted, deleted),
        (&mut sum.not_deleted, not_deleted),
    ];
    sums.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(*more));
    let longest = [
        (&mut sum.active_seconds, active_seconds),
        (&mut sum.uploading_seconds, uploading_seconds),
        (&mut sum.wall_seconds, wall_seconds),
    ];
    longest.into_iter().for_each(|(longest, time)| *longest = longest.max(*time));
    let mut kinds: BTreeMap<(String, String), u64> = BTreeMap::new();
    for JsonFillFailure { class, cause, uploads } in sum.failures.drain(..).chain(failures.iter().cloned()) {
        let number = kinds.entry((class, cause)).or_default();
        *number = number.saturating_add(uploads);
    }
    let kind = |((class, cause), uploads)| JsonFillFailure { class, cause, uploads };
    sum.failures = kinds.into_iter().map(kind).collect();
    if let Some(JsonVerified { good, missing, damaged, changed_source, unknown }) = verified {
        let sum = sum.verified.get_or_insert_default();
        let sums = [
            (&mut sum.good, good),
            (&mut sum.missing, missing),
            (&mut sum.damaged, damaged),
            (&mut sum.changed_source, changed_source),
            (&mut sum.unknown, unknown),
        ];
        sums.into_iter().for_each(|(sum, more)| *sum = sum.saturating_add(*more));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fill::tests::all_stored;
    use crate::{FillReport, Style, fill_schema, fleet_fill_text, json_fill};
    use measure::ExitStatus;
    use store::journal::{Record, Verification, VerifiedObject};

    fn costs() -> Costs {
        Costs { sheets: Vec::new(), keep: "1 month".parse().unwrap() }
    }

    fn ended(reason: SessionEnd) -> Record {
        Record::SessionEnded { session: 1, unix_ms: 9000, reason }
    }

    fn agent(name: &str, more: &[Record], times: &[u64]) -> AgentOfFill {
        let mut uploads = Distribution::default();
        times.iter().for_each(|millis| uploads.record_many(millis * 1_000_000, 100));
        let fill = Some(json_fill(&all_stored(more), &costs()));
        AgentOfFill { name: name.to_owned(), share: 1, lost: None, fill, uploads: Some(uploads) }
    }

    fn fleet(agents: Vec<AgentOfFill>, end: SessionEnd) -> FleetFill {
        let objects = 10 * agents.len() as u64;
        FleetFill { objects, object_bytes: objects * 1_000_000, agents, end: Some(end), tolerate_lost: 0 }
    }

    fn finished(name: &str) -> AgentOfFill {
        agent(name, &[ended(SessionEnd::Finished)], &[10])
    }

    #[test]
    fn counts_are_added_and_percentiles_come_from_merged_histograms() {
        let good = |number| Record::Verified(vec![VerifiedObject { number, result: Verification::Good }]);
        let slow = agent("b", &[good(1), good(2), ended(SessionEnd::Finished)], &[1000]);
        let whole =
            fleet(vec![agent("a", &[good(7), ended(SessionEnd::Finished)], &[10, 10, 10]), slow], SessionEnd::Finished);
        let json = json_fleet_fill(&whole, &costs());
        assert_eq!((json.result, json.stored, json.stored_bytes), (ResultWord::Pass, 20, 20_000_000));
        assert_eq!((json.attempts, json.sent_bytes, json.verified.unwrap().good), (40, 40_000_000, 3));
        let times = json.fleet.as_ref().unwrap().upload_times.unwrap();
        // 300 uploads took 10 ms, and 100 took 1 s. The average of both medians would be half a second.
        assert_eq!((times.uploads, times.p50_nanos.unwrap() / 100_000), (400, 100));
        assert!(times.p90_nanos.unwrap() >= 1_000_000_000);
        // Both uploaded for the same time, so the bandwidth is twice that of one.
        let one = json_fill(&all_stored(&[ended(SessionEnd::Finished)]), &costs());
        assert_eq!(json.uploading_bytes_per_second, one.uploading_bytes_per_second.map(|rate| 2.0 * rate));
        let value = serde_json::to_value(&json).unwrap();
        assert!(jsonschema::is_valid(&fill_schema(), &value), "{value:#}");
        assert_eq!(serde_json::from_value::<JsonFill>(value).unwrap(), json);
        let text = fleet_fill_text(&json, &costs(), &Style::default());
        for part in ["PASS · 20 objects stored · 20.00 MB", "3 good", "400 uploads", "p50", "Agents"] {
            assert!(text.contains(part), "{part}: {text}");
        }
    }

    #[test]
    fn the_result_depends_on_every_agent_and_on_the_end_of_the_command() {
        let word = |fleet: &FleetFill| json_fleet_fill(fleet, &costs()).result;
        let interrupted = || agent("a", &[ended(SessionEnd::Interrupted)], &[]);
        let stopped = |text: &str| SessionEnd::StopRule { text: text.to_owned() };
        assert_eq!(word(&fleet(vec![interrupted(), finished("b")], SessionEnd::Finished)), ResultWord::Partial);
        assert_eq!(word(&fleet(vec![interrupted(), finished("b")], SessionEnd::Interrupted)), ResultWord::Partial);
        assert_eq!(word(&fleet(vec![interrupted()], stopped("bytes >= 1GB"))), ResultWord::Pass);
        assert_eq!(word(&fleet(vec![interrupted()], stopped("trailing 1h bandwidth < 1Mbit/s"))), ResultWord::Fail);
        let missing = Record::Verified(vec![VerifiedObject { number: 1, result: Verification::Missing }]);
        let failed =
            fleet(vec![finished("a"), agent("b", &[missing, ended(SessionEnd::Finished)], &[])], SessionEnd::Finished);
        let json = json_fleet_fill(&failed, &costs());
        assert_eq!((json.result, json.reasons.len()), (ResultWord::Fail, 1));
        assert!(json.reasons[0].starts_with("b: 1 object"), "{:?}", json.reasons);
        assert_eq!(
            word(&FleetFill { end: None, ..fleet(vec![finished("a")], SessionEnd::Finished) }),
            ResultWord::Partial
        );
    }

    #[test]
    fn a_lost_agent_makes_the_result_partial_unless_it_is_tolerated() {
        let lost = AgentOfFill { lost: Some("the connection ended".to_owned()), ..agent("b", &[], &[]) };
        let mut of_two = fleet(vec![finished("a"), lost.clone()], SessionEnd::Finished);
        let json = json_fleet_fill(&of_two, &costs());
        assert_eq!(
            (json.result, json.reasons),
            (ResultWord::Partial, vec!["lost 1 of 2 agents after the start (b)".to_owned()])
        );
        of_two.tolerate_lost = 1;
        assert_eq!(json_fleet_fill(&of_two, &costs()).result, ResultWord::Pass);
        let all = FleetFill { tolerate_lost: 1, ..fleet(vec![lost], SessionEnd::Finished) };
        let json = json_fleet_fill(&all, &costs());
        assert_eq!(json.result, ResultWord::Partial, "all agents are lost");
        assert_eq!(FillReport::of_hosts(json, &costs()).exit, ExitStatus::CouldNotRun);
        let good = json_fleet_fill(&of_two, &costs());
        assert_eq!(FillReport::of_hosts(good, &costs()).exit, ExitStatus::Good);
    }
}
