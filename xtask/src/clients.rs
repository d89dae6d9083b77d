//! The load testers that are compared, and the command line with which each does a kind of work.
//!
//! Each is asked for the same with the flags that its own documentation names for it, and without anything that would
//! make it dearer: one thread, no live display, no kept bodies where that can be turned off.

use crate::failure::{Result, While};
use crate::work::Work;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A load tester.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Client {
    /// Ours.
    Plimsoll,
    /// <https://github.com/wg/wrk>
    Wrk,
    /// ApacheBench.
    Ab,
    /// <https://github.com/rakyll/hey>
    Hey,
    /// Of nghttp2, with `--h1` but for HTTP/2.
    H2load,
    /// <https://github.com/hatoo/oha>
    Oha,
    /// <https://github.com/codesenberg/bombardier>
    Bombardier,
    /// <https://github.com/grafana/k6>
    K6,
}

/// All but ours.
pub const PEERS: [Client; 7] =
    [Client::Wrk, Client::Ab, Client::Hey, Client::H2load, Client::Oha, Client::Bombardier, Client::K6];

/// A load tester that this machine has.
#[derive(Clone, Debug)]
pub struct Installed {
    /// Which one.
    pub client: Client,
    /// Where.
    pub path: PathBuf,
}

/// What a client is asked to do.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The kind of work.
    pub work: Work,
    /// From where.
    pub url: &'a str,
    /// For how long.
    pub seconds: u64,
    /// The working directory, for files that a client needs.
    pub directory: &'a Path,
}

impl Client {
    /// Its name, which is that of its program.
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

    /// Where it lies on PATH.
    pub fn find(self) -> Option<Installed> {
        let directories = std::env::var_os("PATH")?;
        let mut candidates = std::env::split_paths(&directories).map(|directory| directory.join(self.name()));
        candidates.find(|path| path.is_file()).map(|path| Installed { client: self, path })
    }

    /// Why it is left out of a kind of work.
    pub fn left_out_of(self, work: Work) -> Option<&'static str> {
        match (self, work) {
            (Self::Bombardier, Work::Large) => Some("it holds whole bodies in memory: 8 GiB here"),
            (Self::Plimsoll | Self::H2load, _) => None,
            (_, work) if work.is_http2() => Some("h2load is the one for HTTP/2"),
            _ => None,
        }
    }

    fn version_flag(self) -> Option<&'static str> {
        match self {
            Self::Wrk => Some("-v"),
            Self::Ab => Some("-V"),
            Self::K6 => Some("version"),
            Self::Plimsoll | Self::H2load | Self::Oha | Self::Bombardier => Some("--version"),
            // It can not tell.
            Self::Hey => None,
        }
    }

    fn words(self, task: &Task) -> Vec<String> {
        let (c, d) = (task.work.concurrency().to_string(), task.seconds.to_string());
        let text = match self {
            // Anything but 100 % of success is exit code 1, which is shown.
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
        words.extend(self.careless(task.work).map(str::to_owned));
        match self {
            Self::Plimsoll if task.work == Work::Verified100m => {
                // The dataset is named by where it lies; its only object is what the others ask for.
                let dataset = task.url.trim_end_matches(task.work.file().name());
                words.extend(["--verify", "--count", "1", "--size", "100MiB", dataset].map(str::to_owned));
            }
            Self::K6 => words.extend(["-e".to_owned(), format!("U={}", task.url), K6_FILE.to_owned()]),
            _ => words.push(task.url.to_owned()),
        }
        words
    }

    /// What lets it take a certificate that nobody has signed, where that has to be said.
    fn careless(self, work: Work) -> Option<&'static str> {
        match self {
            Self::Plimsoll | Self::Oha if work.is_secure() => Some("--insecure"),
            Self::Bombardier if work.is_secure() => Some("-k"),
            _ => None,
        }
    }

    fn range(self, work: Work) -> Vec<String> {
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
    /// The command that does a task; its output is thrown away.
    pub fn command(&self, task: &Task) -> Result<Command> {
        if self.client == Client::K6 {
            fs::write(task.directory.join(K6_FILE), K6_SCRIPT).cannot("write a script for k6")?;
        }
        let mut command = Command::new(&self.path);
        command.args(self.client.words(task)).current_dir(task.directory);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(command)
    }

    /// What it says of its version, or what the package system says.
    pub fn version(&self) -> String {
        let said = match self.client.version_flag() {
            Some(flag) => first_line(&self.path.clone().into_os_string(), &[flag]),
            None => first_line(&"dpkg-query".into(), &["-W", "-f", "${Version} (Debian)", self.client.name()]),
        };
        said.unwrap_or_else(|| "version unknown".into())
    }
}

/// Some print their version as an error.
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

    fn task(work: Work) -> Task<'static> {
        Task { work, url: "http://h/1", seconds: 2, directory: Path::new("/") }
    }

    fn words(client: Client, work: Work) -> String {
        client.words(&task(work)).join(" ")
    }

    #[test]
    fn command_lines_are_those_of_the_goals() {
        assert_eq!(words(Client::Wrk, Work::Small64), "-t1 -c64 -d2s --timeout 60s http://h/1");
        assert_eq!(
            words(Client::Plimsoll, Work::Range1000),
            "get -c 1000 -d 2s --print none --success 100 --range 1MiB http://h/1"
        );
        assert_eq!(words(Client::Hey, Work::Range1000), "-z 2s -c 1000 -t 0 -H Range: bytes=0-1048575 http://h/1");
        assert_eq!(
            words(Client::K6, Work::Range1000),
            "run --quiet --vus 1000 --duration 2s -e R=bytes=0-1048575 -e U=http://h/1 get.js"
        );
        assert_eq!(words(Client::H2load, Work::TlsSmall64), "--h1 -t1 -c 64 -m1 -D 2 http://h/1");
        assert!(words(Client::Plimsoll, Work::TlsSmall64).contains("--insecure"));
        assert_eq!(words(Client::H2load, Work::Http2Small64), "-t1 -c 1 -m 64 -D 2 http://h/1");
        let object = Work::Verified100m.file().name();
        let verified = Task { url: &format!("http://h/{object}"), ..task(Work::Verified100m) };
        let ours = "get -c 8 -d 2s --print none --success 100 --verify --count 1 --size 100MiB http://h/";
        assert_eq!(Client::Plimsoll.words(&verified).join(" "), ours);
        let ours = "get --http2 -c 64 -d 2s --print none --success 100 --insecure http://h/1";
        assert_eq!(words(Client::Plimsoll, Work::Http2Small64), ours);
    }

    #[test]
    fn every_client_is_told_where_to_go_and_how_much() {
        for client in PEERS.into_iter().chain([Client::Plimsoll]) {
            for work in [Work::Small64, Work::Small1000, Work::Large, Work::Large100m, Work::Range1000] {
                let words = words(client, work);
                assert!(words.contains("http://h/1"), "{words}");
                assert!(words.contains(&work.concurrency().to_string()), "{words}");
                assert_eq!(words.to_lowercase().contains("range") || words.contains("R="), work.is_ranged(), "{words}");
            }
        }
    }
}
