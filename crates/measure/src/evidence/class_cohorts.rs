//! Arrival cohorts of each class of operations.
//!
//! In a mix, the target may fall behind with one class only, for example with rare uploads. The mean response time of
//! all operations then hardly grows, because most operations are quick downloads.

use super::{ArrivalCohorts, OperationClass};
use crate::sample::OpSample;
use crate::sample::outcome::OpOutcome;
use crate::time::Timeline;
use crate::values::bounded;
use serde::{Deserialize, Serialize};

/// Maximum number of classes. Operations of further classes are counted only in the cohorts of all operations.
const CLASSES_MAX: usize = 16;

/// Cohorts of one class.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OfClass {
    #[serde(flatten)]
    class: OperationClass,
    cohorts: ArrivalCohorts,
}

/// Measured operations that have started, grouped by class and by the time at which they were due. Unfinished
/// operations count as scheduled, but not as ended. Operations that have not started are left out, because their
/// classes are not known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClassCohorts(#[serde(deserialize_with = "bounded::list::<_, _, CLASSES_MAX>")] Vec<OfClass>);

impl ClassCohorts {
    /// Returns whether there are no cohorts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the classes with their cohorts, if there are several classes.
    pub fn several(&self) -> impl Iterator<Item = (OperationClass, &ArrivalCohorts)> {
        self.0.iter().filter(|_| self.0.len() > 1).map(|of_class| (of_class.class, &of_class.cohorts))
    }

    /// Adds an operation that has ended, or that was unfinished at the end of the run.
    #[inline]
    pub(crate) fn add(&mut self, timeline: &Timeline, sample: &OpSample, class: OperationClass) {
        let Some(cohorts) = self.of(class) else { return };
        cohorts.scheduled(timeline, sample.intended, 1);
        if sample.outcome != OpOutcome::Unfinished {
            cohorts.ended(timeline, sample);
        }
    }

    #[inline]
    fn of(&mut self, class: OperationClass) -> Option<&mut ArrivalCohorts> {
        let place = match self.0.iter().position(|of_class| of_class.class == class) {
            Some(place) => place,
            None if self.0.len() < CLASSES_MAX => {
                self.0.push(OfClass { class, cohorts: ArrivalCohorts::default() });
                self.0.len() - 1
            }
            None => return None,
        };
        Some(&mut self.0[place].cohorts)
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for OfClass { class, cohorts } in &other.0 {
            if let Some(mine) = self.of(*class) {
                mine.merge(cohorts);
            }
        }
    }
}
