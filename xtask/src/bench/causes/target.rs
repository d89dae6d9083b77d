//! The target, a small Go program based on net/http. The program's arguments specify its delays. The program logs the
//! times of each request.

use super::behavior::{Behavior, Stall};
use super::ground_truth::LogEntry;
use super::variant::Protocol;
use crate::failure::{Context, Result, failure};
use crate::process::{Affinity, Running, start};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Source of the program.
const SOURCE: &str = include_str!("target.go");
/// Time limit for starting the target, and for ending it.
const PATIENCE: Duration = Duration::from_secs(20);

/// The target program, built once for all runs.
pub struct TargetProgram {
    path: PathBuf,
}

/// A running target. The process is ended on drop.
pub struct Target {
    running: Running,
    log: PathBuf,
    plain: String,
    secure: String,
}

impl TargetProgram {
    /// Builds the program in a directory, with a certificate.
    pub fn build(directory: &Path) -> Result<Self> {
        let (source, path) = (directory.join("target.go"), directory.join("target"));
        fs::write(&source, SOURCE).cannot("write the source of the target")?;
        let mut command = Command::new("go");
        // Turn modules off, because the program uses only the standard library.
        command.arg("build").arg("-o").arg(&path).arg(&source).current_dir(directory).env("GO111MODULE", "off");
        let output = command.output().cannot("start go, which builds the target (try: apt install golang-go)")?;
        if !output.status.success() {
            return Err(failure(format_args!("cannot build the target: {}", String::from_utf8_lossy(&output.stderr))));
        }
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let made = made.map_err(|error| failure(format_args!("cannot make a certificate: {error}")))?;
        fs::write(directory.join("cert.pem"), made.cert.pem()).cannot("write a certificate")?;
        fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()).cannot("write a key")?;
        Ok(Self { path })
    }

    /// Starts a target. `prefix` is a command that runs the target elsewhere, for example in another network namespace.
    pub fn start(
        &self,
        behavior: Behavior,
        address: &str,
        seed: u64,
        prefix: &[String],
        place: Affinity,
    ) -> Result<Target> {
        let directory = self.path.parent().ok_or_else(|| failure("cannot find the directory of the target"))?;
        let (log, ready) = (directory.join("log"), directory.join("ready"));
        let _ = fs::remove_file(&log);
        let (first, rest) = prefix.split_first().map_or((None, prefix), |(first, rest)| (Some(first), rest));
        let mut command = Command::new(first.map_or(self.path.as_os_str(), |first| first.as_ref()));
        command.args(rest);
        if first.is_some() {
            command.arg(&self.path);
        }
        command.args(["-listen", address, "-seed", &seed.to_string()]);
        command.arg("-cert").arg(directory.join("cert.pem")).arg("-key").arg(directory.join("key.pem"));
        command.arg("-log").arg(&log).args(arguments(behavior));
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        command.stdout(File::create(&ready).cannot("create a file for the addresses of the target")?);
        let mut running = start(&mut command, place)?;
        let begun = Instant::now();
        loop {
            let text = fs::read_to_string(&ready).cannot("read the addresses of the target")?;
            if let Some((plain, secure)) = addresses(&text) {
                return Ok(Target { running, log, plain, secure });
            }
            let over = running.wait_until(running.age() + Duration::from_millis(5))?;
            if over.is_some() || begun.elapsed() > PATIENCE {
                return Err(failure("the target did not start"));
            }
        }
    }
}

/// Returns the command line arguments for a behavior.
fn arguments(behavior: Behavior) -> Vec<String> {
    let zero = Stall { at: Duration::ZERO, length: Duration::ZERO, every: None };
    let stall = behavior.stall.unwrap_or(zero);
    let nanos = |time: Duration| format!("{}ns", time.as_nanos());
    vec![
        format!("-servers={}", behavior.servers),
        format!("-uploads-only={}", behavior.uploads_only),
        format!("-tokens={}", behavior.tokens),
        format!("-service={}", nanos(behavior.service)),
        format!("-exponential={}", behavior.exponential),
        format!("-rate={}", behavior.rate),
        format!("-size={}", behavior.size),
        format!("-stall-at={}", nanos(stall.at)),
        format!("-stall-for={}", nanos(stall.length)),
        format!("-stall-every={}", nanos(stall.every.unwrap_or_default())),
    ]
}

/// Returns the two addresses in the output of the target; `None` until their line is complete.
fn addresses(text: &str) -> Option<(String, String)> {
    let (plain, secure) = text.strip_suffix('\n')?.strip_prefix("ready ")?.split_once(' ')?;
    Some((plain.to_owned(), secure.to_owned()))
}

impl Target {
    /// Returns the URL of an object, or of the directory of uploads.
    pub fn url(&self, protocol: Protocol) -> String {
        match protocol {
            Protocol::Http1 => format!("http://{}/object", self.plain),
            Protocol::Tls | Protocol::Http2 => format!("https://{}/object", self.secure),
        }
    }

    /// Returns the address for requests without TLS.
    pub fn plain(&self) -> &str {
        &self.plain
    }

    /// Ends the target and returns its log.
    pub fn finish(mut self) -> Result<Vec<LogEntry>> {
        self.running.stop(PATIENCE);
        let text = fs::read_to_string(&self.log).cannot("read the log of the target")?;
        text.lines()
            .map(|line| LogEntry::parse(line).ok_or_else(|| failure("the log of the target has an invalid line")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_are_read_once_their_line_is_complete() {
        assert_eq!(addresses("ready a:1 b:2\n"), Some(("a:1".into(), "b:2".into())));
        assert_eq!(addresses("ready a:1 b:"), None);
    }
}
