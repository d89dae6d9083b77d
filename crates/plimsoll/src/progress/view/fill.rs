//! The live view of a fill.

use super::panels::{
    goodput, halves, header, latest_messages, message_lines, one_line, outcomes, panel, progress_line, rates, response,
};
use super::theme::Theme;
use super::{is_tall, messages_max};
use crate::progress::live_line::span;
use crate::progress::state::fill::Phase;
use crate::progress::state::{Fill, Run, State};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line as Text, Span};
use ratatui::widgets::{Row, Table};
use report::escape::escape;
use report::number::{bit_rate, bytes, count};

/// Draws the whole view.
pub fn draw(state: &State, fill: &Fill, theme: Theme, frame: &mut Frame<'_>) {
    let messages = message_lines(state, messages_max(frame.area()));
    let is_tall = is_tall(frame.area());
    // Each stop rule has two lines, if there is enough space.
    let rule_count = fill.rules.len() + usize::from(fill.cap.is_some());
    let height = (rule_count as u16 * 2 + 2).clamp(8, if is_tall { 14 } else { 10 });
    let rows = [
        Constraint::Length(1),
        Constraint::Length(1),
        Constraint::Length(height),
        Constraint::Fill(1),
        Constraint::Length(if is_tall { 8 } else { 5 }),
        Constraint::Length(messages),
    ];
    let [title, progress, upper, middle, lower, below] = Layout::vertical(rows).areas(frame.area());
    header(frame, title, theme, &escape(&fill.location), &format!("fill · {} so far", span(state.elapsed)));
    gauge(frame, progress, theme, fill, state);
    let [left, right] = halves(upper);
    totals(frame, left, theme, fill, state.run.as_ref());
    rules(frame, right, theme, fill);
    if let Some(run) = &state.run {
        let [left, right] = halves(middle);
        match fill.phase {
            Phase::Upload | Phase::Verify => goodput(frame, left, theme, run),
            // Deletions transfer no bytes.
            Phase::Delete => rates(frame, left, theme, run),
        }
        response(frame, right, theme, run);
        outcomes(frame, lower, theme, run);
    }
    latest_messages(frame, below, state);
}

/// Draws the progress of the phase: in bytes for uploads, and in operations for the other phases.
fn gauge(frame: &mut Frame<'_>, area: Rect, theme: Theme, fill: &Fill, state: &State) {
    let name = match fill.phase {
        Phase::Upload => "uploading",
        Phase::Verify => "reading back",
        Phase::Delete => "deleting",
    };
    match (&state.run, fill.phase) {
        (Some(run), Phase::Verify | Phase::Delete) => {
            let part = run.progress();
            let percent = part.map(|part| format!("{:.1} %", part * 100.0)).unwrap_or_default();
            let left = run.left().map(|left| format!(" · {} left", span(left))).unwrap_or_default();
            progress_line(frame, area, theme, name, part, &format!("{percent}{left}"));
        }
        _ => {
            let (stored, all) = fill.bytes;
            let part = (all > 0).then(|| stored as f64 / all as f64);
            let left = fill.left().map(|left| format!(" · {} left", span(left))).unwrap_or_default();
            let percent = part.map(|part| format!("{:.1} %", part * 100.0)).unwrap_or_default();
            progress_line(frame, area, theme, name, part, &format!("{percent}{left}"));
        }
    }
}

/// Draws the numbers of the phase.
fn totals(frame: &mut Frame<'_>, area: Rect, theme: Theme, fill: &Fill, run: Option<&Run>) {
    let inner = panel(frame, area, theme, Text::raw("fill"), Text::default());
    let (objects, size) = (fill.objects, fill.bytes);
    let dash = || "–".to_owned();
    let stored = format!("{} of {}", count(objects.0), count(objects.1));
    let rows = match fill.phase {
        Phase::Upload => {
            let failed = if fill.failed > 0 { theme.bad() } else { theme.faint() };
            let waiting = fill.waiting_text().map(|waiting| format!(", {waiting}")).unwrap_or_default();
            let bandwidth = fill.bandwidth.map_or_else(dash, |rate| format!("{} (last minute)", bit_rate(rate)));
            vec![
                ("objects", Text::raw(stored)),
                ("bytes", Text::raw(format!("{} of {}{waiting}", bytes(size.0), bytes(size.1)))),
                ("bandwidth", Text::raw(bandwidth)),
                ("spent", Text::raw(fill.spent.clone().unwrap_or_else(dash))),
                ("failed", Text::styled(count(fill.failed), failed)),
                ("this run", Text::raw(span(fill.elapsed))),
            ]
        }
        Phase::Verify | Phase::Delete => {
            let name = if fill.phase == Phase::Verify { "read back" } else { "deleted" };
            let (done, all) = run.map(Run::operations).unwrap_or_default();
            let all = all.map(|all| format!(" of {}", count(all))).unwrap_or_default();
            vec![
                ("stored", Text::raw(format!("{stored}, {}", bytes(size.0)))),
                (name, Text::raw(format!("{}{all}", count(done)))),
                ("this run", Text::raw(span(run.map(Run::elapsed).unwrap_or_default()))),
            ]
        }
    };
    let rows = rows.into_iter().map(|(name, value)| Row::new([Text::styled(name, theme.faint()), value]));
    frame.render_widget(Table::new(rows, [Constraint::Length(9), Constraint::Fill(1)]).column_spacing(2), inner);
}

fn rules(frame: &mut Frame<'_>, area: Rect, theme: Theme, fill: &Fill) {
    let inner = panel(frame, area, theme, Text::raw("stop rules"), Text::default());
    let is_upload = fill.phase == Phase::Upload;
    // The other phases have no limit on spending.
    let cap = fill.cap.iter().filter(|_| is_upload).map(|cap| {
        let spent = fill.spent.as_ref().map(|spent| format!("now {spent}"));
        (format!("spending >= {cap}"), spent)
    });
    let all: Vec<_> = fill.rules.iter().cloned().chain(cap).collect();
    if all.is_empty() {
        let end = match fill.phase {
            Phase::Upload => "none: ends when all objects are stored",
            Phase::Verify => "none: ends when all are read back",
            Phase::Delete => "none: ends when all are deleted",
        };
        one_line(frame, inner, &Text::styled(end, theme.faint()));
    }
    // Each rule has two lines if they fit: the rule, and its value.
    let is_roomy = all.len() * 2 <= usize::from(inner.height);
    let mut lines = Vec::new();
    for (rule, now) in all {
        let now = Span::styled(now.unwrap_or_else(|| "no data yet".to_owned()), theme.strong());
        if is_roomy {
            lines.extend([Text::raw(rule), Text::from(vec![Span::raw("  "), now])]);
        } else {
            lines.push(Text::from(vec![Span::raw(rule), Span::raw(": "), now]));
        }
    }
    for (line, row) in lines.into_iter().zip(inner.rows()) {
        one_line(frame, row, &line);
    }
}
