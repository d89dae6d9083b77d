//! The metrics by which runs are compared.

use super::ComparedRun;
use super::usable::{counts, nothing_succeeded};
use crate::number::{byte_rate, decimal, rate, share, time};
use crate::percentile::{self, Percentile};
use measure::enumerated;
use measure::statistics::difference::{Improves, Scale};
use measure::statistics::shares::Share;
use measure::statistics::{Estimate, batch_means, bootstrap};
use measure::summary::Window;
use measure::{Summary, Timed};
use store::SavedRun;

enumerated! {
    /// One metric of a run.
    pub enum ComparisonMetric {
        Success => "success", "share of operations that succeeded";
        Rate => "rate", "operations that succeeded per second";
        Goodput => "goodput", "body bytes received per second by successful attempts";
        GoodputSent => "goodput_sent", "body bytes sent per second by successful attempts";
        TtfbP50 => "ttfb_p50", "median TTFB, failures count as infinite";
        TtfbP90 => "ttfb_p90", "p90 of TTFB, failures count as infinite";
        TtfbP95 => "ttfb_p95", "p95 of TTFB, failures count as infinite";
        TtfbP99 => "ttfb_p99", "p99 of TTFB, failures count as infinite";
        TtfbP999 => "ttfb_p99_9", "p99.9 of TTFB, failures count as infinite";
        ResponseP50 => "response_p50", "median response time, failures count as infinite";
        ResponseP90 => "response_p90", "p90 of response time, failures count as infinite";
        ResponseP95 => "response_p95", "p95 of response time, failures count as infinite";
        ResponseP99 => "response_p99", "p99 of response time, failures count as infinite";
        ResponseP999 => "response_p99_9", "p99.9 of response time, failures count as infinite";
        CpuPerOp => "cpu_per_op", "CPU time of the client per operation that ended";
    }
}

/// Maximum margin for the share of success. A rate that drops by 2 % has hardly changed, but a service that fails for 2
/// % of the requests has become much worse.
const SUCCESS_MARGIN_MAX: f64 = 0.001;

/// The data from which a metric is computed.
enum Source {
    /// Operations by outcome.
    Success,
    /// A quantile of the times to the first byte.
    Ttfb(f64),
    /// A quantile of the response times.
    Response(f64),
    /// A ratio of two sums.
    Ratio {
        /// Returns the ratio over a whole run, or `None` if the denominator is 0.
        run: fn(&Summary) -> Option<f64>,
        /// Returns the numerator and the denominator in one window.
        window: fn(&Window) -> (f64, f64),
    },
}

impl ComparisonMetric {
    /// Metrics by which sets of runs are compared, in the order in which they are shown.
    pub const COMPARED: [Self; 9] = [
        Self::Success,
        Self::Rate,
        Self::Goodput,
        Self::GoodputSent,
        Self::ResponseP50,
        Self::ResponseP90,
        Self::ResponseP99,
        Self::ResponseP999,
        Self::CpuPerOp,
    ];

    fn source(self) -> Source {
        match self {
            Self::Success => Source::Success,
            Self::Rate => Source::Ratio { run: Summary::ok_rate, window: |part| (part.succeeded as f64, part.seconds) },
            Self::Goodput => Source::Ratio { run: Summary::goodput, window: |part| (part.good_bytes, part.seconds) },
            Self::GoodputSent => {
                Source::Ratio { run: Summary::good_sending, window: |part| (part.good_sent_bytes, part.seconds) }
            }
            Self::TtfbP50 => Source::Ttfb(0.5),
            Self::TtfbP90 => Source::Ttfb(0.9),
            Self::TtfbP95 => Source::Ttfb(0.95),
            Self::TtfbP99 => Source::Ttfb(0.99),
            Self::TtfbP999 => Source::Ttfb(0.999),
            Self::ResponseP50 => Source::Response(0.5),
            Self::ResponseP90 => Source::Response(0.9),
            Self::ResponseP95 => Source::Response(0.95),
            Self::ResponseP99 => Source::Response(0.99),
            Self::ResponseP999 => Source::Response(0.999),
            Self::CpuPerOp => Source::Ratio { run: cpu_per_op, window: |part| (part.cpu_nanos, part.completed as f64) },
        }
    }

    /// Returns whether the metric is a cost of this client, and shows nothing about the target.
    pub(crate) fn is_of_client(self) -> bool {
        self == Self::CpuPerOp
    }

    /// Returns the value in a run, or `None` if the run has too little data. If the operation at a quantile failed, the
    /// time is infinite.
    #[must_use]
    pub fn of(self, run: &SavedRun) -> Option<f64> {
        self.range(run).map(|(_, high)| high)
    }

    /// Returns the value in a run as a range. The ends of the range differ only if stalls of the client may have
    /// prolonged operations. `None` if the run has too little data.
    pub(super) fn range(self, run: &SavedRun) -> Option<(f64, f64)> {
        let single = |value: Option<f64>| value.map(|value| (value, value));
        match self.source() {
            Source::Success => single(run.summary().success()),
            Source::Ttfb(q) => beyond_failures(run, Timed::Ttfb, q),
            Source::Response(q) => beyond_failures(run, Timed::Response, q),
            // The CPU time of a failed operation does not show the CPU time of a successful operation.
            Source::Ratio { .. } if self == Self::CpuPerOp && nothing_succeeded(run) => None,
            Source::Ratio { run: of, .. } => single(of(run.summary())),
        }
    }

    /// Returns the value with its confidence interval, computed from the windows of one run.
    pub(super) fn estimate(self, run: &ComparedRun, seed: u64) -> Option<Estimate> {
        self.of(&run.run)?;
        let windows = run.windows.list().iter();
        match self.source() {
            Source::Response(q) => {
                bootstrap::percentile(&windows.map(|window| &window.response).collect::<Vec<_>>(), q, seed)
            }
            Source::Ratio { window: parts, .. } => batch_means::ratio(&windows.map(parts).collect::<Vec<_>>()),
            // Success is compared by a separate test. The records of single seconds have no time to first byte.
            Source::Success | Source::Ttfb(_) => None,
        }
    }

    /// Returns the direction in which the metric improves.
    #[must_use]
    pub fn improves(self) -> Improves {
        match self.source() {
            Source::Success => Improves::Upwards,
            Source::Ttfb(_) | Source::Response(_) => Improves::Downwards,
            Source::Ratio { .. } if self == Self::CpuPerOp => Improves::Downwards,
            Source::Ratio { .. } => Improves::Upwards,
        }
    }

    /// Returns whether differences between sets of runs are absolute or relative.
    #[must_use]
    pub fn scale(self) -> Scale {
        if self == Self::Success { Scale::Absolute } else { Scale::Relative }
    }

    /// Returns whether differences between two cells of a study are absolute or relative.
    #[must_use]
    pub fn scale_of_pairs(self) -> Scale {
        match self.source() {
            Source::Success | Source::Ttfb(_) | Source::Response(_) => Scale::Absolute,
            Source::Ratio { .. } => Scale::Relative,
        }
    }

    /// Returns the margin for this metric. `requested` is the margin that the user requested for all metrics.
    #[must_use]
    pub fn margin(self, requested: f64) -> f64 {
        if self == Self::Success { requested.min(SUCCESS_MARGIN_MAX) } else { requested }
    }

    /// Returns the title of the metric's column.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Goodput => "goodput",
            Self::GoodputSent => "goodput sent",
            Self::TtfbP50 => "TTFB p50",
            Self::TtfbP90 => "TTFB p90",
            Self::TtfbP95 => "TTFB p95",
            Self::TtfbP99 => "TTFB p99",
            Self::TtfbP999 => "TTFB p99.9",
            Self::ResponseP50 => "response p50",
            Self::ResponseP90 => "response p90",
            Self::ResponseP95 => "response p95",
            Self::ResponseP99 => "response p99",
            Self::ResponseP999 => "response p99.9",
            Self::Success => "success",
            Self::CpuPerOp => "client CPU per op",
        }
    }

    /// Formats a value for people.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self.source() {
            _ if value.is_infinite() => "failed".to_owned(),
            Source::Success => share(value),
            Source::Ttfb(_) | Source::Response(_) => time(value),
            Source::Ratio { .. } => match self {
                Self::Rate => rate(value),
                Self::CpuPerOp => time(value),
                _ => byte_rate(value),
            },
        }
    }

    /// Formats a difference for people, with its sign: `+1.20 %`, `-0.12 ms`, `-16.67 pp` (percentage points).
    #[must_use]
    pub fn show_difference(self, value: f64, scale: Scale) -> String {
        let sign = if value > 0.0 { "+" } else { "" };
        match (scale, self) {
            _ if value.is_infinite() => if value > 0.0 { "+∞" } else { "-∞" }.to_owned(),
            (Scale::Relative, _) => format!("{sign}{} %", decimal(value * 100.0, 2)),
            (Scale::Absolute, Self::Success) => format!("{sign}{} pp", decimal(value * 100.0, 2)),
            (Scale::Absolute, _) if value < 0.0 => format!("-{}", self.show(-value)),
            (Scale::Absolute, _) => format!("{sign}{}", self.show(value)),
        }
    }
}

/// Returns the range of a percentile over all operations, including failed ones. If nothing succeeded in a run, every
/// percentile is infinite, even if the run has few operations.
fn beyond_failures(run: &SavedRun, time: Timed, q: f64) -> Option<(f64, f64)> {
    let tally = &run.summary().stats.measured;
    let Share { ok, of: judged } = counts(run);
    if ok == 0.0 && judged > 0.0 {
        return Some((f64::INFINITY, f64::INFINITY));
    }
    match percentile::range_of_all(&run.summary().all, time, tally.dropped, q) {
        Percentile::Value(nanos) => Some((nanos as f64, nanos as f64)),
        Percentile::Between(low, high) => Some((low as f64, high as f64)),
        Percentile::Failed | Percentile::LongerThan(_) => Some((f64::INFINITY, f64::INFINITY)),
        Percentile::TooFew { .. } | Percentile::Empty => None,
    }
}

/// Returns the client's CPU time per ended operation, in nanoseconds.
fn cpu_per_op(summary: &Summary) -> Option<f64> {
    let done = summary.stats.measured.completed();
    (done > 0).then(|| summary.measured.cpu_nanos as f64 / done as f64)
}
