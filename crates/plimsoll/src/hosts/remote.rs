//! Agents on other hosts, which `ssh` starts. The program is copied to a host that does not have this version.
//!
//! `ssh` finds the user's keys, configuration and known hosts, and never asks for a password. The commands on the host
//! contain no text of the user except a checked path. The plan and the program go through standard input.

use super::program::Program;
use fleet::transport::AgentPipes;
use report::escape::bounded;
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// The line that comes before the messages of an agent. Login scripts may print other lines before it.
const MARK: &str = "plimsoll agent";
/// Maximum number of bytes before [`MARK`].
const GREETING_MAX: u64 = 64 << 10;
/// Exit status of the host's shell if the host does not have this version of the program.
const MISSING: i32 = 90;
/// Exit status of the host's shell if the copied program is damaged.
const DAMAGED: i32 = 91;
/// Time limit for opening a connection, in seconds.
const CONNECT_SECONDS: u32 = 20;
/// Maximum number of error messages that are kept from a host.
const ERRORS_MAX: usize = 5;
/// Maximum length of an error message from a host.
const ERROR_MAX: usize = 300;
/// Maximum time that an agent may take to end after its pipes are closed.
const END_WAIT: Duration = Duration::from_secs(15);

/// Time during which error messages may arrive after the end of a connection.
const ERRORS_WAIT: Duration = Duration::from_millis(200);

/// The settings for starting agents.
pub struct Launcher<'p> {
    /// The command that connects to a host, with its first arguments.
    pub ssh: Vec<String>,
    /// The program to copy.
    pub program: &'p Program,
    /// Path of the program on the hosts; `None` to copy the program.
    pub path: Option<String>,
}

/// The process that connects to an agent. Dropping it waits until the agent has ended.
pub struct Remote {
    child: Child,
    errors: Errors,
    /// Is disconnected as soon as all error messages have been read.
    all_read: Receiver<()>,
}

/// The last error messages of a host.
type Errors = Arc<Mutex<VecDeque<String>>>;

/// A connection to a host, with the output and the input of the commands that it runs.
type Connection = (Remote, BufReader<ChildStdout>, Box<dyn Write + Send>);

/// Reason why an agent could not be started.
enum StartError {
    /// The host does not have this version of the program.
    Missing,
    /// Another reason, as text.
    Other(String),
}

impl Launcher<'_> {
    /// Starts an agent on a host. Calls `copying` before the program is copied.
    pub fn start(&self, host: &str, copying: impl FnOnce()) -> Result<(Remote, AgentPipes), String> {
        let start = self.start_script();
        match self.start_with(host, &start) {
            Ok(started) => Ok(started),
            Err(StartError::Other(why)) => Err(why),
            Err(StartError::Missing) => {
                copying();
                self.copy(host)?;
                self.start_with(host, &start).map_err(|error| match error {
                    StartError::Missing => "the copied program is missing, changed or not executable".to_owned(),
                    StartError::Other(why) => why,
                })
            }
        }
    }

    /// Returns shell commands that start the program. They exit with [`MISSING`] if the host does not have this
    /// version.
    fn start_script(&self) -> String {
        let run = |path: &str| format!("echo {MARK}; exec {path} agent");
        match &self.path {
            Some(path) => run(path),
            None => format!(
                "for f in \"{}\" \"$(command -v plimsoll)\"; do if [ -x \"$f\" ] && [ \"$(sha256sum <\"$f\" | cut -c1-64)\" = {} ]; \
                 then {}; fi; done; exit {MISSING}",
                self.place(),
                self.program.hash(),
                run("\"$f\"")
            ),
        }
    }

    /// Returns shell commands that save standard input as the program. A damaged or incomplete copy never gets the name
    /// of the program.
    fn copy_script(&self) -> String {
        let hash = self.program.hash();
        let place = self.place();
        format!(
            "umask 077; p=\"{place}\"; d=\"${{p%/*}}\"; mkdir -p \"$d\" || exit 1; t=\"$d/.copy.$$\"; \
             cat >\"$t\" || {{ rm -f \"$t\"; exit 1; }}; \
             if [ \"$(sha256sum <\"$t\" | cut -c1-64)\" != {hash} ]; then rm -f \"$t\"; exit {DAMAGED}; fi; \
             chmod 700 \"$t\" && mv -f \"$t\" \"$p\""
        )
    }

    /// Returns the path of the copied program on a host, as a text that the shell of the host expands.
    fn place(&self) -> String {
        let hash = self.program.hash().to_string();
        let version = env!("CARGO_PKG_VERSION");
        format!("${{XDG_CACHE_HOME:-$HOME/.cache}}/plimsoll/{version}-{}/plimsoll", &hash[..16])
    }

    fn start_with(&self, host: &str, script: &str) -> Result<(Remote, AgentPipes), StartError> {
        let (remote, mut output, input) = self.run(host, script).map_err(StartError::Other)?;
        match greeted(&mut output) {
            true => Ok((remote, AgentPipes { output: Box::new(output), input })),
            false => {
                drop((output, input));
                let (status, why) = remote.ended();
                match status.and_then(|status| status.code()) {
                    Some(MISSING) => Err(StartError::Missing),
                    _ => Err(StartError::Other(why)),
                }
            }
        }
    }

    fn copy(&self, host: &str) -> Result<(), String> {
        let (remote, mut output, mut input) = self.run(host, &self.copy_script())?;
        let sent = self.program.copy_to(&mut *input);
        drop(input);
        let _ = output.read_to_end(&mut Vec::new());
        let (status, why) = remote.ended();
        match (status, sent) {
            (Some(status), Ok(())) if status.success() => Ok(()),
            (Some(status), _) if status.code() == Some(DAMAGED) => {
                Err("the copy of the program was damaged".to_owned())
            }
            _ => Err(format!("cannot copy the program: {why}")),
        }
    }

    /// Runs shell commands on a host.
    fn run(&self, host: &str, script: &str) -> Result<Connection, String> {
        let Some((program, words)) = self.ssh.split_first() else { return Err("the ssh command is empty".to_owned()) };
        let timeout = format!("ConnectTimeout={CONNECT_SECONDS}");
        let mut ssh = Command::new(program);
        ssh.args(words).args(["-o", "BatchMode=yes", "-o", &timeout, "-T", "--", host]);
        // The login shell may not be a POSIX shell, but all shells treat single quotes alike.
        debug_assert!(!script.contains('\''), "{script}");
        ssh.arg(format!("sh -c '{script}'"));
        ssh.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // An interrupt from the terminal must not end the connections, because the agents are stopped by messages.
        ssh.process_group(0);
        let mut child = ssh.spawn().map_err(|error| format!("cannot start {program}: {error}"))?;
        let errors = Errors::default();
        let (reading, all_read) = channel::<()>();
        if let Some(pipe) = child.stderr.take() {
            let errors = Arc::clone(&errors);
            thread::spawn(move || {
                keep_last(pipe, &errors);
                drop(reading);
            });
        }
        match (child.stdout.take(), child.stdin.take()) {
            (Some(output), Some(input)) => {
                Ok((Remote { child, errors, all_read }, BufReader::new(output), Box::new(input)))
            }
            _ => Err("a pipe is missing".to_owned()),
        }
    }
}

impl Remote {
    /// Returns the last error message of the host, if there is one.
    pub fn last_error(&self) -> Option<String> {
        self.errors.lock().unwrap_or_else(PoisonError::into_inner).back().cloned()
    }

    /// Waits for the end of the connection. Returns its exit status, and the reason for its end.
    fn ended(mut self) -> (Option<ExitStatus>, String) {
        let status = self.wait();
        let why = self.last_error().unwrap_or_else(|| match status {
            Some(status) => format!("ssh ended with {status}"),
            None => "ssh did not end".to_owned(),
        });
        (status, why)
    }

    fn wait(&mut self) -> Option<ExitStatus> {
        let until = Instant::now() + END_WAIT;
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break Some(status),
                Ok(None) if Instant::now() < until => thread::sleep(Duration::from_millis(5)),
                Ok(None) | Err(_) => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    break None;
                }
            }
        };
        // If ssh shares its connection with other commands, the connection and this pipe may stay open.
        let _ = self.all_read.recv_timeout(ERRORS_WAIT);
        status
    }
}

impl Drop for Remote {
    fn drop(&mut self) {
        self.wait();
    }
}

/// Reads up to the line [`MARK`]. Returns `false` if the output ends before this line.
fn greeted(output: &mut impl BufRead) -> bool {
    let mut output = output.take(GREETING_MAX);
    let mut line = Vec::new();
    loop {
        line.clear();
        match output.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return false,
            Ok(_) if line.trim_ascii() == MARK.as_bytes() => return true,
            Ok(_) => {}
        }
    }
}

/// Keeps the last lines of error messages.
fn keep_last(pipe: impl Read, errors: &Errors) {
    let mut pipe = BufReader::new(pipe);
    loop {
        let mut line = Vec::new();
        let read = (&mut pipe).take(GREETING_MAX).read_until(b'\n', &mut line);
        if !matches!(read, Ok(1..)) {
            return;
        }
        let text = bounded(String::from_utf8_lossy(&line).trim(), ERROR_MAX);
        if text.is_empty() {
            continue;
        }
        let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
        if errors.len() == ERRORS_MAX {
            errors.pop_front();
        }
        errors.push_back(text);
    }
}

/// Returns the words of an ssh command. Words are separated by spaces, and may be in single or double quotes.
pub fn words(command: &str) -> io::Result<Vec<String>> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    for letter in command.chars() {
        match (letter, quote) {
            (_, Some(open)) if letter == open => quote = None,
            ('\'' | '"', None) => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (_, None) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    match quote {
        None if !words.is_empty() => Ok(words),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ssh_command_is_split_into_words() {
        assert_eq!(words("ssh  -F '/a b/c' \"x y\"z").unwrap(), ["ssh", "-F", "/a b/c", "x yz"]);
        assert!(words("").is_err() && words("ssh 'a").is_err());
    }

    #[test]
    fn lines_of_login_scripts_are_skipped() {
        let mut output: &[u8] = b"Welcome!\nplimsoll agent\n{}\n";
        assert!(greeted(&mut output));
        assert_eq!(output, b"{}\n");
        assert!(!greeted(&mut &b"Welcome!\n"[..]));
        assert!(!greeted(&mut BufReader::new(io::repeat(b'x'))));
    }

    #[test]
    fn only_the_last_errors_are_kept() {
        let errors = Errors::default();
        keep_last(&b"a\n\nb\nc\nd\ne\n\x1b[31mf\n"[..], &errors);
        let kept = errors.lock().unwrap();
        assert_eq!((kept.len(), kept.front().unwrap().as_str()), (ERRORS_MAX, "b"));
        assert!(!kept.back().unwrap().contains('\u{1b}'));
    }
}
