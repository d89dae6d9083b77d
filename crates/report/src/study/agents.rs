//! The agents of a study on several hosts: a row for each trial, with its slowest and its fastest agent.

use super::narrow::fitting;
use super::rows::Order;
use super::{Trial, name_in_cell, sorted};
use crate::json::{Fleet, FleetAgent};
use crate::number::{count, rate, time};
use crate::text::{Style, table_with_text_from};

/// Titles of the columns.
const TITLES: [&str; 8] = ["cell", "target", "agents", "starts apart", "scaling", "slowest", "fastest", "lost"];
/// Index of the first column with text.
const TEXT: usize = 5;
/// Columns that [`short_text`] may leave out, the least important one first: starts apart, fastest, slowest,
/// scaling.
const OPTIONAL: [usize; 4] = [3, 6, 5, 4];
/// Columns with long texts: lost.
const TEXTS: [usize; 1] = [7];
/// Maximum number of lost agents to name in a row.
const LOST_NAMED: usize = 3;

/// Formats the agents of all trials; empty if no trial ran on several hosts.
#[must_use]
pub fn text<'t>(trials: &'t [Trial], order: &Order<'t>) -> String {
    let rows = rows(trials, order, |_| true);
    if rows.len() == 1 { String::new() } else { table_with_text_from(TEXT, &rows) }
}

/// Like [`text`], but only for trials that lost agents, and at most 80 characters wide.
#[must_use]
pub fn short_text<'t>(trials: &'t [Trial], order: &Order<'t>, style: &Style) -> String {
    let rows = rows(trials, order, |fleet| lost(fleet).next().is_some());
    if rows.len() == 1 { String::new() } else { fitting(&rows, &TEXTS, &OPTIONAL, style) }
}

/// Returns the titles, and the rows of these trials.
fn rows<'t>(trials: &'t [Trial], order: &Order<'t>, is_shown: fn(&Fleet) -> bool) -> Vec<[String; TITLES.len()]> {
    let mut rows = vec![TITLES.map(str::to_owned)];
    let mut last_cell = "";
    for trial in sorted(trials, order) {
        let Some(fleet) = trial.fleet.as_ref().filter(|fleet| is_shown(fleet)) else { continue };
        let cell = if trial.cell == last_cell { "" } else { trial.cell.as_str() };
        last_cell = &trial.cell;
        let rates = || fleet.agents.iter().filter(|agent| agent.lost.is_none()).filter_map(with_rate);
        let shown = |found: Option<(f64, &FleetAgent)>| {
            found.map_or_else(|| "–".to_owned(), |(per_second, agent)| format!("{} {}", agent.name, rate(per_second)))
        };
        let by_rate = |one: &(f64, &FleetAgent), other: &(f64, &FleetAgent)| one.0.total_cmp(&other.0);
        rows.push([
            cell.to_owned(),
            name_in_cell(trial, trials),
            count(fleet.agents.len() as u64),
            time(fleet.start_spread_nanos as f64),
            fleet.scaling.map_or_else(|| "–".to_owned(), |scaling| format!("{scaling:.2}")),
            shown(rates().min_by(by_rate)),
            shown(rates().max_by(by_rate)),
            names(fleet),
        ]);
    }
    rows
}

fn lost(fleet: &Fleet) -> impl Iterator<Item = &FleetAgent> {
    fleet.agents.iter().filter(|agent| agent.lost.is_some())
}

/// Returns an agent with its successful operations per second.
fn with_rate(agent: &FleetAgent) -> Option<(f64, &FleetAgent)> {
    (agent.measured_nanos > 0).then(|| (agent.ok as f64 * 1e9 / agent.measured_nanos as f64, agent))
}

/// Returns the names of lost agents.
fn names(fleet: &Fleet) -> String {
    let names: Vec<&str> = lost(fleet).map(|agent| agent.name.as_str()).collect();
    let more = if names.len() > LOST_NAMED { ", …" } else { "" };
    names.iter().take(LOST_NAMED).copied().collect::<Vec<_>>().join(", ") + more
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::tests::{fits, long_name, trial};
    use measure::LimitedBy;

    fn agent(name: &str, ok: u64, lost: Option<&str>) -> FleetAgent {
        FleetAgent {
            name: name.to_owned(),
            host: String::new(),
            target: String::new(),
            late_nanos: 0,
            uncertainty_nanos: 0,
            clock_drift_nanos: None,
            clock_drift_error_nanos: None,
            measured_nanos: 2_000_000_000,
            ok,
            failed: 0,
            dropped: 0,
            body_bytes: 0,
            sent_body_bytes: 0,
            response_p50_nanos: None,
            response_p99_nanos: None,
            limited_by: LimitedBy::Unknown,
            lost: lost.map(str::to_owned),
        }
    }

    fn on(agents: Vec<FleetAgent>, repeat: u32) -> Trial {
        let fleet = Fleet {
            run: "r".to_owned(),
            start_spread_nanos: 1_200_000,
            start_spread_limit_nanos: 5_000_000,
            together_nanos: 2_000_000_000,
            alone: None,
            scaling: Some(0.875),
            agents,
        };
        Trial { fleet: Some(fleet), ..trial("mine", repeat, 100.0) }
    }

    #[test]
    fn each_trial_shows_its_slowest_and_fastest_agent_and_the_lost_ones() {
        let good = on(vec![agent("a", 20, None), agent("b", 40, None)], 1);
        let bad = on(vec![agent("a", 20, None), agent("b", 4, Some("the connection ended"))], 2);
        let trials = [good, bad, trial("mine", 3, 100.0)];
        let all = text(&trials, &Order::default());
        let lines: Vec<Vec<&str>> = all.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines.len(), 3, "{all}");
        assert_eq!(lines[1].join(" "), "range 1MiB mine, repeat 1 2 1.20 ms 0.88 a 10.00/s b 20.00/s", "{all}");
        assert_eq!(lines[2].join(" "), "mine, repeat 2 2 1.20 ms 0.88 a 10.00/s a 10.00/s b", "{all}");
        let short = short_text(&trials, &Order::default(), &Style::default());
        assert!(short.contains("mine, repeat 2") && short.contains("lost: b"), "{short}");
        assert!(!short.contains("repeat 1") && !short.contains("repeat 3"), "{short}");
        assert_eq!(short_text(&trials[2..], &Order::default(), &Style::default()), "");
    }

    #[test]
    fn the_table_fits_with_long_names() {
        let names = ["a", "b", "c", "d", "e"].map(long_name);
        let agents =
            names.iter().enumerate().map(|(index, name)| agent(name, 20, (index > 0).then_some("gone"))).collect();
        let trials = [Trial { cell: long_name("c"), target: long_name("t"), ..on(agents, 1) }];
        fits("agents", |style| short_text(&trials, &Order::default(), style));
    }
}
