//! The error of a response that cannot be read.

use std::fmt::Write;

/// The longest description of a problem. It can quote the server.
const PROBLEM_CHARS_MAX: usize = 240;

/// A response that cannot be read: whose, where, and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the response to {request}: {problem}")]
pub struct ParseError {
    /// The request and the daemon, such as `GET /wallet of siad`.
    pub request: &'static str,
    /// What is wrong, and where. One line without control characters.
    pub problem: String,
}

impl ParseError {
    pub(crate) fn new(request: &'static str, problem: &str) -> Self {
        Self { request, problem: one_line(problem) }
    }

    /// Makes the error of a value in JSON.
    pub(crate) fn of_json(request: &'static str, error: &serde_path_to_error::Error<serde_json::Error>) -> Self {
        let mut problem = String::new();
        if error.path().iter().next().is_some() {
            // Writing to a string cannot fail.
            let _ = write!(problem, "at {}: ", error.path());
        }
        let _ = write!(problem, "{}", error.inner());
        Self::new(request, &problem)
    }
}

/// Cuts a text of the server to a readable line.
pub(crate) fn one_line(text: &str) -> String {
    let plain = |char: char| if char.is_control() { '\u{fffd}' } else { char };
    let mut line: String = text.chars().take(PROBLEM_CHARS_MAX).map(plain).collect();
    if text.chars().nth(PROBLEM_CHARS_MAX).is_some() {
        line.push('…');
    }
    line
}
