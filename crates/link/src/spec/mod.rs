//! The description of a path: the effects of each direction on the segments that pass through it.

mod setting;
mod text;

#[cfg(test)]
mod tests;

use measure::units::{ByteSize, DataRate};
use std::fmt;
use std::time::Duration;

pub use setting::{LinkSetting, congestion};
pub use text::SpecError;

/// Both directions of a path. The default path changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinkSpec {
    /// From the target (far end) to the client (near end).
    pub down: DirectionSpec,
    /// From the client to the target.
    pub up: DirectionSpec,
}

/// One direction of a path.
///
/// All properties apply to wire segments, which are the packets on a real link. If the kernel passes several segments
/// as one larger packet (GSO), each of the segments counts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct DirectionSpec {
    /// Rate of the bottleneck. The size of a segment is its IP packet plus 14 bytes for the Ethernet header, as for
    /// `tc`. `None` means unlimited.
    pub rate: Option<DataRate>,
    /// One-way delay of a segment, from leaving the bottleneck to its arrival. At most [`DirectionSpec::DELAY_MAX`].
    pub delay: Duration,
    /// Maximum deviation of the delay, at most `delay`. The delay changes slowly, so segments keep their order.
    pub jitter: Duration,
    /// Probability, from 0 to 1, that a segment is lost after the bottleneck.
    pub loss: f64,
    /// Probability, from 0 to 1, that a segment skips the delay and thus overtakes earlier segments.
    pub reorder: f64,
    /// Maximum number of bytes that wait for the bottleneck. `None` means the bandwidth-delay product
    /// ([`LinkSpec::queue_bytes`]).
    pub queue: Option<ByteSize>,
}

/// A direction of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the target to the client.
    Down,
    /// From the client to the target.
    Up,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Down => "down",
            Self::Up => "up",
        })
    }
}

impl DirectionSpec {
    /// Maximum delay. This limit is far above the delay of any path on Earth, and low enough to limit the memory for
    /// delayed frames.
    pub const DELAY_MAX: Duration = Duration::from_secs(10);
    /// Maximum rate.
    pub const RATE_MAX: DataRate = DataRate::bits_per_second(400_000_000_000);
    /// Minimum rate. At this rate, a full segment takes 1.5 s.
    pub const RATE_MIN: DataRate = DataRate::bits_per_second(8_000);
    /// Maximum memory for the frames in flight and in the queue of one direction.
    pub const MEMORY_MAX: ByteSize = ByteSize(4 << 30);
}

/// Minimum size of the default queue: enough for two of the largest frames that the kernel passes as one packet (64 KiB
/// each).
const QUEUE_MIN_BYTES: u64 = 150_000;

impl LinkSpec {
    /// Returns one direction.
    #[must_use]
    pub fn direction(&self, direction: Direction) -> &DirectionSpec {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    /// Returns the round-trip time of a small segment on an idle path, without its serialization time.
    #[must_use]
    pub fn round_trip(&self) -> Duration {
        self.down.delay + self.up.delay
    }

    /// Returns the maximum number of bytes that can wait for the bottleneck of a direction. The default is the
    /// bandwidth-delay product (rate × round trip), but at least 150 kB. Returns `None` if the rate is unlimited and no
    /// queue is specified, because then no bytes wait.
    #[must_use]
    pub fn queue_bytes(&self, direction: Direction) -> Option<u64> {
        let spec = self.direction(direction);
        let product = || spec.rate.map(|rate| bytes_in(rate, self.round_trip()).max(QUEUE_MIN_BYTES));
        spec.queue.map(|queue| queue.0).or_else(product)
    }

    /// Checks each direction, and both directions together.
    ///
    /// # Errors
    /// Returns the first mistake, with its fix.
    pub fn check(&self) -> Result<(), SpecError> {
        for direction in [Direction::Down, Direction::Up] {
            let spec = self.direction(direction);
            spec.check()?;
            let in_flight = spec.rate.map_or(0, |rate| bytes_in(rate, spec.delay + spec.jitter));
            let bytes = in_flight.saturating_add(self.queue_bytes(direction).unwrap_or(0));
            if bytes > DirectionSpec::MEMORY_MAX.0 {
                return Err(SpecError::TooMuchMemory { bytes: ByteSize(bytes) });
            }
        }
        Ok(())
    }
}

/// Returns the number of bytes that can be sent at a rate within a span, rounded down.
pub(crate) fn bytes_in(rate: DataRate, span: Duration) -> u64 {
    let bits = u128::from(rate.as_bits()) * span.as_nanos() / 1_000_000_000;
    u64::try_from(bits / 8).unwrap_or(u64::MAX)
}
