//! A planned run: a cause and its variant.

use super::cause::Cause;
use super::variant::Variant;
use std::time::Duration;

/// A planned run.
#[derive(Clone, Copy, Debug)]
pub struct Trial {
    /// The planted cause.
    pub cause: Cause,
    /// Variant of the cause.
    pub variant: Variant,
    /// Duration of the measured time, in seconds.
    pub seconds: u64,
    /// Seed of the service times.
    pub seed: u64,
}

impl Trial {
    /// Returns the time from the first operation to the end of the measurement: the warm-up plus `seconds`.
    pub fn window(self) -> Duration {
        self.cause.warmup() + Duration::from_secs(self.seconds)
    }
}
