//! The guard of a link: another process of this program, which cleans up after the link if its owner is killed.

use crate::console;
use crate::emulated_link;
use crate::failure::Failure;
use link::state::{Record, clean_up_after};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitCode, Stdio};

/// Line with which the guard reports that it guards the link.
const READY: &str = "ready\n";
/// Maximum length of a message between two processes of this program, in bytes.
pub const MESSAGE_MAX: u64 = 64 << 10;

/// The guard of a link of this process. Dropping this value ends the guard, so drop it after the link.
#[derive(Debug)]
pub struct Guard(Child);

impl Guard {
    /// Starts the guard, and waits until it is ready.
    pub fn start(record: &Record) -> Result<Self, Failure> {
        let cannot = |error: io::Error| Failure::could_not_run(format!("cannot start the guard of the link: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(cannot)?);
        command.args(["link", "guard"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Interrupts from the terminal must not reach the guard, because it must outlive the link.
        let mut guard = Self(command.process_group(0).spawn().map_err(cannot)?);
        guard.hand_over(record).map_err(cannot)?;
        Ok(guard)
    }

    fn hand_over(&mut self, record: &Record) -> io::Result<()> {
        // The standard input of the guard stays open. The kernel closes it when this process ends, for any reason.
        let input = self.0.stdin.as_mut().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{}\n", serde_json::to_string(record)?).as_bytes())?;
        let mut line = String::new();
        let output = self.0.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        BufReader::new(output.take(READY.len() as u64)).read_line(&mut line)?;
        if line == READY { Ok(()) } else { Err(io::Error::other("it ended immediately")) }
    }

    /// Starts another guard if the guard has ended, for example because a user has killed it.
    pub fn renew_if_ended(&mut self, record: &Record) {
        if !matches!(self.0.try_wait(), Ok(None)) {
            // Ignore a failure, because the link works without a guard. The next call tries again.
            if let Ok(next) = Self::start(record) {
                *self = next;
            }
        }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Guards the link whose record is the first line of standard input, until standard input closes.
pub fn run() -> Result<ExitCode, Failure> {
    let failed = |error: &dyn std::fmt::Display| Failure::could_not_run(format!("link guard: {error}"));
    let mut line = String::new();
    let mut input = BufReader::new(io::stdin());
    input.by_ref().take(MESSAGE_MAX).read_line(&mut line).map_err(|error| failed(&error))?;
    let record: Record = serde_json::from_str(&line).map_err(|error| failed(&error))?;
    let registry = emulated_link::registry()?;
    console::print(READY)?;
    let _ = io::copy(&mut input, &mut io::sink());
    clean_up_after(&record, &registry).map_err(|error| failed(&error))?;
    Ok(ExitCode::SUCCESS)
}
