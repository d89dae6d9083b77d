//! Live metrics of a running load: an endpoint for Prometheus, and pushes to an OpenTelemetry collector.
//!
//! The gathering thread adds each interval to [`LiveMetrics`], as it does for the live line. The load threads do no
//! work for the metrics. One background thread serves the endpoint, and another one pushes.

mod endpoint;
mod push;
mod server;

use crate::console;
use crate::failure::Failure;
use crate::saved::unix_ms;
use endpoint::Endpoint;
use engine::plan::{LoadModel, Plan};
use measure::Interval;
use measure::path::PathLimits;
use measure::series::{Column, Poll};
use push::Pusher;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use store::Begin;
use telemetry::{CurrentRun, Fill, LoadLevel, State, Trial};

/// The flags for live metrics.
#[derive(clap::Args, Clone, Debug, Default)]
#[group(skip)]
pub struct Args {
    /// Serve live metrics for Prometheus at http://IP:PORT/metrics, e.g. 127.0.0.1:9464. Port 0 selects any free port.
    #[arg(
        long,
        value_name = "IP:PORT",
        value_parser = server::address,
        help_heading = "Checks and results",
        hide_short_help = true
    )]
    pub metrics: Option<SocketAddr>,
    /// Push live metrics to an OpenTelemetry collector (OTLP over HTTP) every 10 s and at the end, e.g.
    /// http://127.0.0.1:4318. Headers come from the environment variable OTEL_EXPORTER_OTLP_HEADERS.
    #[arg(long, value_name = "URL", help_heading = "Checks and results", hide_short_help = true)]
    pub otlp: Option<String>,
}

impl Args {
    /// Returns the first of these flags that is given.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [("--metrics", self.metrics.is_some()), ("--otlp", self.otlp.is_some())];
        flags.into_iter().find_map(|(flag, is_given)| is_given.then_some(flag))
    }

    /// Starts to publish the metrics of this process. A command calls this function once, before its first run.
    ///
    /// # Errors
    /// Fails if the address is in use, or if the URL of the collector is wrong. An unreachable collector is not an
    /// error.
    pub fn start(&self) -> Result<Publishing, Failure> {
        if self.given().is_none() {
            return Ok(Publishing { pusher: None });
        }
        let LiveMetrics(Some(shared)) = PUBLISHED.get_or_init(|| LiveMetrics(Some(Arc::default()))) else {
            return Ok(Publishing { pusher: None });
        };
        let endpoint = self.otlp.as_deref().map(Endpoint::new).transpose()?;
        if let Some(address) = self.metrics {
            let address = server::start(address, Arc::clone(shared))?;
            console::eprintln(&format!("live metrics: http://{address}/metrics"));
        }
        let pusher = endpoint.map(|endpoint| Pusher::start(endpoint, Arc::clone(shared), unix_ms()));
        Ok(Publishing { pusher: pusher.transpose()? })
    }
}

/// The publication of a command's metrics. When this value is dropped, the last values are pushed. The endpoint stays
/// until the program ends.
pub struct Publishing {
    pusher: Option<Pusher>,
}

impl Drop for Publishing {
    fn drop(&mut self) {
        // Dropping the pusher waits until it has ended, so that its problem can be reported.
        self.pusher = None;
        LiveMetrics::published().report_problem();
    }
}

/// The metrics of this process, once they are published. A process publishes one set of metrics.
static PUBLISHED: OnceLock<LiveMetrics> = OnceLock::new();

/// The metrics to which a run adds its intervals, or nothing if they are not published. Copies share the same metrics.
#[derive(Clone, Debug, Default)]
pub struct LiveMetrics(Option<Arc<Shared>>);

/// The metrics, and the problem of the pusher. Several threads share them.
#[derive(Debug, Default)]
struct Shared {
    versioned: Mutex<Versioned>,
    /// A message for the user, until it is shown.
    problem: Mutex<Option<String>>,
}

/// A state with the number of its changes.
#[derive(Clone, Debug, Default)]
struct Versioned {
    version: u64,
    state: State,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Versioned> {
        self.versioned.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn problem(&self) -> MutexGuard<'_, Option<String>> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LiveMetrics {
    /// Returns the metrics that this process publishes, or nothing if it publishes none.
    pub fn published() -> Self {
        PUBLISHED.get().cloned().unwrap_or_default()
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let Some(shared) = &self.0 else { return };
        let mut versioned = shared.lock();
        versioned.version += 1;
        change(&mut versioned.state);
    }

    /// Begins a run.
    pub fn begin_run(&self, plan: &Plan, begin: &Begin, directory: &Path) {
        let mut kinds = Vec::new();
        for kind in plan.mix.requests().iter().map(|request| request.kind) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        let run = || CurrentRun {
            target: begin.targets.first().cloned().unwrap_or_default(),
            directory: directory.display().to_string(),
            model: begin.model,
            level: match &plan.load {
                LoadModel::Closed { slots, .. } => LoadLevel::InFlight(slots.peak()),
                LoadModel::Open { rate, .. } => LoadLevel::PerSecond(rate.peak()),
            },
            objectives: begin.objectives.clone(),
            kinds,
            shares_host: begin.loopback,
            path: PathLimits::of(begin.path.as_ref()),
        };
        self.change(|state| state.begin_run(run()));
    }

    /// Adds an interval of the run.
    pub fn interval(&self, interval: &Interval) {
        if self.0.is_some() {
            // Adding takes about as long as merging the interval of a thread.
            engine::give_way();
            self.change(|state| state.add(interval));
        }
    }

    /// Ends the run.
    pub fn end_run(&self) {
        self.change(State::end_run);
    }

    /// Sets the trial of a study.
    pub fn set_trial(&self, trial: Trial) {
        self.change(|state| state.set_trial(trial));
    }

    /// Changes the totals of a fill.
    pub fn change_fill(&self, change: impl FnOnce(&mut Fill)) {
        self.change(|state| change(state.fill()));
    }

    /// Sets the columns of the values that are collected during a run.
    pub fn set_columns(&self, columns: &[Column]) {
        self.change(|state| state.set_columns(columns));
    }

    /// Sets the last collected values.
    pub fn set_collected(&self, poll: &Poll) {
        self.change(|state| state.set_collected(poll));
    }

    /// Prints the problem of the pusher, if there is one that was not printed yet.
    pub fn report_problem(&self) {
        let Some(problem) = self.0.as_ref().and_then(|shared| shared.problem().take()) else { return };
        console::eprintln(&format!("plimsoll: {problem}"));
    }
}
