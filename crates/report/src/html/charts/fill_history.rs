//! The charts of a fill over time. Times are in seconds from the first start of the fill.

use super::time_series::short;
use crate::escape::escape;
use crate::fill::end_text;
use crate::html::script_data::{Chart, Line, Plot, Role, TimeMark, Times, Unit};
use crate::number::seconds;
use store::SavedFill;
use store::journal::{Column, EventKind, History, SessionEnd};

/// Maximum number of marks. If there are more, the newest marks are shown.
const MARKS_MAX: usize = 60;

/// Returns the columns and the charts that use them. There are no charts if the fill has not started.
pub fn of(fill: &SavedFill) -> (Times, Vec<Chart>) {
    let history = &fill.state.history;
    let Some(start) = history.start_unix_ms().filter(|_| !history.columns().is_empty()) else {
        return (Times::default(), Vec::new());
    };
    let width = history.column_ms() as f64 / 1000.0;
    let count = history.columns().len();
    let starts: Vec<f64> = (0..count).map(|column| short(column as f64 * width)).collect();
    let end = (count as f64 * width).max(starts.last().copied().unwrap_or(0.0));
    let times = Times { starts, end, merged: 1, window: None, marks: marks(fill, start) };
    let ran = ran(fill, history, start);
    let charts = [bandwidth(history, width, &ran), stored(history)].into_iter().chain(failed(history, width, &ran));
    (times, charts.collect())
}

/// Returns one value for each column: `true` if a session ran during the time of the column.
fn ran(fill: &SavedFill, history: &History, start: u64) -> Vec<bool> {
    let column = |unix_ms: u64| (unix_ms.saturating_sub(start) / history.column_ms()) as usize;
    let mut ran = vec![false; history.columns().len()];
    for session in &fill.state.sessions {
        let until = column(session.last_unix_ms).min(ran.len() - 1);
        let from = column(session.started_unix_ms).min(until);
        ran[from..=until].fill(true);
    }
    ran
}

/// Returns marks for the starts of sessions after the first, for the ends of sessions, and for the events.
fn marks(fill: &SavedFill, start: u64) -> Vec<TimeMark> {
    let at = |unix_ms: u64, label: String| TimeMark { at: unix_ms.saturating_sub(start) as f64 / 1000.0, label };
    let mut marks = Vec::new();
    for session in &fill.state.sessions {
        if session.started_unix_ms > start {
            marks.push(at(session.started_unix_ms, format!("session {} starts", session.number)));
        }
        if session.end.as_ref() != Some(&SessionEnd::Finished) {
            let end = escape(&end_text(session.end.as_ref()));
            marks.push(at(session.last_unix_ms, format!("session {}: {end}", session.number)));
        }
    }
    for event in &fill.state.events {
        let text = escape(&event.text);
        marks.push(at(
            event.unix_ms,
            if event.kind == EventKind::RuleChanged { format!("rules: {text}") } else { text },
        ));
    }
    marks.sort_by(|a, b| a.at.total_cmp(&b.at));
    marks.split_off(marks.len().saturating_sub(MARKS_MAX))
}

fn chart(id: &str, title: &str, caption: String, unit: Unit, lines: Vec<Line>) -> Chart {
    Chart { id: id.into(), title: title.into(), caption, plot: Plot::Series { unit, log: false, lines } }
}

fn line(label: &str, role: Role, values: Vec<Option<f64>>) -> Line {
    Line { label: label.into(), role, values, low: Vec::new(), high: Vec::new() }
}

/// Returns a count per second for each column in which a session ran.
fn per_second(history: &History, width: f64, ran: &[bool], of: fn(&Column) -> u64) -> Vec<Option<f64>> {
    let columns = history.columns().iter().zip(ran);
    columns.map(|(column, ran)| ran.then(|| short(of(column) as f64 / width))).collect()
}

fn bandwidth(history: &History, width: f64, ran: &[bool]) -> Chart {
    let caption = format!(
        "Bytes of the objects that the target confirmed within {}, per second. An object counts as a whole when it is \
         confirmed. There are gaps where no session ran.",
        seconds(width)
    );
    let confirmed = per_second(history, width, ran, |column| column.file_bytes);
    chart("bandwidth", "Bandwidth", caption, Unit::Bytes, vec![line("confirmed", Role::Main, confirmed)])
}

fn stored(history: &History) -> Chart {
    let mut sum = 0.0;
    let values = history.columns().iter().map(|column| {
        sum += column.file_bytes as f64 + column.found_bytes as f64;
        Some(short(sum))
    });
    let caption =
        "Bytes of all objects that are stored, including those that were found at the target after an interruption.";
    chart("stored", "Stored", caption.into(), Unit::Size, vec![line("stored", Role::Main, values.collect())])
}

/// Returns the chart of failed uploads, if there are any.
fn failed(history: &History, width: f64, ran: &[bool]) -> Option<Chart> {
    let any = history.columns().iter().any(|column| column.failed_uploads > 0);
    let values = per_second(history, width, ran, |column| column.failed_uploads);
    let caption = "Uploads that failed in all attempts, per second.".to_owned();
    any.then(|| chart("failures", "Failures", caption, Unit::Rate, vec![line("failed", Role::Failed, values)]))
}
