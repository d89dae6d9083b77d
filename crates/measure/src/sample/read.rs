//! Time during which the end of a response waited in the socket until the client read it.

/// Wait of one response, measured when the client read the end of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSample {
    /// The kernel's timestamp of the arrival was usable.
    Timestamped {
        /// Time from the arrival of the last byte until the client read it, in nanoseconds.
        nanos: u64,
        /// Number of reads that this sample represents, at least 1. Only a part of the reads is sampled.
        stands_for: u32,
    },
    /// The timestamp was unusable, because the system clock was set, or because the timestamp is later than the read.
    Discarded,
}

impl ReadSample {
    /// Returns this sample, with its wait raised to at least `least` nanoseconds.
    #[must_use]
    pub fn at_least(self, least: u64) -> Self {
        match self {
            Self::Timestamped { nanos, stands_for } => Self::Timestamped { nanos: nanos.max(least), stands_for },
            Self::Discarded => self,
        }
    }
}
