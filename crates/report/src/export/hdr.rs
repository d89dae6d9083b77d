//! Files in the formats of HdrHistogram. An `.hgrm` file has percentiles as text, and is for plotters. An `.hlog` file
//! is an interval log (version 1.3) with a histogram for each interval.

use super::ExportError;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{
    IntervalLogWriter, IntervalLogWriterBuilder, IntervalLogWriterError, Tag,
};
use measure::{Distribution, Interval, Stage};
use std::io::{self, Write};
use std::time::{Duration, UNIX_EPOCH};

/// Number of percentile lines until half of the remaining samples are passed: five lines up to p50, five more up to
/// p75, and so on. This is HdrHistogram's default.
const TICKS_PER_HALF: u32 = 5;
/// Nanoseconds per millisecond. Plotters expect milliseconds.
const MILLISECOND: f64 = 1e6;

/// Writes the percentiles of a time, in milliseconds. The format is the same as the output of
/// `outputPercentileDistribution` in Java.
///
/// # Errors
/// If writing fails.
pub fn percentiles(values: &Distribution, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{:>12} {:>14} {:>10} {:>14}\n", "Value", "Percentile", "TotalCount", "1/(1-Percentile)")?;
    let (mut buckets, mut below) = (0, 0_u64);
    let max = values.max().unwrap_or(0);
    if let Some(histogram) = values.histogram() {
        buckets = histogram.buckets();
        for step in histogram.iter_quantiles(TICKS_PER_HALF) {
            below = below.saturating_add(step.count_since_last_iteration());
            // The last bucket may extend beyond the maximum. Use the maximum in this case, because it is exact.
            let value = step.value_iterated_to().min(max) as f64 / MILLISECOND;
            let quantile = step.quantile_iterated_to();
            if quantile < 1.0 {
                writeln!(out, "{value:12.3} {quantile:2.12} {below:10} {:14.2}", 1.0 / (1.0 - quantile))?;
            } else {
                writeln!(out, "{value:12.3} {quantile:2.12} {below:10}")?;
            }
        }
    }
    let moments = values.moments();
    let (mean, sd) = (moments.mean().unwrap_or(0.0), moments.standard_deviation().unwrap_or(0.0));
    writeln!(out, "#[Mean    = {:12.3}, StdDeviation   = {:12.3}]", mean / MILLISECOND, sd / MILLISECOND)?;
    writeln!(out, "#[Max     = {:12.3}, Total count    = {:12}]", max as f64 / MILLISECOND, values.count())?;
    writeln!(out, "#[Buckets = {buckets:12}, SubBuckets     = {SUB_BUCKETS:12}]")?;
    out.flush()
}

/// Number of buckets needed for three significant digits: 2 · 10³, rounded up to a power of two.
const SUB_BUCKETS: u32 = 2048;

/// Returns the serializer for the histograms of a [`Log`].
#[must_use]
pub fn serializer() -> V2DeflateSerializer {
    V2DeflateSerializer::new()
}

/// An interval log that is being written.
pub struct Log<'a, W: Write> {
    writer: IntervalLogWriter<'a, 'a, W, V2DeflateSerializer>,
}

impl<'a, W: Write> Log<'a, W> {
    /// Writes the header of the log of a run that began at `started_unix_ms`.
    ///
    /// # Errors
    /// If writing fails.
    pub fn begin(started_unix_ms: u64, out: &'a mut W, serializer: &'a mut V2DeflateSerializer) -> io::Result<Self> {
        // A damaged record may contain a time that `SystemTime` cannot represent.
        let started = UNIX_EPOCH.checked_add(Duration::from_millis(started_unix_ms)).unwrap_or(UNIX_EPOCH);
        let writer = IntervalLogWriterBuilder::new()
            .add_comment(&format!("[Logged with plimsoll {}]", env!("CARGO_PKG_VERSION")))
            .add_comment("[Histogram log format version 1.3]")
            .add_comment("[Values in nanoseconds. Lines without a tag: response times of successes. Lines with the tag service: their service times]")
            .with_start_time(started)
            .with_base_time(started)
            .with_max_value_divisor(MILLISECOND)
            .begin_log_with(out, serializer)?;
        Ok(Self { writer })
    }

    /// Adds an interval. Response times are written without a tag, and service times with a tag. Intervals of the
    /// warm-up are left out, as in all reports.
    ///
    /// # Errors
    /// If writing fails.
    pub fn interval(&mut self, interval: &Interval) -> Result<(), ExportError> {
        if interval.stage == Stage::Warmup {
            return Ok(());
        }
        let all = interval.stats.all_kinds();
        self.histogram(interval, &all.response, None)?;
        self.histogram(interval, &all.service, Tag::new("service"))
    }

    fn histogram(
        &mut self,
        interval: &Interval,
        values: &Distribution,
        tag: Option<Tag<'_>>,
    ) -> Result<(), ExportError> {
        let (start, length) = (Duration::from_nanos(interval.start.as_nanos()), interval.end.since(interval.start));
        let empty = Distribution::empty_histogram();
        let histogram = values.histogram().unwrap_or(&empty);
        self.writer.write_histogram(histogram, start, length, tag).map_err(|error| match error {
            IntervalLogWriterError::IoError(error) => ExportError::Io(error),
            IntervalLogWriterError::SerializeError(error) => ExportError::Form(error.to_string()),
        })
    }
}
