//! Debian's Chromium without a window. This module opens a file as the browser of a user would, and returns the state
//! of the page.

use super::{PATIENCE, Running, TestDir, peer};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

/// Names of the executable.
const PROGRAMS: [&str; 3] = ["/usr/bin/chromium", "/usr/local/bin/chromium", "/usr/bin/chromium-browser"];

/// Hosts that the browser contacts on its own, for updates, time and login. The proxy does not respond to these
/// requests either.
const ITS_OWN: [&str; 3] = ["google.com", "googleapis.com", "gvt1.com"];

/// The state of a loaded page.
pub struct Seen {
    /// The elements of the page after its scripts have run.
    pub dom: String,
    /// Console messages: errors, warnings, and violations of the content security policy.
    pub console: Vec<String>,
    /// First lines of all requests, except the browser's own requests.
    pub requests: Vec<String>,
}

/// Opens a file. Without Chromium, this function returns `None` to skip the test, or fails with `REQUIRE_PEERS=1`.
pub fn open(file: &Path) -> Option<Seen> {
    let program = peer("chromium", PROGRAMS.iter().find(|path| Path::new(path).exists()))?;
    let place = TestDir::new();
    // All requests go to this proxy, even requests for unknown names and for loopback.
    let (proxy, requests) = listen();
    let mut command = Command::new(program);
    command
        .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-dev-shm-usage"])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-extensions",
        ])
        .arg(format!("--user-data-dir={}", place.path("profile").display()))
        .args([format!("--proxy-server=http://{proxy}"), "--proxy-bypass-list=<-loopback>".into()])
        .args(["--enable-logging=stderr", "--dump-dom"])
        .arg(format!("file://{}", file.display()));
    let ended = Running::of(command).end_within(PATIENCE);
    ended.expect(0);
    let console = ended.stderr.lines().filter(|line| line.contains(":CONSOLE:")).map(str::to_owned).collect();
    let requests = requests.lock().unwrap_or_else(PoisonError::into_inner).clone();
    Some(Seen { dom: ended.stdout, console, requests })
}

/// Starts a proxy that records all requests and never responds.
fn listen() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a loopback port");
    let address = listener.local_addr().expect("a bound socket has an address").to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_read_timeout(Some(PATIENCE));
            let mut line = String::new();
            let _ = BufReader::new(stream).read_line(&mut line);
            // The browser may open a spare connection and close it without a request.
            if !line.is_empty() && !is_its_own(&line) {
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(line.trim().to_owned());
            }
        }
    });
    (address, asked)
}

/// Returns whether the first line of a request names a host of the browser's vendor.
fn is_its_own(line: &str) -> bool {
    let target = line.split(' ').nth(1).unwrap_or_default();
    let host = target.split("://").last().unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
    ITS_OWN.iter().any(|domain| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}
