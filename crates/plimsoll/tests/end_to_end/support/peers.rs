//! Other programs that tests need. If a program is missing, the tests that need it are skipped, counted and named. With
//! `REQUIRE_PEERS=1`, such tests fail instead.

use std::io::Write;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

static SKIPPED: AtomicU64 = AtomicU64::new(0);

/// Returns `found`. If `found` is `None`, the test is skipped, or fails with `REQUIRE_PEERS=1`.
pub fn peer<T>(name: &str, found: Option<T>) -> Option<T> {
    if found.is_none() {
        let required = std::env::var_os("REQUIRE_PEERS").is_some_and(|value| value == "1");
        assert!(!required, "{}: {name} is not installed, and REQUIRE_PEERS=1", this_test());
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Returns the path of an installed program, also of one that Go has installed. Returns `None` to skip the test. With
/// `REQUIRE_PEERS=1`, the test fails.
pub fn installed(name: &str) -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(|home| PathBuf::from(home).join("go/bin"));
    let places = ["/usr/sbin", "/usr/bin", "/usr/local/bin"].map(PathBuf::from).into_iter().chain(home);
    peer(name, places.map(|place| place.join(name)).find(|path| path.exists()))
}

/// Returns the path of kustomize, or `None` to skip the test.
pub fn kustomize() -> Option<PathBuf> {
    installed("kustomize")
}

/// Returns the path of systemd-analyze, or `None` to skip the test.
pub fn systemd_analyze() -> Option<PathBuf> {
    installed("systemd-analyze")
}

/// Reports that this test is skipped, because this machine cannot run it now. For example, other processes may use the
/// cores, or the machine may not allow what the test does.
pub fn skip(reason: &str) {
    let number = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // Write directly to the file descriptor, because the test harness hides the output of tests that pass.
    let _ = writeln!(std::io::stderr(), "skipped ({number} so far): {}: {reason}", this_test());
}

fn this_test() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}
