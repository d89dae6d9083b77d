//! The error of a response that cannot be parsed.

use std::fmt::Write;

/// Maximum length of an error description, which may contain text from the server.
const PROBLEM_CHARS_MAX: usize = 240;

/// An error from parsing a response. The message names the request, the problem, and its place in the response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("cannot read the response to {request}: {problem}")]
pub struct ParseError {
    /// The request and its daemon, such as `GET /wallet of siad`.
    pub request: &'static str,
    /// The problem and its place in the response, as one line without control characters.
    pub problem: String,
}

impl ParseError {
    pub(crate) fn new(request: &'static str, problem: &str) -> Self {
        Self { request, problem: one_line(problem) }
    }

    /// Creates the error of an invalid JSON value.
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

/// Shortens a text from the server to one readable line.
pub(crate) fn one_line(text: &str) -> String {
    let plain = |char: char| if char.is_control() { '\u{fffd}' } else { char };
    let mut line: String = text.chars().take(PROBLEM_CHARS_MAX).map(plain).collect();
    if text.chars().nth(PROBLEM_CHARS_MAX).is_some() {
        line.push('…');
    }
    line
}
