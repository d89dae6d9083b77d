//! A table with one row per run. The runs are repeats, trials of a study, or levels of a search.

use super::column::{Column, count, number, text};
use super::ms;
use crate::limit::limited_by;
use crate::percentile::{self, Percentile};
use crate::result;
use crate::run_metrics::RunMetrics;
use measure::stats::Tally;
use measure::{Distribution, Model, Summary};
use store::SavedRun;

/// The position of a run among repeats, in a study, or in a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Position {
    /// Directory of the run, relative to the directory of all runs.
    pub directory: String,
    /// Cell of the study.
    pub cell: Option<String>,
    /// Target of the study.
    pub target: Option<String>,
    /// Number of the repeat, from 1.
    pub repeat: Option<u64>,
    /// Level of the search, in operations in flight or operations per second.
    pub level: Option<f64>,
}

/// One of several runs.
pub struct Row {
    /// Position of the run.
    pub position: Position,
    /// The run.
    pub run: SavedRun,
}

impl Row {
    fn summary(&self) -> &Summary {
        self.run.summary()
    }

    fn tally(&self) -> &Tally {
        &self.summary().stats.measured
    }

    fn first_missed(&self) -> Option<String> {
        RunMetrics::of("", &self.run).first_missed
    }
}

/// Returns a percentile in milliseconds, or `None` if there are too few samples.
fn at(values: &Distribution, q: f64) -> Option<f64> {
    match percentile::of(values, q) {
        Percentile::Value(nanos) => ms(Some(nanos)),
        _ => None,
    }
}

/// The columns. A percentile is empty if there are too few operations.
pub const COLUMNS: &[Column<Row>] = &[
    text("directory", |row| Some(row.position.directory.clone())),
    text("cell", |row| row.position.cell.clone()),
    text("target", |row| row.position.target.clone()),
    count("repeat", |row| row.position.repeat),
    number("level", |row| row.position.level),
    text("url", |row| row.run.begin.targets.first().cloned()),
    count("started_unix_ms", |row| Some(row.run.begin.started_unix_ms)),
    text("load", |row| Some(row.run.begin.load.clone())),
    count("concurrency", |row| match row.run.begin.model {
        Model::Closed { concurrency } => Some(concurrency),
        Model::Open { .. } => None,
    }),
    text("result", |row| Some(result::of(&row.run).word.text().to_owned())),
    text("limited_by", |row| Some(limited_by(&row.run).to_string())),
    text("first_missed", Row::first_missed),
    number("window_seconds", |row| Some(row.summary().measured.seconds)),
    count("offered", |row| Some(row.tally().scheduled)),
    count("started", |row| Some(row.tally().started)),
    count("ok", |row| Some(row.tally().ok)),
    count("failed", |row| Some(row.tally().failed)),
    count("dropped", |row| Some(row.tally().dropped)),
    count("unfinished", |row| Some(row.tally().unfinished)),
    number("success_share", |row| row.summary().success()),
    number("offered_per_second", |row| row.summary().offered_rate()),
    number("ok_per_second", |row| row.summary().ok_rate()),
    count("body_bytes", |row| Some(row.summary().measured.traffic.body)),
    count("sent_body_bytes", |row| Some(row.summary().measured.traffic.sent_body)),
    number("goodput_bytes_per_second", |row| row.summary().goodput()),
    number("sending_bytes_per_second", |row| row.summary().good_sending()),
    number("in_flight_mean", |row| row.summary().mean_in_flight()),
    number("response_mean_ms", |row| row.summary().all.response.moments().mean().map(|nanos| nanos / 1e6)),
    number("response_p50_ms", |row| at(&row.summary().all.response, 0.5)),
    number("response_p90_ms", |row| at(&row.summary().all.response, 0.9)),
    number("response_p95_ms", |row| at(&row.summary().all.response, 0.95)),
    number("response_p99_ms", |row| at(&row.summary().all.response, 0.99)),
    number("response_p99_9_ms", |row| at(&row.summary().all.response, 0.999)),
    number("response_max_ms", |row| ms(row.summary().all.response.max())),
    number("service_p50_ms", |row| at(&row.summary().all.service, 0.5)),
    number("service_p99_ms", |row| at(&row.summary().all.service, 0.99)),
    number("ttfb_p50_ms", |row| at(&row.summary().all.ttfb, 0.5)),
    number("ttfb_p95_ms", |row| at(&row.summary().all.ttfb, 0.95)),
    number("ttfb_p99_ms", |row| at(&row.summary().all.ttfb, 0.99)),
    number("client_cpu_seconds", |row| Some(row.summary().measured.cpu_nanos as f64 / 1e9)),
    number("client_busy_max_share", |row| Some(row.summary().limits.busy_max)),
];
