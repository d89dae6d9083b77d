//! The state of work in progress, which the live line and the live view show. The state contains no clock and no
//! terminal.

pub mod fill;
pub mod history;
pub mod line;
pub mod run;
pub mod study;
mod times;

pub use fill::Fill;
pub use line::Line;
pub use run::Run;
pub use study::Study;

use std::time::Duration;

/// Work in progress. Work can contain other work: a study contains searches, fills and runs.
#[derive(Debug, Default)]
pub struct State {
    pub study: Option<Study>,
    pub line: Option<Line>,
    pub fill: Option<Fill>,
    pub run: Option<Run>,
    /// The latest messages, the newest one last.
    pub messages: Vec<String>,
    /// Time since the work started.
    pub elapsed: Duration,
}
