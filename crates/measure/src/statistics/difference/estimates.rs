//! The difference between two runs, from the estimates of their metrics.

use super::super::{CONFIDENCE, Estimate, normal};
use super::Difference;

impl Difference {
    /// Returns the relative difference between two single runs whose metrics are known with confidence intervals. The
    /// result applies to these two runs only. `None` if an interval contains 0 or infinity, unless the interval
    /// consists of this value alone.
    ///
    /// The interval of the difference is computed from variances that are recovered from the two intervals (G. Y. Zou
    /// and A. Donner, "Construction of confidence limits about effect measures: a general approach", Statistics in
    /// Medicine 27 (2008), 1693–1702). The p-value is derived from the interval of the difference (D. G. Altman and J.
    /// M. Bland, "How to obtain the P value from a confidence interval", BMJ 343 (2011), d2304).
    #[must_use]
    pub fn of_estimates(base: Estimate, new: Estimate) -> Option<Self> {
        let (one, other) = (Bound::of(base)?, Bound::of(new)?);
        if one == other && one != Bound::Within {
            return Some(Self { change: 0.0, interval: Some((0.0, 0.0)), p: None });
        } else if one != Bound::Within || other != Bound::Within {
            let change = if one < other { f64::INFINITY } else { -1.0 };
            return Some(Self { change, interval: Some((change, change)), p: Some(P_SEPARATE) });
        }
        let parts = |of: Estimate| (of.value.ln(), (of.value / of.low).ln(), (of.high / of.value).ln());
        let ((base, base_down, base_up), (new, new_down, new_up)) = (parts(base), parts(new));
        let shift = new - base;
        let (down, up) = (new_down.hypot(base_up), new_up.hypot(base_down));
        let towards_zero = if shift > 0.0 { down } else { up };
        let varied = down > 0.0 || up > 0.0 || shift != 0.0;
        let z = normal::quantile(0.5 + CONFIDENCE / 2.0) * shift.abs() / towards_zero.max(f64::MIN_POSITIVE);
        let difference = Self {
            change: shift.exp_m1(),
            interval: Some(((shift - down).exp_m1(), (shift + up).exp_m1())),
            p: varied.then(|| (2.0 * normal::above(z)).min(1.0)),
        };
        difference.checked()
    }
}

/// p-value that is reported if one of the two intervals of a comparison, from the bootstrap or from batch means, is
/// exactly 0 or infinite. Such an interval cannot prove a smaller p-value.
const P_SEPARATE: f64 = 0.001;

/// Range in which an estimate lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
enum Bound {
    /// Certainly 0, because no operation succeeded.
    Zero,
    /// The interval of the estimate is above 0 and finite.
    Within,
    /// Certainly infinite, because all operations failed.
    Infinite,
}

impl Bound {
    fn of(estimate: Estimate) -> Option<Self> {
        match estimate {
            Estimate { low, high, .. } if low == 0.0 && high == 0.0 => Some(Self::Zero),
            Estimate { low: f64::INFINITY, .. } => Some(Self::Infinite),
            Estimate { low, high, .. } => (low > 0.0 && high.is_finite()).then_some(Self::Within),
        }
    }
}
