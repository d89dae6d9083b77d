//! The time in which the message bus is away. Nobody can be heard in this time, so silence means nothing.

use crate::clock::nanos;
use std::time::Duration;

/// The bus may be away for this long. After that, silence counts as usual, so that no load goes on forever without its
/// coordinator.
pub const AWAY_MAX: Duration = Duration::from_secs(300);

/// The state of the bus, as one end sees it. Instants are nanoseconds on any monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct Away {
    since: Option<u64>,
}

impl Away {
    /// Takes the present state of the bus. Returns whether the other end is excused for its silence until `now`.
    pub fn excuses(&mut self, now: u64, is_away: bool) -> bool {
        self.since = if is_away { Some(self.since.unwrap_or(now)) } else { None };
        self.since.is_some_and(|since| now.saturating_sub(since) < nanos(AWAY_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_excused_while_the_bus_is_away_but_not_forever() {
        let mut away = Away::default();
        let max = AWAY_MAX.as_nanos() as u64;
        assert!(!away.excuses(5, false));
        assert!(away.excuses(7, true) && away.excuses(6 + max, true));
        assert!(!away.excuses(7 + max, true), "it was away for too long");
        assert!(!away.excuses(8 + max, false));
        assert!(away.excuses(9 + max, true), "it is away again");
    }
}
