//! The run over time, as a table with one row for each interval. Old intervals of a long run are longer than a second,
//! so the column `length_seconds` contains the length of each interval.

use super::column::{Column, count, number, text};
use super::ms;
use measure::stats::Tally;
use measure::{Enumerated, Interval, KindStats};

/// An interval, and the wall time at which the run began.
pub struct Row {
    started_unix_ms: u64,
    interval: Interval,
    all: KindStats,
}

impl Row {
    /// Returns the row of an interval of a run that began at `started_unix_ms`.
    #[must_use]
    pub fn of(started_unix_ms: u64, interval: Interval) -> Self {
        let all = interval.stats.all_kinds();
        Self { started_unix_ms, interval, all }
    }

    fn tally(&self) -> &Tally {
        &self.interval.stats.measured
    }
}

/// The columns. A count includes only operations of the measured window. A column that begins with `warmup_` counts
/// operations of the warm-up instead. Bytes count in the interval in which they arrive. If there are few operations, a
/// percentile is the largest value.
pub const COLUMNS: &[Column<Row>] = &[
    count("start_unix_ms", |row| Some(row.started_unix_ms.saturating_add(row.interval.start.as_nanos() / 1_000_000))),
    number("start_seconds", |row| Some(row.interval.start.as_secs_f64())),
    number("length_seconds", |row| Some(row.interval.seconds())),
    text("stage", |row| Some(row.interval.stage.name().to_owned())),
    count("offered", |row| Some(row.tally().scheduled)),
    count("started", |row| Some(row.tally().started)),
    count("ok", |row| Some(row.tally().ok)),
    count("failed", |row| Some(row.tally().failed)),
    count("dropped", |row| Some(row.tally().dropped)),
    count("unfinished", |row| Some(row.tally().unfinished)),
    count("attempts", |row| Some(row.tally().attempts)),
    count("warmup_ok", |row| Some(row.interval.stats.outside.ok)),
    count("warmup_failed", |row| Some(row.interval.stats.outside.failed)),
    count("body_bytes", |row| Some(row.interval.stats.traffic.body)),
    count("wasted_body_bytes", |row| Some(row.interval.stats.traffic.wasted)),
    count("overhead_bytes", |row| Some(row.interval.stats.traffic.overhead)),
    count("sent_bytes", |row| Some(row.interval.stats.traffic.sent)),
    count("sent_body_bytes", |row| Some(row.interval.stats.traffic.sent_body)),
    number("response_mean_ms", |row| row.all.response.moments().mean().map(|nanos| nanos / 1e6)),
    number("response_p50_ms", |row| ms(row.all.response.quantile(0.5))),
    number("response_p90_ms", |row| ms(row.all.response.quantile(0.9))),
    number("response_p95_ms", |row| ms(row.all.response.quantile(0.95))),
    number("response_p99_ms", |row| ms(row.all.response.quantile(0.99))),
    number("response_max_ms", |row| ms(row.all.response.max())),
    number("service_p50_ms", |row| ms(row.all.service.quantile(0.5))),
    number("service_p99_ms", |row| ms(row.all.service.quantile(0.99))),
    number("service_max_ms", |row| ms(row.all.service.max())),
    number("ttfb_p50_ms", |row| ms(row.all.ttfb.quantile(0.5))),
    number("ttfb_p95_ms", |row| ms(row.all.ttfb.quantile(0.95))),
    number("ttfb_p99_ms", |row| ms(row.all.ttfb.quantile(0.99))),
    count("connections_opened", |row| Some(row.interval.stats.connections.opened)),
    count("connections_failed", |row| Some(row.interval.stats.connections.failed)),
    count("in_flight", |row| Some(row.interval.in_flight)),
    number("client_busy_share", |row| Some(row.interval.client.busy)),
    number("client_run_delay_share", |row| Some(row.interval.client.run_delay)),
    number("client_cpu_ms", |row| ms(Some(row.interval.client.cpu_nanos))),
];
