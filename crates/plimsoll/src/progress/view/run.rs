//! The live view of a run.

use super::panels::{
    checks, gauge, goodput, halves, header, histogram, latest_messages, message_lines, outcomes, rates, response,
};
use super::theme::Theme;
use super::{is_wide, messages_max};
use crate::progress::state::{Run, State};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};

/// Draws the whole view.
pub fn draw(state: &State, run: &Run, theme: Theme, frame: &mut Frame<'_>) {
    let messages = message_lines(state, messages_max(frame.area()));
    let rows = [Constraint::Length(1), Constraint::Length(1), Constraint::Fill(1), Constraint::Length(messages)];
    let [title, progress, body, below] = Layout::vertical(rows).areas(frame.area());
    let number = run.number.map(|(number, all)| format!("run {number} of {all}")).unwrap_or_default();
    header(frame, title, theme, &run.target, &run.load);
    gauge(frame, progress, theme, &number, run);
    all_panels(frame, body, theme, run);
    latest_messages(frame, below, state);
}

/// Draws all results of a run.
pub fn all_panels(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    let text = if is_wide(frame.area()) { 8 } else { 11 };
    let rows = [Constraint::Fill(6), Constraint::Fill(7), Constraint::Length(text)];
    let [upper, middle, lower] = Layout::vertical(rows).areas(area);
    let [left, right] = halves(upper);
    rates(frame, left, theme, run);
    goodput(frame, right, theme, run);
    let [left, right] = halves(middle);
    response(frame, left, theme, run);
    histogram(frame, right, theme, run);
    texts(frame, lower, theme, run);
}

/// Draws the main charts of a run.
pub fn charts(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    let [left, right] = halves(area);
    rates(frame, left, theme, run);
    response(frame, right, theme, run);
}

/// Draws the responses and the objectives of a run: next to each other if there is enough space.
pub fn texts(frame: &mut Frame<'_>, area: Rect, theme: Theme, run: &Run) {
    let [first, second] = if is_wide(frame.area()) {
        halves(area)
    } else {
        Layout::vertical([Constraint::Length(area.height / 2), Constraint::Fill(1)]).areas(area)
    };
    outcomes(frame, first, theme, run);
    checks(frame, second, theme, run);
}
