//! The live view: charts and results of work in progress on the whole terminal.
//!
//! Drawing is a function of the state and of the size of the terminal. This function has no clock, and writes nothing
//! itself.

mod fill;
mod line;
mod panels;
mod plot;
mod run;
mod screen;
mod study;
mod theme;

#[cfg(test)]
mod tests;

pub use screen::Screen;

use super::choice::SIZE_MIN;
use super::live_line;
use super::state::State;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;
use theme::Theme;

/// Draws the state of work in progress.
fn draw(state: &State, theme: Theme, frame: &mut Frame<'_>) {
    let area = frame.area();
    if area.width < SIZE_MIN.0 || area.height < SIZE_MIN.1 {
        return draw_small(state, frame);
    }
    match state {
        State { study: Some(study), .. } => study::draw(state, study, theme, frame),
        State { line: Some(line), .. } => line::draw(state, line, theme, frame),
        State { fill: Some(fill), .. } => fill::draw(state, fill, theme, frame),
        State { run: Some(run), .. } => run::draw(state, run, theme, frame),
        _ => panels::latest_messages(frame, area, state),
    }
}

/// Draws the live line, in a terminal that has become too small for the view.
fn draw_small(state: &State, frame: &mut Frame<'_>) {
    let lines = [live_line::text(state).unwrap_or_default(), "the live view needs 80 columns and 20 lines".to_owned()];
    for (text, row) in lines.into_iter().zip(frame.area().rows()) {
        panels::one_line(frame, row, &Line::raw(text));
    }
}

/// Returns whether there is enough space for two texts next to each other.
fn is_wide(area: Rect) -> bool {
    area.width >= 110
}

/// Returns whether there is more space than on a usual terminal of 24 lines.
fn is_tall(area: Rect) -> bool {
    area.height >= 32
}

/// Returns the maximum number of lines for messages.
fn messages_max(area: Rect) -> u16 {
    if is_tall(area) { 4 } else { 1 }
}
