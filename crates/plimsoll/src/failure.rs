//! Failures that end the program: one line that says what, where, and how to mend it, and an exit code.

use crate::say;
use measure::ExitStatus;
use std::fmt::Display;
use std::process::ExitCode;

/// Characters of a message: paths and URLs in it can be long.
const MESSAGE_MAX: usize = 4096;

/// Exit codes (docs/measurement.md). When several apply, the order of precedence is 4, interrupted, 3, 1, 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Ran, and the objectives held.
    Good,
    /// Objectives failed.
    Objectives,
    /// Bad usage.
    Usage,
    /// Ran, but the result must not be used.
    Unusable,
    /// Could not run.
    CouldNotRun,
    /// Interrupted by a signal; a report was written.
    Interrupted(i32),
}

impl Exit {
    fn code(self) -> u8 {
        match self {
            Self::Good => 0,
            Self::Objectives => 1,
            Self::Usage => 2,
            Self::Unusable => 3,
            Self::CouldNotRun => 4,
            Self::Interrupted(signal) => 128 + signal.clamp(1, 64) as u8,
        }
    }

    /// What broke off a command that would have gone on.
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

/// What ended the program, for people.
#[derive(Debug)]
pub enum Failure {
    /// A message for standard error, in one line whatever the user typed.
    Message(Exit, String),
    /// Nothing was asked for: help, for standard error.
    Unasked(String),
    /// Text that was asked for (help, version): for standard output.
    Shown(String),
}

impl Failure {
    /// The user's mistake.
    pub fn usage(message: impl Display) -> Self {
        Self::Message(Exit::Usage, message.to_string())
    }

    /// The world's refusal.
    pub fn could_not_run(message: impl Display) -> Self {
        Self::Message(Exit::CouldNotRun, message.to_string())
    }

    /// The same with what can be done now.
    pub fn and(self, more: &str) -> Self {
        match self {
            Self::Message(exit, message) => Self::Message(exit, format!("{message}; {more}")),
            other => other,
        }
    }

    /// The text alone, where it does not end the program.
    pub fn into_message(self) -> String {
        match self {
            Self::Message(_, text) | Self::Unasked(text) | Self::Shown(text) => text,
        }
    }

    /// Says it, and gives the exit code.
    pub fn tell(self) -> ExitCode {
        self.said().into()
    }

    /// Says it, and ends the program where it stands: no other thread is waited for.
    pub fn leave(self) -> ! {
        std::process::exit(i32::from(self.said().code()))
    }

    fn said(self) -> Exit {
        match self {
            Self::Message(exit, message) => {
                say::note(&format!("plimsoll: {}", report::escape::bounded(&message, MESSAGE_MAX)));
                exit
            }
            Self::Unasked(help) => {
                say::note(&format!("plimsoll: {help}"));
                Exit::Usage
            }
            Self::Shown(text) => say::out(&text).map_or_else(Self::said, |()| Exit::Good),
        }
    }
}
