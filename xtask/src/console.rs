//! Standard output and standard error. Errors are ignored, for example if the output is a pipe that its reader has
//! closed.

use std::io::{self, Write};

/// Writes a line of the result to standard output.
pub fn line(text: impl std::fmt::Display) {
    let mut stream = io::stdout().lock();
    let _ = writeln!(stream, "{text}").and_then(|()| stream.flush());
}

/// Writes a progress message to standard error.
pub fn note(text: impl std::fmt::Display) {
    let mut stream = io::stderr().lock();
    let _ = writeln!(stream, "{text}").and_then(|()| stream.flush());
}
