//! Programs of others that tests stand on. Where one is absent, its tests are skipped, counted and named; or fail, where
//! `REQUIRE_PEERS=1`.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

static SKIPPED: AtomicU64 = AtomicU64::new(0);

/// What was `found` of a peer; when that is nothing, the test is to be skipped.
pub fn peer<T>(name: &str, found: Option<T>) -> Option<T> {
    if found.is_none() {
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Says that this test is skipped, which is a failure where `REQUIRE_PEERS=1`.
pub fn skip(reason: &str) {
    let thread = std::thread::current();
    let test = thread.name().unwrap_or("a test");
    assert!(
        std::env::var_os("REQUIRE_PEERS").is_none_or(|value| value != "1"),
        "{test}: {reason}, and REQUIRE_PEERS=1"
    );
    let number = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // Straight to the descriptor, since the harness keeps what passing tests print.
    let _ = writeln!(std::io::stderr(), "skipped ({number} so far): {test}: {reason}");
}
