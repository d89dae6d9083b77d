//! Expected duration of a search, before it starts.

use super::args::{Args, LEVEL_TIME, On};
use crate::load;
use std::time::Duration;
use study::load_line::level;

/// Typical duration of a failed level, as a fraction of the duration of a passed level.
const FAILING: f64 = 0.3;

/// Range in which the duration of a search usually lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedTime {
    /// Duration if the line is near the first level.
    pub shortest: Duration,
    /// Duration if the search has to pass many levels.
    pub longest: Duration,
}

/// Returns the expected duration of a search. Excludes the extra time that levels near the load line may need.
pub fn of(args: &Args) -> ExpectedTime {
    let (common, search) = args.common();
    let level_time = common.load.duration.unwrap_or(LEVEL_TIME);
    let bounds = search.on.bounds(search);
    let rate = (search.on == On::Rate).then(|| search.on.load(bounds.from.get()));
    let objectives = load::run_options(common).objectives;
    let first = level::level_duration(&objectives, rate, level_time, search.level_max).min;
    // At a high rate, a level quickly has enough samples, so only the first levels take longer.
    let longer = 2.0 * first.saturating_sub(level_time).as_secs_f64();
    let time = |(passing, failing): (f64, f64)| {
        let seconds = (passing + failing * FAILING) * level_time.as_secs_f64() + longer;
        Duration::from_secs(seconds.round() as u64)
    };
    let (few, many) = bounds.levels_expected();
    ExpectedTime { shortest: time(few), longest: time(many) }
}
