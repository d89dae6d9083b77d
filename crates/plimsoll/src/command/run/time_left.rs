//! The time that the remaining trials of a study will take.

use std::time::Duration;

/// The expected work of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Work {
    /// A time. The trial may end earlier, for example if it is a search.
    Time(Duration),
    /// At most this number of body bytes, at an unknown speed.
    Bytes(f64),
    /// An unknown amount of work.
    Unknown,
}

/// The speed of the completed trials of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct Pace {
    /// Number of completed trials of this kind.
    trials: u32,
    /// Time that they took, with their hooks and links.
    took: Duration,
    /// Their expected work: seconds or bytes.
    work: f64,
}

impl Pace {
    fn add(&mut self, took: Duration, work: f64) {
        self.trials += 1;
        self.took += took;
        self.work += work;
    }

    /// Returns the mean time of a trial; `None` if none is complete.
    fn mean(&self) -> Option<Duration> {
        self.took.checked_div(self.trials)
    }

    /// Returns the time for this work at the speed of the completed trials; `None` if they show no speed.
    fn proportional(&self, work: f64) -> Option<Duration> {
        let seconds = work * self.took.as_secs_f64() / self.work;
        Duration::try_from_secs_f64(seconds).ok().filter(|_| self.trials > 0)
    }
}

/// Returns the time that the trials after the first ones will take. `work` has all trials, and `took` the times of the first
/// ones. Returns `None` before the first trial if a time is unknown.
pub fn time_left(work: &[Work], took: &[Duration]) -> Option<Duration> {
    let (mut all, mut times, mut bytes) = (Pace::default(), Pace::default(), Pace::default());
    for (work, took) in work.iter().zip(took) {
        all.add(*took, 0.0);
        match work {
            Work::Time(time) => times.add(*took, time.as_secs_f64()),
            Work::Bytes(moved) => bytes.add(*took, *moved),
            Work::Unknown => {}
        }
    }
    let of_time = |time: Duration| {
        let expected = Duration::try_from_secs_f64(times.work).unwrap_or_default();
        match times.took.checked_sub(expected) {
            // Hooks and links take additional time, which does not depend on the load.
            Some(more) => time + more.checked_div(times.trials).unwrap_or_default(),
            None => times.proportional(time.as_secs_f64()).unwrap_or(time),
        }
    };
    let left = work.iter().skip(took.len()).map(|work| match work {
        Work::Time(time) => Some(of_time(*time)),
        Work::Bytes(moved) => bytes.proportional(*moved).or(all.mean()),
        Work::Unknown => all.mean(),
    });
    left.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left(work: &[Work], took: &[u64]) -> Option<u64> {
        let took: Vec<Duration> = took.iter().copied().map(Duration::from_secs).collect();
        time_left(work, &took).map(|left| left.as_secs())
    }

    const fn time(seconds: u64) -> Work {
        Work::Time(Duration::from_secs(seconds))
    }

    #[test]
    fn it_follows_expected_times_and_those_of_completed_trials() {
        let [short, search] = [time(10), time(60)];
        assert_eq!(left(&[short, search, short], &[]), Some(80));
        assert_eq!(left(&[short, search, short], &[20]), Some(90), "a hook takes 10 s");
        assert_eq!(left(&[short, search, short], &[10, 25]), Some(5), "the search ended early");
        assert_eq!(left(&[short, Work::Unknown, short], &[]), None);
        assert_eq!(left(&[short, Work::Unknown, short], &[20]), Some(40));
        assert_eq!(left(&[short], &[10]), Some(0), "no trial is left");
    }

    #[test]
    fn trials_of_a_fixed_amount_of_work_take_time_in_proportion_to_their_bytes() {
        let [small, large] = [Work::Bytes(1e6), Work::Bytes(1e9)];
        assert_eq!(left(&[small, large], &[]), None);
        assert_eq!(left(&[small, large, small], &[2]), Some(2002));
        assert_eq!(left(&[time(10), small, time(10), large], &[11, 3, 11]), Some(3000), "times show no speed");
        assert_eq!(left(&[time(10), small], &[12]), Some(12), "no speed is known yet");
        assert_eq!(left(&[Work::Bytes(0.0), large], &[1]), Some(1), "nothing was moved");
    }
}
