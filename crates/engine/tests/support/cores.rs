//! Checks of whether the cores are free. Timing tests prove nothing while other processes use the cores.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// Maximum number of tries of a test if other processes use the cores during each try.
pub const TRIES: usize = 5;
/// Duration of a check of the cores.
const LOOK: Duration = Duration::from_millis(200);
/// Maximum wait for free cores. After this time, a run starts even if the cores are not free.
const PATIENCE: Duration = Duration::from_secs(30);

/// Waits until the cores are free, for a bounded time.
pub fn wait_until_free() {
    let started = Instant::now();
    while are_taken() && started.elapsed() < PATIENCE {
        thread::sleep(Duration::from_millis(300));
    }
}

/// Starts one busy thread for each core. Returns whether any of these threads waits for its core for more than 5 % of
/// the time.
pub fn are_taken() -> bool {
    let look = || {
        let (started, before) = (Instant::now(), run_delay());
        while started.elapsed() < LOOK {
            std::hint::spin_loop();
        }
        run_delay().saturating_sub(before) > started.elapsed() / 20
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let looks: Vec<_> = (0..cores).map(|_| thread::spawn(look)).collect();
    looks.into_iter().any(|look| look.join().expect("it only counts"))
}

/// Returns the time that this thread has waited for a core so far.
fn run_delay() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().nth(1).and_then(|field| field.parse().ok()).unwrap_or(0))
}
