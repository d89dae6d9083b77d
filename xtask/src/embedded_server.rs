//! `plimsoll serve`, which a task starts and stops.

use crate::failure::{Context, Result, failure};
use crate::process::{Affinity, Running, start};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Time limit of the start.
const START_MAX: Duration = Duration::from_secs(20);
/// Interval at which the output of the server is read.
const LOOK: Duration = Duration::from_millis(10);
/// Time that the server gets to print its ledger.
const STOP_MAX: Duration = Duration::from_secs(10);

/// A running server on a free port of the loopback interface. Dropping the value kills the server.
pub struct EmbeddedServer {
    process: Running,
    output: PathBuf,
    /// Address of the server, such as `http://127.0.0.1:40123`.
    pub url: String,
}

impl EmbeddedServer {
    /// Starts a server with these flags, and waits until it listens. The output of the server is written to a file in
    /// `directory`.
    pub fn start(program: &Path, flags: &[&str], place: Affinity, directory: &Path) -> Result<Self> {
        let output = directory.join("server.out");
        let file = File::create(&output).cannot("create a file for the output of the server")?;
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--stop-after", "1h"]).args(flags);
        command.stdin(Stdio::null()).stdout(file).stderr(Stdio::null());
        let mut process = start(&mut command, place)?;
        loop {
            if let Some(url) = url(&fs::read_to_string(&output).cannot("read the output of the server")?) {
                return Ok(Self { process, output, url });
            }
            if let Some(run) = process.wait_until(process.age() + LOOK)? {
                return Err(failure(format_args!("the server ended with {} and printed no URL", run.end)));
            }
            if process.age() > START_MAX {
                return Err(failure("the server does not listen"));
            }
        }
    }

    /// Stops the server and returns everything that it printed, with its ledger.
    pub fn stop(mut self) -> Result<String> {
        self.process.stop(STOP_MAX);
        fs::read_to_string(&self.output).cannot("read the output of the server")
    }
}

/// Returns the address in the first complete line with a URL.
fn url(output: &str) -> Option<String> {
    let complete = output.rfind('\n').map(|end| &output[..end])?;
    let url = complete.split_whitespace().find(|word| word.starts_with("http://"))?;
    // Keep only scheme, host and port, because the printed URL may be an example with a path.
    Some(url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_is_taken_from_a_complete_line() {
        assert_eq!(url("serving http://127.0.0.1:123"), None);
        assert_eq!(url("serving http://127.0.0.1:123/blackhole/1KiB\n").as_deref(), Some("http://127.0.0.1:123"));
        assert_eq!(url("serving S3 on http://127.0.0.1:99\naccess key a\n").as_deref(), Some("http://127.0.0.1:99"));
    }
}
