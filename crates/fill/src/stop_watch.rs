//! Checks of the stop rules while a fill runs.

use crate::stop_rule::StopRule;
use crate::trailing::Trailing;
use measure::units::DataRate;
use std::time::Duration;

/// The progress of a fill at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Time during which the fill ran, summed over all its sessions.
    pub active: Duration,
    /// Number of acknowledged files.
    pub files: u64,
    /// Bytes of the acknowledged files.
    pub file_bytes: u64,
    /// `true` if anything was sent to the target or received from it since the last call.
    pub in_touch: bool,
}

/// The stop rules of a fill, and the state needed to check them.
#[derive(Clone, Debug)]
pub struct StopWatch {
    rules: Vec<Watched>,
    /// Time of the last contact with the target.
    in_touch: Duration,
}

#[derive(Clone, Debug)]
struct Watched {
    rule: StopRule,
    /// The window of a bandwidth rule.
    trailing: Option<Trailing>,
}

/// A rule that is met, and the measured value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    /// The rule.
    pub rule: StopRule,
    /// For a bandwidth rule, the average over its window.
    pub bandwidth: Option<DataRate>,
}

impl StopWatch {
    /// Creates the state for a new fill with these rules.
    #[must_use]
    pub fn new(rules: &[StopRule]) -> Self {
        let watched = |rule: &StopRule| {
            let trailing = match rule {
                StopRule::TrailingBandwidth { window, .. } => Some(Trailing::new(*window)),
                StopRule::Time(_) | StopRule::Bytes(_) | StopRule::Files(_) | StopRule::Gone(_) => None,
            };
            Watched { rule: *rule, trailing }
        };
        Self { rules: rules.iter().map(watched).collect(), in_touch: Duration::ZERO }
    }

    /// Records the progress at one moment of an earlier session, so that a bandwidth window can span an interruption.
    /// Call this function in the order of the moments, and before the first [`Self::note`].
    pub fn recall(&mut self, active: Duration, file_bytes: u64) {
        for trailing in self.rules.iter_mut().filter_map(|watched| watched.trailing.as_mut()) {
            trailing.note(active, file_bytes);
        }
        // Time without contact counts from the start of the current session.
        self.in_touch = active;
    }

    /// Forgets everything before this time, so that all windows start again at this time.
    pub fn restart(&mut self, active: Duration, file_bytes: u64) {
        for trailing in self.rules.iter_mut().filter_map(|watched| watched.trailing.as_mut()) {
            trailing.restart(active, file_bytes);
        }
        self.in_touch = active;
    }

    /// Records whether there was contact with the target, in a phase that uploads nothing. Returns the first
    /// [`StopRule::Gone`] that is met. All other rules are about uploads, so they are not checked.
    pub fn note_contact(&mut self, active: Duration, in_touch: bool) -> Option<Stopped> {
        if in_touch {
            self.in_touch = active;
        }
        let silent = active.saturating_sub(self.in_touch);
        let mut rules = self.rules.iter().map(|watched| watched.rule);
        let rule = rules.find(|rule| matches!(rule, StopRule::Gone(time) if silent > *time))?;
        Some(Stopped { rule, bandwidth: None })
    }

    /// Returns the rules. For a bandwidth rule, also returns the average so far, over its window or over the shorter
    /// time since the start.
    pub fn so_far(&self) -> impl Iterator<Item = (StopRule, Option<DataRate>)> + '_ {
        self.rules.iter().map(|watched| {
            let so_far = watched.trailing.as_ref().and_then(Trailing::so_far);
            (watched.rule, so_far.and_then(|(bytes, time)| DataRate::of(bytes, time)))
        })
    }

    /// Returns the time from the last contact with the target until `active`.
    #[must_use]
    pub fn silent(&self, active: Duration) -> Duration {
        active.saturating_sub(self.in_touch)
    }

    /// Records the progress. Returns the first rule that is met.
    pub fn note(&mut self, reached: Reached) -> Option<Stopped> {
        if reached.in_touch {
            self.in_touch = reached.active;
        }
        let silent = reached.active.saturating_sub(self.in_touch);
        self.rules.iter_mut().find_map(|watched| watched.note(reached, silent))
    }
}

impl Watched {
    fn note(&mut self, reached: Reached, silent: Duration) -> Option<Stopped> {
        let holds = match self.rule {
            StopRule::TrailingBandwidth { least, .. } => {
                let trailing = self.trailing.as_mut()?;
                trailing.note(reached.active, reached.file_bytes);
                let bandwidth = trailing.added().and_then(|(bytes, time)| DataRate::of(bytes, time))?;
                return (bandwidth < least).then_some(Stopped { rule: self.rule, bandwidth: Some(bandwidth) });
            }
            StopRule::Time(time) => reached.active >= time,
            StopRule::Bytes(bytes) => reached.file_bytes >= bytes.0,
            StopRule::Files(files) => reached.files >= files,
            StopRule::Gone(time) => silent > time,
        };
        holds.then_some(Stopped { rule: self.rule, bandwidth: None })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);
    const HOUR: Duration = Duration::from_secs(3600);

    fn rule(text: &str) -> StopRule {
        text.parse().unwrap()
    }

    /// Simulates a fill whose bandwidth at each second is `bits`. Returns the minute in which a rule ended it.
    fn stops_at(rules: &[&str], days: u64, bits: impl Fn(u64) -> u64) -> Option<(u64, StopRule)> {
        let rules: Vec<StopRule> = rules.iter().map(|text| rule(text)).collect();
        let mut watch = StopWatch::new(&rules);
        let mut reached = Reached::default();
        for second in 1..=days * 86_400 {
            let sent = bits(second - 1) / 8;
            reached.active = Duration::from_secs(second);
            reached.file_bytes += sent;
            reached.files = reached.file_bytes / 1_000_000;
            reached.in_touch = sent > 0;
            if let Some(stopped) = watch.note(reached) {
                return Some((second / 60, stopped.rule));
            }
        }
        None
    }

    /// The study's worst case continued for 25 days. The test had a lower limit on bandwidth. The limit never ended the
    /// test, because a time without any progress did not count as too slow.
    #[test]
    fn no_progress_at_all_stops_after_one_window() {
        let floor = "trailing 24h bandwidth < 50Mbit/s";
        assert_eq!(stops_at(&[floor], 14, |_| 0), Some((24 * 60, rule(floor))));
    }

    /// A fill of two weeks: 60 Mbit/s for six days, then 40 Mbit/s. In the 24 hours after this change, the 24-hour
    /// average falls from 60 to 40 Mbit/s. The average reaches 50 Mbit/s after 12 hours.
    #[test]
    fn a_floor_fires_at_the_right_minute() {
        let slow_from = 6 * 86_400;
        let floor = "trailing 24h bandwidth < 50Mbit/s";
        let stopped = stops_at(&[floor], 14, |second| if second < slow_from { 60_000_000 } else { 40_000_000 });
        let (minute, _) = stopped.unwrap();
        assert!(minute.abs_diff(6 * 24 * 60 + 12 * 60) <= 1, "{minute}");
        assert_eq!(stops_at(&[floor], 14, |_| 50_000_000), None, "exactly the floor is enough");
    }

    #[test]
    fn limits_fire_when_they_are_reached() {
        assert_eq!(stops_at(&["time >= 14d"], 15, |_| 8), Some((14 * 24 * 60, rule("time >= 14d"))));
        let bytes = stops_at(&["files >= 1000000000", "bytes >= 1GB"], 1, |_| 80_000_000).unwrap();
        assert_eq!((bytes.0, bytes.1), (100 / 60, rule("bytes >= 1GB")));
        assert_eq!(stops_at(&["files >= 600"], 1, |_| 8_000_000).unwrap().0, 10);
    }

    #[test]
    fn a_target_is_gone_after_silence_alone() {
        let gone = "gone > 1h";
        assert_eq!(stops_at(&[gone], 1, |second| if second < 7200 { 800 } else { 0 }).unwrap().0, 180);
        assert_eq!(stops_at(&[gone], 3, |second| if second % 3600 == 0 { 8 } else { 0 }), None, "one word each hour");
    }

    #[test]
    fn phases_without_uploads_end_only_if_the_target_is_gone() {
        let rules = ["trailing 1h bandwidth < 1kbit/s", "time >= 1s", "bytes >= 0B", "files >= 0", "gone > 1h"];
        let mut watch = StopWatch::new(&rules.map(rule));
        assert_eq!(watch.note_contact(5 * HOUR, true), None);
        assert_eq!(watch.note_contact(6 * HOUR, false), None);
        let stopped = watch.note_contact(6 * HOUR + MINUTE, false).unwrap();
        assert_eq!(stopped.rule, rule("gone > 1h"));
    }

    #[test]
    fn a_window_goes_on_after_an_interruption() {
        let mut watch = StopWatch::new(&[rule("trailing 2h bandwidth < 1kbit/s"), rule("gone > 30m")]);
        watch.recall(HOUR, 10_000_000);
        watch.recall(HOUR + 50 * MINUTE, 10_000_000);
        let note = |watch: &mut StopWatch, minutes: u32| {
            let active = HOUR + minutes * MINUTE;
            watch.note(Reached { active, files: 1, file_bytes: 10_000_000, in_touch: true })
        };
        assert_eq!(note(&mut watch, 60), None, "10 MB were uploaded in these two hours");
        let stopped = note(&mut watch, 121).unwrap();
        assert_eq!(stopped.bandwidth, Some(DataRate::bits_per_second(0)));
        let mut watch = StopWatch::new(&[rule("gone > 30m")]);
        watch.recall(HOUR, 0);
        let at = |minutes: u32| Reached { active: HOUR + minutes * MINUTE, ..Reached::default() };
        assert_eq!(watch.note(at(30)), None, "time without contact counts from the start of this session");
        assert!(watch.note(at(31)).is_some());
    }
}
