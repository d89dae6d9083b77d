//! The section with the agents of a run of several hosts: one row per agent, and the time between their starts.

use crate::escape::{bounded, escape};
use crate::number::{byte_rate, count, plural, rate, seconds, time};
use crate::text::blocks::Table;
use crate::text::page::Page;
use store::{Fleet, FleetAgent, SavedRun};

/// Maximum number of agents to list. Lost agents are always listed.
const ROWS_MAX: usize = 40;
/// Maximum width of the name of an agent, in characters.
const NAME_WIDTH_MAX: usize = 24;
/// Maximum length of the reason for a loss, in characters.
const REASON_MAX: usize = 400;

/// Titles of the columns of the table.
const TITLES: [&str; 9] = ["", "ok", "failed", "rate", "received", "sent", "p50", "p99", "limited by"];
/// Sets of columns, the widest first. The first one that fits is shown.
const COLUMNS: [&[usize]; 3] = [&[0, 1, 2, 3, 4, 5, 6, 7, 8], &[0, 1, 2, 3, 4, 7, 8], &[0, 1, 2, 3, 8]];
/// The columns if none of these sets fits.
const NARROWEST: [usize; 3] = [0, 1, 8];

pub fn write(page: &mut Page, run: &SavedRun) {
    if let Some(part) = &run.begin.part {
        page.heading("Agent");
        let (number, of) = (part.index.saturating_add(1), part.of);
        page.item("part", &format!("agent {number} of {of} of the run {}", escape(&part.run)));
        page.item("whole load", &escape(&part.load));
    }
    let Some(fleet) = run.end.as_ref().and_then(|end| end.fleet.as_deref()) else { return };
    page.heading("Agents");
    page.item("run", &format!("{} on {}", escape(&fleet.run), plural(fleet.agents.len() as u64, "agent")));
    page.item("started", &starts(fleet));
    if let Some(drift) = drift(fleet) {
        page.item("clocks", &drift);
    }
    page.item("together", &format!("all agents measured for {}", seconds(fleet.together_nanos as f64 / 1e9)));
    if let Some(scaling) = scaling(fleet) {
        page.item("scaling", &scaling);
    }
    let width = page.width();
    let fits = |table: &Table| table.widths().iter().map(|width| width + 2).sum::<usize>() <= width;
    let fitting = COLUMNS.iter().map(|columns| table(fleet, columns)).find(fits);
    page.table(fitting.unwrap_or_else(|| table(fleet, &NARROWEST)));
    if fleet.agents.len() > ROWS_MAX {
        page.line(&format!("and {} more", fleet.agents.len() - ROWS_MAX));
    }
    for agent in &fleet.agents {
        if let Some(lost) = &agent.lost {
            page.line(&format!("{} was lost: {}", escape(&agent.name), bounded(lost, REASON_MAX)));
        }
    }
}

/// Returns a table with the main numbers of all agents, which fits into 80 columns.
pub(in crate::text) fn short_table(fleet: &Fleet) -> Table {
    table(fleet, &[0, 1, 2, 3, 7, 8])
}

/// Returns a table with some of the columns of [`TITLES`]. The last column must be one that contains text.
fn table(fleet: &Fleet, columns: &[usize]) -> Table {
    let of = |cells: [String; 9]| columns.iter().filter_map(|column| cells.get(*column).cloned()).collect::<Vec<_>>();
    let mut table = Table::with_text_from(columns.len() - 1);
    table.head(of(TITLES.map(str::to_owned)));
    fleet.agents.iter().take(ROWS_MAX).for_each(|agent| table.row(of(row(agent))));
    table
}

/// Returns the time between the first and the last start, and the largest error of this time.
pub(in crate::text) fn starts(fleet: &Fleet) -> String {
    let mut errors: Vec<u64> = fleet.agents.iter().map(|agent| agent.uncertainty_nanos).collect();
    errors.sort_unstable_by(|a, b| b.cmp(a));
    let error = errors.iter().take(2).fold(0_u64, |sum, error| sum.saturating_add(*error));
    format!(
        "{} apart, ± {} (limit {})",
        time(fleet.spread_nanos as f64),
        time(error as f64),
        time(fleet.spread_limit_nanos as f64)
    )
}

/// Returns the largest drift of a clock, with the name of its agent. `None` if no drift was measured.
fn drift(fleet: &Fleet) -> Option<String> {
    let drifts = fleet.agents.iter().filter_map(|agent| Some((agent, agent.drift?)));
    let (agent, drift) = drifts.max_by_key(|(_, drift)| (drift.certain_nanos(), drift.error_nanos))?;
    let (by, error) = (time(drift.nanos.unsigned_abs() as f64), time(drift.error_nanos as f64));
    Some(match drift.certain_nanos() {
        0 => format!("no drift during the run (± {error})"),
        _ => format!("the clock of {} drifted by {by}, ± {error}", bounded(&agent.name, NAME_WIDTH_MAX)),
    })
}

/// Returns the scaling with the rates from which it is computed.
pub(in crate::text) fn scaling(fleet: &Fleet) -> Option<String> {
    let (scaling, alone) = (fleet.scaling()?, fleet.alone.as_deref()?);
    Some(format!(
        "{:.2}: {} of {}, {} of {} alone",
        scaling.factor(),
        rate(scaling.rate),
        plural(scaling.agents as u64, "agent"),
        rate(scaling.alone_rate),
        bounded(&alone.name, NAME_WIDTH_MAX)
    ))
}

fn row(agent: &FleetAgent) -> [String; 9] {
    let length = agent.measured_nanos as f64 / 1e9;
    let per_second = |amount: u64, shown: fn(f64) -> String| {
        if agent.measured_nanos > 0 { shown(amount as f64 / length) } else { "–".into() }
    };
    let quantile = |nanos: Option<u64>| nanos.map_or_else(|| "–".into(), |nanos| time(nanos as f64));
    [
        bounded(&agent.name, NAME_WIDTH_MAX),
        count(agent.ok),
        count(agent.failed.saturating_add(agent.dropped)),
        per_second(agent.ok, rate),
        per_second(agent.body_bytes, byte_rate),
        per_second(agent.sent_body_bytes, byte_rate),
        quantile(agent.response_p50_nanos),
        quantile(agent.response_p99_nanos),
        if agent.lost.is_some() { "lost".into() } else { agent.limited_by.to_string() },
    ]
}
