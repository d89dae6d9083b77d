//! Expected duration of a search, before it starts.

use super::args::{Args, On};
use super::search_load::Settings;
use std::num::NonZeroU64;
use std::time::Duration;
use study::load_line::level::LevelDuration;
use study::load_line::search::Bounds;

/// Typical duration of a failed level, as a fraction of the duration of a passed level.
const FAILING: f64 = 0.3;

/// Time in seconds by which a run on several hosts takes longer than its load: the agents prepare the load, and wait
/// for their common start.
const OF_FLEET: f64 = 1.5;

/// Range in which the duration of a search usually lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpectedTime {
    /// Duration if the line is near the first level.
    pub shortest: Duration,
    /// Duration of a slow search: the line is at a high level, or service times vary a lot near a low rate.
    pub longest: Duration,
}

/// Returns the expected duration of a search.
pub fn of(args: &Args, machines: NonZeroU64) -> ExpectedTime {
    let (common, search) = args.common();
    let settings = Settings::of(search, common);
    let level_time = settings.level_time;
    let bounds = search.on.bounds(search, machines);
    let rate = (search.on == On::Rate).then(|| search.on.load(bounds.from.get()));
    let first = settings.duration(bounds.from.get());
    // At higher rates, levels have enough samples after less time, so only the first levels take longer than usual.
    let longer = 2.0 * first.min.saturating_sub(level_time).as_secs_f64();
    // After each failed level, another run measures the speed of the target. So a failed level has the overhead twice.
    let overhead = if common.fleet.machines().is_some() { OF_FLEET } else { 0.0 };
    let seconds = |(passing, failing): (f64, f64)| {
        (passing + failing * FAILING) * level_time.as_secs_f64() + (passing + 2.0 * failing) * overhead + longer
    };
    let (few, many) = bounds.levels_expected();
    let near_first = seconds(few) + rate.map_or(0.0, |rate| decisions(rate, first, bounds));
    let time = |seconds: f64| Duration::from_secs(seconds.round() as u64);
    ExpectedTime { shortest: time(seconds(few)), longest: time(near_first.max(seconds(many))) }
}

/// Returns the additional time in seconds that the levels take when the bracket is halved, compared with the minimum
/// duration of a level. Assumes that the load line is near `rate`, and that service times vary exponentially. At each
/// halving, the mean distance of the level to the line is a quarter of the bracket.
fn decisions(rate: f64, level: LevelDuration, bounds: Bounds) -> f64 {
    let distance = |halving: u32| 0.25 / 2_f64.powf(f64::from(halving));
    let longer = |halving| level.estimated(rate, distance(halving)).saturating_sub(level.min).as_secs_f64();
    (0..bounds.halvings()).map(longer).sum()
}
