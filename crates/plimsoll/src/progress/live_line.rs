//! The live line: a line on the terminal that is rewritten every second, and that shows the time left.

use engine::plan::StopAfter;
use measure::units::{ByteSize, format_span};
use measure::{Distribution, Interval, Stage};
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Maximum length of the line, in characters: one less than the width of a usual terminal.
const COLUMNS_MAX: usize = 79;
/// A message is shown only after its work has taken this long.
const PATIENCE: Duration = Duration::from_secs(1);

/// A line on standard error, which is hidden if standard error is not a terminal.
pub struct LiveLine {
    shown: bool,
    done: u64,
    bytes: u64,
    failures: u64,
}

impl LiveLine {
    /// Returns a line, which is shown if `wanted` is true and standard error is a terminal.
    pub fn new(wanted: bool) -> Self {
        Self { shown: wanted && io::stderr().is_terminal(), done: 0, bytes: 0, failures: 0 }
    }

    /// Shows the results of an interval.
    pub fn interval(&mut self, interval: &Interval, stop: &StopAfter, warmup: Duration) {
        let stats = &interval.stats;
        let tally = &stats.measured;
        self.done += tally.completed() + tally.unfinished;
        self.bytes += stats.traffic.moved();
        self.failures += tally.failed + tally.dropped;
        if self.shown && interval.seconds() > 0.2 {
            let text = self.describe(interval, stop, warmup);
            self.write(&text);
        }
    }

    fn describe(&self, interval: &Interval, stop: &StopAfter, warmup: Duration) -> String {
        let seconds = interval.seconds();
        let tally = &interval.stats.measured;
        let ended = tally.completed() + interval.stats.outside.completed();
        let response = interval.stats.all_kinds().response;
        let stage = match interval.stage {
            Stage::Warmup => "warming up  ",
            Stage::Measured => "",
            Stage::Drain => "draining  ",
        };
        format!(
            "{stage}{}{} {:.0}/s {}/s p50 {} p99 {} failed {}{} in flight {}",
            elapsed(interval, warmup),
            stop.time.map(|time| format!("/{}", format_span(time))).unwrap_or_default(),
            ended as f64 / seconds,
            ByteSize((interval.stats.traffic.moved() as f64 / seconds) as u64).human(),
            milliseconds(&response, 0.5),
            milliseconds(&response, 0.99),
            self.failures,
            self.left(interval, stop, warmup).map(|left| format!(" {left} left")).unwrap_or_default(),
            interval.in_flight,
        )
    }

    /// Returns the estimated time left, based on the clock or on the progress so far.
    fn left(&self, interval: &Interval, stop: &StopAfter, warmup: Duration) -> Option<String> {
        let elapsed = interval.end.as_nanos() as f64 / 1e9 - warmup.as_secs_f64();
        let by_clock = stop.time.map(|time| time.as_secs_f64() - elapsed);
        let by_count = |total: u64, done: u64| {
            (done > 0 && elapsed > 0.0).then(|| total.saturating_sub(done) as f64 * elapsed / done as f64)
        };
        let by_ops = stop.ops.and_then(|ops| by_count(ops.get(), self.done));
        let by_bytes = stop.bytes.and_then(|bytes| by_count(bytes.get(), self.bytes));
        let soonest = [by_clock, by_ops, by_bytes].into_iter().flatten().fold(f64::INFINITY, f64::min);
        (soonest.is_finite() && interval.stage != Stage::Drain)
            .then(|| format_span(Duration::from_secs(soonest.max(0.0).round() as u64)))
    }

    /// Shows a message about work that has taken `elapsed` so far.
    pub fn message(&mut self, elapsed: Duration, text: &str) {
        if self.shown && elapsed > PATIENCE {
            self.write(text);
        }
    }

    fn write(&self, text: &str) {
        // Cut the line, because a longer one would wrap around and could not be rewritten.
        let width = terminal_size::terminal_size_of(io::stderr()).map_or(COLUMNS_MAX, |(width, _)| width.0.into());
        let text: String = text.chars().take(COLUMNS_MAX.min(width.saturating_sub(1))).collect();
        let _ = write!(io::stderr(), "\r\x1b[K{text}").and_then(|()| io::stderr().flush());
    }

    /// Erases the line.
    pub fn clear(&self) {
        if self.shown {
            let _ = write!(io::stderr(), "\r\x1b[K").and_then(|()| io::stderr().flush());
        }
    }
}

fn elapsed(interval: &Interval, warmup: Duration) -> String {
    let since = match interval.stage {
        Stage::Warmup => interval.end.as_secs_f64(),
        Stage::Measured | Stage::Drain => interval.end.as_secs_f64() - warmup.as_secs_f64(),
    };
    format_span(Duration::from_secs(since.max(0.0).round() as u64))
}

fn milliseconds(times: &Distribution, q: f64) -> String {
    times.quantile(q).map_or_else(|| "-".into(), |nanos| format!("{:.2} ms", nanos as f64 / 1e6))
}
