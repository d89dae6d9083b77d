//! Programs of others that tests stand on. Where one is absent, its tests are skipped, counted and named; or fail, where
//! `REQUIRE_PEERS=1`.

use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

static SKIPPED: AtomicU64 = AtomicU64::new(0);

/// What was `found` of a peer; when that is nothing, the test is to be skipped, or fails where `REQUIRE_PEERS=1`.
pub fn peer<T>(name: &str, found: Option<T>) -> Option<T> {
    if found.is_none() {
        let required = std::env::var_os("REQUIRE_PEERS").is_some_and(|value| value == "1");
        assert!(!required, "{}: {name} is not installed, and REQUIRE_PEERS=1", this_test());
        skip(&format!("{name} is not installed"));
    }
    found
}

/// Says that this test is skipped because this machine can not carry it out now: others use its cores, or it does not allow what
/// the test needs.
pub fn skip(reason: &str) {
    let number = SKIPPED.fetch_add(1, Ordering::Relaxed) + 1;
    // Straight to the descriptor, since the harness keeps what passing tests print.
    let _ = writeln!(std::io::stderr(), "skipped ({number} so far): {}: {reason}", this_test());
}

fn this_test() -> String {
    std::thread::current().name().unwrap_or("a test").to_owned()
}
