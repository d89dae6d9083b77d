//! Colors of the live view. The view can be read without them.

use measure::ResultWord;
use measure::objective::ObjectiveOutcome;
use ratatui::style::{Color, Modifier, Style};
use report::load_line::LevelOutcome;

/// Styles for the parts of the view.
#[derive(Clone, Copy, Debug)]
pub struct Theme {
    /// `false` to use no colors, as NO_COLOR demands.
    pub color: bool,
}

impl Theme {
    fn of(self, color: Color) -> Style {
        if self.color { Style::new().fg(color) } else { Style::new() }
    }

    /// Returns the style of frames and labels.
    pub fn faint(self) -> Style {
        if self.color { self.of(Color::DarkGray) } else { Style::new().add_modifier(Modifier::DIM) }
    }

    /// Returns the style of titles and important numbers.
    pub fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    pub fn good(self) -> Style {
        self.of(Color::Green)
    }

    pub fn bad(self) -> Style {
        self.of(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Returns the style of uncertain values.
    pub fn doubtful(self) -> Style {
        self.of(Color::Yellow)
    }

    /// Returns the style of a chart's main values.
    pub fn first(self) -> Style {
        self.of(Color::Cyan)
    }

    /// Returns the style of a chart's other values.
    pub fn second(self) -> Style {
        self.of(Color::Magenta)
    }

    /// Returns the style of work in progress.
    pub fn running(self) -> Style {
        self.of(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    pub fn of_objective(self, outcome: ObjectiveOutcome) -> Style {
        match outcome {
            ObjectiveOutcome::Met => self.good(),
            ObjectiveOutcome::Missed => self.bad(),
            ObjectiveOutcome::NotEnoughData | ObjectiveOutcome::ClientLimited => self.doubtful(),
        }
    }

    pub fn of_level(self, outcome: LevelOutcome) -> Style {
        match outcome {
            LevelOutcome::Passed => self.good(),
            LevelOutcome::Failed => self.bad(),
            LevelOutcome::NotDecided | LevelOutcome::ClientLimited => self.doubtful(),
        }
    }

    pub fn of_result(self, word: ResultWord) -> Style {
        match word {
            ResultWord::Pass => self.good(),
            ResultWord::Fail => self.bad(),
            ResultWord::Unusable | ResultWord::Partial => self.doubtful(),
        }
    }
}
