//! Why a task could not be carried out.

use std::fmt::Display;
use std::io;

/// What ended a task early.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The user asked for it.
    #[error("interrupted; nothing is left running")]
    Interrupted,
    /// What, where, and how to mend it.
    #[error("{0}")]
    Message(String),
}

/// What a step of a task answers.
pub type Result<T> = std::result::Result<T, Failure>;

/// A failure in words.
pub fn failure(message: impl Display) -> Failure {
    Failure::Message(message.to_string())
}

/// Says what was being done when the system refused.
pub trait While<T> {
    /// `doing` completes the sentence "cannot …".
    fn cannot(self, doing: impl Display) -> Result<T>;
}

impl<T> While<T> for io::Result<T> {
    fn cannot(self, doing: impl Display) -> Result<T> {
        self.map_err(|error| failure(format_args!("cannot {doing}: {error}")))
    }
}

/// Fails when the user has asked for the end.
pub fn go_on() -> Result<()> {
    if sys::signals::interrupts().count > 0 { Err(Failure::Interrupted) } else { Ok(()) }
}
