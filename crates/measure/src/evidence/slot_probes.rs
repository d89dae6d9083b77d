//! Rates that a closed run reaches with other numbers of slots, measured in short levels after the run (`--probe`).

use serde::{Deserialize, Serialize};

/// Minimum number of operations of a level. A level with fewer operations is ignored.
const OPERATIONS_MIN: u64 = 20;
/// Minimum exponent p at which more slots count as faster. The rate is assumed to be proportional to slotsᵖ. If
/// operations are independent, p is 1. If each operation waits for the others, p is 0. With this minimum, doubling the
/// number of slots increases the rate by a factor of 1.25.
const POWER_MIN: f64 = 0.32;

/// One level of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Number of slots.
    pub slots: u64,
    /// Operations that succeeded.
    pub operations: u64,
    /// Operations that succeeded per second.
    pub per_second: f64,
    /// `true` if the client limited the level.
    pub client_limited: bool,
}

/// Levels of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probes {
    /// Level with half of the run's slots; `None` if the run has only one slot.
    pub lower: Option<Probe>,
    /// Level with twice the run's slots.
    pub higher: Option<Probe>,
}

impl Probes {
    /// Returns whether the run would reach a higher rate with more slots; `None` if the probe cannot decide this.
    #[must_use]
    pub fn more_is_faster(&self, slots: u64, per_second: f64) -> Option<bool> {
        let usable = |probe: &Probe| probe.operations >= OPERATIONS_MIN && probe.per_second > 0.0 && per_second > 0.0;
        let power = |probe: &Probe| {
            (probe.per_second / per_second).ln() / (probe.slots.max(1) as f64 / slots.max(1) as f64).ln()
        };
        let grows =
            |probe: &Probe| Some(power(probe)).filter(|power| power.is_finite()).map(|power| power >= POWER_MIN);
        match (self.higher.filter(usable), self.lower.filter(usable)) {
            (Some(higher), _) => grows(&higher).filter(|grows| *grows || !higher.client_limited),
            (None, Some(lower)) => grows(&lower),
            (None, None) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_with_other_numbers_of_slots_decide() {
        let probe = |slots, per_second| Probe { slots, operations: 1000, per_second, client_limited: false };
        let both = |lower, higher| Probes { lower: Some(probe(10, lower)), higher: Some(probe(40, higher)) };
        assert_eq!(both(100.0, 400.0).more_is_faster(20, 200.0), Some(true));
        assert_eq!(both(200.0, 200.0).more_is_faster(20, 200.0), Some(false));
        assert_eq!(both(100.0, 210.0).more_is_faster(20, 200.0), Some(false), "a rate that hardly grows is not faster");
        assert_eq!(both(100.0, 260.0).more_is_faster(20, 200.0), Some(true));
        let only_lower = |per_second| Probes { lower: Some(probe(10, per_second)), higher: None };
        assert_eq!(only_lower(100.0).more_is_faster(20, 200.0), Some(true));
        assert_eq!(only_lower(200.0).more_is_faster(20, 200.0), Some(false));
        assert_eq!(Probes::default().more_is_faster(20, 200.0), None);
        let few = Probe { operations: 5, ..probe(40, 400.0) };
        assert_eq!(Probes { lower: None, higher: Some(few) }.more_is_faster(20, 200.0), None);
        let limited = Probe { client_limited: true, ..probe(40, 200.0) };
        assert_eq!(Probes { lower: None, higher: Some(limited) }.more_is_faster(20, 200.0), None);
        assert_eq!(both(0.0, 0.0).more_is_faster(20, 200.0), None);
    }
}
