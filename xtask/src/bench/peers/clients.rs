//! The load testers that are compared, and their command lines.
//!
//! Each load tester gets the same workload, through flags from its documentation, and no flag that would make it
//! slower. Each load tester uses one thread, and its live display is off. If there is a flag to discard bodies, it is
//! set.

use super::workload::Workload;
use crate::failure::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A load tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Plimsoll.
    Plimsoll,
    /// <https://github.com/wg/wrk>
    Wrk,
    /// ApacheBench.
    Ab,
    /// <https://github.com/rakyll/hey>
    Hey,
    /// The load tester of nghttp2. The flag `--h1` is set unless the workload uses HTTP/2.
    H2load,
    /// <https://github.com/hatoo/oha>
    Oha,
    /// <https://github.com/codesenberg/bombardier>
    Bombardier,
    /// <https://github.com/grafana/k6>
    K6,
}

/// All load testers except Plimsoll.
pub const PEERS: [Client; 7] =
    [Client::Wrk, Client::Ab, Client::Hey, Client::H2load, Client::Oha, Client::Bombardier, Client::K6];

/// A load tester on this machine.
#[derive(Clone, Debug)]
pub struct Installed {
    /// The load tester.
    pub client: Client,
    /// Path of its program.
    pub path: PathBuf,
}

/// A planned run of a client.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The workload.
    pub work: Workload,
    /// URL of the file.
    pub url: &'a str,
    /// Duration, in seconds.
    pub seconds: u64,
    /// Working directory, for files that the client needs.
    pub directory: &'a Path,
}

impl Client {
    /// Returns the name of the client's program.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plimsoll => "plimsoll",
            Self::Wrk => "wrk",
            Self::Ab => "ab",
            Self::Hey => "hey",
            Self::H2load => "h2load",
            Self::Oha => "oha",
            Self::Bombardier => "bombardier",
            Self::K6 => "k6",
        }
    }

    /// Searches for the client's program in the PATH.
    pub fn find(self) -> Option<Installed> {
        let directories = std::env::var_os("PATH")?;
        let mut candidates = std::env::split_paths(&directories).map(|directory| directory.join(self.name()));
        candidates.find(|path| path.is_file()).map(|path| Installed { client: self, path })
    }

    /// Returns the reason why the client does not take part in a workload; `None` if it does.
    pub fn exclusion(self, work: Workload) -> Option<&'static str> {
        match (self, work) {
            (Self::Bombardier, Workload::Large) => Some("it keeps whole bodies in memory, here 8 GiB"),
            (Self::Plimsoll | Self::H2load, _) => None,
            (_, work) if work.is_http2() => Some("HTTP/2 is compared with h2load only"),
            _ => None,
        }
    }

    fn version_flag(self) -> Option<&'static str> {
        match self {
            Self::Wrk => Some("-v"),
            Self::Ab => Some("-V"),
            Self::K6 => Some("version"),
            Self::Plimsoll | Self::H2load | Self::Oha | Self::Bombardier => Some("--version"),
            // hey has no such flag.
            Self::Hey => None,
        }
    }

    fn words(self, task: &Task) -> Vec<String> {
        let (c, d) = (task.work.concurrency().to_string(), task.seconds.to_string());
        let text = match self {
            // With `--success 100`, a single failed operation makes the exit code 1, and the table then counts the run
            // as failed.
            Self::Plimsoll if task.work.is_http2() => {
                format!("get --http2 -c {c} -d {d}s --print none --success 100")
            }
            Self::H2load if task.work.is_http2() => format!("-t1 -c 1 -m {c} -D {d}"),
            Self::Plimsoll => format!("get -c {c} -d {d}s --print none --success 100"),
            Self::Wrk => format!("-t1 -c{c} -d{d}s --timeout 60s"),
            Self::Ab => format!("-q -k -r -l -s 60 -c {c} -t {d} -n 5000000"),
            Self::Hey => format!("-z {d}s -c {c} -t 0"),
            Self::H2load => format!("--h1 -t1 -c {c} -m1 -D {d}"),
            Self::Oha => format!("-z {d}s -c {c} --no-tui"),
            Self::Bombardier => format!("-c {c} -d {d}s -t 60s"),
            Self::K6 => format!("run --quiet --vus {c} --duration {d}s"),
        };
        let mut words: Vec<String> = text.split(' ').map(str::to_owned).collect();
        words.extend(self.range(task.work));
        words.extend(self.insecure_flag(task.work).map(str::to_owned));
        match self {
            Self::Plimsoll if task.work == Workload::Verified100m => {
                // A dataset is specified by the URL of its directory. The only object of this dataset is the file that
                // the other clients request.
                let dataset = task.url.trim_end_matches(task.work.file().name());
                words.extend(["--verify", "--count", "1", "--size", "100MiB", dataset].map(str::to_owned));
            }
            Self::K6 => words.extend(["-e".to_owned(), format!("U={}", task.url), K6_FILE.to_owned()]),
            _ => words.push(task.url.to_owned()),
        }
        words
    }

    /// Returns the flag that makes the client accept a self-signed certificate; `None` if it needs no flag.
    fn insecure_flag(self, work: Workload) -> Option<&'static str> {
        match self {
            Self::Plimsoll | Self::Oha if work.is_secure() => Some("--insecure"),
            Self::Bombardier if work.is_secure() => Some("-k"),
            _ => None,
        }
    }

    fn range(self, work: Workload) -> Vec<String> {
        let words: &[&str] = match self {
            _ if !work.is_ranged() => &[],
            Self::Plimsoll => &["--range", "1MiB"],
            Self::K6 => &["-e", "R=bytes=0-1048575"],
            _ => &["-H", "Range: bytes=0-1048575"],
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }
}

const K6_FILE: &str = "get.js";
const K6_SCRIPT: &str = "import http from 'k6/http';
const p = {timeout: '60s'};
if (__ENV.R) p.headers = {Range: __ENV.R};
export const options = {discardResponseBodies: true, insecureSkipTLSVerify: true};
export default function () { http.get(__ENV.U, p); }
";

impl Installed {
    /// Returns the command that runs a task and prints nothing.
    pub fn command(&self, task: &Task) -> Result<Command> {
        if self.client == Client::K6 {
            fs::write(task.directory.join(K6_FILE), K6_SCRIPT).cannot("write a script for k6")?;
        }
        let mut command = Command::new(&self.path);
        command.args(self.client.words(task)).current_dir(task.directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }

    /// Returns the version that the program prints. If it prints no version, returns the version of its package.
    pub fn version(&self) -> String {
        let version = match self.client.version_flag() {
            Some(flag) => first_line(&self.path.clone().into_os_string(), &[flag]),
            None => first_line(&"dpkg-query".into(), &["-W", "-f", "${Version} (Debian)", self.client.name()]),
        };
        version.unwrap_or_else(|| "version unknown".into())
    }
}

/// Returns the first line of a program's output. Some programs print their version to standard error.
fn first_line(program: &OsString, words: &[&str]) -> Option<String> {
    let output = Command::new(program).args(words).stdin(Stdio::null()).output().ok()?;
    let text = if output.stdout.is_empty() { output.stderr } else { output.stdout };
    let text = String::from_utf8_lossy(&text);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let (version, _) = line.split_once(" Copyright").unwrap_or((line, ""));
    Some(version.chars().take(80).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(work: Workload) -> Task<'static> {
        Task { work, url: "http://h/1", seconds: 2, directory: Path::new("/") }
    }

    fn words(client: Client, work: Workload) -> String {
        client.words(&task(work)).join(" ")
    }

    #[test]
    fn command_lines_are_as_documented() {
        assert_eq!(words(Client::Wrk, Workload::Small64), "-t1 -c64 -d2s --timeout 60s http://h/1");
        assert_eq!(
            words(Client::Plimsoll, Workload::Range1000),
            "get -c 1000 -d 2s --print none --success 100 --range 1MiB http://h/1"
        );
        assert_eq!(words(Client::Hey, Workload::Range1000), "-z 2s -c 1000 -t 0 -H Range: bytes=0-1048575 http://h/1");
        assert_eq!(
            words(Client::K6, Workload::Range1000),
            "run --quiet --vus 1000 --duration 2s -e R=bytes=0-1048575 -e U=http://h/1 get.js"
        );
        assert_eq!(words(Client::H2load, Workload::TlsSmall64), "--h1 -t1 -c 64 -m1 -D 2 http://h/1");
        assert!(words(Client::Plimsoll, Workload::TlsSmall64).contains("--insecure"));
        assert_eq!(words(Client::H2load, Workload::Http2Small64), "-t1 -c 1 -m 64 -D 2 http://h/1");
        let object = Workload::Verified100m.file().name();
        let verified = Task { url: &format!("http://h/{object}"), ..task(Workload::Verified100m) };
        let ours = "get -c 8 -d 2s --print none --success 100 --verify --count 1 --size 100MiB http://h/";
        assert_eq!(Client::Plimsoll.words(&verified).join(" "), ours);
        let ours = "get --http2 -c 64 -d 2s --print none --success 100 --insecure http://h/1";
        assert_eq!(words(Client::Plimsoll, Workload::Http2Small64), ours);
    }

    #[test]
    fn every_command_line_has_url_concurrency_and_range() {
        for client in PEERS.into_iter().chain([Client::Plimsoll]) {
            for work in
                [Workload::Small64, Workload::Small1000, Workload::Large, Workload::Large100m, Workload::Range1000]
            {
                let words = words(client, work);
                assert!(words.contains("http://h/1"), "{words}");
                assert!(words.contains(&work.concurrency().to_string()), "{words}");
                assert_eq!(words.to_lowercase().contains("range") || words.contains("R="), work.is_ranged(), "{words}");
            }
        }
    }
}
