//! Error rates of the sequential test if operations depend on each other. The simulated targets have a known share of
//! slow operations. `cargo xtask bench sequential` does the same with 1,000 levels per case.

#[path = "support/slowness.rs"]
mod slowness;

use slowness::{LEVEL_SECONDS, Process, TOLERATED, outcomes};

#[test]
fn twice_the_tolerated_share_rarely_passes() {
    for process in Process::ALL {
        let found = outcomes(process, 2.0 * TOLERATED, TOLERATED, LEVEL_SECONDS, 40, 1);
        assert!(found.within <= 2 && found.beyond >= 32, "{process:?}: {found:?}");
    }
}

#[test]
fn half_the_tolerated_share_passes_in_time() {
    for process in Process::ALL {
        let found = outcomes(process, 0.5 * TOLERATED, TOLERATED, LEVEL_SECONDS, 40, 2);
        assert!(found.within >= 32 && found.beyond <= 2, "{process:?}: {found:?}");
    }
}

/// A short level without any slow operation must not pass early, because the first slow spell may still come.
#[test]
fn short_levels_never_pass_early() {
    for process in [Process::Bursts(0.5), Process::Bursts(2.0)] {
        for seconds in [5.0, 20.0] {
            let found = outcomes(process, 2.0 * TOLERATED, TOLERATED, seconds, 40, 3);
            assert_eq!(found.within, 0, "{process:?}, {seconds} s: {found:?}");
        }
    }
}
