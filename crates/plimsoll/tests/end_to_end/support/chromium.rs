//! Debian's Chromium without a window: opens a file as a reader would, and tells what became of it.

use super::{PATIENCE, Place, Running, peer};
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};

/// Names under which it is installed.
const PROGRAMS: [&str; 3] = ["/usr/bin/chromium", "/usr/local/bin/chromium", "/usr/bin/chromium-browser"];

/// Whom the browser asks for its own sake: for updates, the time, a login. They are not reached either.
const ITS_OWN: [&str; 3] = ["google.com", "googleapis.com", "gvt1.com"];

/// What a page became.
pub struct Seen {
    /// Its elements when it had been loaded and its scripts had run.
    pub dom: String,
    /// What stood in the console: errors, warnings, and what the policy has refused.
    pub console: Vec<String>,
    /// First lines of requests that were made, without those that the browser makes for itself whatever it shows.
    pub requests: Vec<String>,
}

/// Opens a file, or says that the test is skipped, which is a failure where `REQUIRE_PEERS=1`.
pub fn open(file: &Path) -> Option<Seen> {
    let program = peer("chromium", PROGRAMS.iter().find(|path| Path::new(path).exists()))?;
    let place = Place::new();
    // Whatever is asked for goes to this proxy, names that do not exist and loopback as well.
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

/// A proxy that answers nobody, and remembers what it was asked for.
fn listen() -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port is free");
    let address = listener.local_addr().expect("a bound socket has an address").to_string();
    let asked = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = stream.set_read_timeout(Some(PATIENCE));
            let mut line = String::new();
            let _ = BufReader::new(stream).read_line(&mut line);
            // The browser may open a connection ahead of need and close it unused: nobody was asked for anything.
            if !line.is_empty() && !is_its_own(&line) {
                kept.lock().unwrap_or_else(PoisonError::into_inner).push(line.trim().to_owned());
            }
        }
    });
    (address, asked)
}

/// Whether a request's first line names a host of the browser's maker.
fn is_its_own(line: &str) -> bool {
    let target = line.split(' ').nth(1).unwrap_or_default();
    let host = target.split("://").last().unwrap_or_default().split(['/', ':']).next().unwrap_or_default();
    ITS_OWN.iter().any(|domain| host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')))
}
