//! Density of service times.

use crate::values::Distribution;

/// Width of a coarse bin of service times, as a difference of logarithms, and of the finest bins. Times are recorded to
/// 0.1 %.
const BIN_WIDTH: f64 = 0.14;
const FINEST_WIDTH: f64 = 0.002;
/// Probability that a service time is unlike all others.
const UNLIKE: f64 = 0.02;
/// Operations below this part of the median did not wait behind all others.
const QUICK_PART: f64 = 0.1;

/// Density of service times: the mean of a coarse and a fine histogram on a logarithmic axis. The coarse one smooths
/// the gaps that few operations leave, the fine one resolves times that hardly differ.
pub(super) struct Density {
    coarse: Bins,
    fine: Bins,
    /// Mean service time, in nanoseconds.
    pub mean: f64,
    /// 98th percentile, in nanoseconds.
    pub longest: f64,
    /// Number of quick operations, and of all operations.
    pub quick: f64,
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

    /// Returns [`Self::density`] for a time that is only known roughly.
    pub fn coarse_density(&self, nanos: f64) -> f64 {
        let nanos = nanos.max(1.0);
        log_density(self.coarse.density(nanos), nanos)
    }
}

/// Returns the logarithm of the density of a time that is unlike all others.
pub(super) fn unlike(nanos: f64) -> f64 {
    log_density(0.0, nanos.max(1.0))
}

/// Returns the logarithm of the density over the time, given the density over its logarithm, for a time that may be
/// unlike all others.
fn log_density(seen: f64, nanos: f64) -> f64 {
    (seen * (1.0 - UNLIKE) + UNLIKE / UNLIKE_OVER).ln() - nanos.ln()
}

/// Logarithm of the factor over which times that are unlike all others are spread.
const UNLIKE_OVER: f64 = 7.0;

/// Returns the width of fine bins: Scott's rule (1979) for the middle half of the logarithms, between the resolution of
/// recorded times and the coarse width.
fn fine_width(times: &Distribution) -> Option<f64> {
    let quartile = |part: f64| Some((times.quantile(part)?.max(1) as f64).ln());
    let deviation = (quartile(0.75)? - quartile(0.25)?) / 1.349;
    Some((3.49 * deviation / (times.count() as f64).cbrt()).clamp(FINEST_WIDTH, BIN_WIDTH))
}

/// Shares of times in bins of the same logarithmic width, slightly smoothed.
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

    /// Returns the share of times per unit of their logarithm.
    fn density(&self, nanos: f64) -> f64 {
        let place = usize::try_from(((nanos.ln() / self.width).floor() as i64).saturating_sub(self.first)).ok();
        place.and_then(|place| self.shares.get(place)).map_or(0.0, |share| share / self.width)
    }
}
