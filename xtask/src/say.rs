//! The only ways to standard output and standard error. A reader that has gone away is no failure, and no panic.

use std::io::{self, Write};

/// Writes a line of the result to standard output.
pub fn line(text: impl std::fmt::Display) {
    let mut stream = io::stdout().lock();
    let _ = writeln!(stream, "{text}").and_then(|()| stream.flush());
}

/// Writes a line about the progress to standard error.
pub fn note(text: impl std::fmt::Display) {
    let mut stream = io::stderr().lock();
    let _ = writeln!(stream, "{text}").and_then(|()| stream.flush());
}
