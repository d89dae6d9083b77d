//! Probability density of service times.

use crate::values::Distribution;

/// Width of the coarse bins of service times, as a difference of logarithms.
const BIN_WIDTH: f64 = 0.14;
/// Minimum width of fine bins. Times are recorded with a precision of 0.1 %.
const FINEST_WIDTH: f64 = 0.002;
/// Assumed probability that a service time is an outlier, which does not follow the distribution of the recorded
/// service times.
const UNLIKE: f64 = 0.02;
/// Maximum duration of a quick operation, as a fraction of the median. An operation this quick cannot have waited
/// behind all others.
const QUICK_PART: f64 = 0.1;

/// Probability density of service times. The density is the mean of a coarse and a fine histogram on a logarithmic
/// axis. If there are few values, the coarse histogram fills the gaps between them. The fine histogram separates times
/// that hardly differ.
pub(super) struct Density {
    coarse: Bins,
    fine: Bins,
    /// Mean service time, in nanoseconds.
    pub mean: f64,
    /// 98th percentile of the service times, in nanoseconds.
    pub longest: f64,
    /// Number of quick operations ([`QUICK_PART`]).
    pub quick: f64,
    /// Number of all operations.
    pub count: f64,
}

impl Density {
    pub fn of(times: &Distribution) -> Option<Self> {
        let mean = times.moments().mean().filter(|mean| *mean > 0.0)?;
        let (count, median) = (times.count() as f64, times.quantile(0.5)? as f64);
        let is_quick = |value: u64| (value as f64) < QUICK_PART * median;
        let quick = times.recorded().filter(|(value, _)| is_quick(*value)).map(|(_, here)| here as f64).sum();
        let longest = times.quantile(0.98)? as f64;
        let width = fine_width(times)?;
        Some(Self { coarse: Bins::of(times, BIN_WIDTH)?, fine: Bins::of(times, width)?, mean, longest, quick, count })
    }

    /// Returns the logarithm of the density at a time in nanoseconds, up to a constant.
    pub fn density(&self, nanos: f64) -> f64 {
        let nanos = nanos.max(1.0);
        log_density(0.5 * (self.coarse.density(nanos) + self.fine.density(nanos)), nanos)
    }

    /// Returns the same as [`Self::density`] for a time that is known only roughly. Uses the coarse histogram alone.
    pub fn coarse_density(&self, nanos: f64) -> f64 {
        let nanos = nanos.max(1.0);
        log_density(self.coarse.density(nanos), nanos)
    }
}

/// Returns the logarithm of the density of a time that is certainly an outlier.
pub(super) fn unlike(nanos: f64) -> f64 {
    log_density(0.0, nanos.max(1.0))
}

/// Converts a density on the logarithmic axis to the logarithm of a density over the time itself. The result includes
/// the probability of outliers.
fn log_density(seen: f64, nanos: f64) -> f64 {
    (seen * (1.0 - UNLIKE) + UNLIKE / UNLIKE_OVER).ln() - nanos.ln()
}

/// Width of the range over which outliers are assumed to be spread evenly, as a difference of logarithms.
const UNLIKE_OVER: f64 = 7.0;

/// Returns the width of the fine bins by Scott's rule (1979). The standard deviation is estimated from the quartiles of
/// the logarithms. The width is at least the resolution of recorded times and at most the width of coarse bins.
fn fine_width(times: &Distribution) -> Option<f64> {
    let quartile = |part: f64| Some((times.quantile(part)?.max(1) as f64).ln());
    let deviation = (quartile(0.75)? - quartile(0.25)?) / 1.349;
    Some((3.49 * deviation / (times.count() as f64).cbrt()).clamp(FINEST_WIDTH, BIN_WIDTH))
}

/// Histogram of the logarithms of times, slightly smoothed.
struct Bins {
    width: f64,
    first: i64,
    shares: Vec<f64>,
}

impl Bins {
    fn of(times: &Distribution, width: f64) -> Option<Self> {
        let (lowest, highest) = (times.min()?.max(1) as f64, times.max()?.max(1) as f64);
        let bin = |nanos: f64| (nanos.ln() / width).floor() as i64;
        let first = bin(lowest) - 1;
        let mut shares = vec![0.0; usize::try_from(bin(highest) - first).ok()? + 2];
        for (value, here) in times.recorded() {
            let place = (bin((value as f64).clamp(lowest, highest)) - first) as usize;
            for (place, part) in [(place - 1, 0.25), (place, 0.5), (place + 1, 0.25)] {
                shares[place] += part * here as f64 / times.count() as f64;
            }
        }
        Some(Self { width, first, shares })
    }

    /// Returns the density on the logarithmic axis.
    fn density(&self, nanos: f64) -> f64 {
        let place = usize::try_from(((nanos.ln() / self.width).floor() as i64).saturating_sub(self.first)).ok();
        place.and_then(|place| self.shares.get(place)).map_or(0.0, |share| share / self.width)
    }
}
