//! The result of a run on several hosts: one merged run, with a row per agent.
//!
//! Agents that reached the end of their parts are merged like the threads of a run, because their clocks have the same
//! zero and nothing is missing. If more agents were lost than the user tolerates, the result covers only the time in
//! which all agents measured.

use super::received::Received;
use crate::failure::Failure;
use crate::saved;
use crate::saved::merged::{self, SourceRun};
use fleet::coordinator::{AgentResult, Ended, Settings};
use measure::statistics::samples_needed;
use measure::summary::common_time::{CommonTime, RunTimes};
use measure::{LimitedBy, Stage};
use report::limit;
use std::path::Path;
use std::time::Duration;
use store::{ClockDrift, EndReason, Fleet, FleetAgent, SavedRun};

/// Maximum length of the saved reason for a loss, in characters.
const LOST_MAX: usize = 1000;

/// An agent with its row in the report, and the run that it sent; `None` if the agent was lost before it sent anything.
struct Part<'e> {
    agent: &'e AgentResult,
    row: FleetAgent,
    source: Option<SourceRun>,
}

/// Merges the parts of all agents into one run in `directory`, and returns the merged run. `alone` has the numbers of
/// the first agent when it made its part alone.
///
/// # Errors
/// Fails if no agent sent results, or if the run cannot be saved.
pub fn merge(
    settings: &Settings,
    ended: &Ended,
    received: &Received<'_>,
    alone: Option<FleetAgent>,
    directory: &Path,
) -> Result<SavedRun, Failure> {
    let parts = read(ended, received)?;
    let agents: Vec<FleetAgent> = parts.iter().map(|part| part.row.clone()).collect();
    let (sources, common) = counting(parts, ended.partial)
        .ok_or_else(|| Failure::could_not_run("no agent sent results, so there is no run to save"))?;
    let Some(first) = sources.first() else { return Err(Failure::could_not_run("no agent sent results")) };
    let begin = merged::describe_all(&first.begin, &sources, &common);
    let fleet = Fleet {
        run: settings.run.clone().into(),
        spread_nanos: nanos(ended.spread()),
        spread_limit_nanos: nanos(settings.spread_max),
        together_nanos: together(&sources),
        alone: alone.map(Box::new),
        agents,
    };
    let reason = reason(settings, ended, &sources, received.decided());
    merged::write(&sources, &common, &begin, (reason, Some(fleet)), directory)?;
    SavedRun::read(directory).map_err(|error| saved::cannot_read_back(&error))
}

/// Reads the runs of the agents one after the other. Only the row of a run is kept, because the histograms of many runs
/// would need much memory.
fn read<'e>(ended: &'e Ended, received: &Received<'_>) -> Result<Vec<Part<'e>>, Failure> {
    let part = |(index, agent): (usize, &'e AgentResult)| {
        let directory = received.directory(index);
        let run = directory.map(SavedRun::read).transpose().map_err(|error| saved::cannot_read_back(&error))?;
        let row = row(agent, run.as_ref(), ended);
        Ok(Part { agent, row, source: directory.zip(run).map(|(directory, run)| SourceRun::of(directory, run)) })
    };
    ended.agents.iter().enumerate().map(part).collect()
}

/// Returns the runs to merge, and the time that the merged run covers.
fn counting(parts: Vec<Part<'_>>, partial: bool) -> Option<(Vec<SourceRun>, CommonTime)> {
    let all_sent = parts.iter().all(|part| part.source.is_some());
    let times: Vec<RunTimes> = parts.iter().filter_map(|part| Some(part.source.as_ref()?.times.clone())).collect();
    let common = if partial && all_sent { CommonTime::of(&times) } else { None };
    // If there is no time in which all agents measured, leave out the lost agents, unless all agents were lost.
    let any_complete = parts.iter().any(|part| part.agent.loss.is_none());
    let counts = |part: &Part<'_>| common.is_some() || !any_complete || part.agent.loss.is_none();
    let sources: Vec<SourceRun> = parts.into_iter().filter(counts).filter_map(|part| part.source).collect();
    let common = common.or_else(|| {
        let times: Vec<RunTimes> = sources.iter().map(|source| source.times.clone()).collect();
        CommonTime::of_parts(&times)
    })?;
    Some((sources, common))
}

/// Returns the reason for the end of the merged run.
fn reason(settings: &Settings, ended: &Ended, sources: &[SourceRun], decided: Option<EndReason>) -> EndReason {
    if ended.partial {
        let lost = ended.agents.iter().filter(|agent| agent.loss.is_some()).map(|agent| agent.name.clone());
        return EndReason::AgentsLost { lost: lost.collect(), agents: ended.agents.len() as u64 };
    }
    // Check this before interrupts, because agents are interrupted when their load is ended early.
    if let Some(reason) = decided {
        return reason;
    }
    let unreached = |source: &SourceRun| match source.end.as_ref().map(|end| &end.reason) {
        Some(EndReason::Unreachable { detail }) => Some(detail.clone()),
        _ => None,
    };
    if let Some(details) = sources.iter().map(unreached).collect::<Option<Vec<_>>>()
        && let Some(detail) = details.into_iter().next()
    {
        return EndReason::Unreachable { detail };
    }
    let interrupted = |source: &SourceRun| match source.end.as_ref().map(|end| &end.reason) {
        Some(EndReason::Interrupted { signal }) => Some(*signal),
        _ => None,
    };
    if let Some(signal) = sources.iter().find_map(interrupted) {
        return EndReason::Interrupted { signal };
    }
    if ended.spread() > settings.spread_max {
        let (spread_nanos, limit_nanos) = (nanos(ended.spread()), nanos(settings.spread_max));
        return EndReason::StartsApart { spread_nanos, limit_nanos };
    }
    EndReason::Completed
}

/// Returns the length of the time in which all sources were measured.
fn together(sources: &[SourceRun]) -> u64 {
    let measured = |source: &SourceRun| {
        let spans = || source.times.spans.iter().filter(|span| span.stage == Stage::Measured);
        Some((spans().map(|span| span.start).min()?, spans().map(|span| span.end).max()?))
    };
    let windows: Option<Vec<_>> = sources.iter().map(measured).collect();
    let windows = windows.unwrap_or_default();
    let start = windows.iter().map(|(start, _)| *start).max();
    let end = windows.iter().map(|(_, end)| *end).min();
    start.zip(end).map_or(0, |(start, end)| end.nanos_since(start))
}

fn row(agent: &AgentResult, run: Option<&SavedRun>, ended: &Ended) -> FleetAgent {
    let late = i128::from(agent.started_here.0) - i128::from(ended.start.0);
    let empty = FleetAgent {
        name: agent.name.clone(),
        host: String::new(),
        target: String::new(),
        late_nanos: i64::try_from(late).unwrap_or(i64::MAX),
        uncertainty_nanos: nanos(agent.uncertainty),
        drift: agent.drift.map(|drift| ClockDrift { nanos: drift.nanos, error_nanos: nanos(drift.error) }),
        measured_nanos: 0,
        ok: 0,
        failed: 0,
        dropped: 0,
        body_bytes: 0,
        sent_body_bytes: 0,
        response_p50_nanos: None,
        response_p99_nanos: None,
        limited_by: LimitedBy::Unknown,
        lost: agent.loss.as_ref().map(|loss| loss.to_string().chars().take(LOST_MAX).collect()),
    };
    let Some(run) = run else { return empty };
    let summary = run.summary();
    let (tally, traffic, response) = (&summary.stats.measured, &summary.measured.traffic, &summary.all.response);
    let quantile = |q: f64| response.quantile(q).filter(|_| response.count() >= samples_needed(q));
    FleetAgent {
        host: run.begin.host.name.clone(),
        target: run.begin.targets.first().cloned().unwrap_or_default(),
        measured_nanos: (summary.measured.seconds * 1e9) as u64,
        ok: tally.ok,
        failed: tally.failed,
        dropped: tally.dropped,
        body_bytes: traffic.body,
        sent_body_bytes: traffic.sent_body,
        response_p50_nanos: quantile(0.5),
        response_p99_nanos: quantile(0.99),
        limited_by: limit::limited_by(run),
        ..empty
    }
}

fn nanos(span: Duration) -> u64 {
    u64::try_from(span.as_nanos()).unwrap_or(u64::MAX)
}
