//! What runs are compared by.

use crate::number::{byte_rate, rate, share, time};
use crate::repeated::response;
use measure::Summary;
use measure::enumerated;
use measure::statistics::difference::Improves;
use measure::statistics::{Estimate, Window, Windows, batch_means, bootstrap};
use store::SavedRun;

enumerated! {
    /// One figure of a run.
    pub enum Figure {
        Rate => "rate", "operations that ended well per second";
        Goodput => "goodput", "body bytes received per second, of attempts that were good";
        GoodputSent => "goodput_sent", "body bytes sent per second, of attempts that were good";
        ResponseP50 => "response_p50", "median response time of successes";
        ResponseP90 => "response_p90", "p90 of response time of successes";
        ResponseP99 => "response_p99", "p99 of response time of successes";
        ResponseP999 => "response_p99_9", "p99.9 of response time of successes";
        Success => "success", "share of operations that ended well";
        CpuPerOp => "cpu_per_op", "CPU time of the client for each operation that ended";
    }
}

/// Largest margin of the share of success: a tenth of a percent. What a margin of a few percent means for a rate, it does not mean
/// for failures.
const SUCCESS_MARGIN_MAX: f64 = 0.001;

/// What a figure is computed from.
enum Source {
    /// That quantile of the response times of successes.
    Response(f64),
    /// A ratio of two sums.
    Ratio {
        /// Of a whole run; `None` when there is nothing to divide by.
        run: fn(&Summary) -> Option<f64>,
        /// Its numerator and denominator in one window.
        window: fn(&Window) -> (f64, f64),
    },
}

impl Figure {
    fn source(self) -> Source {
        match self {
            Self::Rate => {
                Source::Ratio { run: Summary::ok_rate, window: |part| (part.ended_well as f64, part.seconds) }
            }
            Self::Goodput => Source::Ratio { run: Summary::goodput, window: |part| (part.good_bytes, part.seconds) },
            Self::GoodputSent => {
                Source::Ratio { run: Summary::good_sending, window: |part| (part.good_sent_bytes, part.seconds) }
            }
            Self::ResponseP50 => Source::Response(0.5),
            Self::ResponseP90 => Source::Response(0.9),
            Self::ResponseP99 => Source::Response(0.99),
            Self::ResponseP999 => Source::Response(0.999),
            Self::Success => {
                Source::Ratio { run: Summary::success, window: |part| (part.ok as f64, part.judged as f64) }
            }
            Self::CpuPerOp => Source::Ratio { run: cpu_per_op, window: |part| (part.cpu_nanos, part.completed as f64) },
        }
    }

    /// Its value; `None` when the run has too little for it.
    #[must_use]
    pub fn of(self, run: &SavedRun) -> Option<f64> {
        match self.source() {
            Source::Response(q) => response(run, q),
            Source::Ratio { run: of, .. } => of(run.summary()),
        }
    }

    /// Its value with the interval that the windows of one run give it.
    pub(super) fn estimate(self, windows: &Windows, seed: u64) -> Option<Estimate> {
        let windows = windows.list().iter();
        match self.source() {
            Source::Response(q) => {
                bootstrap::percentile(&windows.map(|window| &window.response).collect::<Vec<_>>(), q, seed)
            }
            Source::Ratio { window: parts, .. } => batch_means::ratio(&windows.map(parts).collect::<Vec<_>>()),
        }
    }

    /// Which way is better.
    #[must_use]
    pub fn improves(self) -> Improves {
        match self {
            Self::Rate | Self::Goodput | Self::GoodputSent | Self::Success => Improves::Upwards,
            Self::ResponseP50 | Self::ResponseP90 | Self::ResponseP99 | Self::ResponseP999 | Self::CpuPerOp => {
                Improves::Downwards
            }
        }
    }

    /// The margin of this figure where `asked` was asked for.
    #[must_use]
    pub fn margin(self, asked: f64) -> f64 {
        if self == Self::Success { asked.min(SUCCESS_MARGIN_MAX) } else { asked }
    }

    /// In the first column of a table.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Goodput => "goodput",
            Self::GoodputSent => "goodput sent",
            Self::ResponseP50 => "response p50",
            Self::ResponseP90 => "response p90",
            Self::ResponseP99 => "response p99",
            Self::ResponseP999 => "response p99.9",
            Self::Success => "success",
            Self::CpuPerOp => "client CPU per op",
        }
    }

    /// How a value is written for people.
    #[must_use]
    pub fn show(self, value: f64) -> String {
        match self {
            Self::Rate => rate(value),
            Self::Goodput | Self::GoodputSent => byte_rate(value),
            Self::Success => share(value),
            Self::ResponseP50 | Self::ResponseP90 | Self::ResponseP99 | Self::ResponseP999 | Self::CpuPerOp => {
                time(value)
            }
        }
    }
}

/// Nanoseconds for each operation that ended.
fn cpu_per_op(summary: &Summary) -> Option<f64> {
    let done = summary.stats.measured.completed();
    (done > 0).then(|| summary.measured.cpu_nanos as f64 / done as f64)
}
