//! Response times, grouped by the time at which the operations were due.
//!
//! Groups by end time would be misleading. Quick operations end before slow ones, so response times would seem to grow
//! at the beginning of every run.

use crate::sample::OpSample;
use crate::time::{Instant, Timeline};
use crate::values::{add, bounded};
use serde::{Deserialize, Deserializer, Serialize};

/// Time span of the shortest cohorts, in nanoseconds. This span is short enough for runs of one second.
const SPAN: u64 = 50_000_000;
/// Number of cohorts with the shortest span. For later cohorts, the span doubles every [`DOUBLED`] cohorts, like the
/// buckets of a histogram. A run of two weeks therefore needs only about 1,300 cohorts.
const SHORTEST: u64 = 128;
const DOUBLED: u64 = SHORTEST / 2;
/// Maximum number of cohorts of a run, enough for 2⁶⁴ ns.
const COHORTS_MAX: usize = 2176;

/// Measured operations that were due within one time span.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrivalCohort {
    /// Index of the span, counted from the start of the measured window.
    pub index: u32,
    /// Number of operations that were due.
    pub scheduled: u64,
    /// Number of these operations that have ended, whether they succeeded or failed.
    pub ended: u64,
    /// Sum of the response times of the operations in [`Self::ended`], in nanoseconds.
    pub response_nanos: u64,
    /// Sum of the lateness of the operations in [`Self::ended`], in nanoseconds.
    pub late_nanos: u64,
    /// Number of operations that ended within the span, including operations that were due before the span.
    #[serde(default)]
    pub departed: u64,
}

impl ArrivalCohort {
    /// Returns the index of the span that contains a time, given in nanoseconds since the start of the measured window.
    fn index_of(nanos: u64) -> u32 {
        let spans = nanos / SPAN;
        let doublings = (spans / DOUBLED).max(1).ilog2();
        (u64::from(doublings) * DOUBLED + (spans >> doublings)) as u32
    }

    /// Returns the start of the span, in seconds since the start of the measured window.
    #[must_use]
    pub fn start(&self) -> f64 {
        let (index, doublings) = (u64::from(self.index), self.doublings());
        ((index - doublings * DOUBLED) << doublings) as f64 * SPAN as f64 / 1e9
    }

    /// Returns the middle of the span, in seconds since the start of the measured window.
    #[must_use]
    pub fn middle(&self) -> f64 {
        self.start() + (1_u64 << self.doublings()) as f64 / 2.0 * SPAN as f64 / 1e9
    }

    /// Returns how often the length of the span has doubled.
    fn doublings(&self) -> u64 {
        (u64::from(self.index) / DOUBLED).saturating_sub(1).min(40)
    }
}

/// Cohorts of a run, sorted by index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct ArrivalCohorts(Vec<ArrivalCohort>);

impl<'de> Deserialize<'de> for ArrivalCohorts {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read: Vec<ArrivalCohort> = bounded::list::<_, _, COHORTS_MAX>(deserializer)?;
        let mut cohorts = Self::default();
        read.iter().for_each(|cohort| cohorts.add(cohort));
        Ok(cohorts)
    }
}

impl ArrivalCohorts {
    /// Returns whether there are no cohorts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns all cohorts.
    #[must_use]
    pub fn all(&self) -> &[ArrivalCohort] {
        &self.0
    }

    /// Returns the cohort that contains a time, given in nanoseconds since the start of the measured window. Creates
    /// the cohort if it does not exist yet.
    #[inline]
    pub(crate) fn at(&mut self, nanos: u64) -> &mut ArrivalCohort {
        self.numbered(ArrivalCohort::index_of(nanos).min(COHORTS_MAX as u32 - 1))
    }

    #[inline]
    fn numbered(&mut self, index: u32) -> &mut ArrivalCohort {
        let place = match self.0.last() {
            Some(last) if last.index == index => self.0.len() - 1,
            _ => self.0.binary_search_by_key(&index, |cohort| cohort.index).unwrap_or_else(|place| {
                self.0.insert(place, ArrivalCohort { index, ..ArrivalCohort::default() });
                place
            }),
        };
        &mut self.0[place]
    }

    /// Counts `count` operations that were due at `intended`.
    #[inline]
    pub(crate) fn scheduled(&mut self, timeline: &Timeline, intended: Instant, count: u64) {
        self.at(intended.nanos_since(timeline.window_start())).scheduled += count;
    }

    /// Adds an operation that has ended.
    #[inline]
    pub(crate) fn ended(&mut self, timeline: &Timeline, sample: &OpSample) {
        let cohort = self.at(sample.intended.nanos_since(timeline.window_start()));
        cohort.ended += 1;
        add(&mut cohort.response_nanos, sample.response_nanos());
        add(&mut cohort.late_nanos, sample.lateness_nanos());
        self.at(sample.end.nanos_since(timeline.window_start())).departed += 1;
    }

    /// Adds the counts of a cohort. Ignores a cohort whose index is out of range, because the record is then damaged.
    fn add(&mut self, other: &ArrivalCohort) {
        let ArrivalCohort { index, scheduled, ended, response_nanos, late_nanos, departed } = *other;
        if index as usize >= COHORTS_MAX {
            return;
        }
        let mine = self.numbered(index);
        add(&mut mine.scheduled, scheduled);
        add(&mut mine.ended, ended);
        add(&mut mine.response_nanos, response_nanos);
        add(&mut mine.late_nanos, late_nanos);
        add(&mut mine.departed, departed);
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        let Self(cohorts) = other;
        cohorts.iter().for_each(|cohort| self.add(cohort));
    }

    /// Returns cohorts with one operation per millisecond, over `seconds`. `response` takes the time at which an operation
    /// is due, and returns the response time of this operation, both in seconds.
    #[cfg(test)]
    pub(crate) fn simulated(seconds: f64, mut response: impl FnMut(f64) -> f64) -> Self {
        let mut cohorts = Self::default();
        for millisecond in 0..(seconds * 1e3) as u64 {
            let nanos = (response(millisecond as f64 / 1e3) * 1e9) as u64;
            let cohort = cohorts.at(millisecond * 1_000_000);
            cohort.scheduled += 1;
            cohort.ended += 1;
            cohort.response_nanos += nanos;
            cohorts.at(millisecond * 1_000_000 + nanos).departed += 1;
        }
        cohorts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_tile_the_time_and_grow_with_it() {
        let mut before = (0, 0.0);
        for step in 0..2_000_000_u64 {
            // The last step is at 11 days.
            let nanos = step * step * 250 * 1000;
            let index = ArrivalCohort::index_of(nanos);
            let middle = ArrivalCohort { index, ..ArrivalCohort::default() }.middle();
            assert!(index >= before.0 && middle >= before.1, "{nanos}");
            let off = (middle - nanos as f64 / 1e9).abs();
            assert!(off <= (0.025 + nanos as f64 / 1e9 / 128.0) * 1.000_001, "{nanos}: {middle}");
            before = (index, middle);
        }
        assert!((before.0 as usize) < COHORTS_MAX, "{}", before.0);
        assert!((ArrivalCohort::index_of(u64::MAX) as usize) < COHORTS_MAX);
    }

    #[test]
    fn damaged_records_are_read_without_harm() {
        let text = r#"[{"index":4000000000,"scheduled":1,"ended":0,"response_nanos":0,"late_nanos":0},
            {"index":7,"scheduled":2,"ended":1,"response_nanos":5,"late_nanos":0},
            {"index":7,"scheduled":18446744073709551615,"ended":0,"response_nanos":0,"late_nanos":0}]"#;
        let cohorts: ArrivalCohorts = serde_json::from_str(text).unwrap();
        assert_eq!(cohorts.all().len(), 1);
        assert_eq!(cohorts.all()[0].scheduled, u64::MAX);
    }
}
