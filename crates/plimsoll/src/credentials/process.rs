//! Keys that a program prints. The setting `credential_process` of a profile names the program, as for AWS SDKs.

use super::{Credentials, Source};
use crate::failure::Failure;
use std::io::{ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use sys::process::Process;

/// Maximum duration of the program. The program may have to ask the user for a code.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Maximum size of the output, in bytes.
const OUTPUT_MAX: usize = 64 * 1024;

/// Runs the program and returns the keys that it prints. Messages never contain the output, which is secret.
pub fn run(command: &str, source: &Source) -> Result<Credentials, Failure> {
    let failed = |why: &str| Failure::could_not_run(format!("the program in {source} {why}"));
    let output = output(command).map_err(|why| failed(&why))?;
    let invalid = || failed("printed no keys: it must print JSON with Version 1, AccessKeyId and SecretAccessKey");
    let found: serde_json::Value = serde_json::from_slice(&output).map_err(|_| invalid())?;
    if found.get("Version").and_then(serde_json::Value::as_u64) != Some(1) {
        return Err(invalid());
    }
    Credentials::from_json(&found, "SessionToken", source.clone())?.ok_or_else(invalid)
}

/// Runs a command and returns what it prints, or the reason why it failed.
fn output(command: &str) -> Result<Vec<u8>, String> {
    let cannot = |error: std::io::Error| format!("could not run ({error})");
    let (mut output, end) = UnixStream::pair().map_err(cannot)?;
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(command).stdin(Stdio::null()).stdout(Stdio::from(OwnedFd::from(end))).process_group(0);
    let mut process = Process::spawn(&mut shell).map_err(cannot)?;
    // `shell` owns the writing end of the socket pair. While this end is open, `read` does not reach the end of the
    // input.
    drop(shell);
    let deadline = Instant::now() + TIME_MAX;
    let text = read(&mut output, deadline);
    let ended = match &text {
        Ok(_) => process.wait(deadline.saturating_duration_since(Instant::now())).map_err(cannot)?,
        Err(_) => None,
    };
    if ended.is_none() {
        process.kill_group().map_err(cannot)?;
    }
    match (text?, ended) {
        (text, Some(ended)) if ended.status.success() => Ok(text),
        (_, Some(ended)) => Err(format!("failed ({})", ended.status)),
        (_, None) => Err(TOO_LONG.to_owned()),
    }
}

const TOO_LONG: &str = "took more than a minute";

fn read(output: &mut UnixStream, deadline: Instant) -> Result<Vec<u8>, String> {
    let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() || output.set_read_timeout(Some(left)).is_err() {
            return Err(TOO_LONG.to_owned());
        }
        match output.read(&mut buffer) {
            Ok(0) => return Ok(text),
            Ok(bytes) => text.extend_from_slice(&buffer[..bytes]),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Err(TOO_LONG.to_owned()),
            Err(error) => return Err(format!("could not be read ({error})")),
        }
        if text.len() > OUTPUT_MAX {
            return Err("printed more than 64 KiB".to_owned());
        }
    }
}
