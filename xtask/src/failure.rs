//! Failures of a task.

use std::fmt::Display;
use std::io;

/// Reason why a task ended early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user interrupted the task.
    #[error("interrupted; nothing is left running")]
    Interrupted,
    /// Message for the user, which contains the failed step, the reason and the fix.
    #[error("{0}")]
    Message(String),
}

/// Result of a step of a task.
pub type Result<T> = std::result::Result<T, Failure>;

/// Creates a failure with a message.
pub fn failure(message: impl Display) -> Failure {
    Failure::Message(message.to_string())
}

/// Extension trait that adds context to the errors of system calls.
pub trait Context<T> {
    /// Adds "cannot …" in front of the error.
    fn cannot(self, action: impl Display) -> Result<T>;
}

impl<T> Context<T> for io::Result<T> {
    fn cannot(self, action: impl Display) -> Result<T> {
        self.map_err(|error| failure(format_args!("cannot {action}: {error}")))
    }
}

/// Fails if the user has pressed Ctrl-C.
pub fn check_interrupt() -> Result<()> {
    if sys::signals::interrupts().count > 0 { Err(Failure::Interrupted) } else { Ok(()) }
}
