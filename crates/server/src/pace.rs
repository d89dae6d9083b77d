//! The rate limit of a body. The body is sent in large pieces, so that the thread does not wake up for every few bytes.

use std::num::NonZeroU64;
use std::time::Duration;

/// The number of pieces per second.
const PIECES: u64 = 100;

/// The rate limit of one body.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    rate: NonZeroU64,
    began: Duration,
}

impl Pace {
    /// Allows `rate` bytes per second from now on.
    pub(crate) fn new(rate: NonZeroU64, now: Duration) -> Self {
        Self { rate, began: now }
    }

    /// Returns how many of the `left` bytes may be sent now, if `sent` bytes were sent before. If none may be sent, the
    /// error is the time at which the next piece is allowed.
    pub(crate) fn allows(self, sent: u64, left: u64, now: Duration) -> Result<u64, Duration> {
        let rate = self.rate.get();
        let earned = now.saturating_sub(self.began).as_nanos() * u128::from(rate) / 1_000_000_000;
        let earned = u64::try_from(earned).unwrap_or(u64::MAX);
        let piece = (rate / PIECES).max(1).min(left);
        let allowed = earned.saturating_sub(sent);
        if allowed >= piece {
            return Ok(allowed.min(left));
        }
        let nanos = u128::from(sent.saturating_add(piece)) * 1_000_000_000;
        let after = nanos.div_ceil(u128::from(rate));
        Err(self.began.saturating_add(Duration::from_nanos(u64::try_from(after).unwrap_or(u64::MAX))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_takes_its_length_divided_by_its_rate() {
        let pace = Pace::new(NonZeroU64::new(1000).unwrap(), Duration::from_secs(5));
        let (mut now, mut sent) = (Duration::from_secs(5), 0);
        while sent < 500 {
            match pace.allows(sent, 500 - sent, now) {
                Ok(bytes) => sent += bytes,
                Err(instant) => now = instant,
            }
        }
        assert_eq!(now, Duration::from_millis(5500));
        assert_eq!(pace.allows(500, 0, now), Ok(0));
    }
}
