//! Standard output and standard error. A reader that closes the output early causes neither a failure nor a panic.

pub mod overlay;

use crate::failure::{Exit, Failure};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use sys::signals::Signal;

/// Maximum length of a message, in characters. A message may contain long paths and URLs.
const MESSAGE_MAX: usize = 4096;

/// Writes to standard output. Fails if the output cannot be written, for example to a file on a full disk.
pub fn print(text: &str) -> Result<(), Failure> {
    try_print(text).map_err(|error| {
        Failure::could_not_run(format!("cannot write to standard output: {error}; redirect it elsewhere"))
    })
}

/// Like [`print()`], but returns the I/O error unchanged. A reader that closed the output is not an error.
pub fn try_print(text: &str) -> io::Result<()> {
    if io::stdout().is_terminal() {
        overlay::remove();
    }
    let mut stream = io::stdout().lock();
    match stream.write_all(text.as_bytes()).and_then(|()| stream.flush()) {
        Err(error) if !is_reader_gone(&error) => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Returns a buffered stream to standard output, for long output. The caller must flush it.
pub fn buffered_stdout() -> impl Write + Send {
    io::BufWriter::with_capacity(64 << 10, io::stdout())
}

/// Returns whether an error means that the pipe was closed or the terminal is gone. When a terminal goes away, the
/// system sends a signal and then refuses all writes.
pub fn is_reader_gone(error: &io::Error) -> bool {
    let hung_up = || sys::signals::interrupts().last == Some(Signal::HangUp);
    error.kind() == io::ErrorKind::BrokenPipe || (error.kind() != io::ErrorKind::StorageFull && hung_up())
}

/// Writes a message to standard error. While a live view is open, the view shows the message, and the message is
/// printed when the view is closed.
pub fn eprintln(text: &str) {
    overlay::message(text);
}

/// Writes a message about the progress to standard error. A live view shows the progress itself, so while a view is
/// open, the message is not written.
pub fn eprintln_progress(text: &str) {
    overlay::progress_message(text);
}

/// Prints a failure and returns its exit code.
pub fn report(failure: Failure) -> ExitCode {
    print_failure(failure).into()
}

/// Prints a failure and exits at once, without waiting for other threads.
pub fn report_and_exit(failure: Failure) -> ! {
    std::process::exit(i32::from(print_failure(failure).code()))
}

fn print_failure(failure: Failure) -> Exit {
    overlay::remove_forever();
    match failure {
        Failure::TargetGone(message) => print_failure(Failure::could_not_run(message)),
        Failure::Message(exit, message) => {
            eprintln(&format!("plimsoll: {}", ::report::escape::bounded(&message, MESSAGE_MAX)));
            exit
        }
        Failure::NoCommand(help) => {
            eprintln(&format!("plimsoll: {help}"));
            Exit::Usage
        }
        Failure::Shown(text) => print(&text).map_or_else(print_failure, |()| Exit::Good),
    }
}
