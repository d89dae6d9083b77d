//! The target: a small Go program with net/http, which is slow as planned and logs what it did to each request.

use super::causes::{Discipline, Protocol};
use super::truth::Served;
use crate::failure::{Result, While, failure};
use crate::process::{Place, Running, start};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const SOURCE: &str = include_str!("server.go");
const PATIENCE: Duration = Duration::from_secs(20);

/// The program, built once for all runs.
pub struct Program {
    path: PathBuf,
}

/// A running target; it ends with this value.
pub struct Server {
    running: Running,
    log: PathBuf,
    plain: String,
    secure: String,
}

impl Program {
    /// Builds it in a directory.
    pub fn build(directory: &Path) -> Result<Self> {
        let (source, path) = (directory.join("server.go"), directory.join("server"));
        fs::write(&source, SOURCE).cannot("write the source of the target")?;
        let mut command = Command::new("go");
        // Nothing but the standard library: no module is asked for.
        command.arg("build").arg("-o").arg(&path).arg(&source).current_dir(directory).env("GO111MODULE", "off");
        let output = command.output().cannot("start go, which builds the target: `apt install golang-go`")?;
        if !output.status.success() {
            return Err(failure(format_args!(
                "the target does not build: {}",
                String::from_utf8_lossy(&output.stderr)
            )));
        }
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]);
        let made = made.map_err(|error| failure(format_args!("cannot make a certificate: {error}")))?;
        fs::write(directory.join("cert.pem"), made.cert.pem()).cannot("write a certificate")?;
        fs::write(directory.join("key.pem"), made.signing_key.serialize_pem()).cannot("write a key")?;
        Ok(Self { path })
    }

    /// Starts it. `prefix` is a command that starts it elsewhere, such as in another network.
    pub fn start(
        &self,
        target: Discipline,
        address: &str,
        seed: u64,
        prefix: &[String],
        place: Place,
    ) -> Result<Server> {
        let directory = self.path.parent().ok_or_else(|| failure("the target lies nowhere"))?;
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
        command.arg("-log").arg(&log).args(words(target));
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        command.stdout(File::create(&ready).cannot("write where the target listens")?);
        let mut running = start(&mut command, place)?;
        let begun = Instant::now();
        loop {
            let text = fs::read_to_string(&ready).cannot("read where the target listens")?;
            if let Some((plain, secure)) = addresses(&text) {
                return Ok(Server { running, log, plain, secure });
            }
            let over = running.wait_until(running.age() + Duration::from_millis(5))?;
            if over.is_some() || begun.elapsed() > PATIENCE {
                return Err(failure("the target did not start"));
            }
        }
    }
}

fn words(target: Discipline) -> Vec<String> {
    let (at, length) = target.stall.unwrap_or_default();
    let nanos = |time: Duration| format!("{}ns", time.as_nanos());
    vec![
        format!("-servers={}", target.servers),
        format!("-service={}", nanos(target.service)),
        format!("-exponential={}", target.exponential),
        format!("-rate={}", target.rate),
        format!("-size={}", target.size),
        format!("-stall-at={}", nanos(at)),
        format!("-stall-for={}", nanos(length)),
    ]
}

fn addresses(text: &str) -> Option<(String, String)> {
    let (plain, secure) = text.strip_suffix('\n')?.strip_prefix("ready ")?.split_once(' ')?;
    Some((plain.to_owned(), secure.to_owned()))
}

impl Server {
    /// The URL of an object, or of the directory of uploads.
    pub fn url(&self, protocol: Protocol) -> String {
        match protocol {
            Protocol::Http1 => format!("http://{}/object", self.plain),
            Protocol::Tls | Protocol::Http2 => format!("https://{}/object", self.secure),
        }
    }

    /// The address without TLS.
    pub fn plain(&self) -> &str {
        &self.plain
    }

    /// Ends it, and returns its log.
    pub fn finish(mut self) -> Result<Vec<Served>> {
        self.running.stop(PATIENCE);
        let text = fs::read_to_string(&self.log).cannot("read the log of the target")?;
        text.lines()
            .map(|line| Served::parse(line).ok_or_else(|| failure("a bad line in the log of the target")))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_are_read_when_their_line_is_whole() {
        assert_eq!(addresses("ready a:1 b:2\n"), Some(("a:1".into(), "b:2".into())));
        assert_eq!(addresses("ready a:1 b:"), None);
    }
}
