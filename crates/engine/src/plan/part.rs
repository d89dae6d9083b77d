//! The part of a load that one of several machines makes.
//!
//! Each machine derives its part from its number, so the machines need not exchange messages. With N machines, machine
//! i makes the operations i, i + N, i + 2N and so on of the whole load. Objects, ranges and arrival times are functions
//! of the operation's number, so all machines together make the same operations as one machine.

use super::{LoadModel, Plan};
use crate::schedule::Profile;
use std::num::{NonZeroU32, NonZeroU64};

/// The part of machine number `index`, counted from 0, if `of` machines make one load together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    index: u32,
    of: NonZeroU32,
}

/// Error for an amount that is too small to give each machine a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{amount} {what} cannot be divided among {machines} machines: each needs at least one")]
pub struct SplitError {
    /// The whole amount.
    pub amount: u64,
    /// Name of the amount, in the plural.
    pub what: &'static str,
    /// Number of machines.
    pub machines: u32,
}

impl Part {
    /// The whole load.
    pub const WHOLE: Self = Self { index: 0, of: NonZeroU32::MIN };

    /// Returns the part of machine `index` of `of` machines; `None` unless `index` is below `of`.
    #[must_use]
    pub fn new(index: u32, of: u32) -> Option<Self> {
        NonZeroU32::new(of).filter(|of| index < of.get()).map(|of| Self { index, of })
    }

    /// Returns the number that operation `own` of this part has in the whole load.
    #[inline]
    #[must_use]
    pub fn number(self, own: u64) -> u64 {
        own.saturating_mul(u64::from(self.of.get())).saturating_add(u64::from(self.index))
    }

    /// Returns the number that operation `number` of the whole load has in this part; `None` if it belongs to another
    /// part. This is the inverse of [`Self::number`].
    #[must_use]
    pub fn own(self, number: u64) -> Option<u64> {
        let (index, of) = (u64::from(self.index), u64::from(self.of.get()));
        (number % of == index).then(|| number / of)
    }

    /// Returns how many of the numbers below `total` belong to this part.
    #[must_use]
    pub fn count_below(self, total: u64) -> u64 {
        share_of(total, self.index, self.of.get())
    }

    /// Returns the number of the machine, counted from 0.
    #[must_use]
    pub fn index(self) -> u32 {
        self.index
    }

    /// Returns the number of machines.
    #[must_use]
    pub fn of(self) -> u32 {
        self.of.get()
    }

    /// Returns the offset of this part in the schedule, as a fraction of the time between two operations of the part.
    /// The fraction is at least 0 and below 1. With four machines, for example, the second machine has the offset 0.25.
    #[must_use]
    pub fn phase(self) -> f64 {
        f64::from(self.index) / f64::from(self.of.get())
    }

    /// Returns the number of a thread of this part, unique over all parts.
    #[must_use]
    pub fn thread(self, thread: u32) -> u32 {
        thread.saturating_mul(self.of.get()).saturating_add(self.index)
    }

    fn share(self, amount: NonZeroU64, what: &'static str) -> Result<NonZeroU64, SplitError> {
        let machines = self.of.get();
        let share = share_of(amount.get(), self.index, machines);
        NonZeroU64::new(share).ok_or(SplitError { amount: amount.get(), what, machines })
    }
}

/// Divides a count evenly into `of` shares, and returns share number `index`.
pub(crate) fn share_of(total: u64, index: u32, of: u32) -> u64 {
    let (index, of) = (u64::from(index), u64::from(of.max(1)));
    total / of + u64::from(index < total % of)
}

impl LoadModel {
    /// Returns the load model for a part of a load. The rate and the operations in flight are divided.
    ///
    /// # Errors
    /// Fails if a machine would get no operation or no slot.
    pub fn split(mut self, part: Part) -> Result<Self, SplitError> {
        let machines = f64::from(part.of.get());
        match &mut self {
            Self::Closed { slots, .. } if slots.is_constant() => {
                let count = NonZeroU64::new(slots.peak() as u64).unwrap_or(NonZeroU64::MIN);
                *slots = Profile::slots(part.share(count, "operations in flight")?);
            }
            Self::Closed { slots, .. } => *slots = slots.divided(machines),
            Self::Open { rate, in_flight_max, .. } => {
                *rate = rate.divided(machines);
                *in_flight_max = part.share(*in_flight_max, "operations in flight")?;
            }
        }
        Ok(self)
    }
}

impl Plan {
    /// Returns the plan for a part of this load. The rate, the operations in flight, and the limits on operations and
    /// bytes are divided. Times are not divided.
    ///
    /// # Errors
    /// Fails if a machine would get no operation, no slot or no byte.
    pub fn split(mut self, part: Part) -> Result<Self, SplitError> {
        self.load = self.load.split(part)?;
        self.stop.ops = self.stop.ops.map(|ops| part.share(ops, "operations")).transpose()?;
        self.stop.bytes = self.stop.bytes.map(|bytes| part.share(bytes, "bytes")).transpose()?;
        self.part = part;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Targets;
    use crate::schedule::{Arrivals, Spacing};
    use measure::Instant;
    use proptest::prelude::*;

    fn plan(load: LoadModel) -> Plan {
        Plan::new(Targets::default(), load)
    }

    fn closed(slots: u64) -> Plan {
        plan(LoadModel::Closed { slots: Profile::slots(NonZeroU64::new(slots).unwrap()), think: Default::default() })
    }

    fn parts(of: u32) -> impl Iterator<Item = Part> {
        (0..of).map(move |index| Part::new(index, of).unwrap())
    }

    proptest! {
        #[test]
        fn the_parts_of_a_schedule_are_the_schedule(rate in 1.0_f64..5_000.0, of in 1_u32..9, threads in 1_u32..4) {
            let whole = Profile::constant(rate).unwrap();
            let until = Instant::from_nanos(2_000_000_000);
            let mut starts = Vec::new();
            for (part, thread) in parts(of).flat_map(|part| (0..threads).map(move |thread| (part, thread))) {
                let rate = whole.divided(of.into());
                let share = (thread, threads);
                let mut arrivals = Arrivals::new(&rate, Spacing::Constant, 1, share, part, Instant::ZERO);
                while let Some(at) = arrivals.peek().filter(|at| *at < until) {
                    starts.push(at);
                    arrivals.advance();
                }
            }
            starts.sort_unstable();
            for (n, at) in starts.iter().enumerate() {
                prop_assert!((at.as_secs_f64() - n as f64 / rate).abs() < 2e-9);
            }
            prop_assert!(starts.len().abs_diff((rate * 2.0).ceil() as usize) <= 1);
        }

        #[test]
        fn the_parts_of_a_load_add_up(slots in 8_u64..100, ops in 8_u64..1000, of in 1_u32..9) {
            let mut whole = closed(slots);
            whole.stop.ops = NonZeroU64::new(ops);
            let split: Vec<Plan> = parts(of).map(|part| whole.clone().split(part).unwrap()).collect();
            prop_assert_eq!(split.iter().map(|plan| plan.load.in_flight_max()).sum::<u64>(), slots);
            let own = |plan: &Plan| (0..plan.stop.ops.unwrap().get()).map(|own| plan.part.number(own)).collect();
            let mut numbers: Vec<u64> = split.iter().flat_map(|plan| -> Vec<u64> { own(plan) }).collect();
            numbers.sort_unstable();
            prop_assert_eq!(numbers, (0..ops).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_load_that_is_too_small_for_its_machines_is_refused() {
        let last = Part::new(2, 3).unwrap();
        let refused = closed(2).split(last).unwrap_err();
        assert_eq!(
            refused.to_string(),
            "2 operations in flight cannot be divided among 3 machines: each needs at least one"
        );
        assert_eq!(Part::new(3, 3), None);
        assert_eq!(Part::new(0, 0), None);
    }
}
