//! The parts of the live view that show a run.

use super::plot;
use super::theme::Theme;
use crate::progress::live_line::span;
use crate::progress::state::history::Point;
use crate::progress::state::run::Details;
use crate::progress::state::{Run, State};
use measure::objective::ObjectiveOutcome;
use measure::units::format_span;
use measure::{AttemptClass, Enumerated, LimitedBy, Stage};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, BorderType, Paragraph, Wrap};
use report::escape::bounded;
use report::load_line::bar;
use report::number::{byte_rate, count, plural, rate, time};
use std::time::Duration;

/// Maximum length of a message in the view, in characters.
const MESSAGE_MAX: usize = 400;
/// Width of the bar that shows the progress of a run, in characters.
const BAR_MAX: usize = 40;

/// Shorter runs show their progress in tenths of a second.
const SHORT: Duration = Duration::from_secs(5);

/// Formats a time span, rounded to tenths of a second.
fn span_in_tenths(time: Duration) -> String {
    format_span(Duration::from_millis((time.as_secs_f64() * 10.0).round() as u64 * 100))
}

/// Draws a frame with one title on the left and another one on the right. Returns the area inside.
pub fn panel(frame: &mut Frame<'_>, area: Rect, theme: Theme, left: Line<'_>, right: Line<'_>) -> Rect {
    let padded = |line: Line<'_>| {
        let mut spans = vec![Span::raw(" ")];
        spans.extend(
            line.spans.into_iter().map(|span| Span::styled(span.content.into_owned(), line.style.patch(span.style))),
        );
        spans.push(Span::raw(" "));
        Line::from(spans)
    };
    let mut block = Block::bordered().border_type(BorderType::Plain).border_style(theme.faint()).title(padded(left));
    if right.width() > 0 {
        block = block.title(padded(right).right_aligned());
    }
    let inner = block.inner(area);
    frame.render_widget(block, area);
    inner
}

/// Returns a title: a name, and the latest value.
pub fn title<'t>(theme: Theme, name: &'t str, value: String) -> Line<'t> {
    Line::from(vec![Span::raw(name), Span::raw(" "), Span::styled(value, theme.strong())])
}

/// Draws text, with `…` if it is cut at the end.
pub fn one_line(frame: &mut Frame<'_>, area: Rect, line: &Line<'_>) {
    if area.is_empty() {
        return;
    }
    frame.render_widget(line, area);
    if line.width() > usize::from(area.width) {
        let last = (area.right() - 1, area.y);
        frame.buffer_mut()[last].set_symbol("…");
    }
}

/// Returns a text of at most `width` characters. If it is longer, its middle is replaced by `…`, because the names of
/// cells often differ only at their ends.
pub fn shortened(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length <= width || width == 0 {
        return text.to_owned();
    }
    let (first, last) = ((width - 1).div_ceil(2), (width - 1) / 2);
    text.chars().take(first).chain(['…']).chain(text.chars().skip(length - last)).collect()
}

/// Draws the title of the view: the measured target or work, and details in faint text.
pub fn header(frame: &mut Frame<'_>, area: Rect, theme: Theme, what: &str, details: &str) {
    let what = Span::styled(what, theme.strong());
    one_line(frame, area, &Line::from(vec![what, Span::raw("  "), Span::styled(details, theme.faint())]));
}

/// Draws the progress of a run. `name` is the name of the run, if there are several.
pub fn gauge(frame: &mut Frame<'_>, area: Rect, theme: Theme, name: &str, run: &Run) {
    let stage = match run.stage() {
        Stage::Warmup => "warming up",
        Stage::Measured => "measuring",
        Stage::Drain => "draining",
    };
    let shown = if run.planned().is_some_and(|time| time < SHORT) { span_in_tenths } else { span };
    let planned = run.planned().map(|time| format!(" of {}", shown(time))).unwrap_or_default();
    let left = run.left().map(|left| format!(" · {} left", shown(left))).unwrap_or_default();
    let text = format!("{}{planned}{left}", shown(run.elapsed()));
    progress_line(
        frame,
        area,
        theme,
        &[name, stage].join(if name.is_empty() { "" } else { ": " }),
        run.progress(),
        &text,
    );
}

/// Draws a line with a bar for a part in 0..=1, if the part is known.
pub fn progress_line(frame: &mut Frame<'_>, area: Rect, theme: Theme, name: &str, part: Option<f64>, text: &str) {
    let mut spans = vec![Span::styled(name.to_owned(), theme.running()), Span::raw(" ")];
    let room = usize::from(area.width).saturating_sub(name.chars().count() + text.chars().count() + 3);
    if let Some(part) = part
        && room >= 10
    {
        let width = room.min(BAR_MAX);
        let bar = bar(part.clamp(0.0, 1.0), 1.0, width);
        let rest = "·".repeat(width.saturating_sub(bar.chars().count()));
        spans.extend([Span::styled(bar, theme.first()), Span::styled(rest, theme.faint()), Span::raw(" ")]);
    }
    spans.push(Span::raw(text.to_owned()));
    one_line(frame, area, &Line::from(spans));
}

/// Draws the rate of operations over time.
pub fn rates(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    let now = run.last.as_ref().map_or_else(|| "–".to_owned(), |last| rate(last.rate));
    let in_flight = run.last.as_ref().map(|last| count(last.in_flight)).unwrap_or_default();
    let right = if in_flight.is_empty() { Line::default() } else { title(theme, "in flight", in_flight) };
    over_time(frame, area, theme, (title(theme, "rate", now), right), run, Point::rate);
}

/// Draws the goodput over time.
pub fn goodput(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    let points = run.details.as_ref().map(|details| details.history.points()).unwrap_or_default();
    let now = points.last().map_or_else(|| "–".to_owned(), |point| byte_rate(point.goodput()));
    let most = points.iter().map(Point::goodput).reduce(f64::max);
    let right = most.map(|most| Line::styled(format!("max {}", byte_rate(most)), theme.faint())).unwrap_or_default();
    over_time(frame, area, theme, (title(theme, "goodput", now), right), run, Point::goodput);
}

fn over_time(
    frame: &mut Frame<'_>,
    area: Rect,
    theme: Theme,
    (left, right): (Line<'_>, Line<'_>),
    run: &Run,
    value: impl Fn(&Point) -> f64,
) {
    let inner = panel(frame, area, theme, left, right);
    if let Some(details) = &run.details {
        let values = details.history.columns(inner.width.into(), run.charted(), value);
        plot::columns(&values, theme.first(), inner, frame.buffer_mut());
    }
}

/// Draws the response times over time.
pub fn response(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    let last = run.last.as_ref().map(|last| (last.p50, last.p99)).unwrap_or_default();
    let left = percentiles("response now ", last, theme);
    let inner = panel(frame, area, theme, left, Line::default());
    if let Some(details) = &run.details {
        plot::percentiles(details, run.charted(), theme, inner, frame.buffer_mut());
    }
}

/// Draws the histogram of response times.
pub fn histogram(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    let all = run.details.as_ref().map(|details| &details.summary.all.response);
    let quantile = |q| all.and_then(|all| all.quantile(q));
    let left = percentiles("whole run ", (quantile(0.5), quantile(0.99)), theme);
    let inner = panel(frame, area, theme, left, Line::default());
    if let Some(details) = &run.details {
        plot::histogram(details, theme, inner, frame.buffer_mut());
    }
}

/// Returns a title with the median and the 99th percentile, in nanoseconds.
fn percentiles(name: &'static str, (p50, p99): (Option<u64>, Option<u64>), theme: Theme) -> Line<'static> {
    let shown = |nanos: Option<u64>| nanos.map_or_else(|| "–".to_owned(), |nanos| time(nanos as f64));
    Line::from(vec![
        Span::raw(name),
        Span::styled("p50 ", theme.first()),
        Span::styled(shown(p50), theme.strong()),
        Span::styled(" p99 ", theme.second()),
        Span::styled(shown(p99), theme.strong()),
    ])
}

/// Draws the responses by status, the failures by class, and the latest failure.
pub fn outcomes(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    // Operations that are tried again fail only in attempts.
    let failures = run.details.as_ref().map(|details| details.failures()).unwrap_or_default();
    let attempts: u64 = failures.iter().map(|(_, number)| number).sum();
    let failed = match (run.failures, attempts) {
        (0, 0) => Line::styled("0 failed operations", theme.faint()),
        (0, attempts) => Line::styled(plural(attempts, "failed attempt"), theme.bad()),
        (operations, _) => Line::styled(plural(operations, "failed operation"), theme.bad()),
    };
    let inner = panel(frame, area, theme, Line::raw("responses"), failed);
    let Some(details) = &run.details else { return };
    let lines = outcome_lines(details, &failures, theme);
    let last = lines.len().saturating_sub(1);
    for (index, line) in lines.into_iter().enumerate() {
        let above = (index as u16).min(inner.height);
        let rest = Rect { y: inner.y + above, height: inner.height - above, ..inner };
        // The last line gets the remaining space. If it has only one row and is cut, a mark shows this.
        if index == last && rest.height > 1 {
            frame.render_widget(Paragraph::new(line).wrap(Wrap { trim: true }), rest);
        } else {
            one_line(frame, rest, &line);
        }
    }
}

fn outcome_lines(details: &Details, failures: &[(AttemptClass, u64)], theme: Theme) -> Vec<Line<'static>> {
    let status = |(status, number): &(u16, u64)| {
        let style = match status {
            200..=299 => theme.good(),
            100..=199 | 300..=399 => Style::new(),
            _ => theme.bad(),
        };
        [Span::styled(status.to_string(), style), Span::raw(format!(" × {}", count(*number)))]
    };
    let failure = |(class, number): &(AttemptClass, u64)| {
        [Span::styled(class.name(), theme.bad()), Span::raw(format!(" × {}", count(*number)))]
    };
    let statuses = details.statuses();
    let mut lines = Vec::new();
    if statuses.is_empty() && failures.is_empty() {
        lines.push(Line::styled("none yet", theme.faint()));
    }
    if !statuses.is_empty() {
        lines.push(joined("status ", statuses.iter().map(status), theme));
    }
    if !failures.is_empty() {
        lines.push(joined("failed attempts ", failures.iter().map(failure), theme));
    }
    lines.extend(details.newest_failure.as_ref().map(|example| Line::raw(format!("latest: {example}"))));
    lines
}

/// Returns a line with a label, and pieces that are separated by dots.
fn joined(label: &'static str, pieces: impl Iterator<Item = [Span<'static>; 2]>, theme: Theme) -> Line<'static> {
    let mut spans = vec![Span::styled(label, theme.faint())];
    for (index, piece) in pieces.enumerate() {
        if index > 0 {
            spans.push(Span::styled(" · ", theme.faint()));
        }
        spans.extend(piece);
    }
    Line::from(spans)
}

/// Draws the objectives, whether they are met so far, and what limits the run.
pub fn checks(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    let inner = panel(frame, area, theme, Line::raw("objectives and limit"), Line::styled("so far", theme.faint()));
    let Some(details) = &run.details else { return };
    let lines = objective_lines(details, theme, inner.height.saturating_sub(1).max(1).into());
    let [above, below] =
        Layout::vertical([Constraint::Length(lines.len() as u16), Constraint::Fill(1)]).areas::<2>(inner);
    for (line, row) in lines.into_iter().zip(above.rows()) {
        one_line(frame, row, &line);
    }
    if let Some(limit) = details.limit() {
        // Leave out the advice to run again with other flags, because it comes too early during the run.
        let text = match limit.by {
            LimitedBy::NotDetermined => "limited by: not determined yet".to_owned(),
            _ => report::limit::text(limit),
        };
        frame.render_widget(Paragraph::new(text).wrap(Wrap { trim: true }), below);
    }
}

/// Returns a line for each objective, the missed ones first. If they do not all fit into `room` lines, the last line
/// shows the number of the others.
fn objective_lines(details: &Details, theme: Theme, room: usize) -> Vec<Line<'static>> {
    let mut judged = details.judged().to_vec();
    judged.sort_by_key(|one| one.outcome == ObjectiveOutcome::Met);
    let shown = if judged.len() > room { room - 1 } else { judged.len() };
    let mut lines: Vec<Line<'_>> = judged
        .iter()
        .take(shown)
        .map(|one| {
            let outcome = match one.outcome {
                // The advice to run for longer would come too early.
                ObjectiveOutcome::NotEnoughData => "not enough data yet".to_owned(),
                _ => report::result::objective_outcome_text(one),
            };
            Line::from(vec![
                Span::raw(format!("{}: ", one.objective)),
                Span::styled(outcome, theme.of_objective(one.outcome)),
            ])
        })
        .collect();
    if shown < judged.len() {
        let missed = judged.iter().skip(shown).filter(|one| one.outcome == ObjectiveOutcome::Missed).count();
        let more = if shown > 0 { "more " } else { "" };
        let style = if missed > 0 { theme.bad() } else { theme.good() };
        lines.push(Line::from(vec![
            Span::raw(format!("{} {more}objectives: ", judged.len() - shown)),
            Span::styled(format!("{missed} of them missed"), style),
        ]));
    }
    lines
}

/// Returns the number of lines for messages, at most `most`.
pub fn message_lines(state: &State, most: u16) -> u16 {
    u16::try_from(messages(state).count()).unwrap_or(u16::MAX).min(most)
}

fn messages(state: &State) -> impl DoubleEndedIterator<Item = &str> {
    state.messages.iter().flat_map(|message| message.lines()).filter(|line| !line.trim().is_empty())
}

/// Draws the latest messages, the newest one at the bottom.
pub fn latest_messages(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let lines = messages(state).rev().take(area.height.into());
    for (line, row) in lines.zip(area.rows().collect::<Vec<_>>().into_iter().rev()) {
        one_line(frame, row, &Line::raw(bounded(line, MESSAGE_MAX)));
    }
}

/// Splits an area into two columns of the same width.
pub fn halves(area: Rect) -> [Rect; 2] {
    Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)]).areas(area)
}
