//! A fill that stores nothing for some time, although the target responds. For example, the target may be full.

use measure::units::format_span;
use measure::{AttemptClass, Counts, Enumerated, Example, Stats};
use report::number::count;
use std::time::Duration;

/// Time without a stored object after which the first message is printed.
const TOLD_AFTER: Duration = Duration::from_secs(30);
/// Factor by which the time to the next message grows.
const LONGER: u32 = 10;

/// Failures since the last object was stored.
#[derive(Debug)]
pub struct Stuck {
    objects: u64,
    since: Option<Duration>,
    classes: Counts<AttemptClass>,
    /// The newest failure.
    newest: Option<Example>,
    told_after: Duration,
}

impl Default for Stuck {
    fn default() -> Self {
        Self { objects: 0, since: None, classes: Counts::default(), newest: None, told_after: TOLD_AFTER }
    }
}

impl Stuck {
    /// Adds an interval that ended at `active`. `objects` is the number of stored objects. Returns a message if one is
    /// due.
    pub fn note(&mut self, active: Duration, objects: u64, stats: &Stats) -> Option<String> {
        if self.since.is_none() || objects != self.objects {
            *self = Self { objects, since: Some(active), ..Self::default() };
            return None;
        }
        self.classes.merge(&stats.measured.classes);
        self.classes.merge(&stats.outside.classes);
        if let Some(newest) = stats.examples.iter().max_by_key(|example| example.at) {
            self.newest = Some(newest.clone());
        }
        let time = active.saturating_sub(self.since?);
        let failures = self.classes.nonzero().filter(|(class, _)| *class != AttemptClass::Ok);
        let (most, number) = failures.max_by_key(|(_, number)| *number)?;
        if time < self.told_after {
            return None;
        }
        self.told_after = time.saturating_mul(LONGER);
        let (time, attempts) = (format_span(Duration::from_secs(time.as_secs())), count(self.classes.total()));
        let newest = self.newest.as_ref().map_or_else(|| most.about().to_owned(), report::failure_line);
        Some(format!(
            "no object stored for {time}: {} of {attempts} attempts failed with {}, the latest with {newest}; plimsoll \
             tries again until a --stop-when rule or an interrupt ends the fill",
            count(number),
            most.name()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_failures_without_progress_are_reported() {
        let mut failing = Stats::default();
        (0..3).for_each(|_| failing.measured.classes.add(AttemptClass::Http5xx));
        let seconds = |from: u64, to: u64| (from..to).map(Duration::from_secs);
        let mut stuck = Stuck::default();
        let told = |stuck: &mut Stuck, from, to, objects, stats: &Stats| {
            seconds(from, to).filter_map(|at| stuck.note(at, objects, stats)).collect::<Vec<_>>()
        };
        assert_eq!(told(&mut stuck, 0, 100, 5, &Stats::default()), [""; 0], "a large object takes long");
        assert_eq!(told(&mut stuck, 100, 125, 6, &failing), [""; 0]);
        let messages = told(&mut stuck, 125, 700, 7, &failing);
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(
            messages[0]
                .starts_with("no object stored for 30s: 90 of 90 attempts failed with http_5xx, the latest with "),
            "{messages:?}"
        );
    }
}
