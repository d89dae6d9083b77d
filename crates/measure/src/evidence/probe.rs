//! What a closed run does with other numbers of slots: short levels after it (`--probe`).

use serde::{Deserialize, Serialize};

/// A level with fewer operations than this shows nothing.
const OPERATIONS_MIN: u64 = 20;
/// Rate grows with slots as their power: 1 where operations are independent, 0 where they wait for each other. In between, this
/// much is taken for too few slots: twice the slots reach 1.25 times the rate.
const POWER_MIN: f64 = 0.32;

/// A level of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Probe {
    /// Its slots.
    pub slots: u64,
    /// Operations that ended well.
    pub operations: u64,
    /// The same in a second.
    pub per_second: f64,
    /// Whether the client set the limit there.
    pub client_limited: bool,
}

/// The levels of a probe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Probes {
    /// With half of the run's slots; `None` for one slot.
    pub lower: Option<Probe>,
    /// With twice as many.
    pub higher: Option<Probe>,
}

impl Probes {
    /// Whether more slots than the run's reach a higher rate; `None` where the probe does not show it.
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
    fn the_rate_at_other_levels_decides() {
        let probe = |slots, per_second| Probe { slots, operations: 1000, per_second, client_limited: false };
        let both = |lower, higher| Probes { lower: Some(probe(10, lower)), higher: Some(probe(40, higher)) };
        assert_eq!(both(100.0, 400.0).more_is_faster(20, 200.0), Some(true));
        assert_eq!(both(200.0, 200.0).more_is_faster(20, 200.0), Some(false));
        assert_eq!(both(100.0, 210.0).more_is_faster(20, 200.0), Some(false), "it is where the line bends");
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
