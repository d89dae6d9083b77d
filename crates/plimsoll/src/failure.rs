//! Failures that end the program. Each failure has an exit code, and a one-line message that explains what failed, why,
//! and what to do.

use measure::ExitStatus;
use std::fmt::Display;
use std::process::ExitCode;

/// Exit codes, as documented in docs/measurement.md. If several apply, the order of precedence is: 4, interrupted, 3,
/// 1, 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The run completed and met its objectives.
    Good,
    /// The run missed objectives.
    Objectives,
    /// The command line is wrong.
    Usage,
    /// The run completed, but its results must not be used.
    Unusable,
    /// The command could not run.
    CouldNotRun,
    /// A signal interrupted the run. A report was written.
    Interrupted(i32),
}

impl Exit {
    /// Returns the number of the exit code.
    pub fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Objectives => 1,
            Self::Usage => 2,
            Self::Unusable => 3,
            Self::CouldNotRun => 4,
            Self::Interrupted(signal) => 128 + signal.clamp(1, 64) as u8,
        }
    }

    /// Returns the exit code that takes precedence.
    pub fn or_worse(self, other: Self) -> Self {
        let rank = |exit: &Self| match exit {
            Self::CouldNotRun => 5,
            Self::Interrupted(_) => 4,
            Self::Unusable => 3,
            Self::Usage => 2,
            Self::Objectives => 1,
            Self::Good => 0,
        };
        if rank(&other) > rank(&self) { other } else { self }
    }

    /// Returns the reason why the program stopped before the end of its work, or `None` if the work was completed.
    pub fn broken_off(self) -> Option<ExitStatus> {
        match self {
            Self::Interrupted(signal) => Some(ExitStatus::Interrupted(signal)),
            Self::CouldNotRun => Some(ExitStatus::CouldNotRun),
            Self::Good | Self::Objectives | Self::Usage | Self::Unusable => None,
        }
    }
}

impl From<ExitStatus> for Exit {
    fn from(status: ExitStatus) -> Self {
        match status {
            ExitStatus::Good => Self::Good,
            ExitStatus::Failed => Self::Objectives,
            ExitStatus::Unusable => Self::Unusable,
            ExitStatus::CouldNotRun => Self::CouldNotRun,
            ExitStatus::Interrupted(signal) => Self::Interrupted(signal),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// A reason for the end of the program, as text for people.
#[derive(Debug)]
pub enum Failure {
    /// A message for standard error. Control characters are escaped, so the message stays on one line.
    Message(Exit, String),
    /// The target did not respond for longer than the user allows. A fill then ends normally, with its report.
    TargetGone(String),
    /// Help text for standard error, shown because no command was given.
    NoCommand(String),
    /// Text that the user requested (help, version), for standard output.
    Shown(String),
}

impl Failure {
    /// Returns a failure for a mistake in the command line or in an input file.
    pub fn usage(message: impl Display) -> Self {
        Self::Message(Exit::Usage, message.to_string())
    }

    /// Returns a failure for a command that cannot run.
    pub fn could_not_run(message: impl Display) -> Self {
        Self::Message(Exit::CouldNotRun, message.to_string())
    }

    /// Appends advice on what to do next.
    pub fn and(self, more: &str) -> Self {
        match self {
            Self::Message(exit, message) => Self::Message(exit, format!("{message}; {more}")),
            Self::TargetGone(message) => Self::TargetGone(format!("{message}; {more}")),
            other => other,
        }
    }

    /// Returns only the text, for use in another message.
    pub fn into_message(self) -> String {
        match self {
            Self::Message(_, text) | Self::TargetGone(text) | Self::NoCommand(text) | Self::Shown(text) => text,
        }
    }
}
