//! All metrics, with their names and descriptions. docs/metrics.md lists them.

use crate::state::{CurrentRun, Fill, FillPhase, LoadLevel, State, Trial};
use crate::totals::KindTotals;
use crate::{BucketCounts, Family, Labels, Number, Sample, Samples, Unit};
use Number::{Real, Whole};
use measure::limits::limited_by;
use measure::objective::ObjectiveOutcome;
use measure::series::ColumnKind;
use measure::stats::Tally;
use measure::{AttemptClass, Enumerated, LimitedBy, OpKind, Stage};

/// The states of `plimsoll_limited_by`, in the order of [`LimitedBy`].
const LIMITS: [LimitedBy; 10] = [
    LimitedBy::Target,
    LimitedBy::Link,
    LimitedBy::ClientCpu,
    LimitedBy::ClientNic,
    LimitedBy::ClientResources,
    LimitedBy::SharedHost,
    LimitedBy::Concurrency,
    LimitedBy::Rate,
    LimitedBy::NotDetermined,
    LimitedBy::Unknown,
];

/// The states of `plimsoll_objective_state`.
const OUTCOMES: [ObjectiveOutcome; 4] =
    [ObjectiveOutcome::Met, ObjectiveOutcome::Missed, ObjectiveOutcome::NotEnoughData, ObjectiveOutcome::ClientLimited];

/// Returns the name of a limit. JSON reports use the same names.
fn limit_name(limit: LimitedBy) -> &'static str {
    match limit {
        LimitedBy::Target => "target",
        LimitedBy::Link => "link",
        LimitedBy::Emulator => "emulator",
        LimitedBy::ClientCpu => "client_cpu",
        LimitedBy::ClientNic => "client_nic",
        LimitedBy::ClientResources => "client_resources",
        LimitedBy::SharedHost => "shared_host",
        LimitedBy::Concurrency => "concurrency",
        LimitedBy::Rate => "rate",
        LimitedBy::NotDetermined => "not_determined",
        LimitedBy::Unknown => "unknown",
    }
}

/// Returns the name of an objective's outcome. JSON reports use the same names.
fn outcome_name(outcome: ObjectiveOutcome) -> &'static str {
    match outcome {
        ObjectiveOutcome::Met => "met",
        ObjectiveOutcome::Missed => "missed",
        ObjectiveOutcome::NotEnoughData => "not_enough_data",
        ObjectiveOutcome::ClientLimited => "client_limited",
    }
}

/// Returns the metrics. Metrics without samples are left out. `state.summary.all` must be up to date.
pub fn of(state: &State) -> Vec<Family> {
    let mut families = operations(state);
    families.extend(times(state));
    families.extend(attempts(&state.totals.measured));
    families.extend(traffic(state));
    families.extend(now(state));
    families.extend(judgement(state));
    families.extend(study(state.trial.as_ref()));
    families.extend(state.fill.iter().flat_map(fill));
    families.extend(collected(state));
    families.push(Family {
        name: "plimsoll_build",
        unit: Unit::None,
        help: "Version of plimsoll.",
        samples: Samples::Info(vec![labels([("version", env!("CARGO_PKG_VERSION"))])]),
    });
    families.retain(|family| !family.samples.is_empty());
    families
}

fn labels<const N: usize>(pairs: [(&'static str, &str); N]) -> Labels {
    pairs.into_iter().map(|(name, value)| (name, value.to_owned())).collect()
}

fn sample<V, const N: usize>(pairs: [(&'static str, &str); N], value: V) -> Sample<V> {
    Sample { labels: labels(pairs), value }
}

fn counter(name: &'static str, unit: Unit, help: &'static str, samples: Vec<Sample<Number>>) -> Family {
    Family { name, unit, help, samples: Samples::Counter(samples) }
}

/// Returns a counter with a single sample.
fn count(name: &'static str, help: &'static str, value: u64) -> Family {
    counter(name, Unit::None, help, vec![sample([], Whole(value))])
}

fn gauge(name: &'static str, help: &'static str, samples: Vec<Sample<Number>>) -> Family {
    Family { name, unit: Unit::None, help, samples: Samples::Gauge(samples) }
}

fn operations(state: &State) -> Vec<Family> {
    let (totals, measured) = (&state.totals, &state.totals.measured);
    let of_kind = |(kind, own): &(OpKind, KindTotals)| {
        let outcomes = [("ok", own.ok), ("failed", own.failed), ("unfinished", own.unfinished)];
        let name = kind.name();
        outcomes.map(|(outcome, value)| sample([("kind", name), ("outcome", outcome)], Whole(value)))
    };
    let warmup = [("ok", totals.warmup.ok), ("failed", totals.warmup.failed)];
    let warmup = warmup.map(|(outcome, value)| sample([("outcome", outcome)], Whole(value)));
    vec![
        counter(
            "plimsoll_operations",
            Unit::None,
            "Measured operations that ended, by kind and outcome.",
            totals.kinds.iter().flat_map(of_kind).collect(),
        ),
        count("plimsoll_scheduled_operations", "Measured operations that were due.", measured.scheduled),
        count("plimsoll_started_operations", "Measured operations that started.", measured.started),
        count("plimsoll_dropped_operations", "Measured operations that were due and never started.", measured.dropped),
        counter(
            "plimsoll_warmup_operations",
            Unit::None,
            "Operations of warm-ups that ended, by outcome.",
            warmup.into(),
        ),
    ]
}

fn times(state: &State) -> Vec<Family> {
    let kinds = &state.totals.kinds;
    let histogram = |name, help, of: fn(&KindTotals) -> &BucketCounts| Family {
        name,
        unit: Unit::Seconds,
        help,
        samples: Samples::Histogram(
            kinds.iter().map(|(kind, own)| sample([("kind", kind.name())], of(own).clone())).collect(),
        ),
    };
    vec![
        histogram(
            "plimsoll_response",
            "Response times of the measured operations that succeeded, from their intended start.",
            |own| &own.response,
        ),
        histogram(
            "plimsoll_service",
            "Service times of the measured operations that succeeded, from the first byte sent.",
            |own| &own.service,
        ),
        histogram(
            "plimsoll_ttfb",
            "Times to first byte of the measured operations that succeeded, from the first byte sent.",
            |own| &own.ttfb,
        ),
        histogram(
            "plimsoll_lateness",
            "Lateness of the measured operations: start minus intended start, with a rate or think time.",
            |own| &own.lateness,
        ),
    ]
}

fn attempts(measured: &Tally) -> Vec<Family> {
    let class = |class: &AttemptClass| sample([("class", class.name())], Whole(measured.classes.get(*class)));
    let status = |(status, responses): (u16, u64)| sample([("status", &*status.to_string())], Whole(responses));
    vec![
        counter(
            "plimsoll_attempts",
            Unit::None,
            "Attempts of measured operations, by class of their outcome.",
            AttemptClass::ALL.iter().map(class).collect(),
        ),
        counter(
            "plimsoll_responses",
            Unit::None,
            "Responses to measured operations, by status code.",
            measured.statuses.sorted().into_iter().map(status).collect(),
        ),
        count("plimsoll_retries", "Attempts that repeated a failed request after a pause.", measured.retries),
        count("plimsoll_resends", "Attempts that repeated a request after a stale connection.", measured.resends),
        count("plimsoll_redirects", "Redirects that were followed.", measured.hops),
    ]
}

fn traffic(state: &State) -> Vec<Family> {
    let (totals, traffic) = (&state.totals, &state.totals.traffic);
    let sent_overhead = traffic.sent.saturating_sub(traffic.sent_body);
    let parts =
        |body, overhead| vec![sample([("part", "body")], Whole(body)), sample([("part", "overhead")], Whole(overhead))];
    let good = totals.kinds.iter();
    let good = good.map(|(kind, own)| sample([("kind", kind.name())], Whole(own.ok_bytes)));
    vec![
        counter("plimsoll_received", Unit::Bytes, "Bytes received.", parts(traffic.body, traffic.overhead)),
        counter("plimsoll_sent", Unit::Bytes, "Bytes sent.", parts(traffic.sent_body, sent_overhead)),
        counter(
            "plimsoll_goodput",
            Unit::Bytes,
            "Body bytes of the measured operations that succeeded, counted when they end.",
            good.collect(),
        ),
        count("plimsoll_connections_opened", "Connections that were opened.", totals.connections_opened),
        count("plimsoll_connections_failed", "Connections that could not be opened.", totals.connections_failed),
    ]
}

/// Returns the metrics of the current state.
fn now(state: &State) -> Vec<Family> {
    let totals = &state.totals;
    let stage = |stage: &Stage| {
        let is_current = state.stage == Some(*stage);
        sample([("stage", stage.name())], Whole(is_current.into()))
    };
    let cpu_seconds = totals.client_cpu_nanos as f64 / 1e9;
    vec![
        gauge("plimsoll_in_flight_operations", "Operations in flight.", vec![sample([], Whole(state.in_flight))]),
        gauge("plimsoll_stage", "Stage of the run: 1 for the current one.", Stage::ALL.iter().map(stage).collect()),
        gauge(
            "plimsoll_client_busy_ratio",
            "Busy time of the busiest load thread in the last second, as a share.",
            vec![sample([], Real(state.client.busy))],
        ),
        counter(
            "plimsoll_client_cpu",
            Unit::Seconds,
            "CPU time of the threads that make the load, and that gather and save its results.",
            vec![sample([], Real(cpu_seconds))],
        ),
        counter(
            "plimsoll_measured",
            Unit::Seconds,
            "Time that was measured, without warm-ups and drains.",
            vec![sample([], Real(totals.measured_seconds))],
        ),
        count("plimsoll_runs", "Runs that began.", totals.runs),
    ]
}

/// Returns the metrics of the current run: its load, its limit, and the objectives met so far.
fn judgement(state: &State) -> Vec<Family> {
    let Some(run) = &state.run else { return Vec::new() };
    let CurrentRun { target, directory, model, level, objectives, kinds: _, shares_host: _, path: _ } = run;
    let limit = limited_by(&state.summary, model);
    let limits = LIMITS.map(|name| sample([("state", limit_name(name))], Whole((name == limit).into())));
    let objective_states = objectives.iter().flat_map(|objective| {
        let (outcome, text) = (objective.judge(&state.summary, model).outcome, objective.to_string());
        OUTCOMES
            .map(|name| sample([("objective", &*text), ("state", outcome_name(name))], Whole((name == outcome).into())))
    });
    let (unit, level) = match *level {
        LoadLevel::InFlight(slots) => ("in_flight", slots),
        LoadLevel::PerSecond(rate) => ("per_second", rate),
    };
    vec![
        Family {
            name: "plimsoll_run",
            unit: Unit::None,
            help: "Target and directory of the current run.",
            samples: Samples::Info(vec![labels([("target", target), ("directory", directory)])]),
        },
        gauge(
            "plimsoll_load_level",
            "Highest planned load of the current run. In a search for the load line, the load of the current level.",
            vec![sample([("unit", unit)], Real(level))],
        ),
        gauge(
            "plimsoll_limited_by",
            "What limits the current run so far: 1 for the current state.",
            limits.into_iter().collect(),
        ),
        gauge(
            "plimsoll_objective_state",
            "State of each objective of the current run so far: 1 for the current state.",
            objective_states.collect(),
        ),
    ]
}

fn study(trial: Option<&Trial>) -> Vec<Family> {
    let Some(Trial { number, of, cell, target, repeat }) = trial else { return Vec::new() };
    let info = labels([("cell", cell), ("target", target), ("repeat", &repeat.to_string())]);
    vec![
        Family {
            name: "plimsoll_trial",
            unit: Unit::None,
            help: "Cell, target and repetition of the current trial of a study.",
            samples: Samples::Info(vec![info]),
        },
        gauge("plimsoll_trial_number", "Number of the current trial.", vec![sample([], Whole(*number))]),
        gauge("plimsoll_trials_planned", "Number of trials of the study.", vec![sample([], Whole(*of))]),
    ]
}

/// Returns the metrics of a fill. The metrics are gauges, because the next fill of a study starts at zero.
fn fill(fill: &Fill) -> Vec<Family> {
    let Fill { phase, stored_objects, objects, stored_bytes, bytes, failed_uploads, bandwidth, spent, unpacked_bytes } =
        fill;
    let states = |stored: u64, planned: u64| {
        [("stored", stored), ("planned", planned)].map(|(state, value)| sample([("state", state)], Whole(value))).into()
    };
    let in_bytes = |name, help, samples| Family { name, unit: Unit::Bytes, help, samples: Samples::Gauge(samples) };
    let phases = FillPhase::ALL.map(|name| sample([("phase", name.name())], Whole((name == *phase).into())));
    let spent = spent.iter().map(|(currency, amount)| sample([("currency", &**currency)], Real(*amount)));
    vec![
        gauge(
            "plimsoll_fill_objects",
            "Objects of the fill: stored so far, and planned.",
            states(*stored_objects, *objects),
        ),
        in_bytes(
            "plimsoll_fill",
            "Bytes of the fill's objects: stored so far, and planned.",
            states(*stored_bytes, *bytes),
        ),
        gauge(
            "plimsoll_fill_failed_uploads",
            "Uploads of the fill that failed.",
            vec![sample([], Whole(*failed_uploads))],
        ),
        gauge(
            "plimsoll_fill_bandwidth",
            "Bytes per second that the fill stored in the last minute.",
            bandwidth.iter().map(|rate| sample([], Real(*rate))).collect(),
        ),
        gauge("plimsoll_fill_spent", "Money that the fill has spent so far.", spent.collect()),
        in_bytes(
            "plimsoll_fill_unpacked",
            "Bytes that the target has confirmed, but still has to pack.",
            unpacked_bytes.iter().map(|bytes| sample([], Whole(*bytes))).collect(),
        ),
        gauge("plimsoll_fill_phase", "Phase of the fill: 1 for the current one.", phases.into()),
    ]
}

/// Returns the values of collectors, as gauges and counters with the name of their column as a label.
fn collected(state: &State) -> Vec<Family> {
    let of = |kind: ColumnKind| -> Vec<Sample<Number>> {
        let columns = state.collected.iter().filter(move |collected| collected.column.kind == kind);
        let values = columns.filter_map(|collected| {
            let column = &collected.column;
            let number = Real(collected.value.as_ref()?.as_f64());
            Some(sample([("series", &column.name), ("unit", column.unit.name())], number))
        });
        values.collect()
    };
    vec![
        gauge("plimsoll_collected_value", "Last value of a collected series that may fall.", of(ColumnKind::Gauge)),
        counter("plimsoll_collected", Unit::None, "Most recent value of a collected counter.", of(ColumnKind::Counter)),
    ]
}
