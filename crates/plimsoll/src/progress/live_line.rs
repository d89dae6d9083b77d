//! The live line, which is a line on the terminal that is rewritten every second. The line shows the time left.

use super::choice::{View, terminal_size};
use super::state::fill::Phase;
use super::state::{Run, State};
use crate::console::overlay;
use measure::Stage;
use measure::units::format_span;
use report::number::byte_rate;
use std::time::Duration;

/// Maximum length of the line, in characters: one less than the width of a usual terminal.
const COLUMNS_MAX: usize = 79;
/// A message is shown only after the work that it describes has taken this long.
const PATIENCE: Duration = Duration::from_secs(1);

/// The line of work outside of runs. The line is hidden if standard error is not a terminal, and while a live view is
/// open.
pub struct LiveLine {
    shown: bool,
}

impl LiveLine {
    /// Returns the line.
    pub fn new() -> Self {
        Self { shown: View::Line.possible() == View::Line }
    }

    /// Shows a message about work that has taken `elapsed` so far.
    pub fn message(&mut self, elapsed: Duration, text: &str) {
        if self.shown && elapsed > PATIENCE {
            write(text);
        }
    }

    /// Erases the line.
    pub fn clear(&self) {
        if self.shown {
            overlay::erase_line();
        }
    }
}

/// Replaces the live line by this text.
pub fn write(text: &str) {
    // Cut the line, because a longer one would wrap around and could not be rewritten.
    let width = terminal_size().map_or(COLUMNS_MAX, |(width, _)| width.into());
    let text: String = text.chars().take(COLUMNS_MAX.min(width.saturating_sub(1))).collect();
    overlay::rewrite_line(&text);
}

/// Returns the text of the live line; `None` if there is nothing to show yet.
pub fn text(state: &State) -> Option<String> {
    match &state.fill {
        Some(fill) if fill.phase == Phase::Upload => Some(fill.line()),
        _ => state.run.as_ref().and_then(of_run),
    }
}

fn of_run(run: &Run) -> Option<String> {
    let last = run.last.as_ref()?;
    let stage = match last.stage {
        Stage::Warmup => "warming up  ",
        Stage::Measured => "",
        Stage::Drain => "draining  ",
    };
    Some(format!(
        "{stage}{}{} {:.0}/s {} p50 {} p99 {} failed {}{} in flight {}",
        span(run.elapsed_at(last.end, last.stage)),
        run.planned_window().map(|time| format!("/{}", format_span(time))).unwrap_or_default(),
        last.rate,
        byte_rate(last.byte_rate),
        milliseconds(last.p50),
        milliseconds(last.p99),
        run.failures,
        run.left().map(|left| format!(" {} left", span(left))).unwrap_or_default(),
        last.in_flight,
    ))
}

/// Formats a time span, rounded to seconds.
pub fn span(time: Duration) -> String {
    format_span(Duration::from_secs(time.as_secs_f64().round() as u64))
}

fn milliseconds(nanos: Option<u64>) -> String {
    nanos.map_or_else(|| "-".into(), |nanos| format!("{:.2} ms", nanos as f64 / 1e6))
}
