//! The only ways to standard output and standard error. A reader that has gone away is no failure, and no panic.

use std::io::{self, Write};

/// Writes to standard output, as it is.
pub fn out(text: &str) {
    let _ = try_out(text);
}

/// Writes to standard output, and tells when that could not be done for another reason than that nobody reads it.
pub fn try_out(text: &str) -> io::Result<()> {
    let mut stream = io::stdout().lock();
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream.write_all(format!("{text}\n").as_bytes()).and_then(|()| stream.flush());
}
