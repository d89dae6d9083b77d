//! Standard output and standard error. If the reader of the output has closed it, this is neither a failure nor a
//! panic.

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
