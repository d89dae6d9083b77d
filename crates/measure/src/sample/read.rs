//! Wait of the end of a response in the socket until the client read it.

/// Wait of one response, taken at the read that ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadSample {
    /// The kernel's timestamp of the arrival was usable.
    Timestamped {
        /// Time from the arrival of the last byte to its read, in nanoseconds.
        nanos: u64,
        /// Number of reads that this sample represents, itself included; at least 1. Only one of so many reads is sampled.
        stands_for: u32,
    },
    /// The system clock was stepped, or the timestamp is later than the read.
    Discarded,
}

impl ReadSample {
    /// Returns this sample with a wait of at least `least` nanoseconds.
    #[must_use]
    pub fn at_least(self, least: u64) -> Self {
        match self {
            Self::Timestamped { nanos, stands_for } => Self::Timestamped { nanos: nanos.max(least), stands_for },
            Self::Discarded => self,
        }
    }
}
