//! Judgment of responses. Status, header fields and body determine the outcome. Most functions here are pure.
//!
//! `checks` judges status, range and size. `header_values`, `refusal`, `digest` and `object_states` use metadata of the
//! response. `head` applies these checks to a complete head.
//! The outcomes of failed connections and streams are in [`super::attempt::failure_outcomes`].

pub(in crate::run_loop) mod body;
pub(in crate::run_loop) mod checks;
pub(in crate::run_loop) mod digest;
mod file_verifier;
pub(in crate::run_loop) mod first_response;
pub(in crate::run_loop) mod head;
pub(in crate::run_loop) mod header_values;
pub(in crate::run_loop) mod header_watch;
pub(in crate::run_loop) mod notes;
pub(in crate::run_loop) mod object_states;
pub(in crate::run_loop) mod reader;
pub(in crate::run_loop) mod refusal;

use measure::AttemptOutcome;

/// Result of one read from a connection.
pub(in crate::run_loop) enum ReadStep {
    /// There may be more to read right now.
    More,
    /// All bytes that had arrived were read.
    Drained,
    /// The attempt has ended.
    Over,
}

/// Result of parsing pieces of a response.
#[derive(Default)]
pub(in crate::run_loop) struct Parsed {
    /// Number of body bytes in the pieces.
    pub body: usize,
    pub end: ParsedEnd,
}

/// State of a response at the end of a piece.
#[derive(Clone, Copy, Default)]
pub(in crate::run_loop) enum ParsedEnd {
    #[default]
    Incomplete,
    /// The response is complete, and `excess` bytes arrived after the response.
    Complete { excess: usize },
    /// The attempt ends with this outcome, and the rest of the response is not read.
    Cut(AttemptOutcome),
}
