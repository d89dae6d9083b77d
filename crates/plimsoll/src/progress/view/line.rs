//! The live view of a search for the load line.

use super::panels::{gauge, header, latest_messages, message_lines, panel, progress_line};
use super::run::{charts, texts};
use super::theme::Theme;
use super::{is_tall, messages_max};
use crate::progress::live_line::span;
use crate::progress::state::line::Step;
use crate::progress::state::{Line, Run, State};
use measure::Enumerated;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Row, Table};
use report::load_line::{Level, bar};
use report::number::{decimal, rate, time};

/// Draws the whole view.
pub fn draw(state: &State, line: &Line, theme: Theme, frame: &mut Frame<'_>) {
    let messages = message_lines(state, messages_max(frame.area()));
    let is_tall = is_tall(frame.area());
    let rows = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Fill(3),
        Constraint::Fill(if is_tall { 3 } else { 2 }),
        Constraint::Length(if is_tall { 8 } else { 7 }),
        Constraint::Length(messages),
    ];
    let [title, progress, curve, upper, lower, below] = Layout::vertical(rows).areas(frame.area());
    let target = state.run.as_ref().map(|run| run.target.as_str()).unwrap_or_default();
    let about = format!("load line in {} · {} so far", line.unit.name(), span(state.elapsed));
    header(frame, title, theme, target, &about);
    step(frame, progress, theme, line, state.run.as_ref());
    levels(frame, curve, theme, line);
    if let Some(run) = &state.run {
        charts(frame, upper, theme, run);
        texts(frame, lower, theme, run);
    }
    latest_messages(frame, below, state);
}

/// Draws what the search does at the moment.
pub fn step(frame: &mut Frame<'_>, area: Rect, theme: Theme, line: &Line, run: Option<&Run>) {
    match (line.step, run) {
        (Step::Level { load, confirming }, Some(run)) => {
            let again = if confirming { " again" } else { "" };
            gauge(frame, area, theme, &format!("level {}{again}", shown(load)), run);
        }
        (Step::Level { load, .. }, None) => {
            progress_line(frame, area, theme, &format!("level {}", shown(load)), None, "");
        }
        (Step::Unloaded, _) => progress_line(frame, area, theme, "measuring the idle target", None, ""),
        (Step::Recovery, _) => progress_line(frame, area, theme, "waiting until the target has recovered", None, ""),
    }
}

/// Draws the load curve: the levels in ascending order, with their rates of successes as bars.
fn levels(frame: &mut Frame<'_>, area: Rect, theme: Theme, line: &Line) {
    let (passed, failed) = line.bracket();
    let bracket = match (passed, failed) {
        (None, None) => "no level yet".to_owned(),
        (Some(passed), None) => format!("at least {}", shown(passed)),
        (None, Some(failed)) => format!("below {}", shown(failed)),
        (Some(passed), Some(failed)) => format!("between {} and {}", shown(passed), shown(failed)),
    };
    let left = Text::from(vec![Span::raw("load line "), Span::styled(bracket, theme.strong())]);
    let legend = if line.levels.iter().all(|level| level.certain) { "" } else { "≈ estimated · " };
    let number = Text::styled(format!("{legend}{} levels", line.levels.len()), theme.faint());
    let inner = panel(frame, area, theme, left, number);
    let mut rows: Vec<(f64, Option<&Level>)> = line.levels.iter().map(|level| (level.level, Some(level))).collect();
    rows.extend(line.running().map(|load| (load, None)));
    // The sort is stable, so runs of the same level keep their order, and the running one comes last.
    rows.sort_by(|one, other| one.0.total_cmp(&other.0));
    let room = usize::from(inner.height.saturating_sub(1));
    let center = rows.iter().position(|(_, level)| level.is_none()).or_else(|| {
        let passed = passed?;
        rows.iter().rposition(|(load, _)| *load <= passed)
    });
    let first = center.unwrap_or(0).saturating_sub(room / 2).min(rows.len().saturating_sub(room));
    let most = line.levels.iter().filter_map(|level| level.metrics.ok_per_second).fold(0.0, f64::max);
    let rest = usize::from(inner.width).saturating_sub(61);
    let width = if rest > 40 { rest / 2 } else { rest.max(8) };
    let shown = rows.into_iter().skip(first).take(room).map(|(load, level)| row(load, level, (most, width), theme));
    let columns = [9, 16, 10, 8, 8].map(Constraint::Length).into_iter().chain([Constraint::Fill(1)]);
    let head = Row::new(["    level", "", "ok", "p50", "p99", ""]).style(theme.faint());
    frame.render_widget(Table::new(shown, columns).header(head).column_spacing(2), inner);
}

fn row(load: f64, level: Option<&Level>, (most, width): (f64, usize), theme: Theme) -> Row<'static> {
    let load = Text::raw(format!("{:>9}", shown(load)));
    let Some(level) = level else {
        return Row::new([load, Text::styled("▶ running", theme.running())]);
    };
    let dash = || "–".to_owned();
    let nanos = |nanos: Option<u64>| nanos.map_or_else(dash, |nanos| time(nanos as f64));
    let style = theme.of_level(level.outcome);
    let metrics = &level.metrics;
    let ok = metrics.ok_per_second;
    let about = format!("{}{}", level.outcome.about(), if level.certain { "" } else { " ≈" });
    // A level that did not pass has a reason, which is shown next to its bar.
    let why = level.reason.as_ref().map(|why| format!(" {why}")).unwrap_or_default();
    Row::new([
        load,
        Text::styled(about, style),
        Text::raw(ok.map_or_else(dash, rate)),
        Text::raw(nanos(metrics.response_p50_nanos)),
        Text::raw(nanos(metrics.response_p99_nanos)),
        Text::from(vec![Span::styled(bar(ok.unwrap_or(0.0), most, width), style), Span::styled(why, theme.faint())]),
    ])
}

/// Formats a level: whole numbers without decimals.
fn shown(load: f64) -> String {
    decimal(load, if load.fract() == 0.0 { 0 } else { 2 })
}
