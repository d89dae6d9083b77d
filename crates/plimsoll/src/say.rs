//! The only ways to standard output and standard error. A reader that has gone away is no failure, and no panic.

use crate::failure::Failure;
use std::io::{self, Write};
use sys::signals::Signal;

/// Writes to standard output, as it is. Whoever redirects it into a file must learn when it is not there.
pub fn out(text: &str) -> Result<(), Failure> {
    try_out(text).map_err(|error| {
        Failure::could_not_run(format!("standard output can not be written: {error}; redirect it elsewhere"))
    })
}

/// Writes to standard output, and tells when that could not be done for another reason than that nobody reads it.
pub fn try_out(text: &str) -> io::Result<()> {
    let mut stream = io::stdout().lock();
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if !nobody_reads(&error) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Standard output, for what is too long to be made before it is written. It has to be flushed.
pub fn stream() -> impl Write + Send {
    io::BufWriter::with_capacity(64 << 10, io::stdout())
}

/// The pipe is closed, or the terminal is gone. The system tells the latter by a signal, and then refuses all writing.
pub fn nobody_reads(error: &io::Error) -> bool {
    let hung_up = || sys::signals::interrupts().last == Some(Signal::HangUp);
    error.kind() == io::ErrorKind::BrokenPipe || (error.kind() != io::ErrorKind::StorageFull && hung_up())
}

/// Writes a line to standard error.
pub fn note(text: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream.write_all(format!("{text}\n").as_bytes()).and_then(|()| stream.flush());
}
