//! Helpers for the tests. The helpers run the program as a process with a time limit, and nginx as a real server with
//! an exact access log. Locks reserve the two cores, which all tests share.

pub mod chromium;
mod clients;
#[path = "../../../../engine/tests/support/cores.rs"]
mod cores;
#[path = "../../../../../xtask/src/crash/oracle.rs"]
pub mod fill_oracle;
mod hosts;
mod minio;
mod namespaces;
mod nats;
mod nats_client;
mod nginx;
mod peers;
mod program;
mod prometheus;
mod refusal;
mod report;
mod sshd;
pub mod versitygw;

pub use clients::{kubernetes_validate, python_with_otlp, pythons_with_boto3, s3cmds};
pub use hosts::{Host, Hosts, clock_set_by, clock_shifted_by};
pub use minio::Minio;
pub use namespaces::{Namespaces, Node};
pub use nats::{Agent, Nats, free_address};
pub use nats_client::{Act, Client, Recorder, send_again};
pub use nginx::{Nginx, Request, Setup};
pub use peers::{installed, kustomize, peer, skip, systemd_analyze};
pub use program::{Ended, Running, TestDir};
pub use prometheus::{Prometheus, promtool};
pub use refusal::{expect_none, expect_refusal, refusal_faults};
pub use report::Report;
pub use sshd::Sshd;
pub use versitygw::Versitygw;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;

/// Time limit for every wait in a test.
pub const PATIENCE: Duration = Duration::from_secs(60);

static CORES: RwLock<()> = RwLock::new(());

/// Reserves the cores for tests that can share them.
pub fn shared_cores() -> RwLockReadGuard<'static, ()> {
    CORES.read().unwrap_or_else(PoisonError::into_inner)
}

/// Reserves the cores for this test alone. Tests that make heavy load and tests that measure times need all cores.
pub fn all_cores() -> RwLockWriteGuard<'static, ()> {
    CORES.write().unwrap_or_else(PoisonError::into_inner)
}

/// Makes a run. Repeats the run if its result is UNUSABLE because other processes took the cores. Returns the first
/// usable run, even if it failed. Returns `None` to skip the test if there is no usable run.
pub fn with_its_cores<T>(mut run: impl FnMut() -> Option<(Ended, Report, T)>) -> Option<(Ended, Report, T)> {
    for attempt in 1..=cores::TRIES {
        let made = run()?;
        if made.1.text("/limited_by") != "shared_host" {
            return Some(made);
        }
        eprintln!("try {attempt}: limited by shared host: {}", made.1.at("/client"));
        cores::wait_until_free();
    }
    skip("others took the cores in every run");
    None
}

/// Calls `look` repeatedly until it returns a value.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(seen) = look() {
            return seen;
        }
        assert!(started.elapsed() < PATIENCE, "no {what} within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal by name.
pub fn signal(process: u32, name: &str) {
    let sent = std::process::Command::new("sh").args(["-c", &format!("kill -s {name} {process}")]).status();
    assert!(sent.is_ok_and(|status| status.success()), "SIG{name} could not be sent to {process}");
}

/// Sends a signal by name to a process group, if it still exists.
pub fn signal_group(leader: u32, name: &str) {
    let _ = std::process::Command::new("sh").args(["-c", &format!("kill -s {name} -- -{leader} 2>/dev/null")]).status();
}

/// Starts a server on a free port, and returns its URL. For every request, the server calls `each`. The argument of
/// `each` is a function that sends a response of two bytes.
pub fn respond(each: impl Fn(&mut dyn FnMut()) + Send + Sync + 'static) -> String {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("can bind a port");
    let url = format!("http://{}/", listener.local_addr().expect("the port is known"));
    let each = Arc::new(each);
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let (Ok(mut connection), each) = (connection, Arc::clone(&each)) else { return };
            std::thread::spawn(move || {
                let mut buffer = [0; 4096];
                while connection.read(&mut buffer).is_ok_and(|bytes| bytes > 0) {
                    each(&mut || {
                        let _ = connection.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
                    });
                }
            });
        }
    });
    url
}
