//! Commands on a remote host, over the program `ssh`.
//!
//! The commands are fixed, and change nothing on the host. `ssh` finds the user's keys, configuration and known hosts,
//! and never asks for a password.

use measure::series::{FailureClass, PollFailure};
use std::fmt;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

/// Maximum size of the output of a command in bytes.
const OUTPUT_MAX: u64 = 4 << 20;
/// Maximum size of the error messages of a command in bytes.
const ERRORS_MAX: u64 = 4 << 10;
/// Time between two checks for the end of `ssh`.
const CHECK: Duration = Duration::from_millis(5);

/// A remote host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshHost {
    destination: String,
    configuration: Option<PathBuf>,
}

/// Error for a text that is not a valid host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a host; use a form such as host, user@host or ssh://user@host:2222")]
pub struct SshHostError;

impl SshHost {
    /// Creates a host from a destination in the form that `ssh` accepts. `configuration` replaces the user's
    /// configuration file.
    ///
    /// # Errors
    /// Returns an error if the text is not a destination. `ssh` would treat a text that begins with `-` as an option.
    pub fn new(destination: &str, configuration: Option<PathBuf>) -> Result<Self, SshHostError> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:@/[]%".contains(&byte);
        let valid = !destination.is_empty() && !destination.starts_with('-') && destination.bytes().all(allowed);
        valid.then(|| Self { destination: destination.to_owned(), configuration }).ok_or(SshHostError)
    }

    /// Returns the name of the host without user and port, for the names of columns.
    #[must_use]
    pub fn short_name(&self) -> String {
        let text = self.destination.strip_prefix("ssh://").unwrap_or(&self.destination);
        let host = text.rsplit_once('@').map_or(text, |(_, host)| host);
        let host = host.split([':', '/', '[', ']', '%']).find(|part| !part.is_empty()).unwrap_or("host");
        host.chars().take(32).collect()
    }

    /// Runs a command on the host and returns its output.
    pub(super) fn output(&self, command: &str, bound: Duration) -> Result<String, PollFailure> {
        let until = Instant::now() + bound;
        let failed = |detail: &str| PollFailure::new(FailureClass::Command, detail);
        let child = self.command(command, bound).spawn();
        let mut child =
            child.map_err(|error| failed(&format!("cannot start ssh: {error}; install OpenSSH's client")))?;
        let output = child.stdout.take().map(|pipe| read_aside(pipe, OUTPUT_MAX));
        let errors = child.stderr.take().map(|pipe| read_aside(pipe, ERRORS_MAX));
        let (Some(output), Some(errors)) = (output, errors) else {
            end(&mut child);
            return Err(PollFailure::new(FailureClass::Internal, "a pipe is missing"));
        };
        let output = match output.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(bytes) => bytes,
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                end(&mut child);
                return Err(PollFailure::new(FailureClass::TimedOut, &format!("ssh {self}")));
            }
        };
        if output.len() as u64 > OUTPUT_MAX {
            end(&mut child);
            return Err(PollFailure::new(FailureClass::TooLarge, &format!("ssh {self}")));
        }
        match wait(&mut child, until) {
            None => Err(PollFailure::new(FailureClass::TimedOut, &format!("ssh {self}"))),
            Some(status) if !status.success() => {
                let errors = errors.recv_timeout(CHECK).unwrap_or_default();
                let errors = String::from_utf8_lossy(&errors);
                // The last line has the reason. The lines before may be a banner.
                let last = errors.trim().lines().next_back().unwrap_or("no error message").to_owned();
                Err(failed(&format!("ssh {self}: {last}")))
            }
            Some(_) => String::from_utf8(output)
                .map_err(|_| PollFailure::new(FailureClass::NotUnderstood, "the output is not UTF-8")),
        }
    }

    fn command(&self, command: &str, bound: Duration) -> Command {
        let mut ssh = Command::new("ssh");
        if let Some(file) = &self.configuration {
            ssh.arg("-F").arg(file);
        }
        let seconds = bound.as_secs().max(1);
        ssh.args(["-o", "BatchMode=yes", "-o", &format!("ConnectTimeout={seconds}"), "-T", "--", &self.destination]);
        // The login shell may not be a POSIX shell, but single quotes have the same meaning in all shells.
        debug_assert!(!command.contains('\''), "{command}");
        ssh.arg(format!("sh -c '{command}'"));
        ssh.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        ssh
    }
}

impl fmt::Display for SshHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.destination)
    }
}

/// Reads a pipe in a separate thread. Reads one byte more than `max`, so that the caller can detect longer output.
fn read_aside(pipe: impl Read + Send + 'static, max: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = sync_channel(1);
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // Output that was read before an error is still useful.
        let _ = pipe.take(max + 1).read_to_end(&mut bytes);
        // If the command took too long, the receiver no longer exists, so sending fails.
        let _ = sender.send(bytes);
    });
    receiver
}

/// Waits until a child process ends. Kills the child at the given instant.
fn wait(child: &mut Child, until: Instant) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) if Instant::now() < until => std::thread::sleep(CHECK),
            Ok(None) | Err(_) => {
                end(child);
                return None;
            }
        }
    }
}

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_no_hosts() {
        for text in ["", "-oProxyCommand=x", "a b", "a;b", "a\nb", "$(a)"] {
            assert_eq!(SshHost::new(text, None), Err(SshHostError), "{text}");
        }
        for (text, short) in [
            ("host", "host"),
            ("me@host.example", "host.example"),
            ("ssh://me@10.0.0.1:2222", "10.0.0.1"),
            ("me@[fe80::1%eth0]", "fe80"),
        ] {
            assert_eq!(SshHost::new(text, None).unwrap().short_name(), short);
        }
    }

    #[test]
    fn an_unreachable_host_is_a_failure_with_its_reason() {
        // Nothing listens on port 1. If ssh is not installed, the failure contains that reason.
        let host = SshHost::new("ssh://127.0.0.1:1", Some("/dev/null".into())).unwrap();
        let failure = host.output("echo a", Duration::from_secs(10)).unwrap_err();
        assert_eq!(failure.class, FailureClass::Command, "{failure:?}");
        assert!(!failure.detail.is_empty(), "{failure:?}");
    }
}
